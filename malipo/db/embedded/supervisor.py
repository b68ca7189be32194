"""The process that starts our own PostgreSQL, keeps it up, and ends it when its last user is gone.

It runs as a script in an interpreter of its own (`python -I -S supervisor.py …`), so it goes on when the
process that started it ends. It imports nothing of malipo, and reports only to the log.

Its arguments are the folder, where PostgreSQL's programs are, and their options (`server_settings.py`). Which user they
run as is `system_user.py`'s.

The locks are flocks: the kernel releases them however their holder ends. So no decision depends on a pid.

    start.lock       one at a time looks whether a server is there and starts one (shared_server.py)
    users.lock       shared by every user; the supervisor waits to have it alone, and then nobody is left
    supervisor.lock  the supervisor's as long as it lives; in it, its pid and that of its server
    server.lock      inherited by PostgreSQL and all its processes: if it is free, none of them is left
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any, NoReturn

# Stands in the log before a sentence for the operator. A supervisor that ended without one was killed.
REFUSES = "supervisor refuses: "
FAILED = "PostgreSQL did not start"
LOCKS = ("start.lock", "users.lock", "supervisor.lock", "server.lock")
SOCKET = "socket/.s.PGSQL.5432"

_AS_USER = (sys.executable, "-I", "-S", os.path.join(os.path.dirname(__file__), "system_user.py"))
_LOG_BYTES = 8 * 1024 * 1024
_LOOK_AT_LOG_SECONDS = 60.0
_FAST_SHUTDOWN_SECONDS = 30.0
_IMMEDIATE_SHUTDOWN_SECONDS = 5.0


def supervise(folder: str, binaries: str, options: str) -> None:
    os.umask(0o077)
    os.chdir(folder)
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The server stops when its last user has ended. Users get these signals too, and need the server to finish.
        # A handler and not SIG_IGN, which PostgreSQL would inherit.
        signal.signal(ignored, lambda *_: None)
    lock = os.open("supervisor.lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fork():  # The child has the lock now, and no parent who would have to wait for it.
        os._exit(0)
    _sign(lock)
    try:
        _become_owner(folder)
        Supervisor(folder, binaries, json.loads(options), lock).run()
    except Exception as error:
        refuse(f"PostgreSQL could not be started in {folder}: {error}.")


class Supervisor:
    def __init__(self, folder: str, binaries: str, options: dict[str, Any], own_lock: int) -> None:
        self._folder = folder
        self._binaries = binaries
        self._options = options
        self._own_lock = own_lock
        self._changed = threading.Event()  # Set after anything below has changed.
        self._alone = False

    def run(self) -> None:
        threading.Thread(target=self._wait_to_be_alone, daemon=True).start()
        pause = 0.1
        is_first = True
        while (lock := self._wait_for_leftovers()) is not None:
            if not os.path.exists("data/PG_VERSION"):
                if not is_first:
                    refuse(f"The data in {self._folder}/data are gone.")
                self._initialise(lock)
            if self._alone:
                return
            started = time.monotonic()
            options = self._options["postgres"]
            postgres = self._launch("postgres", "-D", f"{self._folder}/data", *options, lock=lock)
            os.close(lock)
            _sign(self._own_lock, postgres.pid)
            if not self._has_ended_by_itself(postgres):
                return
            if is_first and postgres.returncode > 0:
                refuse(FAILED)  # It has said in the log why; trying again would not help.
            say(f"PostgreSQL ended with {postgres.returncode}; starting it again.")
            is_first = False
            pause = 0.1 if time.monotonic() - started > 10 else min(pause * 2, 5.0)
            self._changed.wait(pause)

    def _wait_to_be_alone(self) -> None:
        users = os.open("users.lock", os.O_RDWR)
        fcntl.flock(users, fcntl.LOCK_EX)
        self._alone = True
        self._changed.set()

    def _wait_for_leftovers(self) -> int | None:
        """The lock to hand to a new server when nothing is left of an old one; None if our users left before that."""
        lock = os.open("server.lock", os.O_RDWR)
        is_asked_to_stop = False
        while not _try_lock(lock):
            if self._alone:
                return None
            if not is_asked_to_stop and _is_listening():
                # An earlier supervisor was killed. Linux has signalled its server to stop; elsewhere we must.
                _stop_orphan()
                is_asked_to_stop = True
            time.sleep(0.01)
        if self._alone:
            return None
        if _is_listening():
            refuse(f"A PostgreSQL that malipo did not start runs in {self._folder}/data: stop that one first.")
        # PostgreSQL believes these files when their pid exists, and after a reboot it may be anybody's.
        for stale in ("data/postmaster.pid", SOCKET, f"{SOCKET}.lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(stale)
        return lock

    def _initialise(self, lock: int) -> None:
        """Make the cluster beside its place and move it there whole, so that half a cluster is never found."""
        if os.path.exists("data") and os.listdir("data"):
            refuse(f"{self._folder}/data holds something that is not a PostgreSQL cluster: move it away.")
        shutil.rmtree("data.new", ignore_errors=True)
        options = self._options["initdb"]
        initdb = self._launch("initdb", "-D", f"{self._folder}/data.new", *options, lock=lock, stderr=subprocess.PIPE)
        _, errors = initdb.communicate()
        if initdb.returncode != 0:
            # Only now: when it failed because the disk is full, there is room for its words after it has tidied up.
            with contextlib.suppress(OSError):
                os.write(2, errors)
            refuse(FAILED)
        _write("data.new/postgresql.conf", "a", self._options["postgresql.conf"])
        _write("data.new/pg_hba.conf", "w", self._options["pg_hba.conf"])
        os.rename("data.new", "data")
        _sync(".")

    def _launch(self, program: str, *arguments: str, lock: int, stderr: int | None = None) -> subprocess.Popen[bytes]:
        """Start a program that dies when we die: cleanly if it is the server, at once if it is initdb."""
        death = signal.SIGINT if program == "postgres" else signal.SIGKILL
        who = ("run", self._folder, str(os.getpid()), str(int(death)))
        return subprocess.Popen(  # noqa: S603
            [*_AS_USER, *who, os.path.join(self._binaries, program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=(lock,),
        )

    def _has_ended_by_itself(self, postgres: subprocess.Popen[bytes]) -> bool:
        """Wait until the server ends, or until we are alone and have ended it."""
        ended = threading.Event()

        def wait() -> None:
            postgres.wait()
            ended.set()
            self._changed.set()

        threading.Thread(target=wait, daemon=True).start()
        while not self._alone and not ended.is_set():
            self._changed.wait(_LOOK_AT_LOG_SECONDS)
            self._changed.clear()
            _shorten_log()
        if not self._alone:
            return True
        patience = {
            signal.SIGINT: _FAST_SHUTDOWN_SECONDS,
            signal.SIGQUIT: _IMMEDIATE_SHUTDOWN_SECONDS,
            signal.SIGKILL: _IMMEDIATE_SHUTDOWN_SECONDS,
        }
        for how, seconds in patience.items():
            if not ended.is_set():
                postgres.send_signal(how)
                ended.wait(seconds)
        return False


def _become_owner(folder: str) -> None:
    """Root works as the folder's owner, unless it is root's own and PostgreSQL can be nobody in a namespace."""
    if os.geteuid() != 0:
        return
    if subprocess.call([*_AS_USER, "own", folder]) != 0:  # noqa: S603
        sys.exit(1)  # It has said in the log why.
    owner = os.stat(folder)
    if owner.st_uid != 0:
        os.setgroups([])
        os.setgid(owner.st_gid)
        os.setuid(owner.st_uid)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_listening() -> bool:
    with socket.socket(socket.AF_UNIX) as line:
        return line.connect_ex(SOCKET) == 0


def _stop_orphan() -> None:
    """The process that listens on the socket has written the file, so this pid is right."""
    with contextlib.suppress(OSError, ValueError), open("data/postmaster.pid") as file:
        os.kill(int(file.readline()), signal.SIGINT)


def _sign(lock: int, server: int = 0) -> None:
    os.pwrite(lock, b"%-10d %-10d\n" % (os.getpid(), server), 0)  # Always as long, so never half of it is read.


def _write(path: str, mode: str, text: str) -> None:
    with open(path, mode) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: str) -> None:
    folder = os.open(path, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _shorten_log() -> None:
    """PostgreSQL keeps the file open for appending, so it is copied and emptied, not renamed."""
    with contextlib.suppress(OSError):
        if os.path.getsize("server.log") > _LOG_BYTES:
            shutil.copyfile("server.log", "server.log.1")
            os.truncate("server.log", 0)


def say(text: str, *, how: str = "supervisor: ") -> None:
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    with contextlib.suppress(OSError):  # The disk may be full.
        os.write(2, f"{when} [{os.getpid()}] {how}{text}\n".encode(errors="replace"))


def refuse(reason: str) -> NoReturn:
    """End with a sentence for the operator, which shared_server.py finds in the log."""
    say(reason, how=REFUSES)
    sys.exit(1)


if __name__ == "__main__":
    supervise(*sys.argv[1:])
