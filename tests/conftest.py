"""The fixtures of all tests: a real PostgreSQL, a fresh migrated database for each test, and the real service over HTTP."""

import asyncio
import fcntl
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import asyncpg
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.ledger.bookings import BookingKind, book
from malipo.merchants import issue_api_keys, onboard
from malipo.merchants.api_keys import Environment, KeyTerms, Permission
from malipo.settings import Settings
from tests import fork_server, order, progress, side_by_side, times
from tests.drills.summary import pytest_terminal_summary as pytest_terminal_summary
from tests.kept_database import KeptDatabase
from tests.order import pytest_collection_modifyitems as pytest_collection_modifyitems


def pytest_addoption(parser: pytest.Parser) -> None:
    times.pytest_addoption(parser)
    order.pytest_addoption(parser)
    side_by_side.pytest_addoption(parser)


def pytest_configure(config: pytest.Config) -> None:
    times.pytest_configure(config)
    order.pytest_configure(config)
    progress.pytest_configure(config)
    side_by_side.pytest_configure(config)


# How long something takes on a shared machine says nothing about it. (In CI this is so already.)
hypothesis_settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if "CI" not in os.environ:
    hypothesis_settings.load_profile("untimed")

SECRET_KEY = "a-secret-that-is-long-enough-for-tests"
# What most tests want: no limits, and no mark, because their workers come and go as no host's would.
NO_LIMITS: dict[str, Any] = {
    "rate_limit_create": 0,
    "rate_limit_list": 0,
    "rate_limit_other": 0,
    "rate_limit_session": 0,
    "rate_limit_person": 0,
    "state_dir": "none",
}


NOBODY = Actor("test", "test")
TEMPLATE = "template"
# How long the tests' own pools wait for a connection, and tests for a fact: a busy machine stops a server for longer than
# an operator would wait for it, and that says nothing about what is tested.
PATIENCE_SECONDS = 240.0
# The address of a PostgreSQL that is there already, with the template in it (`scripts/faults`).
SHARED_POSTGRES = "MALIPO_TESTS_POSTGRES"
_STARTED_WHOLE = ("serve", "demo")  # They have children, and a database, of their own.
# Each process reads the machine's certificate authorities three times as it starts, for 0.15 s of a processor. Tests have
# servers of their own only.
_NO_AUTHORITIES = {"SSL_CERT_FILE": os.devnull}


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """With the event loop that the service runs on."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL that lives as long as the tests, with the template in it."""
    if shared := os.environ.get(SHARED_POSTGRES):
        yield shared
        return
    folder = tmp_path_factory.mktemp("postgres")
    base = request.config.stash.get(side_by_side.BASE, None)
    if base is None:
        make_cluster(folder)
    else:
        shutil.copytree(_cluster_in(base), folder, symlinks=True, dirs_exist_ok=True)
    with server(folder) as url:
        times.look_at_postgres(folder / "postgres" / "data")
        asyncio.run(_prepare_copies(url))
        yield url
    # pytest keeps the folder of a run in which a test has failed. The log stays.
    shutil.rmtree(folder / "postgres" / "data", ignore_errors=True)


