"""Lines are stored as they are read if all are new, and compared with the known ones if not. Both must end alike."""

import asyncio
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from malipo.db import Database
from malipo.network_statements.statement_line import StatementLine
from malipo.reconciliation.imports.import_statement import BadLines
from malipo.reconciliation.statements.store import statement_lines
from tests.reconciliation.test_import_statement import imported

FIRST, SECOND, THIRD = (
    ["R1", "2026-11-01 10:00", 500],
    ["R2", "2026-11-01 11:00", -200],
    ["R3", "2026-11-01 12:00", 9],
)


@pytest.fixture(autouse=True)
def two_lines_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small files are stored in several pieces."""
    monkeypatch.setattr(statement_lines, "_LINES_A_COPY", 2)


def write(path: Path, *lines: list[Any]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["receipt", "time", "amount"], *lines])
    return path


async def stored(database: Database) -> list[tuple[Any, ...]]:
    async with database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT name, row, statement_lines.channel, statement_lines.account, receipt, moved_at, amount, kind, nth, key,
                phone, linked, balance, details
            FROM statement_lines JOIN statement_files ON statement_files.id = file_id
            ORDER BY receipt, moved_at, amount, kind, nth
            """
        )
    return [tuple(row) for row in rows]


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines of each file were compared."""
    counts: list[int] = []
    stage = statement_lines.stage

    async def counted(tx: Any, lines: Iterator[StatementLine]) -> None:
        there = list(lines)
        counts.append(len(there))
        await stage(tx, iter(there))

    monkeypatch.setattr(statement_lines, "stage", counted)
    return counts


async def test_lines_that_are_all_new_are_stored_as_they_are_read(
    database: Database, tmp_path: Path, staged: list[int]
) -> None:
    done = await imported(database, write(tmp_path / "a.csv", FIRST, SECOND, THIRD))
    assert (done.file.line_count, done.file.new_count, staged) == (3, 3, [])
    assert [(row[1], row[4], row[6], row[8]) for row in await stored(database)] == [
        (2, "R1", 500, 1),
        (3, "R2", -200, 1),
        (4, "R3", 9, 1),
    ]


@pytest.mark.parametrize("known", [FIRST, SECOND, THIRD])
async def test_a_line_that_is_known_is_left_out_wherever_it_stands(
    database: Database, tmp_path: Path, staged: list[int], known: list[Any]
) -> None:
    await imported(database, write(tmp_path / "a.csv", known))
    done = await imported(database, write(tmp_path / "b.csv", FIRST, SECOND, THIRD))
    assert (done.file.line_count, done.file.new_count, staged) == (3, 2, [3])
    others = [each for each in (FIRST, SECOND, THIRD) if each is not known]
    expected = sorted([(known[0], "a.csv"), *((each[0], "b.csv") for each in others)])
    assert [(row[4], row[0]) for row in await stored(database)] == expected


@pytest.mark.parametrize("between", [[], [SECOND], [SECOND, THIRD]])
async def test_a_line_that_is_in_the_file_twice_is_two_lines(
    database: Database, tmp_path: Path, staged: list[int], between: list[list[Any]]
) -> None:
    """In one piece of it or in two."""
    path = write(tmp_path / "a.csv", FIRST, *between, FIRST)
    done = await imported(database, path)
    assert (done.file.new_count, staged) == (len(between) + 2, [len(between) + 2])
    twice = [(row[1], row[8]) for row in await stored(database) if row[4] == "R1"]
    assert twice == [(2, 1), (3 + len(between), 2)]


async def test_both_ways_store_the_same(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, staged: list[int]
) -> None:
    path = write(tmp_path / "a.csv", FIRST, SECOND, THIRD)
    file = (await imported(database, path)).file
    quickly = await stored(database)
    async with database.begin() as tx:
        await tx.execute("DELETE FROM statement_lines")
        await tx.execute("DELETE FROM statement_files")

    async def never(*_: object) -> bool:
        return False

    monkeypatch.setattr(statement_lines, "copy_new", never)
    again = (await imported(database, path)).file
    assert staged == [3]
    assert await stored(database) == quickly
    assert (again.begins_at, again.ends_at, again.new_count) == (file.begins_at, file.ends_at, file.new_count)


async def test_a_bad_line_after_lines_that_were_stored_leaves_nothing(database: Database, tmp_path: Path) -> None:
    with pytest.raises(BadLines):
        await imported(database, write(tmp_path / "a.csv", FIRST, SECOND, THIRD, ["R4", "yesterday", 5]))
    assert await stored(database) == []
    async with database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM statement_files") == 0


async def test_the_stored_file_is_the_one_in_the_answer(database: Database, tmp_path: Path) -> None:
    done = await imported(database, write(tmp_path / "a.csv", FIRST, SECOND, THIRD))
    again = await imported(database, tmp_path / "a.csv")
    assert (again.is_repeat, again.file) == (True, done.file)


async def test_an_import_reports_its_progress_every_thousand_lines(database: Database, tmp_path: Path) -> None:
    reported: list[int] = []
    lines = [[f"R{number}", "2026-11-01 10:00", 5] for number in range(2500)]
    await imported(database, write(tmp_path / "a.csv", *lines), progress=reported.append)
    assert reported == [1000, 2000]


async def test_other_work_of_the_process_has_its_turn_while_lines_are_stored(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statement_lines, "_LINES_A_COPY", 20_000)
    turns = 0

    async def other_work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    working, noted = asyncio.create_task(other_work()), list[int]()
    lines = [[f"R{number}", "2026-11-01 10:00", 5] for number in range(4000)]
    await imported(database, write(tmp_path / "a.csv", *lines), progress=lambda _: noted.append(turns))
    working.cancel()
    assert len(set(noted)) == len(noted) == 4, "nobody had a turn between two reports"
