"""Payouts through AzamPay, end to end: on every channel, with replies lost, and where its query can say little."""

import asyncio
from pathlib import Path
from typing import Any

from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until

CHANNELS = ("MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA")
ROUTES: dict[str, Any] = {f"route_{channel.lower()}_disbursement": "azampay" for channel in CHANNELS}
WALLET = 1_000_000

# By the last digits of the number. What is open stays open until somebody looks at AzamPay's own book.
ENDS = {
    "345": "COMPLETED",
    "101": "FAILED:invalid_recipient",
    "102": "FAILED:channel_unavailable",
    "104": "COMPLETED",  # The reply is lost.
    "105": "COMPLETED",  # And so is the callback.
    "107": "COMPLETED",  # And the first queries find nothing.
    "108": "PROCESSING",  # HTTP 500, and "not found": it may not be found yet.
    "109": "PROCESSING",
}


async def _rows(full_stack: FullStack) -> dict[str, dict[str, Any]]:
    async with full_stack.database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT t.id, t.status, t.failure_code, t.network_key, t.network_id, d.attention, d.query_count
            FROM transactions t LEFT JOIN dispatches d ON d.transaction_id = t.id
            """
        )
    return {row["id"]: dict(row) for row in rows}


async def _sendings(full_stack: FullStack) -> list[str]:
    seen = await full_stack.sim("GET", "/api/seen?limit=2000")
    return [each["body"] for each in seen if each["direction"] == "in" and each["path"].endswith("/disburse")]


def _end(row: dict[str, Any]) -> str:
    return ":".join(filter(None, (row["status"], row["failure_code"])))


async def test_every_channel_pays_out_and_what_is_not_known_stays_open(tmp_path: Path, database_url: str) -> None:
    async with full_stack_started(tmp_path, database_url, wallet=WALLET, **ROUTES) as full_stack:
        # The number's prefix is another network's: the merchant's channel decides.
        cells = [(channel, digits) for channel in CHANNELS for digits in ENDS]
        phones = {cell: f"+25576{place:04}{cell[1]}" for place, cell in enumerate(cells)}
        async with a_worker(full_stack):
            calls = (
                full_stack.take(cell[0], "DISBURSEMENT", phones[cell], 1000 + place) for place, cell in enumerate(cells)
            )
            ids = dict(zip(cells, await asyncio.gather(*calls), strict=True))

            async def have_ended() -> bool:
                rows = await _rows(full_stack)
                done = [_end(rows[id_]) == ENDS[cell[1]] for cell, id_ in ids.items()]
                asked = [rows[id_]["query_count"] for cell, id_ in ids.items() if ENDS[cell[1]] == "PROCESSING"]
                return all(done) and min(asked) >= 6

            await until(have_ended, what="their ends")
        rows = await _rows(full_stack)
        for cell, id_ in ids.items():
            is_lost = cell[1] in ("104", "105", "107", "108")
            assert (rows[id_]["network_id"] is None) == is_lost, cell
        moved = await full_stack.moved()
        for place, cell in enumerate(cells):
            is_paid = ENDS[cell[1]] == "COMPLETED"
            found = [(each["kind"], each["amount"], each["channel"]) for each in moved.get(phones[cell], [])]
            assert found == ([("paid", 1000 + place, cell[0])] if is_paid else []), cell
        bodies = await _sendings(full_stack)
        assert [sum(row["network_key"] in body for body in bodies) for row in rows.values()] == [1] * len(rows)
        await database_facts.assert_clean(full_stack.database)


async def test_a_payout_that_its_query_cannot_find_waits_for_an_operator_and_is_not_sent_again(
    tmp_path: Path, database_url: str
) -> None:
    async with full_stack_started(tmp_path, database_url, wallet=WALLET, **ROUTES) as full_stack:
        await full_stack.sim.control(channels={"AZAMPAY": {"findsByReference": False}})
        async with a_worker(full_stack):
            lost = await full_stack.take("HALOPESA", "DISBURSEMENT", "+255621123104")
            received = await full_stack.take("HALOPESA", "DISBURSEMENT", "+255621123345")

            async def are_there() -> bool:
                rows = await _rows(full_stack)
                return (rows[received]["status"], rows[lost]["attention"]) == ("COMPLETED", "said_paid")

            # The callback says that it was paid; nobody can confirm it.
            await until(are_there, what="the operator's case")
        assert (await full_stack.unsettled())[lost]
        assert len(await _sendings(full_stack)) == 2
        await database_facts.assert_clean(full_stack.database)


async def test_where_its_query_names_no_status_a_listed_callback_ends_a_payout_that_was_paid(
    tmp_path: Path, database_url: str
) -> None:
    async with full_stack_started(tmp_path, database_url, wallet=WALLET, azampay_query="off", **ROUTES) as full_stack:
        await full_stack.sim.control(channels={"AZAMPAY": {"namesStatus": False}})
        async with a_worker(full_stack):
            paid = await full_stack.take("MPESA", "DISBURSEMENT", "+255754123345")
            failed = await full_stack.take("MPESA", "DISBURSEMENT", "+255754123110")

            async def are_there() -> bool:
                rows = await _rows(full_stack)
                return (rows[paid]["status"], rows[failed]["status"]) == ("COMPLETED", "COMPLETED")

            # Of the second, the failure that was told first ends nothing: a payout that is given back by hearsay could
            # be paid twice. The success that follows does.
            await until(are_there, what="their ends")
        assert len(await _sendings(full_stack)) == 2
        await database_facts.assert_clean(full_stack.database)
