"""What a close signs stays the same, byte for byte, from version to version: closed days are verified, and computed anew
after a restore.

`signed_days.json` was written by version 0.4.0: the content of three closed days that have every kind of open item for
every reason, and the entries that each day kept, which its digest covers. Ids are random, so names stand in their
places.
"""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from malipo.db import Database
from malipo.ledger.house_bookings import HouseBookingKind
from malipo.networks.connector import Channel
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.signature import message_of
from tests.reconciliation.close.books import MONDAY, TUESDAY, WEDNESDAY, Books, at

SIGNED_DAYS = Path(__file__).parent / "signed_days.json"
ALL_REASONS = {
    "timing",
    "exception",
    "expected",
    "rounding",
    "transfer",
    "other_carrier",
    "no_statement",
    "accepted",
    "unexplained",
}
ALL_KINDS = {"payment", "line", "fee", "sweep", "booking", "balance", "late", "rounding"}


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    return await Books.begin(database, tmp_path)


async def _close(books: Books, day: date, *without: str) -> None:
    """With what is not explained, by two operators."""
    await books.try_to_close(day, accepts_difference=True, reason="The test accepts it.", without=without)
    await books.approve(day)


async def _monday(books: Books, names: dict[str, str]) -> str:
    for number, receipt in enumerate(("R1", "R2", "R3", "CARRIED", "KNOWN", "OVER")):
        await books.paid(receipt, 5000, at(MONDAY, f"08:{number:02}"))
    await books.paid("LATE-1", 900, at(MONDAY, "23:30"))
    await books.paid("LATE-2", 900, at(MONDAY, "23:31"))
    await books.paid_out("OUT-1", 1500, at(MONDAY, "15:00"))
    await books.paid("T1", 400, at(MONDAY, "16:00"), channel="TIGO_PESA")
    await books.carried_by("CARRIED", "azampay")
    # Lines of one amount, so that the order of their subjects decides which comes first.
    unknown = [(f"X{number}", 700, f"10:{number:02}", "money") for number in range(12)]
    lines = [("R1", 5000, "07:59", "money"), ("THEIRS", 650, "10:30", "money"), ("FIRST", 320, "10:31", "money")]
    gone = [("GONE-1", 210, "11:00", "money"), ("R2", 4900, "11:01", "money"), ("GONE-FEE", -15, "11:02", "fee")]
    paid_in = [("PAID-IN", 80, "11:03", "fee")]
    file = await books.statement(MONDAY, [*lines, *unknown, *gone, *paid_in], opening=250, name="a.csv")
    # Account names that begin alike, with and without a space.
    for account in ("Till", "Till 1", "Till1", "Main till"):
        charges = [(f"F {account}", -35, "12:00", "fee"), (f"S {account}", -60, "12:01", "sweep")]
        names[await books.statement(MONDAY, charges, account=account)] = f"file {account}"
    cents = [("C1", Decimal("-0.30"), "12:00", "fee")]
    names[await books.statement(MONDAY, cents, account="Cents", opening=Decimal("1000.40"))] = "file cents"
    await books.paid("MIDNIGHT", 450, at(MONDAY, "23:59:58"))
    after_midnight = [("MIDNIGHT", 450, "00:00:01", "money")]
    names[await books.statement(TUESDAY, after_midnight, account="Till")] = "file of Tuesday Till"
    await books.match("R1", "R2", "MIDNIGHT")
    names[await books.exception("theirs_only", "THEIRS")] = "exception THEIRS"
    names[await books.exception("ours_only", "KNOWN")] = "exception KNOWN"
    names[(await books.book(HouseBookingKind.BANK_TRANSFER, -3000, MONDAY, reference="FT1")).id] = "booking FT1"
    names[(await books.book(HouseBookingKind.LINE, 690, MONDAY, line_id=await books.line_id("X3"))).id] = (
        "booking of X3"
    )
    old = await books.book(
        HouseBookingKind.BANK_TRANSFER, 77, MONDAY, reference="FT-OLD", booked_at=at(MONDAY - timedelta(days=9))
    )
    names[old.id] = "booking FT-OLD"
    return file


async def _tuesday(books: Books, names: dict[str, str], first: str) -> None:
    await books.paid("LATE-WRITTEN", 330, at(MONDAY, "23:50"))
    await books.paid("R4", 2500, at(TUESDAY, "23:59"))
    await books.paid_out("OUT-2", 800, at(TUESDAY, "09:00"))
    line_id = await books.line_id("FIRST")
    names[(await books.book(HouseBookingKind.LINE, 320, MONDAY, line_id=line_id)).id] = "booking of FIRST"
    await books.withdraw(first)
    kept = [("R1", 5000, f"{MONDAY} 07:59", "money"), ("THEIRS", 650, f"{MONDAY} 10:30", "money")]
    lines = [("OVER", 5000, f"{TUESDAY} 00:01", "money"), ("B1", -3000, f"{TUESDAY} 09:00", "bank")]
    fees = [("F1", -45, f"{TUESDAY} 10:00", "fee"), ("F2", -20, f"{TUESDAY} 10:01", "fee")]
    file = await books.statement(MONDAY, [*kept, *lines, *fees], opening=250, days=2, name="both days.csv")
    names[file] = "file both days"
    await books.match("R1", "OVER")
    transfer = next(id_ for id_, name in names.items() if name == "booking FT1")
    await books.match_booking("B1", transfer)
    fee = await books.book(HouseBookingKind.NETWORK_FEE, -45, TUESDAY, file_id=file, reference=str(TUESDAY))
    names[fee.id] = "booking of fees"
    for account in ("Till 1", "Till1", "Main till", "Cents"):
        names[await books.statement(TUESDAY, [], account=account)] = f"file of Tuesday {account}"
    # The network has already what the ledger will have tomorrow.
    names[await books.statement(TUESDAY, [("T2", 60, "10:00", "money")], channel=Channel.TIGO_PESA)] = "file TIGO_PESA"


