"""An address that the server refuses is one sentence for the operator and 503 for callers, and no error of ours."""

import asyncio
import contextlib
import json
import struct
from collections.abc import Callable, Iterator

import aiohttp
import pytest

from malipo.db import AccessRefused, Database
from tests.conftest import COLLECTION, NO_LIMITS, Client, Running
from tests.journeys.concurrency import create
from tests.journeys.operator_commands import malipo
from tests.journeys.postgres_cluster import Cluster, a_cluster

PASSWORD = "the-right-one-0123456789"
WRONG = "the-wrong-one-9876543210"


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """A server that asks for a password and has no TLS."""
    with a_cluster() as cluster:
        cluster.ask(f"ALTER ROLE malipo PASSWORD '{PASSWORD}'")
        (cluster.data / "pg_hba.conf").write_text("host all all 127.0.0.1/32 scram-sha-256\n")
        cluster.run("pg_ctl", "-D", str(cluster.data), "reload")
        yield cluster


def address(server: Cluster, *, password: str = PASSWORD, database: str = "malipo", query: str = "") -> str:
    return f"postgresql://malipo:{password}@127.0.0.1:{server.port}/{database}{query}"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"password": WRONG}, "does not let malipo in (MALIPO_DATABASE_URL): password authentication failed for user"),
        ({"database": "elsewhere"}, 'has no such database (MALIPO_DATABASE_URL): database "elsewhere" does not exist'),
        ({"query": "?sslmode=require"}, "has no TLS, and MALIPO_DATABASE_URL asks for it"),
        ({"query": "?sslmode=verify-full&sslrootcert=/nowhere.pem"}, "names a file that is not there (sslrootcert)"),
    ],
    ids=["password", "database", "TLS", "certificate"],
)
async def test_what_is_wrong_with_the_address_is_one_sentence_without_the_password(
    server: Cluster, wrong: dict[str, str], sentence: str
) -> None:
    url = address(server, **wrong)
    async with Database.opened(url, size=2) as database:
        with pytest.raises(AccessRefused) as refused:
            async with database.read():
                raise AssertionError("nobody is let in")
    command = await malipo("migrate", database_url=url)

    assert sentence in str(refused.value)
    assert not refused.value.in_doubt
    assert command.code == 1
    assert command.err.count("\n") <= 2, command.err
    assert sentence in command.err
    for secret in (PASSWORD, WRONG):
        assert secret not in str(refused.value) + command.err


async def test_a_certificate_that_nobody_vouches_for_is_one_sentence(server: Cluster) -> None:
    for name in ("one", "other"):
        files = ("-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", "/CN=127.0.0.1", "-nodes", "-days", "2")
        server.run_program(
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-addext", "subjectAltName=IP:127.0.0.1", *files
        )
    certificate = (f"ssl_cert_file = '{server.folder}/one.crt'", f"ssl_key_file = '{server.folder}/one.key'")

    async def connect(authority: str) -> int:
        url = address(server, query=f"?sslmode=verify-full&sslrootcert={server.folder}/{authority}.crt")
        async with Database.opened(url, size=2) as database, database.read() as connection:
            return int(await connection.fetchval("SELECT 1"))

    await _reload(server, "ssl = on", *certificate)
    try:
        with pytest.raises(AccessRefused, match=r"^The certificate of PostgreSQL is not valid .*self-signed"):
            await connect("other")
        assert await connect("one") == 1
    finally:
        await _reload(server, "ssl = off")


async def _reload(server: Cluster, *settings: str) -> None:
    """Until its TLS is as these say."""
    server.configure(*settings)
    server.run("pg_ctl", "-D", str(server.data), "reload")
    has_tls = None
    while has_tls != ("ssl = on" in settings):
        async with Database.opened(address(server, query="?sslmode=require"), size=1) as database:
            try:
                async with database.read() as connection:
                    has_tls = bool(await connection.fetchval("SELECT true"))
            except AccessRefused:
                has_tls = False


async def test_callers_of_a_process_that_is_refused_get_503_and_its_log_says_why_once(
    start: Callable[..., Running], server: Cluster
) -> None:
    running = start("api", database_url=address(server, password=WRONG), database_patience_seconds=1, **NO_LIMITS)
    while "api.started" not in running.log.read_text():  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    async with aiohttp.ClientSession() as http:
        client = Client(http, running.url, "mlp_live_nobody")
        answers = [
            await create(client, COLLECTION, key="order-1"),
            await client("GET", "/v1/payments"),
            await client("GET", "/readyz"),
            await client("GET", "/healthz"),
        ]

    assert [answer.status for answer in answers] == [503, 503, 503, 200]
    assert answers[2].body == {"error": "The database refuses this process; its log says why."}
    lines = [json.loads(line) for line in running.log.read_text().splitlines() if "database.refused" in line]
    assert 1 <= len(lines) <= 2, "one for each pool, however many have tried"
    assert "password authentication failed" in lines[0]["message"]
    assert WRONG not in running.log.read_text()


async def test_a_pooler_that_drops_the_settings_of_a_session_is_refused_with_one_sentence(server: Cluster) -> None:
    """As PgBouncer with ignore_startup_parameters does: the session begins, and is not what was asked for."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_server = await asyncio.open_connection("127.0.0.1", server.port)
        (length,) = struct.unpack("!i", await reader.readexactly(4))
        hello = (await reader.readexactly(length - 4)).replace(b"malipo.session\0own\0", b"")
        to_server[1].write(struct.pack("!i", len(hello) + 4) + hello)
        await asyncio.gather(_pump(reader, to_server[1]), _pump(to_server[0], writer))

    pooler = await asyncio.start_server(pass_on, "127.0.0.1", 0)
    port = pooler.sockets[0].getsockname()[1]
    url = f"postgresql://malipo:{PASSWORD}@127.0.0.1:{port}/malipo?sslmode=disable"
    async with Database.opened(url, size=2) as database:
        with pytest.raises(AccessRefused, match="leads to a pooler such as PgBouncer"):
            async with database.read():
                raise AssertionError("nobody is let in")
    pooler.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(65536):
            writer.write(piece)
    writer.close()
