"""Imports: the same file twice, files that overlap, files that do not add up, and two imports at once."""

import asyncio
import csv
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.db import Database
from malipo.errors import Refusal
from malipo.network_statements.profile import built_in
from malipo.networks.connector import Channel
from malipo.reconciliation.imports.import_statement import (
    BadLines,
    DoesNotAddUp,
    ImportResult,
    StatementImport,
    import_statement,
)
from malipo.reconciliation.statements.store import statements
from malipo.words.say import say
from tests.conftest import NOBODY
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until

ZONE = ZoneInfo("Africa/Dar_es_Salaam")
START = datetime(2026, 11, 1, tzinfo=ZONE)
Entry = tuple[str, int]  # a receipt and an amount; one an hour


def write(path: Path, entries: Sequence[Entry], *, first: int = 0, opening: int = 0, hours: int | None = None) -> Path:
    """A file of the generic layout that covers the hours of its lines."""
    begins = START + timedelta(hours=first)
    ends = begins + timedelta(hours=len(entries) if hours is None else hours)
    closing = opening + sum(amount for _, amount in entries)
    rows: list[list[object]] = [["opening balance", opening], ["closing balance", closing]]
    rows += [["from", f"{begins:%Y-%m-%d %H:%M}"], ["to", f"{ends:%Y-%m-%d %H:%M}"]]
    rows.append(["receipt", "time", "amount", "balance"])
    balance = opening
    for number, (receipt, amount) in enumerate(entries):
        balance += amount
        rows.append([receipt, f"{begins + timedelta(hours=number):%Y-%m-%d %H:%M}", amount, balance])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


async def imported(
    database: Database,
    path: Path,
    *,
    accepts_problems: bool = False,
    is_new_account: bool = True,
    account: str = "",
    progress: Callable[[int], None] = lambda lines: None,
) -> ImportResult:
    async with database.begin() as tx:
        return await import_statement(
            tx,
            StatementImport(
                path,
                channel=Channel.TIGO_PESA,
                account=account,
                profile=built_in()["generic"],
                accepts_problems=accepts_problems,
                is_new_account=is_new_account,
                progress=progress,
            ),
            actor=NOBODY,
            now=clock.now(),
        )


async def lines(database: Database) -> list[tuple[str, int]]:
    async with database.read() as connection:
        found = await connection.fetch("SELECT receipt, amount FROM statement_lines ORDER BY receipt, amount")
    return [(row["receipt"], row["amount"]) for row in found]


ENTRIES = [(f"R{number}", 1000 + number) for number in range(10)]


async def test_the_same_file_is_imported_once(database: Database, tmp_path: Path) -> None:
    path = write(tmp_path / "one.csv", ENTRIES)
    first = await imported(database, path)
    assert (first.is_repeat, first.file.line_count, first.file.new_count) == (False, 10, 10)
    again = await imported(database, path.rename(tmp_path / "renamed.csv"))
    assert (again.is_repeat, again.file) == (True, first.file)
    assert await lines(database) == ENTRIES
    async with database.read() as connection:
        noted = [each.action for each in await audit_log.find(connection, limit=10)]
    assert noted == ["statement.imported"]


async def test_files_that_overlap_have_each_line_once(database: Database, tmp_path: Path) -> None:
    halves = [
        write(tmp_path / "a.csv", ENTRIES[:6]),
        write(tmp_path / "b.csv", ENTRIES[4:], first=4, opening=sum(amount for _, amount in ENTRIES[:4])),
    ]
    found = [(await imported(database, path)).file.new_count for path in halves]
    assert found == [6, 4]
    assert await lines(database) == ENTRIES


async def test_lines_in_any_order_are_the_same_lines(database: Database, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ENTRIES)
    await imported(database, path)
    *heading, header = path.read_text().splitlines()[:5]
    shuffled = path.read_text().splitlines()[5:]
    random.Random(1).shuffle(shuffled)
    (tmp_path / "b.csv").write_text("\n".join([*heading, header, *shuffled]))
    with pytest.raises(DoesNotAddUp):
        await imported(database, tmp_path / "b.csv")
    # Its balances are in no order, but an operator may know why.
    assert (await imported(database, tmp_path / "b.csv", accepts_problems=True)).file.new_count == 0
    assert await lines(database) == ENTRIES


async def test_a_receipt_that_repeats_is_as_many_lines_as_there_are(database: Database, tmp_path: Path) -> None:
    """Another hour, another amount, and twice in everything: all of it happened."""
    entries = [("R", 500), ("R", 500), ("R", -20)]
    path = write(tmp_path / "a.csv", entries)
    text = path.read_text().replace("2026-11-01 01:00", "2026-11-01 00:00")
    path.write_text(text)
    assert (await imported(database, path)).file.new_count == 3
    other = write(tmp_path / "b.csv", [("R", 500)], first=3, opening=980)
    assert (await imported(database, other)).file.new_count == 1
    assert await lines(database) == [("R", -20), ("R", 500), ("R", 500), ("R", 500)]


