"""The file in which an operator's session at the command line is kept. Only its owner may be able to read it."""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from malipo.errors import Forbidden, Impossible
from malipo.settings import Settings

_ACCOUNT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


def path_of(settings: Settings) -> Path:
    """The session file of this machine's user, not of the service: two users on one machine have two sessions."""
    if settings.operator_session is not None:
        return settings.operator_session
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    except RuntimeError:
        raise Impossible("This user has no home folder: set MALIPO_OPERATOR_SESSION to a file.") from None
    return Path(state) / f"malipo/operator-session{_person(os.environ)}"


def _person(environment: Mapping[str, str]) -> str:
    """A suffix for the person who runs sudo, because each of them has a session of their own."""
    name = environment.get("SUDO_USER", "")
    return f".{name}" if _ACCOUNT.fullmatch(name) else ""


def read(path: Path) -> str | None:
    """The secret of the session; None if there is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _trouble(path, error) from None
    with os.fdopen(descriptor) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise Forbidden(f"{path} must be a file of yours that nobody else can read (chmod 600).")
        return file.read(1000).strip()


def write(path: Path, secret: str) -> None:
    """Written beside it and moved into place, so that nobody's open file becomes ours."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secret + "\n")
        new.replace(path)
    except OSError as error:
        raise _trouble(path, error) from None


def remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _trouble(path, error) from None


def _trouble(path: Path, error: OSError) -> Impossible:
    return Impossible(
        f"The session's file {path} cannot be used: {error.strerror}. Set MALIPO_OPERATOR_SESSION to another."
    )
