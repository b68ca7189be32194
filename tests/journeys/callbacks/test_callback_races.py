"""Callbacks that come again and again, in any order, everywhere at once: money moves once."""

import asyncio

import pytest

from tests.journeys.callbacks.callback_stack import CallbackStack, mpesa, until_moved, wait_for_payment
from tests.journeys.callbacks.callback_stack import callback_stack as callback_stack
from tests.journeys.full_stack import Elsewhere, a_worker, until
from tests.journeys.postgres_proxy import Fault, proxy_to


async def test_a_callback_replayed_by_many_to_two_processes_moves_money_once(callback_stack: CallbackStack) -> None:
    ids = [await callback_stack.stuck("AIRTEL_MONEY", type_) for type_ in ("COLLECTION", "DISBURSEMENT")]
    bodies = [callback_stack.airtel(await callback_stack.key(id_)) for id_ in ids]

    answers = await asyncio.gather(
        *(
            callback_stack.send_callback("airtel_money", body, url=url)
            for _ in range(25)
            for url in (callback_stack.full_stack.api.url, callback_stack.other_url)
            for body in bodies
        )
    )
    for _ in range(25):
        answers += [await callback_stack.send_callback("airtel_money", body) for body in bodies]

    assert {status for status, _, _ in answers} == {200}
    for id_ in ids:
        row = await callback_stack.row(id_)
        assert (row["status"], row["dispatch"]) == ("COMPLETED", None)
        assert [step for step, *_ in row["moves"]].count("end") == 1
        assert len(row["events"]) == (2 if row["type"] == "COLLECTION" else 1)


async def test_a_signed_failure_after_success_is_asked_about_and_changes_nothing(callback_stack: CallbackStack) -> None:
    id_ = await callback_stack.sent("AIRTEL_MONEY", "COLLECTION", "001")
    key = await callback_stack.key(id_)
    await until_moved(callback_stack, key)
    await callback_stack.send_callback("airtel_money", callback_stack.airtel(key, "TS"))
    before = await callback_stack.row(id_)

    await callback_stack.send_callback("airtel_money", callback_stack.airtel(key, "TF"))
    assert (await callback_stack.row(id_))["dispatch"]["is_due"]
    async with a_worker(callback_stack.full_stack):
        await callback_stack.until_idle(id_)

    after = await callback_stack.row(id_)
    assert (after["status"], after["moves"], after["events"]) == ("COMPLETED", before["moves"], before["events"])
    assert after["network_answers"][-1] == ("ask", "confirmed")


@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_success_after_a_failure_goes_to_suspense_once_however_often_it_is_reported(
    callback_stack: CallbackStack, type_: str
) -> None:
    # A payout whose callback comes later: at once, its reply would have ended it.
    id_ = await callback_stack.sent("AIRTEL_MONEY", type_, "001" if type_ == "COLLECTION" else "100")
    key = await callback_stack.key(id_)
    await callback_stack.send_callback("airtel_money", callback_stack.airtel(key, "TF"))
    await until_moved(callback_stack, key)
    assert await callback_stack.status(id_) == "FAILED"

    async with a_worker(callback_stack.full_stack), a_worker(callback_stack.full_stack):
        for _ in range(3):
            reported = [
                callback_stack.send_callback("airtel_money", callback_stack.airtel(key, "TS"), url=url)
                for url in [callback_stack.full_stack.api.url, callback_stack.other_url] * 5
            ]
            assert {status for status, _, _ in await asyncio.gather(*reported)} == {200}
            await callback_stack.until_idle(id_)

    row = await callback_stack.row(id_)
    assert row["status"] == "FAILED"
    way = ("float", "suspense") if type_ == "COLLECTION" else ("suspense", "float")
    assert [move for move in row["moves"] if move[0] == "contradiction"] == [("contradiction", *way, 1000)]
    assert len(row["events"]) == (3 if type_ == "COLLECTION" else 2), "there is one event of the correction"


async def test_a_failure_and_a_success_reported_to_two_processes_at_once_are_both_applied(
    callback_stack: CallbackStack,
) -> None:
    """The second waits for the lock of the first, and must then see what the first has left."""
    id_ = await callback_stack.sent("AIRTEL_MONEY", "COLLECTION", "001")
    key = await callback_stack.key(id_)
    await until_moved(callback_stack, key)
    async with callback_stack.database.begin() as tx:
        await tx.execute("SELECT FROM transactions WHERE id = $1 FOR UPDATE", id_)
        first = asyncio.create_task(callback_stack.send_callback("airtel_money", callback_stack.airtel(key, "TF")))
        await until(lambda: wait_for_payment(callback_stack, 1), pause=0.02, what="the first")
        second = asyncio.create_task(
            callback_stack.send_callback("airtel_money", callback_stack.airtel(key, "TS"), url=callback_stack.other_url)
        )
        await until(lambda: wait_for_payment(callback_stack, 2), pause=0.02, what="the second")
    assert [(await task)[0] for task in (first, second)] == [200, 200]
    assert await callback_stack.status(id_) == "FAILED"

    async with a_worker(callback_stack.full_stack):
        await callback_stack.until_idle(id_)

    moves = [move for move in (await callback_stack.row(id_))["moves"] if move[0] == "contradiction"]
    assert moves == [("contradiction", "float", "suspense", 1000)]


async def test_a_hint_that_comes_while_a_payout_is_claimed_again_does_not_undo_the_claim(
    callback_stack: CallbackStack,
) -> None:
    """Else the second sending would count as the first, and its refusal would be believed."""
    async with proxy_to(callback_stack.full_stack.database_url) as (proxy, via):
        id_ = await callback_stack.take("MPESA", "DISBURSEMENT", "108")
        async with callback_stack.database.begin() as tx:
            # As if it had been sent, and the network knew nothing of it: it is about to be sent again.
            await tx.execute("UPDATE transactions SET status = 'PROCESSING', processing_at = now() WHERE id = $1", id_)
            await tx.execute(
                """
                UPDATE dispatches SET connector = 'mpesa', next_action = 'send', send_count = 1, sent_at = now(), due_at = now()
                WHERE transaction_id = $1
                """,
                id_,
            )
        trap = proxy.trap(Fault.HOLD, after="claim_id = $4, next_action = 'sending'")
        async with a_worker(Elsewhere(via, callback_stack.full_stack.settings)):
            await asyncio.wait_for(trap.sprung.wait(), 60)
            hint = asyncio.create_task(
                callback_stack.send_callback("mpesa", mpesa(await callback_stack.key(id_), "INS-6"))
            )
            await until(
                lambda: wait_for_payment(callback_stack, 1), pause=0.02, what="the hint's waiting for the claim"
            )
            trap.may_pass.set()
            assert (await hint)[0] == 200
            await until(lambda: _has_asked(callback_stack, id_), what="the question")

        dispatch = (await callback_stack.row(id_))["dispatch"]
        assert (dispatch["send_count"], dispatch["next_action"]) == (2, "ask")


async def _has_asked(callback_stack: CallbackStack, id_: str) -> bool:
    return ("ask", "not_indexed") in (await callback_stack.row(id_))["network_answers"]
