"""Which files cover a day: with headings and without, with gaps, one after another."""

from datetime import UTC, date, datetime

import pytest

from malipo.networks.connector import Channel
from malipo.reconciliation.close.coverage import last_before, missing
from malipo.reconciliation.close.day_close import begin_of, end_of
from malipo.reconciliation.statements.statement_file import StatementFile
from tests.reconciliation.close.books import MONDAY, TUESDAY, at

BEGIN, END = begin_of(MONDAY), end_of(MONDAY)


def a_file(begins: datetime, ends: datetime, opening: int = 0, closing: int = 0, *problems: str) -> StatementFile:
    return StatementFile(
        id="stf_1",
        channel=Channel.MPESA,
        account="",
        sha256=b"",
        name="a.csv",
        profile="generic",
        begins_at=begins,
        ends_at=ends,
        opening=opening,
        closing=closing,
        line_count=1,
        new_count=1,
        problems=problems,
        imported_by="asha",
        imported_at=datetime(2026, 11, 20, tzinfo=UTC),
    )


WHOLE_DAY = a_file(BEGIN, END, 100, 500)
FROM_MORNING = a_file(at(MONDAY, "06:12"), at(MONDAY, "22:50"), 100, 500)  # from its first line to its last
NEXT = a_file(at(TUESDAY, "05:00"), at(TUESDAY, "21:00"), 500, 700)


def test_a_day_is_that_of_dar_es_salaam() -> None:
    assert (datetime(2026, 11, 1, 21, tzinfo=UTC), datetime(2026, 11, 2, 21, tzinfo=UTC)) == (BEGIN, END)


@pytest.mark.parametrize(
    ("files", "balance"),
    [
        ([WHOLE_DAY], None),
        ([a_file(BEGIN, at(MONDAY, "23:59:59"))], None),  # as headings say it
        ([a_file(BEGIN, at(MONDAY, "23:59"))], None),
        ([a_file(at(MONDAY, "00:00"), at(MONDAY, "12:00"), 0, 5), a_file(at(MONDAY, "12:00"), END, 5, 9)], None),
        ([FROM_MORNING, NEXT], 100),  # what is before and after it has changed nothing
        ([NEXT, FROM_MORNING], 100),
        ([a_file(at(MONDAY, "00:00"), at(TUESDAY, "12:00"))], None),
        ([NEXT], 500),  # it opens with what the account held
    ],
)
def test_these_files_cover_the_day(files: list[StatementFile], balance: int | None) -> None:
    assert missing(files, BEGIN, END, balance=balance) == []


@pytest.mark.parametrize(
    ("files", "balance", "told"),
    [
        ([], None, ["There is no statement of 2026-11-02 00:00:00 to 2026-11-03 00:00:00."]),
        ([FROM_MORNING, NEXT], 99, ["No statement covers 2026-11-02 00:00:00 to 2026-11-02 06:12:00."]),
        ([FROM_MORNING], 100, ["No statement covers 2026-11-02 22:50:00 to 2026-11-03 00:00:00."]),
        (
            [FROM_MORNING, a_file(at(TUESDAY, "05:00"), at(TUESDAY, "21:00"), 501, 700)],
            100,
            ["No statement covers 2026-11-02 22:50:00 to 2026-11-03 00:00:00."],
        ),
        (
            [a_file(BEGIN, at(MONDAY, "10:00"), 0, 5), a_file(at(MONDAY, "11:00"), END, 6, 9)],
            None,
            ["No statement covers 2026-11-02 10:00:00 to 2026-11-02 11:00:00."],
        ),
        (
            [a_file(BEGIN, END, 0, 0, "It lies.")],
            None,
            [
                "No statement covers 2026-11-02 00:00:00 to 2026-11-03 00:00:00.",
                "a.csv does not count: It lies.",
            ],
        ),
        ([NEXT], 499, ["No statement covers 2026-11-02 00:00:00 to 2026-11-03 00:00:00."]),
    ],
)
def test_these_files_do_not(files: list[StatementFile], balance: int | None, told: list[str]) -> None:
    assert missing(files, BEGIN, END, balance=balance) == told


def test_of_two_files_the_one_that_goes_nearer_to_a_moment_says_what_was_held() -> None:
    longer = a_file(BEGIN, at(TUESDAY, "12:00"), 0, 9)
    assert last_before([WHOLE_DAY, longer, NEXT], at(TUESDAY, "04:00")) is longer
    assert last_before([NEXT], END) is None


def test_a_day_is_one_of_dar_es_salaam() -> None:
    day = date(2026, 11, 15)
    assert begin_of(day) == datetime(2026, 11, 14, 21, tzinfo=UTC)
    assert end_of(day) == begin_of(date(2026, 11, 16))
