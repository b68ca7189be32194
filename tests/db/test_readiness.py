"""/readyz when the database is away, takes no writes, or refuses us."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from starlette.requests import Request

from malipo import clock
from malipo.api.health import readyz
from malipo.api.parts import ApiParts
from malipo.app.assemble import Service, assemble
from malipo.db import Database, ReadOnly
from malipo.restore import hold
from malipo.settings import Settings
from tests.conftest import NOBODY
from tests.journeys.postgres_proxy import PostgresProxy, proxy_to

GRACE = replace(Settings(), ready_grace_seconds=300)
NO_GRACE = replace(Settings(), ready_grace_seconds=0)


async def look(service: Service) -> tuple[int, str]:
    """The status, and the reason or the warning."""
    answer = await readyz(
        ApiParts.of(service), Request({"type": "http", "method": "GET", "path": "/readyz", "headers": []})
    )
    body = json.loads(bytes(answer.body))
    return answer.status_code, body["error"] if "error" in body else " ".join(body.get("warnings", []))


@pytest.fixture
async def by_proxy(database_url: str) -> AsyncIterator[tuple[PostgresProxy, Database]]:
    async with proxy_to(database_url) as (proxy, url), Database.opened(url, size=4) as database:
        yield proxy, database


async def make_read_only(database: Database, *, is_read_only: bool) -> None:
    """For sessions that begin from now on; all others end."""
    async with database.begin() as tx:
        await tx.execute("SET TRANSACTION READ WRITE")
        name, value = await tx.fetchval("SELECT current_database()"), "on" if is_read_only else "off"
        await tx.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = {value}')
    async with database.read() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.terminate()


async def test_a_database_that_is_away_is_a_warning_at_first_and_the_process_is_ready_again_when_it_comes(
    by_proxy: tuple[PostgresProxy, Database],
) -> None:
    proxy, database = by_proxy
    service = assemble(GRACE, database)
    assert await look(service) == (200, "")
    proxy.go_away()

    status, warning = await look(service)
    assert status == 200
    assert warning.startswith("The database does not answer. Requests wait for it")

    proxy.come_back()
    assert await look(service) == (200, "")


async def test_without_a_grace_or_after_it_the_process_is_not_ready(
    by_proxy: tuple[PostgresProxy, Database],
) -> None:
    proxy, database = by_proxy
    service = assemble(NO_GRACE, database)
    assert await look(service) == (200, "")
    proxy.go_away()

    assert await look(service) == (503, "The database does not answer.")
    proxy.come_back()
    assert await look(service) == (200, "")


async def test_a_process_that_was_never_ready_has_no_grace(by_proxy: tuple[PostgresProxy, Database]) -> None:
    proxy, database = by_proxy
    proxy.go_away()
    service = assemble(GRACE, database)

    assert await look(service) == (503, "The database does not answer.")
    assert await look(service) == (503, "The database does not answer.")


async def test_a_process_that_was_on_hold_when_the_database_went_has_no_grace(
    by_proxy: tuple[PostgresProxy, Database],
) -> None:
    proxy, database = by_proxy
    service = assemble(GRACE, database)
    assert await look(service) == (200, "")
    async with database.begin() as tx:
        await hold.hold(tx, [], "why", actor=NOBODY, now=clock.now())
    assert (await look(service))[0] == 503
    proxy.go_away()

    assert await look(service) == (503, "The database does not answer.")


@pytest.mark.parametrize("settings", [GRACE, NO_GRACE], ids=["grace", "no grace"])
async def test_a_read_only_database_is_named_so_and_is_not_ready_after_the_grace(
    database: Database, settings: Settings
) -> None:
    service = assemble(settings, database)
    assert await look(service) == (200, "")
    await make_read_only(database, is_read_only=True)
    read_only = "The database takes no writes: it is a standby, or set to read-only."

    status, said = await look(service)
    assert said.startswith(read_only)
    assert status == (200 if settings is GRACE else 503)
    assert await look(assemble(GRACE, database)) == (503, read_only), "a process that begins there"

    await make_read_only(database, is_read_only=False)
    assert await look(service) == (200, "")


async def test_a_connection_on_which_a_write_was_refused_as_read_only_is_not_used_again(database: Database) -> None:
    """The address may lead to the new primary by now; a kept connection never would."""
    await make_read_only(database, is_read_only=True)
    async with database.read() as connection:
        read_only = await connection.fetchval("SELECT pg_backend_pid()")
    with pytest.raises(ReadOnly):
        async with database.begin() as tx:
            await tx.execute("CREATE TABLE written (number int)")
    async with database.read() as connection:
        assert await connection.fetchval("SELECT pg_backend_pid()") != read_only
    await make_read_only(database, is_read_only=False)
