"""Files from outside are read in a process of their own: with limits, without secrets, and no longer than needed."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from openpyxl import Workbook

from malipo.table_files.limits import PAYOUTS, STATEMENT, ReadingLimits
from malipo.table_files.rows import Cell, LimitMet, NotATable, rows_of
from malipo.words.say import say
from tests.table_files import hostile_workbooks
from tests.table_files.hostile_workbooks import workbook

MEGABYTE = 1024 * 1024


def written(folder: Path, content: bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(each) for task in tasks for each in task.read_text().split()]
    return [each for each in children if b"reader_process.py" in Path(f"/proc/{each}/cmdline").read_bytes()]


def readers() -> list[int]:
    """The processes that read a file of ours now: forks of the one that we have started."""
    return [each for forks in children_of(os.getpid()) for each in children_of(forks)]


MANY = b"a,b,c\n" * 400_000


# Made when they are needed: in the process that collects the tests they would be a quarter of its memory.
@pytest.mark.parametrize(
    ("content", "limits", "limit", "words"),
    [
        (lambda: hostile_workbooks.shared_text(14_000), PAYOUTS, "memory", "needs more than 128 MB of memory"),
        (lambda: hostile_workbooks.shared_text(14_000), STATEMENT, "memory", "needs more than 512 MB of memory"),
        (hostile_workbooks.far_cell, PAYOUTS, "memory", "needs more than 128 MB of memory"),
        (lambda: hostile_workbooks.shared_text(300), PAYOUTS, "characters", "has more than 6,000,000 characters"),
        (lambda: b"x" * 200 * MEGABYTE, replace(PAYOUTS, seconds=1), "memory", "needs more than 128 MB of memory"),
        (
            # An error in it, so that all of it is parsed again, which takes several seconds anywhere.
            lambda: workbook("<row/>" * 5_000_000 + '<row><c t="e"><v>#N/A</v></c></row>'),
            replace(PAYOUTS, seconds=1, memory_bytes=2**31),
            "seconds",
            "takes longer than",
        ),
        (
            lambda: workbook("<row/>" * 12_000_000),
            PAYOUTS,
            "unpacked_bytes",
            "is larger than 64 MB when it is unpacked",
        ),
        (lambda: MANY, replace(STATEMENT, rows=399_999), "rows", "has more than 399,999 rows"),
        (lambda: MANY, replace(STATEMENT, cells=1_000_000), "cells", "has more than 1,000,000 cells"),
        (lambda: MANY, replace(STATEMENT, characters=1_000_000), "characters", "has more than 1,000,000 characters"),
        (lambda: MANY, replace(STATEMENT, columns=2), "columns", "has more than 2 columns"),
    ],
    ids=lambda each: each if isinstance(each, str) and " " not in each else "",
)
def test_the_limit_that_was_met_is_named(
    tmp_path: Path, content: Callable[[], bytes], limits: ReadingLimits, limit: str, words: str
) -> None:
    path = written(tmp_path, content())
    with pytest.raises(LimitMet) as refused:
        for _ in rows_of(path, limits):
            pass
    assert (refused.value.limit, words in say(refused.value)) == (limit, True), say(refused.value)
    assert readers() == []


def test_a_cell_that_is_too_long_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n" + b"c" * 40_000)
    with pytest.raises(NotATable, match="field larger than field limit"):
        list(rows_of(path))


def test_rows_come_in_pieces_and_a_reader_that_is_left_is_killed(tmp_path: Path) -> None:
    rows = rows_of(written(tmp_path, MANY))
    assert next(rows) == ["a", "b", "c"]
    (reader,) = readers()
    # It has written as much as the pipe holds, and waits: it does not read ahead.
    assert os.stat(f"/proc/{reader}/fd/0").st_size == len(MANY)
    del rows
    assert readers() == []


def test_the_reader_has_no_secret_and_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALIPO_SECRET_KEY", "the secret")
    listener = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(listener, True)
    rows = rows_of(written(tmp_path, MANY))
    next(rows)
    (reader,) = readers()
    assert b"MALIPO" not in Path(f"/proc/{reader}/environ").read_bytes()
    assert sorted(os.listdir(f"/proc/{reader}/fd")) == ["0", "1", "2"], "the file, the pipe and /dev/null"
    limits = Path(f"/proc/{reader}/limits").read_text()
    assert f"Max address space         {STATEMENT.memory_bytes}" in limits
    assert "Max file size             0 " in limits
    os.close(listener)


def test_a_reader_has_nothing_of_the_file_before_it(tmp_path: Path) -> None:
    """Readers are forks of one process, which has opened no file and whose limits are those of this one."""
    assert len(list(rows_of(written(tmp_path, b"a,b\n" * 10), PAYOUTS))) == 10
    first, second = rows_of(written(tmp_path, MANY, "first")), rows_of(written(tmp_path, MANY, "second"), PAYOUTS)
    assert next(first) == next(second) == ["a", "b", "c"]
    [forks] = children_of(os.getpid())
    assert sorted(os.listdir(f"/proc/{forks}/fd")) == ["0", "1", "2"], "its line, and twice /dev/null"
    assert Path(f"/proc/{forks}/limits").read_text() == Path(f"/proc/{os.getpid()}/limits").read_text()
    opened = {Path(os.readlink(f"/proc/{each}/fd/0")).name: each for each in readers()}
    assert set(opened) == {"first", "second"}
    assert f"Max address space         {PAYOUTS.memory_bytes}" in Path(f"/proc/{opened['second']}/limits").read_text()
    del first
    assert readers() == [opened["second"]], "the other goes on"


def test_a_process_that_forks_readers_and_has_ended_is_replaced(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n" * 10)
    assert len(list(rows_of(path))) == 10
    [forks] = children_of(os.getpid())
    os.kill(forks, signal.SIGKILL)
    assert len(list(rows_of(path))) == 10
    assert children_of(os.getpid()) not in ([], [forks])


def test_the_process_that_forks_readers_ends_with_ours(tmp_path: Path) -> None:
    """Also if ours is killed."""
    path = written(tmp_path, MANY)
    program = f"""
