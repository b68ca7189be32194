"""The permitted acts on a payout file, cell by cell, by a grid that was written by hand."""

from datetime import UTC, date, datetime

import pytest

from malipo.bank.payout_file import (
    ALLOWED,
    FileAct,
    FileLine,
    FileRefusal,
    FileStatus,
    FileTrace,
    PayoutFile,
    bytes_of,
    days_to_pay,
    is_perhaps_paid,
    order_of,
    why_not_void,
    why_not_void_unseen,
)
from malipo.bank_evidence.banking_days import BankingDays
from tests.bank.samples import ACCOUNT

# Rows: the file's status. Columns: approve, reject, download, refuse lines, void.
GRID = {
    "GATHERED": ("APPROVED", "VOIDED", "-", "-", "-"),
    "APPROVED": ("-", "-", "APPROVED", "APPROVED", "VOIDED"),
    "VOIDED": ("-", "-", "-", "-", "-"),
}
COLUMNS = ("approve", "reject", "download", "refuse", "void")

MESSAGE = "1KDMGZ0AAAAAAAAA"
FRIDAY, MONDAY, TUESDAY, WEDNESDAY = (date(2026, 11, day) for day in (13, 16, 17, 18))
AT = datetime(2026, 11, 13, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", FileStatus)
@pytest.mark.parametrize("act", FileAct)
def test_each_act_is_allowed_where_the_grid_says(status: FileStatus, act: FileAct) -> None:
    expected = GRID[status][COLUMNS.index(act)]
    assert ALLOWED.get((status, act), "-") == expected


def file(**values: object) -> PayoutFile:
    usual = {
        "id": "pfl_1",
        "payer_account_id": ACCOUNT.id,
        "status": FileStatus.APPROVED,
        "line_count": 2,
        "total": 3_000,
        "gathered_by": "operator asha",
        "gathered_at": AT,
        "message_id": MESSAGE,
        "approved_at": AT,
        "approved_by": "operator juma",
    }
    return PayoutFile(**{**usual, **values})  # type: ignore[arg-type]


REFUSAL = f"The bank wrote: {MESSAGE} rejected, AM04"


@pytest.mark.parametrize(
    ("refusal", "covered", "is_paid", "expected"),
    [
        (REFUSAL, [], False, None),
        ("The bank rejected our file", [], False, FileRefusal.OTHER_MESSAGE),
        (REFUSAL, [], True, FileRefusal.IS_PAID),
        (None, [], False, FileRefusal.NOT_COVERED),
        (None, [(FRIDAY, WEDNESDAY)], False, None),
        (None, [(FRIDAY, TUESDAY)], False, FileRefusal.NOT_COVERED),  # the third business day is missing
        (None, [(MONDAY, WEDNESDAY)], False, FileRefusal.NOT_COVERED),  # the day of the approval is missing
        (None, [(FRIDAY, MONDAY), (TUESDAY, WEDNESDAY)], False, FileRefusal.NOT_COVERED),  # a gap
        (None, [(FRIDAY, WEDNESDAY)], True, FileRefusal.IS_PAID),
    ],
)
def test_a_file_is_voided_only_if_it_was_certainly_not_paid(
    refusal: str | None, covered: list[tuple[date, date]], is_paid: bool, expected: FileRefusal | None
) -> None:
    days = days_to_pay(FRIDAY, None, BankingDays())
    assert why_not_void(file(), refusal=refusal, days=days, covered=covered, is_paid=is_paid) == expected


@pytest.mark.parametrize(
    ("downloaded_on", "last"),
    [
        (None, WEDNESDAY),
        (FRIDAY, WEDNESDAY),
        (date(2026, 11, 14), date(2026, 11, 19)),  # on a Saturday: the bank takes it on Monday
        (MONDAY, date(2026, 11, 19)),
        (TUESDAY, date(2026, 11, 20)),
        (date(2026, 12, 8), date(2026, 12, 14)),  # the 9th is a holiday
    ],
)
def test_three_banking_days_count_from_the_last_download(downloaded_on: date | None, last: date) -> None:
    """Who has it can hand it in."""
    assert days_to_pay(FRIDAY, downloaded_on, BankingDays()) == (FRIDAY, last)


@pytest.mark.parametrize(
    ("is_paid", "is_asked_for", "is_restored_since", "expected"),
    [
        (False, False, False, None),
        (True, False, False, FileRefusal.IS_PAID),
        (False, True, False, FileRefusal.ASKED_FOR),
        (False, False, True, FileRefusal.RESTORED_SINCE),  # that somebody has asked for it may be lost
        (False, True, True, FileRefusal.ASKED_FOR),
        (True, True, True, FileRefusal.IS_PAID),
        (True, False, True, FileRefusal.IS_PAID),
        (True, True, False, FileRefusal.IS_PAID),
    ],
)
def test_a_file_that_nobody_has_is_void_at_once(
    is_paid: bool, is_asked_for: bool, is_restored_since: bool, expected: FileRefusal | None
) -> None:
    found = why_not_void_unseen(is_paid=is_paid, is_asked_for=is_asked_for, is_restored_since=is_restored_since)
    assert found == expected


def line(number: int, **values: object) -> FileLine:
    usual = {
        "file_id": "pfl_1",
        "settlement_id": f"stl_{number}",
        "merchant_id": "mer_1",
        "reference": f"MLP-{number}",
        "key": f"{number}123456789ABCDEF",
        "amount": 1_000 * number,
        "bic": "CORUTZTZ",
        "account": f"015000{number}",
        "name": "Duka la Asha",
    }
    return FileLine(**{**usual, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        # It has the MsgId or a key of the file, whatever its sum.
        (FileTrace(True, False, -77), True),
        (FileTrace(True, True, -77), True),
        (FileTrace(True, False, 100_000), True),
        # It names nothing of ours: a transfer of the file, all that are open, or the whole file.
        (FileTrace(False, False, -100_000), True),
        (FileTrace(False, False, -300_000), True),
        (FileTrace(False, False, -600_000), True),
        # It is of another settlement, of another sum, or came in.
        (FileTrace(False, True, -100_000), False),
        (FileTrace(False, False, -100_001), False),
        (FileTrace(False, False, 100_000), False),
        # The third transfer was refused, and the fourth has left the file.
        (FileTrace(False, False, -250_000), False),
        (FileTrace(False, False, -400_000), False),
    ],
)
def test_a_line_is_perhaps_of_a_file(trace: FileTrace, expected: bool) -> None:
    lines = [line(1), line(2), line(3, amount=2_500, refused_at=AT), line(4, left_at=AT)]
    assert is_perhaps_paid(file(total=6_000), lines, [trace]) is expected
    assert is_perhaps_paid(file(total=6_000), lines, [FileTrace(False, True, -1), trace]) is expected
    assert not is_perhaps_paid(file(total=6_000), lines, [])


def test_the_same_lines_have_the_same_bytes_in_whatever_order_they_come() -> None:
    lines = [line(1), line(2), line(3)]
    orders = [
        order_of(ACCOUNT, each, message_id=MESSAGE, created_at=AT, pays_on=MONDAY) for each in (lines, lines[::-1])
    ]
    assert bytes_of(ACCOUNT, orders[0]) == bytes_of(ACCOUNT, orders[1])
    assert [each.key for each in orders[0].transfers] == [each.key for each in lines]
