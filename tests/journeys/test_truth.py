"""Answers of networks that were once misread, over real HTTP: no paid payment is reported FAILED without a correction.

Each of these cases was once wrong, as seen from the outside.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import create_database
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until

WALLET = 220_000
HASTE: dict[str, Any] = {"poll_seconds": "0,0,1", "not_found_seconds": 0, "follow_up_seconds": "3,6,9,12,20,40,80,160"}
# The networks take so long to think better of an outcome that a busy machine has asked before; and then no time at all.
SLOW, FAST = {"speed": 0.01}, {"speed": 100}


@pytest.fixture
async def full_stack(tmp_path: Path, postgres: str, template: str) -> AsyncIterator[FullStack]:
    url = await create_database(postgres, template)
    async with full_stack_started(tmp_path, url, wallet=WALLET, **HASTE) as full_stack:
        yield full_stack


async def _dispatch(full_stack: FullStack, id_: str) -> dict[str, Any]:
    async with full_stack.database.read() as connection:
        row = await connection.fetchrow("SELECT * FROM dispatches WHERE transaction_id = $1", id_)
    return {} if row is None else dict(row)


async def _asks(full_stack: FullStack, id_: str) -> list[str]:
    """What the network's query has said, oldest first."""
    async with full_stack.database.read() as connection:
        rows = await connection.fetch(
            "SELECT verdict FROM network_answers WHERE transaction_id = $1 AND source = 'ask' ORDER BY id", id_
        )
    return [row["verdict"] for row in rows]


async def _until_status(full_stack: FullStack, id_: str, status: str) -> dict[str, Any]:
    async def has() -> dict[str, Any] | None:
        shown = await full_stack.shown(id_)
        return shown if shown["status"] == status else None

    found: dict[str, Any] = await until(has, what=f"{status} of {id_}")
    return found


async def _until_corrected(full_stack: FullStack, id_: str) -> dict[str, Any]:
    async def has() -> dict[str, Any] | None:
        return (await full_stack.shown(id_)).get("correction")

    found: dict[str, Any] = await until(has, what=f"a correction of {id_}")
    return found


async def _switch(full_stack: FullStack, channel: str, **switches: Any) -> None:
    await full_stack.sim.control(channels={channel: switches})


# A network, and a code of its query that says nothing of the payment, though it was once taken for "not found".
SILENT = {
    "TIGO_PESA": ("+255714000104", "GetSOError001"),  # our credentials
    "MPESA": ("+255754000104", "INS-23"),  # "unknown status"
    "AIRTEL_MONEY": ("+255684000104", "DP00800001999"),
}


@pytest.mark.parametrize(
    "codes",
    [
        {},
        # in progress, and one that nobody has seen
        pytest.param({"TIGO_PESA": "GetSOError011", "MPESA": "INS-2001"}, marks=pytest.mark.slow),
        pytest.param({"TIGO_PESA": "GetSOError777"}, marks=pytest.mark.slow),
    ],
    ids=["usual", "others", "unseen"],
)
async def test_a_paid_collection_is_never_reported_failed_because_a_query_did_not_answer(
    full_stack: FullStack, codes: dict[str, str]
) -> None:
    """The reply is lost, the query answers anything, and the callback has come: unsigned, but it says paid. All networks
    at once, because most of it is waiting."""
    for channel, (_, code) in SILENT.items():
        await _switch(full_stack, channel, queryError=codes.get(channel, code))
    await _switch(full_stack, "AIRTEL_MONEY", callbackForm="unsigned")
    async with a_worker(full_stack):
        taken = {channel: await full_stack.take(channel, "COLLECTION", phone) for channel, (phone, _) in SILENT.items()}

        async def are_shown() -> bool:
            return all([await _is_shown(full_stack, id_) for id_ in taken.values()])

        await until(are_shown, what="their being shown to an operator")
        unsettled = await full_stack.unsettled()
        for channel, id_ in taken.items():
            assert (await full_stack.shown(id_))["status"] == "PROCESSING"
            assert "paid" in unsettled[id_]
            await _switch(full_stack, channel, queryError=None)
        for id_ in taken.values():
            await _until_status(full_stack, id_, "COMPLETED")
    await database_facts.assert_clean(full_stack.database)


