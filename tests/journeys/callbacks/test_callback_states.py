"""Callbacks for payments of other merchants and networks, and in every status."""

from dataclasses import replace

import pytest

from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.connector import PaymentInstruction, Type
from malipo.networks.http.client import HttpClient
from tests.conftest import make_merchant
from tests.journeys import database_facts
from tests.journeys.callbacks.callback_stack import (
    CallbackStack,
    everything_in,
    is_asked_about,
    mpesa,
    same_rows,
    until_moved,
)
from tests.journeys.callbacks.callback_stack import callback_stack as callback_stack
from tests.journeys.full_stack import Elsewhere, a_worker, until


async def test_a_callback_for_one_merchant_leaves_every_other_alone(callback_stack: CallbackStack) -> None:
    mine = await callback_stack.stuck("AIRTEL_MONEY", "COLLECTION")
    before = await callback_stack.row(mine)
    stranger = await make_merchant(callback_stack.database, wallet=10_000, name="Another")
    answer = await callback_stack.full_stack.api.as_(stranger.key)(
        "POST", "/v1/payments/disburse", {"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": "+255684999109"}
    )
    theirs = answer.body["transaction"]["id"]
    async with a_worker(callback_stack.full_stack):
        await callback_stack.until_status(theirs, "PROCESSING")
        await until(lambda: _is_sent(callback_stack, theirs), pause=0.05, what="its reply")

    await callback_stack.send_callback("airtel_money", callback_stack.airtel(await callback_stack.key(theirs)))

    assert await callback_stack.status(theirs) == "COMPLETED"
    assert await database_facts.wallet(callback_stack.database, stranger.id) == (9_000, 0)
    assert same_rows(await callback_stack.row(mine), before)


async def _is_sent(callback_stack: CallbackStack, id_: str) -> bool:
    dispatch = (await callback_stack.row(id_))["dispatch"]
    return dispatch is not None and bool(dispatch["next_action"] == "ask")


async def test_a_network_speaks_only_of_its_own_payments(callback_stack: CallbackStack) -> None:
    theirs = await callback_stack.stuck("MPESA", "DISBURSEMENT")
    before = await callback_stack.row(theirs)

    status, _, _ = await callback_stack.send_callback("airtel_money", callback_stack.airtel(before["network_key"]))

    assert status == 200
    assert same_rows(await callback_stack.row(theirs), before)


async def test_a_payment_that_nobody_knows_is_acknowledged_and_harms_nobody(callback_stack: CallbackStack) -> None:
    before, key = await everything_in(callback_stack), "Z" * 20

    for code in ("INS-0", "INS-6"):
        status, body, _ = await callback_stack.send_callback("mpesa", mpesa(key, code))
        assert (status, body["output_ResponseCode"], body["output_ThirdPartyConversationID"]) == (200, "0", key)
    for letters in ("TS", "TF"):
        assert (await callback_stack.send_callback("airtel_money", callback_stack.airtel(key, letters)))[0] == 200

    assert await everything_in(callback_stack) == before


@pytest.mark.parametrize(("channel", "word"), [("MPESA", "failure"), ("AIRTEL_MONEY", "success")])
async def test_a_callback_for_a_payment_that_was_never_sent_does_not_end_it(
    callback_stack: CallbackStack, channel: str, word: str
) -> None:
    """A lie, or we have lost our memory: the network is asked, and only if it has nothing, a payout is sent, once.

    Whoever said that it was paid keeps it from being sent, and from failing: only a person can say more.
    """
    ids = {type_: await callback_stack.take(channel, type_, "001") for type_ in ("COLLECTION", "DISBURSEMENT")}

    for id_ in ids.values():
        key = await callback_stack.key(id_)
        if channel == "MPESA":
            reported = mpesa(key, "INS-0" if word == "success" else "INS-6")
        else:
            reported = callback_stack.airtel(key, "TS" if word == "success" else "TF")
        assert (await callback_stack.send_callback(channel.lower(), reported))[0] == 200
        row = await callback_stack.row(id_)
        assert (row["dispatch"]["next_action"], row["dispatch"]["attention"]) == ("ask", "unsent")
        assert row["status"] in ("PENDING", "PROCESSING")
    hasty = replace(
        callback_stack.full_stack.settings, poll_seconds=(0, 0, 0, 1), not_found_seconds=1, not_indexed_seconds=1
    )
    async with a_worker(Elsewhere(callback_stack.full_stack.database_url, hasty)):
        if word == "success":
            for id_ in ids.values():
                await until(lambda id_=id_: is_asked_about(callback_stack, id_, times=6), what="the questions")  # type: ignore[misc]
        else:
            await callback_stack.until_status(ids["COLLECTION"], "FAILED")
            await callback_stack.until_status(ids["DISBURSEMENT"], "COMPLETED")

    is_sent = word == "failure"
    assert await _movements(callback_stack, await callback_stack.key(ids["COLLECTION"])) == []
    assert await _movements(callback_stack, await callback_stack.key(ids["DISBURSEMENT"])) == (
        [("paid", 1000)] if is_sent else []
    )
    assert (await callback_stack.row(ids["COLLECTION"]))["failure_code"] == ("not_received" if is_sent else None)
    for id_ in ids.values():
        row = await callback_stack.row(id_)
        assert row["network_answers"][0][0] == "callback"
        not_found = "not_indexed" if channel == "MPESA" else "missing"
        assert row["network_answers"][1] == ("ask", not_found), "asked before anything was sent"
        if not is_sent:
            assert (row["status"], row["dispatch"]["send_count"]) == ("PROCESSING", 1)