async def test_each_account_has_lines_of_its_own(database: Database, tmp_path: Path) -> None:
    for number, name in enumerate(("till 1", "till 2")):
        path = write(tmp_path / f"{number}.csv", [(f"{number}{receipt}", amount) for receipt, amount in ENTRIES])
        assert (await imported(database, path, account=name)).file.new_count == 10


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (("opening balance,0", "opening balance,5"), "The heading opens with 5, the lines with 0."),
        (("R3,2026-11-01 03:00,1003,4006", "R3,2026-11-01 03:00,1003,4106"), "Row 9 says that the balance is 4,106"),
        (("closing balance,10045", "closing balance,10046"), "The heading closes with 10,046"),
    ],
)
async def test_a_file_that_does_not_add_up_changes_nothing(
    database: Database, tmp_path: Path, change: tuple[str, str], reported: str
) -> None:
    path = write(tmp_path / "a.csv", ENTRIES)
    assert change[0] in path.read_text()
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(DoesNotAddUp) as refused:
        await imported(database, path)
    assert reported in say(refused.value.problems[0])
    assert await lines(database) == []
    # Accepted, it is kept with its problems, and proves nothing by what it does not have.
    accepted = await imported(database, path, accepts_problems=True)
    assert (len(accepted.file.problems) > 0, accepted.file.is_whole) == (True, False)


async def test_a_file_that_opens_with_another_balance_than_the_last_one_closed_is_refused(
    database: Database, tmp_path: Path
) -> None:
    first = write(tmp_path / "day1.csv", ENTRIES[:5])
    assert (await imported(database, first)).file.is_whole
    with pytest.raises(DoesNotAddUp) as refused:
        await imported(database, write(tmp_path / "day2.csv", ENTRIES[5:], first=5, opening=5011))
    assert list(map(say, refused.value.problems)) == [
        "It opens with 5,011, and day1.csv, which ends where it begins, closes with 5,010: 1 differ."
    ]


async def test_a_missing_day_is_reported_and_may_be_imported_later(database: Database, tmp_path: Path) -> None:
    days = [
        write(tmp_path / f"day{day}.csv", [(f"R{day}", 100)], first=24 * day, hours=24, opening=100 * day)
        for day in range(3)
    ]
    assert (await imported(database, days[0])).uncovered is None
    uncovered = (await imported(database, days[2])).uncovered
    assert uncovered is not None
    assert say(uncovered) == (
        "No statement covers the time from 2026-11-02 00:00:00 to 2026-11-03 00:00:00, in which the balance changed "
        "by +100."
    )
    assert (await imported(database, days[1])).uncovered is None


async def test_every_bad_line_is_reported_and_nothing_is_stored(database: Database, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ENTRIES)
    path.write_text(path.read_text().replace(",1003,", ",ten,").replace("R7,", ","))
    with pytest.raises(BadLines) as refused:
        await imported(database, path)
    assert list(map(say, refused.value.problems)) == [
        "Row 9: The amount is 'ten', which is not an amount.",
        "Row 13: The receipt is missing.",
    ]
    assert await lines(database) == []


async def test_of_very_many_bad_lines_some_are_reported(database: Database, tmp_path: Path) -> None:
    rows = "\n".join(f",2026-11-01 10:00,{number}" for number in range(1000))
    (tmp_path / "a.csv").write_text(f"receipt,time,amount\n{rows}\n")
    with pytest.raises(BadLines) as refused:
        await imported(database, tmp_path / "a.csv")
    assert len(refused.value.problems) == 21


async def test_imports_at_once_keep_each_line_once(database: Database, tmp_path: Path) -> None:
    paths = [
        write(
            tmp_path / f"{number}.csv",
            ENTRIES[number:],
            first=number,
            opening=sum(amount for _, amount in ENTRIES[:number]),
        )
        for number in range(8)
    ]
    done = await asyncio.gather(*(imported(database, path) for path in [*paths, *paths]), return_exceptions=True)
    assert [each for each in done if isinstance(each, BaseException)] == []
    results = [each for each in done if isinstance(each, ImportResult)]
    assert sum(each.is_repeat for each in results) == 8
    assert sum(each.file.new_count for each in results if not each.is_repeat) == 10
    assert await lines(database) == ENTRIES


async def test_an_empty_day_covers_it_all_the_same(database: Database, tmp_path: Path) -> None:
    done = await imported(database, write(tmp_path / "a.csv", [], opening=700, hours=24))
    assert (done.file.line_count, done.file.opening, done.file.closing, done.file.is_whole) == (0, 700, 700, True)


async def test_a_file_that_is_not_one_is_refused(database: Database, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("hello")
    with pytest.raises(Refusal):
        await imported(database, tmp_path / "a.csv")


async def test_two_first_imports_at_once_that_name_one_account_differently_are_of_one_account(
    database: Database, tmp_path: Path
) -> None:
    first = write(tmp_path / "first.csv", [("R1", 100), ("R2", 200)])
    second = write(tmp_path / "second.csv", [("R3", 300)], first=2, opening=300)
    async with database.begin() as tx:
        request = StatementImport(
            first, channel=Channel.TIGO_PESA, account="Main", profile=built_in()["generic"], is_new_account=True
        )
        await import_statement(tx, request, actor=NOBODY, now=clock.now())
        other = asyncio.create_task(imported(database, second, account="main"))
        await until(lambda: are_waiting(database), pause=0.01, what="the second import")
    assert (await other).file.account == "Main"
    async with database.read() as connection:
        assert await statements.find_accounts(connection, Channel.TIGO_PESA) == ["Main"]
