"""/dashboard/transactions: the file to download."""

import csv
import io
import itertools
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.dashboard.merchant import transaction_csv
from malipo.payments.listing import keyset_pagination
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.transaction import Status, Type
from malipo.table_files.csv_export import csv_lines
from tests.dashboard.merchant.transactions.transaction_pages import PATH, TransactionPages
from tests.dashboard.merchant.transactions.transaction_pages import shop as shop
from tests.dashboard.merchant.transactions.transaction_pages import surfer as surfer
from tests.journeys.concurrency import order


async def file(shop: TransactionPages, query: str = "") -> list[dict[str, str]]:
    seen = await shop.surfer.get(f"{PATH}.csv{query}")
    assert seen.status == 200
    assert seen.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert seen.headers["Content-Disposition"].startswith('attachment; filename="transactions_')
    assert "no-store" in seen.headers["Cache-Control"]
    return list(csv.DictReader(io.StringIO(seen.text, newline="")))


async def test_the_file_has_what_the_filters_leave_newest_first(shop: TransactionPages) -> None:
    at = datetime(2026, 3, 10, 22, 30, 5, 123_000, tzinfo=UTC)
    await shop.make(at=at, name='Asha, "Mama"', status=Status.COMPLETED, order_reference="=A-1042")
    await shop.make(name="Juma")
    await shop.make(name="Asha")

    rows = await file(shop, "?search=asha")

    assert [row["name"] for row in rows] == ["Asha", 'Asha, "Mama"']
    first = shop.made[0]
    assert first.ended_at is not None
    assert rows[1] == {
        "reference": first.reference,
        "date": "2026-03-11",
        "time": "01:30:05",
        "type": "COLLECTION",
        "status": "COMPLETED",
        "channel": "MPESA",
        "amount": "1000",
        "fee": "0",
        "netAmount": "1000",
        "phone": "+255754000001",
        "name": 'Asha, "Mama"',
        "description": "",
        "providerReference": "NET-42",
        "failureCode": "",
        "createdAt": "2026-03-10T22:30:05.123Z",
        "endedAt": clock.iso(first.ended_at),
        "id": first.id,
        "orderReference": "'=A-1042",
        "refundOf": "",
    }


async def test_the_file_is_read_in_pieces_and_has_everything_once(shop: TransactionPages) -> None:
    for _ in range(7):
        await shop.make()
    pieces = [
        [each.id for each in piece]
        async for piece in keyset_pagination.stream(
            shop.service.queries.read, shop.merchant.id, TransactionFilter(), size=3
        )
    ]
    made = [each.id for each in shop.made]
    assert [len(piece) for piece in pieces] == [3, 3, 1]
    assert sorted(itertools.chain(*pieces), reverse=True) == list(itertools.chain(*pieces)) == sorted(made)[::-1]


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_the_file_is_a_formula(first: str) -> None:
    evil = f"{first}HYPERLINK(1)"
    asked = order("mer_1", Type.COLLECTION, 1000).draft
    assert asked is not None
    written = csv_lines([transaction_csv.row_of(replace(asked, name=evil, description=evil, provider_reference=evil))])
    (row,) = csv.reader(io.StringIO(written, newline=""))
    assert [cell for cell in row if cell.startswith(first)] == (["+255754000001"] if first == "+" else [])
    assert row.count(f"'{evil}") == 3


@pytest.mark.parametrize(
    ("status", "fee", "net"),
    [("PENDING", 30, 970), ("PROCESSING", 30, 970), ("COMPLETED", 30, 970), ("FAILED", 0, 0), ("CANCELLED", 0, 0)],
)
def test_what_was_not_paid_has_no_fee(status: str, fee: int, net: int) -> None:
    asked = order("mer_1", Type.COLLECTION, 1000).draft
    assert asked is not None
    row = dict(
        zip(transaction_csv.COLUMNS, transaction_csv.row_of(replace(asked, fee=30, status=Status(status))), strict=True)
    )
    assert (row["amount"], row["fee"], row["netAmount"]) == (1000, fee, net)