async def _movements(callback_stack: CallbackStack, key: str) -> list[tuple[str, int]]:
    book = await callback_stack.full_stack.sim("GET", "/api/book")
    return [(each["kind"], each["amount"]) for each in book["movements"] if each["reference"] == key]


@pytest.mark.parametrize(
    ("type_", "end"), [("COLLECTION", "COMPLETED"), ("DISBURSEMENT", "FAILED"), ("DISBURSEMENT", "CANCELLED")]
)
async def test_a_callback_after_the_end_changes_nothing_that_the_merchant_saw(
    callback_stack: CallbackStack, type_: str, end: str
) -> None:
    if end == "CANCELLED":
        id_ = await callback_stack.take("AIRTEL_MONEY", type_)
        assert (await callback_stack.full_stack.api("POST", f"/v1/payments/{id_}/cancel")).status == 200
    else:
        id_ = await callback_stack.stuck("AIRTEL_MONEY", type_)
        await callback_stack.send_callback(
            "airtel_money", callback_stack.airtel(await callback_stack.key(id_), "TS" if end == "COMPLETED" else "TF")
        )
    before, shown = await callback_stack.row(id_), await callback_stack.full_stack.shown(id_)
    assert before["status"] == end

    # A signed success after a failure is one, whatever the query says, and the correction has an event.
    for letters in ("TS", "TF"):
        for signed in (True, False):
            body = callback_stack.airtel(before["network_key"], letters, signed=signed, airtel_money_id="OTHER")
            assert (await callback_stack.send_callback("airtel_money", body))[0] == 200
    async with a_worker(callback_stack.full_stack):
        await until(lambda: is_asked_about(callback_stack, id_), what="the question")

    after, now_shown = await callback_stack.row(id_), await callback_stack.full_stack.shown(id_)
    is_corrected = "correction" in now_shown
    assert {name: value for name, value in now_shown.items() if name != "correction"} == shown
    assert is_corrected == (end != "COMPLETED")
    assert [move for move in after["moves"] if move in before["moves"]] == before["moves"]
    assert bool(set(after["moves"]) - set(before["moves"])) == is_corrected
    assert len(after["events"]) > len(before["events"]) if is_corrected else after["events"] == before["events"]


async def test_a_callback_for_a_cancelled_payment_whose_network_was_paid_goes_to_suspense(
    callback_stack: CallbackStack,
) -> None:
    """It cannot be: what is cancelled was never sent. If the network has been paid all the same, it must be seen."""
    id_ = await callback_stack.take("AIRTEL_MONEY", "COLLECTION", "001")
    await callback_stack.full_stack.api("POST", f"/v1/payments/{id_}/cancel")
    key = await callback_stack.key(id_)
    await _charge_behind_our_back(callback_stack, key)
    await until_moved(callback_stack, key)

    await callback_stack.send_callback("airtel_money", callback_stack.airtel(key))
    async with a_worker(callback_stack.full_stack):
        await callback_stack.until_idle(id_)

    row = await callback_stack.row(id_)
    assert row["status"] == "CANCELLED"
    assert row["moves"] == [
        ("contradiction", "float", "suspense", 1000),
        ("resolution", "suspense", "wallet", 1000),
    ], "the customer has paid, so the merchant gets it"


async def _charge_behind_our_back(callback_stack: CallbackStack, key: str) -> None:
    """As another program that uses the same contract, and has the same key, would do it."""
    async with HttpClient.opened() as proxy:
        order = PaymentInstruction(key=key, type=Type.COLLECTION, phone="+255684998001", amount=1000, note="Payment")
        assert (await AirtelMoney(callback_stack.full_stack.settings, proxy).send(order)).verdict == "waiting"
