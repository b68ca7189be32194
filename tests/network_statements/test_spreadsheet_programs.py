"""Files as spreadsheet programs write them: encodings, separators, cells that are dates and numbers, labels above lines."""

import csv
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from openpyxl import Workbook

from malipo.network_statements.adds_up import Chain
from malipo.network_statements.cell_values import times
from malipo.network_statements.heading import StatementHeading
from malipo.network_statements.profile import built_in
from malipo.network_statements.read_statement import StatementReader, read_statement
from malipo.network_statements.statement_line import BadLine, StatementLine
from malipo.words.say import say

GOLDEN = Path(__file__).parent / "golden" / "mpesa-account.csv"
PROFILE = built_in()["mpesa-account"]
TIME = times(PROFILE.time_formats, PROFILE.zone)
DAY = datetime(2026, 10, 31, 21, tzinfo=UTC)  # midnight of the first of November, in Dar es Salaam


def lines_of(path: Path, profile: str = "mpesa-account") -> tuple[StatementReader, list[StatementLine]]:
    statement = read_statement(path, built_in()[profile])
    lines = []
    for line in statement.lines:
        assert not isinstance(line, BadLine), line
        lines.append(line)
    return statement, lines


def rows() -> list[list[str]]:
    with GOLDEN.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_every_encoding_and_separator_reads_the_same(tmp_path: Path, encoding: str, delimiter: str) -> None:
    with (tmp_path / "saved.csv").open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=delimiter).writerows(rows())
    assert lines_of(tmp_path / "saved.csv")[1] == lines_of(GOLDEN)[1]


