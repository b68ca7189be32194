"""Each profile, on a file as its network writes it: every field of every line, by hand."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from malipo.network_statements.adds_up import Chain
from malipo.network_statements.heading import StatementHeading
from malipo.network_statements.profile import built_in
from malipo.network_statements.read_statement import StatementReader, UnknownLayout, read_statement
from malipo.network_statements.statement_line import BadLine, LineKind, StatementLine
from malipo.table_files.rows import NotATable
from malipo.words.say import say

FILES = Path(__file__).parent / "files"
MONEY, FEE, SWEEP, REVERSAL = LineKind.MONEY, LineKind.FEE, LineKind.SWEEP, LineKind.REVERSAL


def read(profile: str, path: Path | None = None) -> tuple[StatementReader, list[StatementLine]]:
    statement = read_statement(path or FILES / f"{profile}.csv", built_in()[profile])
    lines = [line for line in statement.lines if isinstance(line, StatementLine)]
    return statement, lines


def chain_of(lines: list[StatementLine]) -> Chain:
    chain = Chain()
    for line in lines:
        chain.add(line)
    return chain


def day(hour: int, minute: int = 0, second: int = 0) -> datetime:
    """On 1 November in Dar es Salaam."""
    return datetime(2026, 11, 1, hour - 3, minute, second, tzinfo=UTC)


def test_an_account_of_mpesa() -> None:
    statement, lines = read("mpesa-account")
    assert statement.heading == StatementHeading(
        account="Utility Account",
        opening=1_000_000_00,
        closing=1_003_432_00,
        begins=datetime(2026, 10, 31, 21, tzinfo=UTC),
        ends=datetime(2026, 11, 1, 21, tzinfo=UTC),
    )
    seen = [
        (line.row, line.receipt, line.at, line.amount, line.kind, line.key, line.phone, line.linked) for line in lines
    ]
    juma, asha, neema = "255754***100", "255754***101", "255755***222"
    assert seen == [
        (11, "BK16AB04", day(15, 20, 9), -1500, SWEEP, "", "", ""),
        (12, "BK15AB03", day(14), -5000, REVERSAL, "", juma, "BK12AB00"),
        # Row 13 failed: nothing moved.
        (14, "BK13AB01", day(12, 30), -18, FEE, "", "", ""),
        (15, "BK13AB01", day(12, 30), -5000, MONEY, "AKEY000000000002", neema, ""),
        (16, "BK12AB00", day(10, 0, 1), -50, FEE, "", "", ""),
        # What a customer typed, or is called, makes no fee and no reversal of it.
        (17, "BK12AB00", day(10, 0, 1), 5000, MONEY, "AKEY000000000001", juma, ""),
        (18, "BK11AA99", day(9), 10_000, MONEY, "", asha, ""),
    ]
    chain = chain_of(lines)
    assert (chain.is_newest_first, chain.opening, chain.closing) == (True, 1_000_000_00, 1_003_432_00)
    assert chain.problems(statement.heading) == []


def test_a_shortcode_of_mpesa() -> None:
    statement, lines = read("mpesa-shortcode")
    seen = [(line.receipt, line.at, line.amount, line.kind, line.key, line.balance) for line in lines]
    assert seen == [
        ("BK13AB01", day(12, 30), -18, FEE, "", 9982),
        ("BK13AB01", day(12, 30), -5000, MONEY, "", 10_000),
        ("BK12AB00", day(10, 0, 1), 15_000, MONEY, "AKEY1", 15_000),
    ]
    assert chain_of(lines).problems(statement.heading) == []
    assert (chain_of(lines).opening, chain_of(lines).closing) == (0, 9982_00)


def test_clickpesa() -> None:
    _, lines = read("clickpesa")
    assert [(line.receipt, line.at, line.amount, line.kind, line.key) for line in lines] == [
        ("LCP001", day(10), 5000, MONEY, "AKEY000000000001"),
        ("LCP001F", day(10), -100, FEE, ""),
        ("LCP002", datetime(2026, 11, 1, 21, 30, tzinfo=UTC), -3000, MONEY, "AKEY000000000002"),
    ]


def test_a_table_of_ones_own() -> None:
    statement, lines = read("generic")
    assert [(line.receipt, line.amount, line.kind, line.key, line.phone) for line in lines] == [
        ("R1", 1000, MONEY, "AKEY1", ""),
        ("R1", -20, FEE, "", ""),
        ("R2", -480, MONEY, "AKEY2", "255754000101"),
    ]
    assert (statement.heading.account, statement.heading.opening) == ("Till 7", 100_00)
    chain = chain_of(lines)
    assert (chain.is_newest_first, chain.problems(statement.heading)) == (False, [])


def test_a_spreadsheet_is_read_as_its_csv_is(tmp_path: Path) -> None:
    import csv

    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    with (FILES / "mpesa-account.csv").open(newline="") as file:
        for row in csv.reader(file):
            sheet.append([float(cell) if cell.replace(".", "").isdigit() else cell for cell in row])
    book.save(tmp_path / "statement.xlsx")
    assert read("mpesa-account", tmp_path / "statement.xlsx")[1] == read("mpesa-account")[1]


@pytest.mark.parametrize(
    ("change", "row", "why"),
    [
        (("1000;1100", "1000.505;1100"), 6, "The amount is '1000.505', which has parts of a cent."),
        (("R1;2026-11-01 10:00;1000", ";2026-11-01 10:00;1000"), 6, "The receipt is missing."),
        (("2026-11-01 11:00", "2026-11-31 11:00"), 8, "The time is '2026-11-31 11:00', and there is no such time."),
        ((";-480;", ";;"), 8, "The amount is missing."),
        ((";1080;", ";much;"), 7, "The balance is 'much', which is not an amount."),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_its_row(
    tmp_path: Path, change: tuple[str, str], row: int, why: str
) -> None:
    text = (FILES / "generic.csv").read_text()
    assert change[0] in text
    (tmp_path / "bad.csv").write_text(text.replace(*change))
    statement = read_statement(tmp_path / "bad.csv", built_in()["generic"])
    assert [(line.row, say(line.why)) for line in statement.lines if isinstance(line, BadLine)] == [(row, why)]


def test_money_that_came_in_and_went_out_in_one_line_is_refused(tmp_path: Path) -> None:
    text = (FILES / "mpesa-shortcode.csv").read_text().replace('"15,000.00",0.00', '"15,000.00",-1.00')
    (tmp_path / "bad.csv").write_text(text)
    [bad] = [
        line
        for line in read_statement(tmp_path / "bad.csv", built_in()["mpesa-shortcode"]).lines
        if isinstance(line, BadLine)
    ]
    assert say(bad.why) == "Money came in (15,000) and went out (-1) in one line."


def test_a_word_for_a_direction_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text((FILES / "clickpesa.csv").read_text().replace("Credit", "Loan"))
    [bad, *rest] = read_statement(tmp_path / "bad.csv", built_in()["clickpesa"]).lines
    assert isinstance(bad, BadLine)
    assert (bad.row, say(bad.why)) == (2, "The direction is 'loan': not one of Credit, CR, Debit, DR.")
    assert all(isinstance(line, StatementLine) for line in rest)


def test_a_file_of_another_layout_says_what_is_missing() -> None:
    with pytest.raises(UnknownLayout, match=r"layout_no_header .* columns='Receipt No"):
        read_statement(FILES / "generic.csv", built_in()["mpesa-account"])


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (b"", "is empty"),
        (b" \n ", "is empty"),
        (b"%PDF-1.4 x", "not CSV or XLSX"),
        (b"<html><table>", "not CSV or XLSX"),
        (b"\xd0\xcf\x11\xe0old excel", "not CSV or XLSX"),
        (b"PK\x03\x04broken", "cannot be read as XLSX"),
        (b"receipt\x00;time", "not CSV or XLSX"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_a_sentence(tmp_path: Path, content: bytes, reported: str) -> None:
    (tmp_path / "statement").write_bytes(content)
    with pytest.raises((NotATable, UnknownLayout)) as refused:
        read_statement(tmp_path / "statement", built_in()["generic"])
    assert reported in say(refused.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252"])
def test_files_of_old_and_new_spreadsheets(tmp_path: Path, encoding: str) -> None:
    text = (FILES / "generic.csv").read_text().replace("Sale", "Café")
    (tmp_path / "statement.csv").write_bytes(text.encode(encoding))
    assert read("generic", tmp_path / "statement.csv")[1][0].details == "Café"
