"""ClickPesa's statement and lists: which line is whose, and when the whole of it is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from malipo.networks.clickpesa.statements import statement
from malipo.networks.http.client import Reply
from malipo.networks.statement_source import CannotFetch, FetchedLine

BEGINS = datetime(2026, 10, 31, 21, tzinfo=UTC)
ENDS = BEGINS + timedelta(days=1)
DATES = "startDate=2026-10-31&endDate=2026-11-03"
PAYMENT = {"id": "LCP1", "orderReference": "KEY1", "collectedAmount": "5000", "paymentPhoneNumber": "255754000100"}
PAYOUT = {
    "id": "LCP2",
    "orderReference": "KEY2",
    "amount": 3500,
    "order": {"amount": 3000},
    "beneficiary": {"accountNumber": "255622000001"},
}


def line(id_: str, amount: object, entry: str = "Credit", **changes: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "amount": amount,
        "entry": entry,
        "date": "2026-11-01T07:00:00.000Z",
        "description": "x",
    } | changes


LINES = [
    line("LCP1", 5000),
    line("LCP1", 100, "Debit", description="Collection fee"),
    line("LCP2", "3,000.00", "Debit"),
]


def replies(lines: list[dict[str, Any]], **changes: object) -> dict[str, object]:
    """What is answered to each path."""
    return {
        "payments": {"data": [PAYMENT], "totalCount": 1},
        "payouts": {"data": [PAYOUT], "totalCount": 1},
        "statement": {"accountDetails": {"closingBalance": 7}, "transactions": lines},
    } | changes


async def read(said: dict[str, object]) -> list[FetchedLine]:
    async def get(path: str) -> Reply:
        name = "statement" if path == f"/account/statement?currency=TZS&{DATES}" else path.split("/")[1]
        if name != "statement":
            assert path == f"/{name}/all?{DATES}&skip=0&limit=100"
        found = said[name]
        return found if isinstance(found, Reply) else Reply(200, msgspec.json.encode(found))

    return [each async for each in statement(get, begins=BEGINS, ends=ENDS)]


async def test_lines_are_those_of_the_statement_and_the_lists_say_whose_they_are() -> None:
    found = [(each.receipt, each.amount, each.key, each.phone) for each in await read(replies(LINES))]
    assert found == [
        ("LCP1", 5000, "KEY1", "255754000100"),
        ("LCP1", -100, "", ""),  # A fee is not the payment, though it has its id.
        ("LCP2", -3000, "KEY2", "255622000001"),
    ]


async def test_what_is_listed_and_not_in_the_account_is_no_line() -> None:
    assert await read(replies([])) == []


async def test_a_day_is_that_of_dar_es_salaam() -> None:
    at = ["2026-10-31T20:59:59Z", "2026-10-31T21:00:00Z", "2026-11-01T23:59:59+03:00", "2026-11-01T21:00:00Z"]
    lines = [line(f"L{number}", 5, date=each) for number, each in enumerate(at)]
    assert [each.receipt for each in await read(replies(lines))] == ["L1", "L2"]


@pytest.mark.parametrize(
    "changes",
    [
        {"statement": Reply(500, b"")},
        {"statement": {"accountDetails": {}}},
        {"statement": {"transactions": [line("L", 5, "Sideways")]}},
        {"statement": {"transactions": [line("", 5)]}},
        {"statement": {"transactions": [line("L", "1.50")]}},
        {"statement": {"transactions": [line("L", 5, date="soon")]}},
        {"payments": Reply(502, b"<html>")},
        {"payments": {"data": [], "totalCount": 1}},
        {"payments": {"data": [PAYMENT, PAYMENT], "totalCount": 2}},
        {"payments": {"data": [PAYMENT]}},
        {"payouts": {"data": [PAYOUT | {"order": {}}], "totalCount": 1}},
    ],
)
async def test_what_is_not_whole_or_not_understood_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(CannotFetch):
        await read(replies(LINES, **changes))
