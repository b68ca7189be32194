"""Which files cover a day: with headings and without, with gaps, one after another. And where the close of a day and the
search for absent payments read them differently."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from malipo.db import Database
from malipo.networks.connector import Channel
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.close_day import DayDoesNotAddUp
from malipo.reconciliation.close.signed_content import OpenReason
from malipo.reconciliation.statements.coverage import last_before, missing, spans_of
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.stored_problems import problem_of
from malipo.words.say import say
from tests.reconciliation.close.books import MONDAY, TUESDAY, Books, at, opened

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
        problems=tuple(map(problem_of, problems)),
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
    ("files", "balance", "reported"),
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
def test_these_files_do_not(files: list[StatementFile], balance: int | None, reported: list[str]) -> None:
    assert [say(each) for each in missing(files, BEGIN, END, balance=balance)] == reported


def test_of_two_files_the_one_that_goes_nearer_to_a_moment_says_what_was_held() -> None:
    longer = a_file(BEGIN, at(TUESDAY, "12:00"), 0, 9)
    assert last_before([WHOLE_DAY, longer, NEXT], at(TUESDAY, "04:00")) is longer
    assert last_before([NEXT], END) is None


@pytest.mark.parametrize("seconds", [0, 30, 60])
def test_between_files_that_meet_with_other_balances_no_payment_is_called_absent_and_the_day_is_covered(
    seconds: int,
) -> None:
    """The close has what the balances differ by as an open item: see below."""
    noon = at(MONDAY, "12:00")
    afternoon = a_file(noon + timedelta(seconds=seconds), END, 6, 9)
    files = [a_file(BEGIN, noon, 0, 5), afternoon]
    assert spans_of(files) == [(BEGIN, noon), (afternoon.begins_at, END)]
    assert missing(files, BEGIN, END, balance=0) == []
    assert missing([files[0], replace(afternoon, begins_at=noon + timedelta(seconds=61))], BEGIN, END, balance=0) != []


def test_balances_follow_each_other_to_the_cent() -> None:
    morning, evening = a_file(BEGIN, at(MONDAY, "10:00"), 0, 5), a_file(at(MONDAY, "20:00"), END, 5, 9)
    assert spans_of([morning, evening]) == [(BEGIN, END)]
    assert missing([morning, evening], BEGIN, END, balance=0) == []
    other = replace(evening, opening_cents=1)
    assert len(spans_of([morning, other])) == 2
    reported = ["No statement covers 2026-11-02 10:00:00 to 2026-11-02 20:00:00."]
    assert [say(each) for each in missing([morning, other], BEGIN, END, balance=0)] == reported


def test_a_file_inside_a_longer_one_does_not_say_with_what_the_next_one_opens() -> None:
    longer = a_file(BEGIN - timedelta(days=2), BEGIN - timedelta(hours=1), 0, 9)
    inside = a_file(BEGIN - timedelta(days=1), BEGIN - timedelta(hours=23), 4, 5)
    next_ = a_file(at(MONDAY, "06:00"), END, 5, 5)
    reported = ["No statement covers 2026-11-02 00:00:00 to 2026-11-02 06:00:00."]
    assert [say(each) for each in missing([longer, inside, next_], BEGIN, END, balance=9)] == reported
    assert missing([longer, inside, replace(next_, opening=9)], BEGIN, END, balance=9) == []


async def test_a_balance_that_changed_between_two_files_of_one_minute_takes_two_operators(
    database: Database, tmp_path: Path
) -> None:
    books = await Books.begin(database, tmp_path)
    await books.statement(MONDAY, [])
    await books.close(MONDAY)
    tuesday = await books.statement(TUESDAY, [])
    async with database.begin() as tx:  # its heading begins half a minute late, and 300 have come in meanwhile
        await tx.execute(
            """
            UPDATE statement_files SET begins_at = begins_at + interval '30 seconds', opening = opening + 300,
                                       closing = closing + 300
            WHERE id = $1
            """,
            tuesday,
        )
    with pytest.raises(DayDoesNotAddUp) as refused:
        await books.close(TUESDAY)
    assert opened(refused.value.close) == {OpenReason.UNEXPLAINED: 300}


def test_a_day_is_one_of_dar_es_salaam() -> None:
    day = date(2026, 11, 15)
    assert begin_of(day) == datetime(2026, 11, 14, 21, tzinfo=UTC)
    assert end_of(day) == begin_of(date(2026, 11, 16))