async def _wednesday(books: Books, names: dict[str, str]) -> None:
    await books.contradicted("R3", -5000, at(WEDNESDAY, "09:00"))
    lines = [("R4", 2500, "00:02", "money"), ("R3", 5000, "00:03", "money"), ("T-LINE", 10, "09:00", "sweep")]
    names[await books.statement(WEDNESDAY, lines, name="c.csv")] = "file of Wednesday"
    names[await books.statement(WEDNESDAY, [("S9", -9, "12:00", "sweep")], account="Till")] = "file of Wednesday Till"
    for account in ("Till 1", "Till1", "Main till", "Cents"):
        names[await books.statement(WEDNESDAY, [], account=account)] = f"file of Wednesday {account}"
    names[await books.statement(WEDNESDAY, [], channel=Channel.TIGO_PESA)] = "file of Wednesday TIGO_PESA"
    await books.match("R4", "R3")


async def close_three_days(books: Books) -> dict[str, Any]:
    """What was signed of each, and what it has kept, with names in place of random ids."""
    async with books.database.begin() as tx:  # 9 comes after 10 in the order of text
        await tx.execute("SELECT setval(pg_get_serial_sequence('statement_lines', 'id'), 93)")
    names = {books.merchant_id: "merchant"}
    first = await _monday(books, names)
    names[first] = "file of Monday"
    await _close(books, MONDAY, "TIGO_PESA")
    await _tuesday(books, names, first)
    await _close(books, TUESDAY)
    await _wednesday(books, names)
    await _close(books, WEDNESDAY)
    names |= {payment: f"payment {receipt}" for receipt, payment in books.payments.items()}
    async with books.database.read() as connection:
        contents = await connection.fetch("SELECT day, content FROM day_closes ORDER BY day")
        kept = await connection.fetch("SELECT row_to_json(e)::text FROM day_close_entries e ORDER BY day, entry_number")
    return {
        "content": {str(day): _named(content, names) for day, content in contents},
        "kept": [_named(row, names) for (row,) in kept],
    }


def _named(text: str, names: dict[str, str]) -> str:
    for id_, name in names.items():
        text = text.replace(id_, name)
    return text


async def test_three_days_are_signed_as_version_0_4_signed_them(books: Books) -> None:
    assert await close_three_days(books) == json.loads(SIGNED_DAYS.read_text())


def test_these_days_have_every_kind_of_open_item_and_every_reason() -> None:
    closes = [json.loads(each) for each in json.loads(SIGNED_DAYS.read_text())["content"].values()]
    items = [item for close in closes for channel in close["channels"] for item in channel["items"]]
    assert {each["reason"] for each in items} == ALL_REASONS
    assert {each["what"] for each in items} == ALL_KINDS


SIGNED = ClosedDay(
    day=MONDAY,
    content='{"a":1}',
    previous=None,
    hash=bytes(range(32)),
    counted='{"MPESA":7}',
    digest=b"\xff" * 32,
    reason="“Bei” is agreed.",
    requested_by=None,
    closed_by="asha",
    closed_at=datetime(2026, 11, 4, 6, 30, 15, 123456, tzinfo=UTC),
    key_id="ed25519-1",
    signature=b"not part of it",
)
# As version 0.4.0 signed it: a change of one byte makes every closed day look forged.
MESSAGE = (
    'malipo: daily close 1\n{"closed_at":"2026-11-04T06:30:15.123Z","closed_by":"asha","content":"{\\"a\\":1}",'
    '"counted":"{\\"MPESA\\":7}","day":"2026-11-02","digest":"//////////////////////////////////////////8=",'
    '"hash":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","key_id":"ed25519-1","previous":null,'
    '"reason":"“Bei” is agreed.","requested_by":null}'
)


class DayWithOneColumnMore(ClosedDay, frozen=True, kw_only=True):
    looked_at_by: str = ""


def test_what_is_signed_of_a_day_stays_the_same_bytes() -> None:
    assert message_of(SIGNED) == MESSAGE.encode()


def test_a_column_that_a_later_version_adds_is_not_signed() -> None:
    """The days of before have no such column, and their signatures must fit all the same."""
    later = DayWithOneColumnMore(**{name: getattr(SIGNED, name) for name in SIGNED.__struct_fields__})
    assert message_of(later) == MESSAGE.encode()
