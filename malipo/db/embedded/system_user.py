"""Become a user that PostgreSQL accepts: it refuses root, and initdb refuses a user without a name.

It runs as a script in an interpreter of its own (`python -I -S system_user.py …`), and like `supervisor.py`, which
calls it, it imports nothing of malipo. So what both say in the log is written in both.

    own FOLDER                            see that FOLDER can be reached by a user that PostgreSQL accepts
    run FOLDER PARENT SIGNAL PROGRAM …    become PROGRAM, which gets SIGNAL when PARENT dies
"""

import contextlib
import ctypes
import os
import pwd
import signal
import sys
import time
from typing import NoReturn

REFUSES = "supervisor refuses: "


def own(folder: str) -> None:
    """A folder of root's own becomes nobody's if PostgreSQL has no other way."""
    try:
        if os.stat(folder).st_uid == 0 and not _may_enter_namespace():
            _give_to_nobody(folder)
    except OSError as error:
        refuse(f"PostgreSQL could not be started in {folder}: {error}.")


def run(folder: str, parent: str, death: str, program: str, *arguments: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        if os.geteuid() == 0 or (_is_nameless() and _may_enter_namespace()):
            _enter_namespace()
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            refuse(
                f"PostgreSQL does not run as root, and without root's powers {folder} cannot be reached: "
                "choose a data folder below one that everybody may enter, or run malipo as an ordinary user."
            )
        if sys.platform == "linux":
            # After the namespace, which forgets it. A parent that died before this line sends no signal.
            _libc().prctl(1, int(death))  # PR_SET_PDEATHSIG
            if os.getppid() != int(parent):
                sys.exit(1)
        os.execv(program, [program, *arguments])  # noqa: S606
    except OSError as error:
        refuse(f"{program} could not be run: {error.strerror}.")


def _give_to_nobody(folder: str) -> None:
    user, group = _nobody()
    say(f"This kernel allows no user namespace to PostgreSQL, so {folder} is given to the user {user}.")
    data_dir = os.path.dirname(folder)
    mode = os.stat(data_dir).st_mode & 0o777
    if not mode & 0o001:  # The folder above is malipo's too. Those above that are not ours to open.
        os.chown(data_dir, -1, group)
        os.chmod(data_dir, mode | 0o010)  # noqa: S103
    # The folder itself comes last: while it is root's, the work is not done.
    for path, folders, files in os.walk(folder, topdown=False):
        for name in (*folders, *files):
            os.chown(os.path.join(path, name), user, group, follow_symlinks=False)
    os.chown(folder, user, group)


def _may_enter_namespace() -> bool:
    """Try it in a child: a process for which it fails half-way is good for nothing afterwards."""
    if sys.platform != "linux":
        return False
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            _enter_namespace()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _enter_namespace() -> None:
    """Be `nobody` in a namespace of our own, and still ourselves to the files outside: no chown, no new user."""
    user, group = os.geteuid(), os.getegid()
    inner_user, inner_group = _nobody()
    libc = _libc()
    if libc.unshare(0x10000000) != 0:  # CLONE_NEWUSER
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{inner_user} {user} 1"),
        ("gid_map", f"{inner_group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _nobody() -> tuple[int, int]:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return 65534, 65534
    return entry.pw_uid, entry.pw_gid


def _is_nameless() -> bool:
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return True
    return False


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def say(text: str, *, how: str = "supervisor: ") -> None:
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    with contextlib.suppress(OSError):  # The disk may be full.
        os.write(2, f"{when} [{os.getpid()}] {how}{text}\n".encode(errors="replace"))


def refuse(reason: str) -> NoReturn:
    """End with a sentence for the operator, as the supervisor does."""
    say(reason, how=REFUSES)
    sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1] == "own":
        own(*sys.argv[2:])
    else:
        run(*sys.argv[2:])
