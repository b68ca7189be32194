"""A day of completed collections, and the network's statement of that day: as many lines as payments.

Which payment comes when, and for how much, follows from its number alone.
"""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg

from benchmarks import database
from malipo import clock, ids

DAY = datetime(2026, 11, 1, tzinfo=clock.ZONE)
OPENING = 1_000_000
_HEADER = [
    *("Receipt No.", "Completion Time", "Initiation Time", "Details", "Transaction Status", "Paid In", "Withdrawn"),
    *("Balance", "Balance Confirmed", "Reason Type", "Other Party Info", "Linked Transaction ID", "A/C No."),
]
_SECONDS = 86_400
_TOOK = timedelta(seconds=9)


class Made(NamedTuple):
    id: str
    merchant_id: str
    key: str
    receipt: str
    amount: int
    created_at: datetime
    statement_line: int  # of the merchant's wallet


def payments(size: int) -> Iterator[Made]:
    """One after the other, over the day, by turns of all merchants."""
    begins = DAY.astimezone(UTC)
    for number in range(size):
        created_at = begins + timedelta(milliseconds=number * (_SECONDS - 60) * 1000 // size)
        id_ = f"{ids.first_of('txn_', clock.milliseconds(created_at))[:-9]}{number:09}"
        merchant_id = database.merchant(number % database.MERCHANTS + 1)
        amount, line = 1000 + number % 900 * 100, number // database.MERCHANTS + 1
        yield Made(id_, merchant_id, f"K{number:015}", f"BK{number:08}", amount, created_at, line)


async def write_payments(url: str, size: int) -> None:
    """By COPY, as malipo would have left them, with the moves of the ledger that matching reads."""
    connection = await asyncpg.connect(url)
    try:
        columns = (
            "merchant_id id reference network_key type channel status amount fee phone name description metadata "
            "search_text provider_reference created_at processing_at ended_at"
        )
        await connection.copy_records_to_table(
            "transactions", records=map(_transaction, payments(size)), columns=columns.split()
        )
        columns = (
            "merchant_id cause_id step move_number source target channel amount statement_line balance_after created_at"
        )
        await connection.copy_records_to_table("moves", records=map(_move, payments(size)), columns=columns.split())
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()


def _transaction(made: Made) -> tuple[Any, ...]:
    ended_at = made.created_at + _TOOK
    return (
        *(made.merchant_id, made.id, f"MLP-{made.key}", made.key, "COLLECTION", "MPESA", "COMPLETED", made.amount, 0),
        *("+255754000100", "Asha", "", "{}", "", made.receipt, made.created_at, made.created_at, ended_at),
    )


def _move(made: Made) -> tuple[Any, ...]:
    accounts = ("float", "wallet", "MPESA", made.amount)
    return (made.merchant_id, made.id, "end", 1, *accounts, made.statement_line, made.amount, made.created_at + _TOOK)


def write_statement(path: Path, size: int) -> None:
    """In the layout of M-Pesa's portal, which has the most columns; the oldest first, so that it need not be kept."""
    closing = OPENING + sum(made.amount for made in payments(size))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["Account", "Utility Account"])
        writer.writerow(["Time Period From", _time(DAY), "", "To", _time(DAY + timedelta(days=1))])
        writer.writerow(["Opening Balance", _grouped(OPENING), "", "Closing Balance", _grouped(closing)])
        writer.writerow(_HEADER)
        balance = OPENING
        for made in payments(size):
            balance += made.amount
            at, party = (
                _time(made.created_at + _TOOK),
                f"255754***{int(made.receipt[-3:]):03} - ASHA {made.receipt[-4:]}",
            )
            amounts = [_grouped(made.amount), "", _grouped(balance)]
            who = ["TRUE", "Pay Utility", party, "", made.key]
            writer.writerow([made.receipt, at, at, f"Pay Bill from {party}", "Completed", *amounts, *who])


def _time(at: datetime) -> str:
    return f"{at.astimezone(clock.ZONE):%d-%m-%Y %H:%M:%S}"


def _grouped(amount: int) -> str:
    return f"{amount:,}.00"