@pytest.mark.parametrize("is_serial", [False, True], ids=["dates", "serial numbers"])
def test_a_workbook_with_cells_that_are_dates_and_numbers_reads_the_same(tmp_path: Path, is_serial: bool) -> None:
    """As a spreadsheet program saves it after it has opened the CSV. Times without a format are numbers of days."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    found = rows()
    header = next(number for number, row in enumerate(found) if "Completion Time" in row)
    for number, row in enumerate(found):
        sheet.append([_typed(cell) if number > header or column else cell for column, cell in enumerate(row)])
    if is_serial:
        for row_of_cells in sheet.iter_rows():
            for cell in row_of_cells:
                if isinstance(cell.value, datetime):
                    cell.number_format = "General"
    book.save(tmp_path / "saved.xlsx")
    statement, lines = lines_of(tmp_path / "saved.xlsx")
    assert lines == lines_of(GOLDEN)[1]
    assert msgspec.structs.replace(statement.heading, ends_on_a_day=False) == lines_of(GOLDEN)[0].heading


def _typed(cell: str) -> object:
    try:
        return TIME(cell).astimezone(ZoneInfo(PROFILE.zone)).replace(tzinfo=None)
    except ValueError:
        pass
    try:
        return float(cell.replace(",", ""))
    except ValueError:
        return cell


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ("Previous Balance,1000.50", StatementHeading(opening=1000_50)),
        ("Balance B/F,,1000\nBalance C/F,,900", StatementHeading(opening=1000_00, closing=900_00)),
        ("Opening Balance: 1000", StatementHeading(opening=1000_00)),
        (
            "From,01-11-2026 00:00:00,To,02-11-2026 00:00:00",
            StatementHeading(begins=DAY, ends=DAY.replace(month=11, day=1)),
        ),
        (
            "Start Date,2026-11-01\nEnd Date,2026-11-02 23:59",
            StatementHeading(begins=DAY, ends=datetime(2026, 11, 2, 20, 59)),
        ),
        (
            "Statements for 5551 from 01/11/2026 to 03/11/2026",
            StatementHeading(begins=DAY, ends=datetime(2026, 11, 2, 21)),
        ),
        ("Statement Period,01 Nov 2026 - 03 Nov 2026", StatementHeading(begins=DAY, ends=datetime(2026, 11, 2, 21))),
        ("Period: 01-11-2026 to 03-11-2026", StatementHeading(begins=DAY, ends=datetime(2026, 11, 2, 21))),
        ("Sent by,Vodacom,Between you and us,Duka la Asha to you", StatementHeading()),
        ("Kuanzia,01/11/2026,Hadi,03/11/2026", StatementHeading(begins=DAY, ends=datetime(2026, 11, 2, 21))),
    ],
)
def test_labels_above_the_lines_are_understood_in_several_wordings(
    tmp_path: Path, above: str, expected: StatementHeading
) -> None:
    path = tmp_path / "file.csv"
    path.write_text(f"{above}\nReceipt,Time,Amount,Balance,Details\nR1,2026-11-01 10:00:00,-100,900,Payment\n")
    heading = lines_of(path, "generic")[0].heading
    ends = None if expected.ends is None else expected.ends.replace(tzinfo=UTC)
    assert msgspec.structs.replace(heading, ends_on_a_day=False) == msgspec.structs.replace(expected, ends=ends)


def test_a_balance_in_a_row_among_the_lines_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text(
        "Receipt,Time,Amount,Balance,Details\n,2026-11-01,,1000,Balance B/F\nR1,2026-11-01 10:00:00,-100,900,Payment\n"
        ",,,900,Closing Balance\n"
    )
    statement, [line] = lines_of(path, "generic")
    assert (line.receipt, line.row) == ("R1", 3)
    assert statement.heading == StatementHeading(opening=1000_00, closing=900_00)


@pytest.mark.parametrize(
    ("heading", "problem"),
    [
        ("From,2026-11-01 00:00:00,To,2026-11-02 00:00:00", True),
        ("From,2026-11-01 10:00:01,To,2026-11-02 12:00:00", True),
        ("From,2026-11-01 10:00:00,To,2026-11-02 00:10:00", False),
        ("From,2026-11-01,To,2026-11-02", False),  # a day without a time may be in it
        ("From,2026-11-01,To,2026-11-01", True),
        ("To,2026-11-02 00:00:00", True),
        ("To,2026-11-02 00:10:00", False),
        ("To,2026-11-02", False),
        ("From,2026-11-01 11:00:00", True),
        ("From,2026-11-01 10:00:00", False),
        ("Balance B/F,1000", False),
    ],
)
def test_a_line_outside_of_the_files_own_time_is_reported(tmp_path: Path, heading: str, problem: bool) -> None:
    path = tmp_path / "file.csv"
    path.write_text(
        f"{heading}\nReceipt,Time,Amount,Balance\nR1,2026-11-01 10:00:00,-100,900\nR2,2026-11-02 00:10:00,-100,800\n"
    )
    statement, lines = lines_of(path, "generic")
    chain = Chain()
    for line in lines:
        chain.add(line)
    reported = chain.outside_of(statement.heading)
    assert (reported is not None) == problem
    if problem:
        assert reported is not None
        assert say(reported).endswith("its lines are from 2026-11-01 10:00:00 to 2026-11-02 00:10:00.")


def test_a_day_without_a_time_covers_only_as_far_as_its_lines_go() -> None:
    """Whether that day is in the file to its end nobody has said."""
    heading = StatementHeading(begins=DAY, ends=datetime(2026, 11, 1, 21, tzinfo=UTC), ends_on_a_day=True)
    last = datetime(2026, 11, 2, 9, tzinfo=UTC)
    assert heading.ends_at(last) == last
    assert heading.ends_at(DAY) == heading.ends
    assert heading.ends_at(None) == heading.ends


def test_words_of_a_status_that_the_layout_does_not_know_are_counted_with_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    words = ["Completed", "Imefanikiwa", "FAILED", "Reversed", "imefanikiwa", "", "Cancelled", "Failed"]
    lines = [f"R{number},2026-11-01 10:00:00,-100,{word}" for number, word in enumerate(words)]
    path.write_text("\n".join(["Receipt,Time,Amount,Status", *lines, ",,-800,"]) + "\n")
    statement, read = lines_of(path, "generic")
    assert [line.receipt for line in read] == ["R0"]
    assert dict(statement.statuses.failed) == {"FAILED": 1, "Cancelled": 1, "Failed": 1}
    assert [(each.word, each.count, each.rows) for each in statement.statuses.unknown] == [
        ("Imefanikiwa", 2, [3, 6]),
        ("", 1, [7]),
        ("Reversed", 1, [5]),
    ]