async def _is_shown(full_stack: FullStack, id_: str) -> bool:
    """And it was asked about often, in vain."""
    attention = (await _dispatch(full_stack, id_)).get("attention")
    return attention == "said_paid" and len(await _asks(full_stack, id_)) > 6


async def test_a_signed_success_after_the_end_is_credited_although_the_query_stays_silent(
    full_stack: FullStack,
) -> None:
    # The callback leaves twelve seconds after the decision; the questions are over in two, unless the machine is busy.
    await _switch(full_stack, "AIRTEL_MONEY", notFoundSeconds=3600, callbackDelaySeconds=120)
    async with a_worker(full_stack):
        id_ = await full_stack.take("AIRTEL_MONEY", "COLLECTION", "+255684000104")
        shown = await _until_status(full_stack, id_, "FAILED")
        assert shown["failureCode"] == "not_received"
        await _switch(full_stack, "AIRTEL_MONEY", queryError="DP00800001000")
        reported = await _until_corrected(full_stack, id_)

    assert (reported["outcome"], reported["amount"], reported["reason"]) == ("COMPLETED", 1000, "credited")
    assert (await full_stack.shown(id_))["status"] == "FAILED", "the reported status stays"
    wallet = (await full_stack.api("GET", "/v1/wallet")).body["wallet"]
    assert wallet["available"] == WALLET + 1000
    entries = (await full_stack.api("GET", "/v1/wallet/entries")).body["entries"]
    assert (entries[0]["kind"], entries[0]["amount"]) == ("CORRECTION_CREDIT", 1000)
    await database_facts.assert_clean(full_stack.database)


async def test_a_collection_that_is_found_too_late_is_asked_about_again_and_credited(full_stack: FullStack) -> None:
    """No callback comes at all: only the questions after the end find it."""
    await _switch(full_stack, "AIRTEL_MONEY", notFoundSeconds=3600)
    await full_stack.sim("PUT", "/api/callbacks", {"AIRTEL_MONEY": None})
    async with a_worker(full_stack):
        id_ = await full_stack.take("AIRTEL_MONEY", "COLLECTION", "+255684000104")
        await _until_status(full_stack, id_, "FAILED")
        await _switch(full_stack, "AIRTEL_MONEY", notFoundSeconds=0)
        reported = await _until_corrected(full_stack, id_)
    assert (reported["outcome"], reported["reason"]) == ("COMPLETED", "credited")
    await database_facts.assert_clean(full_stack.database)


PAID_UNTOLD = {"AIRTEL_MONEY": "+255684000111", "MPESA": "+255754000111", "HALOPESA": "+255624000111"}


async def test_payouts_reported_failed_and_paid_without_an_answer_are_debts_that_are_held_and_reported(
    full_stack: FullStack,
) -> None:
    await full_stack.sim.control(**SLOW)
    async with a_worker(full_stack):
        taken = [
            await full_stack.take(channel, "DISBURSEMENT", phone, 60_000) for channel, phone in PAID_UNTOLD.items()
        ]
        for id_ in taken:
            await _until_status(full_stack, id_, "FAILED")
        await full_stack.sim.control(**FAST)
        reported = {}
        for id_ in taken:
            reported[id_] = await _until_corrected(full_stack, id_)
            outcome = (reported[id_]["outcome"], reported[id_]["amount"], reported[id_]["reason"])
            assert outcome == ("COMPLETED", 60_000, "debt_recorded")
        wallet = (await full_stack.api("GET", "/v1/wallet")).body["wallet"]
        assert (wallet["available"], wallet["owed"]) == (WALLET, 180_000)
        spent = {"amount": 40_001, "channel": "MPESA", "recipientPhone": "+255754000001"}
        refused = await full_stack.api("POST", "/v1/payments/disburse", spent)
        assert (refused.status, refused.headers["X-Error-Code"]) == (400, "insufficient_balance")
        kept = await full_stack.api("POST", "/v1/payments/disburse", spent | {"amount": 40_000})
        assert kept.status == 201, "what is not owed can be spent"
        assert set(taken) <= set(await full_stack.unsettled())
    events = (await full_stack.api("GET", "/v1/events?limit=100")).body["events"]
    corrected = [each["transaction"] for each in events if each["event"] == "payout.corrected"]
    assert {each["id"]: each["correction"] for each in corrected} == reported
    assert len(corrected) == len(taken)
    await database_facts.assert_clean(full_stack.database)