def _cluster_in(base: Path) -> Path:
    """Made by the first process of a run that needs it; the others copy it too."""
    with (base / "cluster.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = base / "cluster"
        if not (base / "cluster.made").exists():
            folder.mkdir(exist_ok=True)
            make_cluster(folder)
            (base / "cluster.made").touch()
    return folder


def make_cluster(folder: Path) -> None:
    """A PostgreSQL with a migrated database that every test gets a copy of."""
    with server(folder) as url:
        asyncio.run(hasten(url))
        asyncio.run(_make_template(url))


async def _make_template(url: str) -> None:
    async with Database.opened(await _create(url, TEMPLATE), size=4) as database:
        await migrate(database)


async def hasten(url: str) -> None:
    """Switch fsync and vacuum off: only a crash of the machine could show the difference, not one of a process."""
    connection = await asyncpg.connect(url)
    try:
        # Heard at the next start. The services that many tests share, and the tests' own pools, need more than 100.
        await connection.execute("ALTER SYSTEM SET max_connections = 300")
        for setting in ("fsync", "full_page_writes", "autovacuum"):
            await connection.execute(f"ALTER SYSTEM SET {setting} = off")
        # A test runs most statements once or twice on a connection. They are planned once, and not for each call.
        await connection.execute("ALTER SYSTEM SET plan_cache_mode = force_generic_plan")
        # To find the best order of ten tables takes the planner ten times as long as to read ten rows of each.
        for setting in ("join_collapse_limit", "from_collapse_limit"):
            await connection.execute(f"ALTER SYSTEM SET {setting} = 4")
        # A checkpoint would write out what no test will ever read again.
        await connection.execute("ALTER SYSTEM SET checkpoint_timeout = '1h'")
        await connection.execute("SELECT pg_reload_conf()")
    finally:
        await connection.close()


async def _prepare_copies(url: str) -> None:
    """A server that starts removes what it has noted of the catalogues, and whoever connects first notes it again, for
    six milliseconds of a processor. Noted in the template, it is in every copy."""
    await (await asyncpg.connect(named(url, TEMPLATE))).close()


def named(url: str, database: str) -> str:
    """The same server, another database."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{database}"))


async def _create(url: str, name: str, *, template: str = "template1") -> str:
    connection = await asyncpg.connect(url)
    try:
        # A copy of the files writes no log of them, and its checkpoints cost nothing where nobody waits for the disk.
        await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY = FILE_COPY')
    finally:
        await connection.close()
    return named(url, name)


@pytest.fixture(scope="session")
def template(postgres: str) -> str:
    """The migrated database that every test gets a copy of."""
    return TEMPLATE


@pytest.fixture(scope="session")
async def kept_database(postgres: str, template: str) -> AsyncIterator[KeptDatabase]:
    """Of all files that a process runs: what its connections have planned for one file is planned for the next."""
    kept = KeptDatabase(lambda: create_database(postgres, template), lambda url: drop_if_idle(postgres, url))
    yield kept
    await kept.leave()


def leave_shared_loop(request: Any) -> None:
    """For a file with an event loop of another kind: the kept database holds the one that other files share."""
    for each in request._fixturemanager.getfixturedefs("kept_database", request.node):
        each.finish(request)


@pytest.fixture
async def database_url(
    request: pytest.FixtureRequest, postgres: str, template: str, kept_database: KeptDatabase
) -> AsyncIterator[str]:
    """Where nothing has happened. Only a test that has a pool of its own gets a database that was used before."""
    if "database" in request.fixturenames:
        yield await kept_database.take()
        return
    url = await create_database(postgres, template)
    yield url
    await drop_if_idle(postgres, url)


async def drop_if_idle(postgres: str, url: str) -> None:
    """What is dropped soon is never written to the disk: a whole run would be ten gigabytes. Not from under a process."""
    connection = await asyncpg.connect(postgres)
    try:
        name = urlsplit(url).path.removeprefix("/")
        if not await connection.fetchval("SELECT count(*) FROM pg_stat_activity WHERE datname = $1", name):
            with suppress(asyncpg.ObjectInUseError):
                await connection.execute(f'DROP DATABASE IF EXISTS "{name}"')
    finally:
        await connection.close()


async def create_database(postgres: str, template: str) -> str:
    """A migrated database of one's own."""
    return await _create(postgres, f"test_{secrets.token_hex(6)}", template=template)


@pytest.fixture
async def database(database_url: str, kept_database: KeptDatabase) -> AsyncIterator[Database]:
    """With many connections, so that requests really run at once."""
    async with kept_database.opened(database_url, size=20, connect_seconds=PATIENCE_SECONDS) as database:
        yield database


@pytest.fixture
def settings() -> Settings:
    return Settings(**NO_LIMITS)


@pytest.fixture
async def service(database: Database, settings: Settings) -> AsyncIterator[Service]:
    service = assemble(settings, database)
    yield service
    await service.finish()


@dataclass(frozen=True)
class Merchant:
    id: str
    key: str


async def make_merchant(
    database: Database, *, wallet: int = 0, permissions: tuple[Permission, ...] = tuple(Permission), name: str = "Duka"
) -> Merchant:
    now = clock.now()
    async with database.begin() as tx:
        merchant_id = await onboard.create_merchant(tx, name, actor=NOBODY, now=now)
        if wallet:
            await book(tx, BookingKind.TOP_UP, merchant_id, wallet, reference=secrets.token_hex(8), now=now)
        key = await issue_api_keys.create_key(
            tx,
            merchant_id,
            KeyTerms(name="test", permissions=tuple(permissions), environment=Environment.LIVE, brand="mlp"),
            actor=NOBODY,
            now=now,
        )
    return Merchant(merchant_id, key.text)


@pytest.fixture
async def merchant(database: Database) -> Merchant:
    """A merchant with TZS 1,000,000."""
    return await make_merchant(database, wallet=1_000_000)


# Below those that the system gives to outgoing connections: of such a port another test's connection may be the owner
# before the process that was given it listens, which then ends with exit code 1.
_PORTS = range(10_000, 32_768)


def free_port() -> int:
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@dataclass
class Running:
    """A malipo process of our own."""

    process: subprocess.Popen[bytes] | fork_server.Child
    url: str
    log: Path

    def stop(self, *, seconds: float = PATIENCE_SECONDS) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts `malipo COMMAND` with these settings and nothing else in its environment; stops it after the test."""
    with starting(tmp_path) as start_one:
        yield start_one


@contextmanager
def starting(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start_one(*command: str, **settings: Any) -> Running:
        port = settings.pop("port", None) or free_port()
        log = tmp_path / f"malipo-{len(started)}.log"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "MALIPO_PORT": str(port),
            "MALIPO_SECRET_KEY": SECRET_KEY,
            "MALIPO_DATA_DIR": str(tmp_path / "var"),
            **{
                name if name.startswith("OTEL_") else f"MALIPO_{name.upper()}": str(value)
                for name, value in settings.items()
            },
        }
        with log.open("ab") as output:
            process: subprocess.Popen[bytes] | fork_server.Child
            if command[0] in _STARTED_WHOLE:
                whole = [sys.executable, "-m", "malipo", *command]
                own = environment | _NO_AUTHORITIES
                process = subprocess.Popen(whole, env=own, stdout=output, stderr=output, cwd=tmp_path)
            else:
                process = fork_server.run_module(
                    "malipo", *command, env=environment, stdout=output, stderr=output, cwd=tmp_path
                )
        started.append(Running(process, f"http://127.0.0.1:{port}", log))
        return started[-1]

    try:
        yield start_one
    finally:
        for each in started:
            each.stop()


async def until_ready(running: Running, *, seconds: float = PATIENCE_SECONDS) -> Running:
    """Return when it can take payments."""
    deadline = asyncio.get_running_loop().time() + seconds
    async with aiohttp.ClientSession() as http:
        while True:
            try:
                async with http.get(f"{running.url}/readyz") as answer:
                    if answer.status == 200:
                        return running
            except aiohttp.ClientError:
                pass
            assert running.process.poll() is None, running.log.read_text()
            assert asyncio.get_running_loop().time() < deadline, running.log.read_text()
            await asyncio.sleep(0.05)


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: Any

    @property
    def code(self) -> str | None:
        value: str | None = self.headers.get("X-Error-Code")
        return value


class Client:
    """A merchant's program, speaking to a running malipo."""

    def __init__(self, http: aiohttp.ClientSession, url: str, key: str | None) -> None:
        self._http = http
        self.url = url
        self.key = key

    def as_(self, key: str | None) -> "Client":
        return Client(self._http, self.url, key)

    def at(self, url: str) -> "Client":
        """The same program at another address."""
        return Client(self._http, url, self.key)

    async def status(self, method: str, path: str, body: Any = None, *, headers: dict[str, str]) -> int:
        """Only the status, whatever the form of the body."""
        async with self._http.request(method, self.url + path, headers=headers, json=body) as answer:
            return answer.status

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        sent = dict(headers or {})
        if self.key is not None:
            sent.setdefault("x-api-key", self.key)
        extra: dict[str, Any] = {"data": raw} if raw is not None else {"json": body} if body is not None else {}
        async with self._http.request(method, self.url + path, headers=sent, **extra) as answer:
            return Answer(answer.status, await answer.json() if method != "HEAD" else None, answer.headers)


@pytest.fixture
async def api(start: Callable[..., Running], database_url: str, merchant: Merchant) -> AsyncIterator[Client]:
    """The real service over HTTP, without rate limits, called by the merchant."""
    running = await until_ready(start("api", database_url=database_url, **NO_LIMITS))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        yield Client(http, running.url, merchant.key)


COLLECTION = {"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000001", "buyerName": "Asha"}
PAYOUT = {"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": "+255684000001", "recipientName": "Juma"}