import time
from pathlib import Path
from malipo.table_files.rows import rows_of
rows = rows_of(Path({str(path)!r}))
next(rows)
print("reads", flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"reads\n"
        [forks] = children_of(process.pid)
        [reader] = children_of(forks)
        process.kill()
    for each in (forks, reader):
        with suppress(ProcessLookupError):
            assert select.select([os.pidfd_open(each)], [], [], 60)[0], "it has ended"


def _values(folder: Path, fill: Callable[[Workbook], None]) -> list[list[Cell]]:
    book = Workbook()
    fill(book)
    book.save(folder / "book.xlsx")
    return list(rows_of(folder / "book.xlsx"))


def test_cells_are_what_they_are(tmp_path: Path) -> None:
    at = datetime(2026, 11, 15, 14, 5, 33)

    def fill(book: Workbook) -> None:
        sheet = book.worksheets[0]
        for column, value in enumerate(["0754", 255754000100, 59.4, at, datetime(2026, 11, 15), None, True, -5], 2):
            sheet.cell(3, column, value)

    (first, second, third) = _values(tmp_path, fill)
    assert not any(first)
    assert not any(second)
    assert third == [None, "0754", 255754000100, 59.4, at, datetime(2026, 11, 15), None, "True", -5]


def test_an_error_and_a_long_number_are_not_lost(tmp_path: Path) -> None:
    """The workbook reader leaves errors out, and rounds: an amount of #N/A must not become none."""
    rows = (
        '<row r="2"><c r="B2" t="inlineStr"><is><t>R1</t></is></c><c r="D2" t="e"><v>#N/A</v></c>'
        '<c r="E2"><v>12345678901234567890</v></c><c><v>1E18</v></c></row>'
        '<row r="3"><c r="B3"><v>7</v></c><c t = "e"><v>#REF!</v></c></row>'
        '<row r="4"><c r="A4" t="e"><v>#DIV/0!</v></c></row>'
    )
    read = list(rows_of(written(tmp_path, workbook(rows))))
    assert read[1] == [None, "R1", None, "#N/A", "12345678901234567890", "1e+18"]
    assert read[2][:3] == [None, 7, "#REF!"]
    assert read[3][0] == "#DIV/0!"


def test_the_first_sheet_is_read_and_not_a_chart_before_it(tmp_path: Path) -> None:
    def fill(book: Workbook) -> None:
        book.worksheets[0]["A1"] = "of the first"
        book.create_sheet("second")["A1"] = "of the second"
        book.create_chartsheet("chart", 0)

    assert _values(tmp_path, fill) == [["of the first"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_recognised(tmp_path: Path, encoding: str) -> None:
    text = "Jina,Kiasi\nAndré,1000\n" * 40_000
    read = rows_of(written(tmp_path, text.encode(encoding)))
    assert [next(read), next(read)] == [["Jina", "Kiasi"], ["André", "1000"]]


def test_empty_rows_at_the_end_are_not_too_many(tmp_path: Path) -> None:
    content = b"a,b,c\n" + b",,\n" * (PAYOUTS.rows + 5000)
    assert next(rows_of(written(tmp_path, content), PAYOUTS)) == ["a", "b", "c"]
    assert len(list(rows_of(written(tmp_path, content), PAYOUTS))) == PAYOUTS.rows
    with pytest.raises(LimitMet, match="rows"):
        list(rows_of(written(tmp_path, content + b"1,2,3\n"), PAYOUTS))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    book = Workbook()
    for number in range(100):
        book.worksheets[0].append([f"Person {number}", f"07540{number:05}", "M-Pesa", 1000 + number])
    book.save(tmp_path / "small.xlsx")
    return tmp_path / "small.xlsx"


def test_an_ordinary_file_costs_little(small: Path) -> None:
    """No absolute times: the machine may be busy. A process that is forked for each file must stay a small one."""
    assert len(list(rows_of(small, PAYOUTS))) == 100
    [forks] = children_of(os.getpid())
    # Of all readers that have ended, user and system, in hundredths of a second.
    of_readers = [int(each) for each in Path(f"/proc/{forks}/stat").read_text().rpartition(")")[2].split()[13:15]]
    for _ in range(5):
        assert len(list(rows_of(small, PAYOUTS))) == 100
    after = [int(each) for each in Path(f"/proc/{forks}/stat").read_text().rpartition(")")[2].split()[13:15]]
    assert sum(after) - sum(of_readers) < 5 * 30