async def test_a_payout_that_was_only_begun_is_not_completed_and_one_that_came_back_is_a_case(
    full_stack: FullStack,
) -> None:
    """ClickPesa's own sample of PAYOUT INITIATED says SUCCESS."""
    async with a_worker(full_stack):
        stuck = await full_stack.take("HALOPESA", "DISBURSEMENT", "+255624000109", 2000)

        async def is_begun() -> bool:
            seen = await full_stack.sim("GET", "/api/seen?limit=200")
            return any("PAYOUT INITIATED" in each["body"] and '"SUCCESS"' in each["body"] for each in seen)

        await until(is_begun, what="the callback that says so")
        await full_stack.sim.control(**SLOW)
        back = await full_stack.take("HALOPESA", "DISBURSEMENT", "+255624000112", 3000)
        await _until_status(full_stack, back, "COMPLETED")
        await full_stack.sim.control(**FAST)

        async def has_come_back() -> bool:
            return await _suspense(full_stack) == 3000

        await until(has_come_back, what="the payout that came back")
        assert back in await full_stack.unsettled(), "it waits until operators give it back"
        assert (await full_stack.shown(stuck))["status"] == "PROCESSING"
        assert (await full_stack.shown(back))["status"] == "COMPLETED"
    await database_facts.assert_clean(full_stack.database)


async def _suspense(full_stack: FullStack) -> int:
    async with full_stack.database.read() as connection:
        found = await connection.fetchval(
            """
            SELECT sum(CASE 'suspense' WHEN target THEN amount ELSE -amount END)
            FROM moves WHERE 'suspense' IN (source, target)
            """
        )
    return int(found or 0)


async def test_a_callback_for_a_payment_that_we_do_not_have_is_kept_with_key_and_amount(full_stack: FullStack) -> None:
    path = f"/callbacks/tigo_pesa/{full_stack.settings.tigo_pesa_callback_token}"
    said = {
        "Status": True,
        "Description": "Paid",
        "MFSTransactionID": "X77",
        "ReferenceID": "DEMOSTRANGER1",
        "Amount": "7500",
    }
    assert (await full_stack.api("POST", path, said)).status == 200
    async with full_stack.database.read() as connection:
        [row] = await connection.fetch("SELECT * FROM unknown_callbacks")
    assert (row["connector"], row["network_key"], row["amount"]) == ("tigo_pesa", "STRANGER1", 7500)
    assert (row["provider_reference"], row["verdict"], row["is_signed"]) == ("X77", "confirmed", False)


async def test_customers_whose_numbers_are_barred_do_not_close_a_network_for_the_others(full_stack: FullStack) -> None:
    """Refusals that are about one customer never count towards "the network is down"."""
    async with a_worker(full_stack):
        refused = [
            await full_stack.take(channel, "DISBURSEMENT", phone) for channel, phone in _BARRED for _ in range(7)
        ]
        await asyncio.gather(*(_until_status(full_stack, id_, "FAILED") for id_ in refused))
        channels = (await full_stack.api("GET", "/v1/channels")).body["channels"]
        assert {each["channel"]: each["isUp"] for each in channels} == dict.fromkeys(
            ("MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA"), True
        )


_BARRED = [
    ("MPESA", "+255754000101"),
    ("AIRTEL_MONEY", "+255684000101"),
    ("TIGO_PESA", "+255714000101"),
    ("HALOPESA", "+255624000101"),
]
