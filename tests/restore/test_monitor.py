"""A database that comes between two looks, and is not migrated yet, is no error of malipo."""

import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from malipo import clock, log
from malipo.api import health
from malipo.api.parts import ApiParts
from malipo.app.assemble import assemble
from malipo.bank.balance import find_seen
from malipo.db import Database
from malipo.db.schema_monitor import SchemaMonitor
from malipo.metrics.process_metrics import Metrics
from malipo.monitoring.collector import Collector
from malipo.restore.installation_monitor import InstallationMonitor
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, _create


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """What is logged."""
    stream = io.StringIO()
    before = log._Output.stream, log._Output.threshold
    handlers, level = logging.root.handlers[:], logging.root.level
    log.configure(level="info", stream=stream)
    yield stream
    log._Output.stream, log._Output.threshold = before
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def logged(stream: io.StringIO) -> list[dict[str, Any]]:
    log.flush()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
async def empty(postgres: str, tmp_path: Path) -> AsyncIterator[Database]:
    """A database that lets malipo in, and has no table."""
    async with Database.opened(await _create(postgres, f"empty_{tmp_path.name[-20:]}"), size=2) as database:
        yield database


@pytest.fixture
async def unseen(tmp_path: Path) -> AsyncIterator[SchemaMonitor]:
    """It has looked while no database was there."""
    async with Database.opened(f"postgresql://malipo@/malipo?host={tmp_path}", size=1) as away:
        yield SchemaMonitor(away)


async def test_a_database_that_comes_after_the_look_at_its_schema_is_looked_at_again(
    empty: Database, unseen: SchemaMonitor, stream: io.StringIO
) -> None:
    monitor = InstallationMonitor(empty)
    seen, monitor.schema = monitor.schema, unseen
    await monitor.look()
    assert logged(stream) == []

    monitor.schema = seen
    await monitor.look()
    [line] = logged(stream)
    assert (line["event"], line["reason"]) == (
        "schema.not_served",
        "The database has no schema yet: run malipo migrate.",
    )


async def test_a_process_is_not_ready_before_it_has_seen_the_schema(
    empty: Database, unseen: SchemaMonitor, stream: io.StringIO
) -> None:
    service = assemble(Settings(**NO_LIMITS), empty)
    service.health.monitor.schema = unseen
    scope = {"type": "http", "method": "GET", "path": "/readyz", "headers": [], "query_string": b""}
    answer = await health.readyz(ApiParts.of(service), Request(scope))
    assert answer.status_code == 503
    assert "The schema of the database was not seen yet." in bytes(answer.body).decode()
    assert logged(stream) == []


async def test_gauges_of_a_database_that_is_not_migrated_are_no_error(empty: Database, stream: io.StringIO) -> None:
    schema = SchemaMonitor(empty)
    collector = Collector(empty, Metrics().money, Settings(**NO_LIMITS), clock.now, schema, find_seen)
    await collector.look()
    assert [line["event"] for line in logged(stream)] == ["schema.not_served"]


async def test_a_schema_that_was_looked_at_is_checked_again_when_a_row_of_it_changes(database: Database) -> None:
    monitor = InstallationMonitor(database)
    await monitor.look()
    assert monitor.schema.is_served
    assert monitor.epoch == 1

    for change, undo in [
        ("UPDATE schema_migrations SET checksum = 'x' WHERE number = 7", None),
        (
            "INSERT INTO schema_migrations (number, name, checksum, serves) VALUES (9999, 'later', 'x', 9999)",
            "DELETE FROM schema_migrations WHERE number = 9999",
        ),
    ]:
        async with database.begin() as tx:
            before = await tx.fetchval("SELECT checksum FROM schema_migrations WHERE number = 7")
            await tx.execute(change)
        await monitor.look()
        assert monitor.schema.is_served is False, change
        await monitor.look()
        assert monitor.schema.is_served is False, change
        async with database.begin() as tx:
            await tx.execute(undo or f"UPDATE schema_migrations SET checksum = '{before}' WHERE number = 7")
        await monitor.look()
        assert monitor.schema.is_served, change


async def test_what_becomes_of_the_installation_is_seen_while_the_schema_stays(database: Database) -> None:
    monitor = InstallationMonitor(database)
    await monitor.look()
    assert (monitor.is_fenced, monitor.is_held) == (0, 0)
    async with database.begin() as tx:
        await tx.execute("UPDATE installation SET fenced_at = now(), epoch = 2")
    await monitor.look()
    assert (monitor.is_fenced, monitor.epoch) == (1, 2)
