"""Statements as MT940: what we see in them, and that a public library sees the same."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import mt940 as library
import pytest

from malipo.bank_formats.bank_entry import EntryProblem, StatementProblem, problems_of
from malipo.bank_formats.mt940 import is_mt940
from tests.bank_formats.samples import MT940
from tests.bank_formats.statement_file import mt940_of

DAY = date(2026, 11, 19)
SEEN = [
    # cents, bank's reference, key, message id, reason, is a reversal
    (-4_950_000, "FT26323AAAA", "0123456789ABCDEF", "0123456789ABCDEF", "", False),
    (-8_150_000, "FT26323BBBB", "2KDMGZ0AAAAAAAAA", "2KDMGZ0AAAAAAAAA", "", False),
    (900_000, "FT26323DDDD", "3123456789ABCDEF", "", "AC04 ACCOUNT CLOSED", True),
    (-77_050, "CHG1", "", "", "", False),
]
ENVELOPE = "{1:F01NMIBTZTZAXXX0000000000}{2:I940MALIPOXXXXN}{4:\n" + MT940.rstrip("-\n") + "\n-}"


@pytest.mark.parametrize("text", [MT940, MT940.replace("\n", "\r\n"), ENVELOPE])
def test_what_a_statement_says(tmp_path: Path, text: str) -> None:
    assert is_mt940(text)
    [statement] = mt940_of(tmp_path, text)
    assert (statement.account, statement.id) == ("22010012345", "MALIPO323 323/1")
    assert (statement.opening, statement.closing) == (100_000_000, 87_722_950)
    assert (statement.begins_on, statement.ends_on) == (DAY, DAY)
    found = [(e.cents, e.reference, e.key, e.message_id, e.reason, e.is_reversal) for e in statement.entries]
    assert found == SEEN
    assert all(each.booked_on == DAY for each in statement.entries)
    assert (statement.pending, problems_of(statement)) == (1, [])


def test_another_library_reads_the_same_entries(tmp_path: Path) -> None:
    text = MT940.replace(":61:261119ED5000,00NTRFNONREF\n", "")  # The library has no expected lines.
    [statement] = mt940_of(tmp_path, text)
    theirs = library.parse(text)
    assert [Decimal(each.cents) / 100 for each in statement.entries] == [
        # It gives a reversal of a debit as money that went out: by the standard it came in.
        abs(each.data["amount"].amount) if each.data["status"] == "RD" else each.data["amount"].amount
        for each in theirs.transactions
    ]
    assert [each.reference for each in statement.entries] == [
        each.data["bank_reference"] for each in theirs.transactions
    ]
    assert [each.booked_on for each in statement.entries] == [each.data["entry_date"] for each in theirs.transactions]
    assert Decimal(statement.opening or 0) / 100 == theirs.data["final_opening_balance"].amount.amount
    assert Decimal(statement.closing or 0) / 100 == theirs.data["final_closing_balance"].amount.amount


def test_the_entry_s_day_has_the_year_that_is_nearest(tmp_path: Path) -> None:
    text = MT940.replace(":61:2611191119D49500,00", ":61:2612311231D1,00", 1).replace(
        ":61:2611191119D81500", ":61:2612310102D81500"
    )
    [statement] = mt940_of(tmp_path, text)
    assert [each.booked_on for each in statement.entries[:2]] == [date(2026, 12, 31), date(2027, 1, 2)]


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (":61:2611191119D49500,00", ":61:2611191119D-49500,00", EntryProblem.FORMAT),
        (":61:2611191119D49500,00", ":61:2611191119D49500.00", EntryProblem.FORMAT),
        (":61:2611191119D49500,00", ":61:2611191119X49500,00", EntryProblem.FORMAT),
        (":61:2611191119D49500,00", ":61:2613191119D49500,00", EntryProblem.DAY),
    ],
)
def test_a_line_that_cannot_be_read_is_reported(tmp_path: Path, before: str, after: str, problem: EntryProblem) -> None:
    [statement] = mt940_of(tmp_path, MT940.replace(before, after))
    assert [each.why.code for each in statement.unreadable] == [problem]


@pytest.mark.parametrize(
    ("before", "after", "problems"),
    [
        ("877229,50", "877229,51", [StatementProblem.SUM]),
        (":62F:C261119TZS877229,50\n", "", [StatementProblem.CUT, StatementProblem.NO_CLOSING]),
        (":60F:C261118TZS1000000,00\n", "", [StatementProblem.NO_OPENING]),
        (":60F:C261118TZS", ":60F:C261118USD", [EntryProblem.CURRENCY, StatementProblem.NO_OPENING]),
        (":60F:C", ":60F:D", [StatementProblem.SUM]),
    ],
)
def test_a_statement_that_does_not_add_up_is_told(
    tmp_path: Path, before: str, after: str, problems: list[StatementProblem]
) -> None:
    [statement] = mt940_of(tmp_path, MT940.replace(before, after))
    assert [each.code for each in problems_of(statement)] == problems


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_cut_file_does_not_add_up(tmp_path: Path, share: float) -> None:
    statements = mt940_of(tmp_path, MT940[: int(len(MT940) * share)])
    assert any(problems_of(each) for each in statements)


def test_pages_and_several_days_are_read_one_by_one(tmp_path: Path) -> None:
    first = MT940.replace(":62F:", ":62M:")
    second = ":20:MALIPO323\n:25:22010012345\n:28C:323/2\n:60M:C261119TZS877229,50\n:62F:C261119TZS877229,50\n"
    assert [each.closing for each in mt940_of(tmp_path, first + second)] == [87_722_950, 87_722_950]
