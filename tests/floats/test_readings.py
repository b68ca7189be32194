"""Readings: statements note what they close with, the latest of each account is found, and old ones are pruned."""

from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

from malipo import clock
from malipo.db import Database
from malipo.floats import store
from malipo.floats.note_readings import note_closing
from malipo.floats.position import FloatReading, Source
from malipo.networks.connector import Channel
from tests.conftest import NOBODY
from tests.reconciliation.test_import_statement import ENTRIES, START, imported, write

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


async def latest(database: Database) -> list[FloatReading]:
    async with database.read() as connection:
        return await store.find_latest(connection)


async def test_a_statement_is_a_reading_of_its_end_and_an_older_one_does_not_hide_it(
    database: Database, tmp_path: Path
) -> None:
    total = sum(amount for _, amount in ENTRIES)
    await imported(database, write(tmp_path / "later.csv", ENTRIES, first=10, opening=500))
    await imported(database, write(tmp_path / "earlier.csv", [("Q1", 500)], hours=9), accepts_problems=True)
    [found] = await latest(database)
    assert found == FloatReading(
        "TIGO_PESA", "", 500 + total, Source.STATEMENT, START + timedelta(hours=20), NOBODY.name, False
    )


async def test_a_statement_that_does_not_add_up_or_says_no_balance_is_no_reading(
    database: Database, tmp_path: Path
) -> None:
    path = write(tmp_path / "wrong.csv", ENTRIES)
    path.write_text(path.read_text().replace("closing balance,", "closing balance,1"))
    assert (await imported(database, path, accepts_problems=True)).file.problems
    async with database.begin() as tx:
        for closing, ends_at in ((None, NOON), (5, None)):
            await note_closing(tx, Channel.MPESA, "", closing, ends_at=ends_at, actor=NOBODY, now=NOON)
    assert await latest(database) == []


async def test_a_statement_of_a_day_that_is_not_over_is_not_read_in_the_future(database: Database) -> None:
    async with database.begin() as tx:
        later = NOON + timedelta(hours=9)
        await note_closing(tx, Channel.MPESA, "", 5, ends_at=later, actor=NOBODY, now=NOON)
    assert [each.read_at for each in await latest(database)] == [NOON]


async def test_the_latest_of_each_is_found_among_many_and_survives_the_pruning(database: Database) -> None:
    kinds = [*product(["MPESA", "HALOPESA"], ["", "b", "clickpesa"], Source)]
    readings = [
        FloatReading(channel, account, minute, source, NOON - timedelta(minutes=minute), "x")
        for (channel, account, source), minute in product(kinds, range(5, 60, 5))
    ]
    async with database.begin() as tx:
        await store.insert(tx, readings)
        expected = sorted(each for each in readings if each.amount == 5)
        assert sorted(await store.find_latest(tx)) == expected
        assert [await store.is_read_since(tx, "MPESA", "b", NOON - timedelta(minutes=m)) for m in (4, 5, 6)] == [
            False,
            False,
            True,
        ]

        pruned = [await store.prune(tx, before=NOON - timedelta(minutes=1), most=40) for _ in range(3)]
        assert pruned == [40, 20, 0], "what networks said six times, but for the latest"
        assert sorted(await store.find_latest(tx)) == expected
        assert await tx.fetchval("SELECT count(*) FROM float_readings WHERE source <> 'network'") == 12 * 11


async def test_a_reading_is_no_money(database: Database) -> None:
    async with database.begin() as tx:
        await store.insert(tx, [FloatReading("MPESA", "", 10**9, Source.NETWORK, clock.now(), "x")])
        assert await tx.fetchval("SELECT count(*) FROM moves") == 0
        assert await store.find_ledger_floats(tx) == {}
