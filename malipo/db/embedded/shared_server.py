"""Joins the processes that share one PostgreSQL of our own.

All malipo processes of a data folder share one server. Here a process joins it, and waits until it answers.
`supervisor.py`, a process of its own, starts, restarts and stops PostgreSQL. All files are in the folder `postgres` of
malipo's data folder:

    data/  the cluster      server.log (and .log.1)      socket/  closed to other users      *.lock  see supervisor.py
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from malipo import log
from malipo.db.embedded import server_settings, supervisor
from malipo.db.embedded.binaries import EmbeddedError, binaries_for

_LONGEST_SOCKET_PATH = 103 if sys.platform == "darwin" else 107
# PostgreSQL reads settings from PG… variables, and our own hold secrets: it gets neither.
_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")
_STARTS = 5
_START_SECONDS = 60.0
_LOOK_SECONDS = 0.5
_LEAVE_SECONDS = 40.0

# SQLSTATEs with which the server answers a new connection.
_SUCCESS = "00000"
_NO_SUCH_DATABASE = "3D000"
_NOT_NOW = ("57P01", "57P02", "57P03")
_FULL = "53300"
_SILENT = ""


@contextmanager
def server(data_dir: Path, *, binaries: Path | None = None, may_start: bool = True) -> Iterator[str]:
    """A PostgreSQL of our own under data_dir/postgres, shared with every malipo process that asks; yields its URL.

    It runs until its last user has left or died. The last user returns when the server has shut down. Without
    `may_start` nothing is started or made: NotRunning if no process has one.
    """
    share = _Share(Path(os.path.realpath(data_dir)) / "postgres", binaries)
    try:
        if not may_start and not share.is_running:
            raise NotRunning(f"No PostgreSQL of malipo runs in {share.folder}.")
        users = share.join()
    except OSError as error:
        raise EmbeddedError(f"PostgreSQL could not be started in {share.folder}: {error}.") from error
    left = threading.Event()
    keeper = threading.Thread(target=share.keep, args=(left,), name="embedded-postgres", daemon=True)
    keeper.start()
    try:
        yield share.url
    finally:
        left.set()
        keeper.join(_START_SECONDS)
        with contextlib.suppress(EmbeddedError, OSError):  # The folder may be gone.
            share.leave(users)


class NotRunning(EmbeddedError):  # noqa: N818
    """No process has started it."""


class _Share:
    """One process's share in the server of a folder."""

    def __init__(self, folder: Path, binaries: Path | None) -> None:
        self.folder = folder
        self._binaries = binaries

    @property
    def url(self) -> str:
        # With the port, or the driver would take it from PGPORT.
        return f"postgresql://malipo@/malipo?host={quote(str(_socket_link(self.folder / 'socket')))}&port=5432"

    @property
    def is_running(self) -> bool:
        return (self.folder / "supervisor.lock").exists() and bool(self._supervisor())

    def join(self) -> int:
        """Become a user, and start the server if there is none. The shared lock on users.lock makes us a user."""
        _make_folders(self.folder)
        with self._starting():
            users = self._open("users.lock")
            try:
                # Waits while a supervisor whose last user has left ends its server.
                fcntl.flock(users, fcntl.LOCK_SH)
                self._ensure_running()
            except BaseException:
                os.close(users)
                raise
        return users

    def leave(self, users: int) -> None:
        """If we are the last, return when the server is down: a container may end with us."""
        try:
            who = self._supervisor()
            # Nobody else is there if we get the lock alone, or not at all because the supervisor was quicker.
            is_last = _try_lock(users, fcntl.LOCK_EX) or not _try_lock(users, fcntl.LOCK_SH)
            socket_link = _socket_link(self.folder / "socket")
            if is_last and socket_link.is_symlink():
                socket_link.unlink()
        finally:
            os.close(users)
        deadline = time.monotonic() + _LEAVE_SECONDS
        while is_last and who and self._supervisor()[:1] == who[:1] and time.monotonic() < deadline:
            time.sleep(0.005)

    def keep(self, left: threading.Event) -> None:
        """Until we leave: if the supervisor was killed, start another."""
        pause = _LOOK_SECONDS
        while not left.wait(pause):
            pause = _LOOK_SECONDS
            try:
                _socket_link(self.folder / "socket")  # A temporary folder may have been tidied up.
                if not self._supervisor():
                    log.warning("database.supervisor_lost", folder=str(self.folder))
                    if not (self.folder / "data" / "PG_VERSION").exists():
                        raise EmbeddedError(f"The data in {self.folder / 'data'} are gone.")
                    with self._starting():
                        self._ensure_running()
            except (EmbeddedError, OSError) as error:
                log.error("database.not_restarted", error)
                pause = 10 * _LOOK_SECONDS

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """One at a time, so that two who come together end up on one server."""
        lock = self._open("start.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _ensure_running(self) -> None:
        """Return when the server answers and has our database; start a supervisor if there is none."""
        log_size = self._log().stat().st_size
        starts = iter(range(_STARTS))
        deadline = time.monotonic() + _START_SECONDS
        while True:
            if not self._supervisor():
                if refusal := _refusal(self._log(), log_size):
                    raise EmbeddedError(refusal)
                if next(starts, None) is None:
                    raise EmbeddedError(f"{supervisor.FAILED}; {_end_of(self._log(), log_size)}")
                self._start_supervisor()  # The first, or another if somebody has killed it.
            status = self._status()
            answer = self._request("malipo") if status == "ready" else _SILENT
            if answer == _NO_SUCH_DATABASE:
                answer = self._request("postgres", "CREATE DATABASE malipo")
            if answer in (_SUCCESS, _FULL):
                return
            if answer not in (*_NOT_NOW, _SILENT):
                raise EmbeddedError(f"The PostgreSQL in {self.folder} refuses us with SQLSTATE {answer}.")
            if status in ("starting", "standby"):  # It recovers, from a crash or to a moment, as long as that takes.
                deadline = time.monotonic() + _START_SECONDS
            if time.monotonic() > deadline:
                raise EmbeddedError(f"{supervisor.FAILED} in time; {_end_of(self._log(), log_size)}")
            time.sleep(0.01)

    def _status(self) -> str:
        """The server's status in postmaster.pid; empty if the file is another server's."""
        with contextlib.suppress(FileNotFoundError, IndexError):
            lines = (self.folder / "data" / "postmaster.pid").read_text(errors="replace").splitlines()
            return lines[7].strip() if lines[0] in self._supervisor()[1:] else ""
        return ""

    def _supervisor(self) -> list[str]:
        """The pids of the supervisor and its server; nothing if none runs. The lock proves it, not the pid."""
        lock = self._open("supervisor.lock")
        try:
            return [] if _try_lock(lock, fcntl.LOCK_SH) else os.pread(lock, 100, 0).decode().split() or [""]
        finally:
            os.close(lock)

    def _start_supervisor(self) -> None:
        binaries = binaries_for(self.folder / "data", self._binaries)
        program = (sys.executable, "-I", "-S", supervisor.__file__)
        arguments = (str(self.folder), str(binaries), server_settings.as_argument())
        environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        log_size = self._log().stat().st_size
        log_file = os.open(self._log(), os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        try:
            # It returns at once: the supervisor is its child. A session of its own keeps the terminal's Ctrl-C away,
            # so that the service can finish its work with the database still there.
            done = subprocess.run(  # noqa: S603
                [*program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=log_file,
                env=environment | {"LC_ALL": "C"},
                start_new_session=True,
                timeout=_START_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise EmbeddedError(f"The supervisor of {self.folder} does not start.") from error
        finally:
            os.close(log_file)
        if done.returncode > 0:
            raise EmbeddedError(f"The supervisor of {self.folder} does not start; {_end_of(self._log(), log_size)}")

    def _request(self, database: str, statement: str = "") -> str:
        """Connect by PostgreSQL's protocol, without a driver; the server's answer as an SQLSTATE."""
        hello = b"user\0malipo\0database\0%b\0application_name\0malipo start\0\0" % database.encode()
        message = struct.pack("!ii", len(hello) + 8, 3 << 16) + hello
        if statement:
            message += b"Q" + struct.pack("!i", len(statement) + 5) + statement.encode() + b"\0"
        with contextlib.suppress(OSError, struct.error), socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_START_SECONDS if statement else 5.0)
            line.connect(f"{_socket_link(self.folder / 'socket')}/{Path(supervisor.SOCKET).name}")
            line.sendall(message)
            return _answer(line, ready_times=2 if statement else 1)
        return _SILENT

    def _log(self) -> Path:
        return self.folder / "server.log"

    def _open(self, lock: str) -> int:
        return os.open(self.folder / lock, os.O_RDWR | os.O_NOFOLLOW)


def _answer(line: socket.socket, *, ready_times: int) -> str:
    """Read messages until the server is ready for more or says what is wrong."""
    with line.makefile("rb") as messages:
        while ready_times:
            kind, length = struct.unpack("!ci", messages.read(5))
            body = messages.read(length - 4)
            if kind == b"E":
                fields = {field[:1]: field[1:].decode() for field in body.split(b"\0")}
                return fields[b"C"]
            ready_times -= kind == b"Z"
    line.sendall(b"X\0\0\0\4")
    return _SUCCESS


def _make_folders(folder: Path) -> None:
    """Ours alone. A data folder that was there before us may be somebody's home: its mode is left alone."""
    if not folder.parent.exists():
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make(folder, like=folder.parent)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    _make(folder / "socket", like=folder)
    for name in (*supervisor.LOCKS, "server.log"):
        with contextlib.suppress(FileExistsError):
            file = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            _give(file, like=folder)
            os.close(file)


def _make(folder: Path, *, like: Path) -> None:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        _give(descriptor, like=like)
        os.close(descriptor)


def _give(descriptor: int, *, like: Path) -> None:
    """Give a file that root has created in another user's folder to that user, who could not use it otherwise."""
    if os.geteuid() == 0:
        owner = like.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _socket_link(folder: Path) -> Path:
    """The path by which clients reach the socket: the folder's own, or a short link to it.

    The kernel takes only short paths for sockets, and drivers take a comma for the end of a host's name.
    """
    if len(os.fsencode(folder / Path(supervisor.SOCKET).name)) <= _LONGEST_SOCKET_PATH and "," not in str(folder):
        return folder
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    link = Path(tempfile.gettempdir()) / f"malipo-{os.geteuid()}-{name}"
    with contextlib.suppress(FileExistsError):
        link.symlink_to(folder)
    # Anybody may have put something there before us.
    if not link.is_symlink() or link.lstat().st_uid != os.geteuid() or link.readlink() != folder:
        raise EmbeddedError(f"{link} should be our link to {folder} and is something else: remove it.")
    return link


def _try_lock(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refusal(path: Path, since: int) -> str | None:
    """Why a supervisor gave up, from the log."""
    for line in _lines(path, since):
        if supervisor.REFUSES in line:
            reason = line.partition(supervisor.REFUSES)[2]
            return f"{reason}; {_end_of(path, since)}" if reason == supervisor.FAILED else reason
    return None


def _end_of(path: Path, since: int) -> str:
    lines = [line for line in _lines(path, since) if supervisor.REFUSES not in line]
    free = shutil.disk_usage(path).free // 2**20
    return f"the end of {path} says: " + (" | ".join(lines[-5:]) or f"nothing ({free} MB are free there).")


def _lines(path: Path, since: int) -> list[str]:
    with path.open("rb") as file:
        file.seek(since if since <= path.stat().st_size else 0)
        return file.read().decode(errors="replace").splitlines()
