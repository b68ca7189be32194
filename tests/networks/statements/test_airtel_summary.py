"""Airtel's summary, page by page: what each transaction is, and when the whole of it is refused."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from malipo.networks.airtel_money.statements import PAGE, summary
from malipo.networks.connector import Answer, Verdict
from malipo.networks.http.client import Reply
from malipo.networks.statement_source import CannotFetch, FetchedLine

BEGINS = datetime(2026, 10, 31, 21, tzinfo=UTC)
ENDS = BEGINS + timedelta(days=1)
NOON = datetime(2026, 11, 1, 9, tzinfo=UTC)
OURS, THEIRS = "684000000", "784000100"


def transaction(number: int, **changes: Any) -> dict[str, Any]:
    """A collection, as the facts have it; `payer`, `payee`, `service` and `charges` are parts beside it."""
    parts = {
        "charges": {"service": "8.00"},
        "payee": {"currency": "TZS", "msisdn": OURS, "name": "DUKA"},
        "payer": {"currency": "TZS", "msisdn": THEIRS, "name": "ASHA"},
        "service": {"type": "MERCHPAY"},
    }
    fields = {
        "airtel_money_id": f"MP{number}",
        "amount": "1,000.00",
        "created_at": int(NOON.timestamp()),
        "id": f"KEY{number}",
        "reference_number": "",
        "status": "TS",
    }
    for name, value in changes.items():
        (parts if name in parts else fields)[name] = value
    return parts | {"transaction": fields}


def page(transactions: Sequence[dict[str, Any]], count: object) -> Reply:
    return Reply(200, msgspec.json.encode({"data": {"count": count, "transactions": transactions}}))


async def read(*pages: Reply | Answer, our_number: str = "255684000000") -> list[FetchedLine]:
    asked: list[str] = []

    async def get(path: str) -> Reply | Answer:
        asked.append(path)
        return pages[len(asked) - 1]

    lines = [
        line async for line in summary(get, "merchant/v1/transactions", our_number=our_number, begins=BEGINS, ends=ENDS)
    ]
    window = f"merchant/v1/transactions?from={BEGINS.timestamp():.0f}&to={ENDS.timestamp():.0f}"
    assert asked[0] == f"{window}&limit={PAGE}&offset=0"
    assert len(asked) == len(pages)
    return lines


async def read_one(**changes: Any) -> list[FetchedLine]:
    return await read(page([transaction(1, **changes)], 1), page([], 1))


async def test_the_payee_is_paid_and_the_payer_pays() -> None:
    lines = await read(
        page(
            [
                transaction(1),
                transaction(2, payer={"msisdn": f"255{OURS}"}, payee={"msisdn": THEIRS}, service={"type": "CASHIN"}),
            ],
            2,
        ),
        page([], 2),
    )
    assert [(line.receipt, line.amount, line.key, line.phone, line.moved_at) for line in lines] == [
        ("MP1", 1000, "KEY1", THEIRS, NOON),
        ("MP2", -1000, "KEY2", THEIRS, NOON),
    ]
    assert [line.details for line in lines] == ["MERCHPAY, charge 8.00", "CASHIN, charge 8.00"]


@pytest.mark.parametrize(
    "created_at",
    [NOON.timestamp(), int(NOON.timestamp() * 1000), "1793523600", "2026-11-01T09:00:00Z", "2026-11-01T12:00:00+03:00"],
)
async def test_times_are_epochs_or_iso(created_at: object) -> None:
    [line] = await read_one(created_at=created_at)
    assert line.moved_at == NOON


@pytest.mark.parametrize(("amount", "shillings"), [("1,234.00", 1234), ("1234", 1234), (1234, 1234), (1234.0, 1234)])
async def test_amounts_come_in_groups_or_as_numbers(amount: object, shillings: int) -> None:
    assert (await read_one(amount=amount))[0].amount == shillings


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": "12.50"},
        {"amount": "1,23"},
        {"amount": "-5"},
        {"amount": None},
        {"created_at": "yesterday"},
        {"created_at": None},
        {"airtel_money_id": ""},
        {"payee": {"msisdn": "784000999"}},
        {"payer": {"msisdn": OURS}},
        {"payee": {}},
    ],
)
async def test_what_is_not_understood_refuses_all_of_it(changes: dict[str, Any]) -> None:
    with pytest.raises(CannotFetch):
        await read_one(**changes)


@pytest.mark.parametrize("status", ["TF", "TIP", "TA", "TE", ""])
async def test_what_moved_nothing_is_no_line(status: str) -> None:
    assert await read_one(status=status, amount="?", airtel_money_id=None) == []


async def test_what_is_outside_of_the_day_is_left_to_its_own() -> None:
    at = [BEGINS - timedelta(seconds=1), BEGINS, ENDS - timedelta(seconds=1), ENDS]
    rows = [transaction(number, created_at=each.isoformat()) for number, each in enumerate(at)]
    assert [line.receipt for line in await read(page(rows, 4), page([], 4))] == ["MP1", "MP2"]


FIRST, SECOND = [transaction(number) for number in range(PAGE)], [transaction(PAGE)]


@pytest.mark.parametrize("counts", [(101, 101, 101), (PAGE, 1, 0), ("101", "101", "101")])
async def test_it_is_read_to_the_end(counts: tuple[object, ...]) -> None:
    """Whether a count is of all or of the page, they agree."""
    pages = [page(rows, count) for rows, count in zip((FIRST, SECOND, []), counts, strict=True)]
    assert len(await read(*pages)) == PAGE + 1


@pytest.mark.parametrize("counts", [(102, 102, 102), (101, 102, 102), (100, 101, 101), (101, 101, 0), (None, 1, 0)])
async def test_pages_that_do_not_make_up_their_count_are_refused(counts: tuple[object, ...]) -> None:
    pages = [page(rows, count) for rows, count in zip((FIRST, SECOND, []), counts, strict=True)]
    with pytest.raises(CannotFetch):
        await read(*pages)


@pytest.mark.parametrize(
    "broken",
    [
        Reply(500, b"{}"),
        Reply(200, b"<html>"),
        Reply(200, b"{}"),
        Reply(200, b'{"data": {"count": 101}}'),
        Reply(200, b'{"data": {"count": 101, "transactions": [1]}}'),
        Reply(404, msgspec.json.encode({"data": {"count": 101, "transactions": []}})),
        Answer(verdict=Verdict.UNKNOWN, code="lost"),
        page([FIRST[0]], 101),  # The list moved on while it was read.
    ],
)
async def test_a_page_that_fails_in_the_middle_refuses_all_of_it(broken: Reply | Answer) -> None:
    with pytest.raises(CannotFetch):
        await read(page(FIRST, 101), broken)
