"""Callbacks that come again and again, in any order, everywhere at once: money moves once."""

import asyncio

import pytest

from tests.journeys.callbacks.square import Square, are_waiting, mpesa, until_moved
from tests.journeys.callbacks.square import square as square
from tests.journeys.town import Elsewhere, a_worker, until
from tests.journeys.wire import Fault, wire_to


async def test_a_callback_replayed_by_many_to_two_processes_moves_money_once(square: Square) -> None:
    ids = [await square.stuck("AIRTEL_MONEY", type_) for type_ in ("COLLECTION", "DISBURSEMENT")]
    bodies = [square.airtel(await square.key(id_)) for id_ in ids]

    answers = await asyncio.gather(
        *(
            square.tell("airtel_money", body, url=url)
            for _ in range(25)
            for url in (square.town.api.url, square.other_url)
            for body in bodies
        )
    )
    for _ in range(25):
        answers += [await square.tell("airtel_money", body) for body in bodies]

    assert {status for status, _, _ in answers} == {200}
    for id_ in ids:
        row = await square.row(id_)
        assert (row["status"], row["dispatch"]) == ("COMPLETED", None)
        assert [step for step, *_ in row["moves"]].count("end") == 1
        assert len(row["events"]) == (2 if row["type"] == "COLLECTION" else 1)


async def test_a_signed_failure_after_success_is_asked_about_and_changes_nothing(square: Square) -> None:
    id_ = await square.sent("AIRTEL_MONEY", "COLLECTION", "001")
    key = await square.key(id_)
    await until_moved(square, key)
    await square.tell("airtel_money", square.airtel(key, "TS"))
    before = await square.row(id_)

    await square.tell("airtel_money", square.airtel(key, "TF"))
    assert (await square.row(id_))["dispatch"]["is_due"]
    async with a_worker(square.town):
        await square.until_idle(id_)

    after = await square.row(id_)
    assert (after["status"], after["moves"], after["events"]) == ("COMPLETED", before["moves"], before["events"])
    assert after["hearings"][-1] == ("ask", "confirmed")


@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_success_after_failure_goes_to_suspense_once_however_often_it_is_told(
    square: Square, type_: str
) -> None:
    # A payout that is told later: at once, its reply would have ended it.
    id_ = await square.sent("AIRTEL_MONEY", type_, "001" if type_ == "COLLECTION" else "100")
    key = await square.key(id_)
    await square.tell("airtel_money", square.airtel(key, "TF"))
    await until_moved(square, key)
    assert await square.status(id_) == "FAILED"

    async with a_worker(square.town), a_worker(square.town):
        for _ in range(3):
            told = [
                square.tell("airtel_money", square.airtel(key, "TS"), url=url)
                for url in [square.town.api.url, square.other_url] * 5
            ]
            assert {status for status, _, _ in await asyncio.gather(*told)} == {200}
            await square.until_idle(id_)

    row = await square.row(id_)
    assert row["status"] == "FAILED"
    way = ("float", "suspense") if type_ == "COLLECTION" else ("suspense", "float")
    assert [move for move in row["moves"] if move[0] == "contradiction"] == [("contradiction", *way, 1000)]
    assert len(row["events"]) == (3 if type_ == "COLLECTION" else 2), "the merchant is told of the correction, once"


async def test_failure_and_success_told_to_two_processes_at_one_moment_are_both_heard(square: Square) -> None:
    """The second waits for the lock of the first, and must then see what the first has left."""
    id_ = await square.sent("AIRTEL_MONEY", "COLLECTION", "001")
    key = await square.key(id_)
    await until_moved(square, key)
    async with square.database.begin() as tx:
        await tx.execute("SELECT FROM transactions WHERE id = $1 FOR UPDATE", id_)
        first = asyncio.create_task(square.tell("airtel_money", square.airtel(key, "TF")))
        await until(lambda: are_waiting(square, 1), pause=0.02, what="the first")
        second = asyncio.create_task(square.tell("airtel_money", square.airtel(key, "TS"), url=square.other_url))
        await until(lambda: are_waiting(square, 2), pause=0.02, what="the second")
    assert [(await task)[0] for task in (first, second)] == [200, 200]
    assert await square.status(id_) == "FAILED"

    async with a_worker(square.town):
        await square.until_idle(id_)

    moves = [move for move in (await square.row(id_))["moves"] if move[0] == "contradiction"]
    assert moves == [("contradiction", "float", "suspense", 1000)]


async def test_a_hint_that_comes_while_a_payout_is_claimed_again_does_not_undo_the_claim(square: Square) -> None:
    """Else the second sending would count as the first, and its refusal would be believed."""
    async with wire_to(square.town.database_url) as (wire, via):
        id_ = await square.take("MPESA", "DISBURSEMENT", "108")
        async with square.database.begin() as tx:
            # As if it had been sent, and the network knew nothing of it: it is about to be sent again.
            await tx.execute("UPDATE transactions SET status = 'PROCESSING', processing_at = now() WHERE id = $1", id_)
            await tx.execute(
                """
                UPDATE dispatches SET route = 'mpesa', next_act = 'send', sends = 1, sent_at = now(), due_at = now()
                WHERE transaction_id = $1
                """,
                id_,
            )
        trap = wire.trap(Fault.HOLD, after="claim = $4, next_act = 'sending'")
        async with a_worker(Elsewhere(via, square.town.settings)):
            await asyncio.wait_for(trap.sprung.wait(), 10)
            hint = asyncio.create_task(square.tell("mpesa", mpesa(await square.key(id_), "INS-6")))
            await until(lambda: are_waiting(square, 1), pause=0.02, what="the hint's waiting for the claim")
            trap.may_pass.set()
            assert (await hint)[0] == 200
            await until(lambda: _has_asked(square, id_), what="the question")

        dispatch = (await square.row(id_))["dispatch"]
        assert (dispatch["sends"], dispatch["next_act"]) == (2, "ask")


async def _has_asked(square: Square, id_: str) -> bool:
    return ("ask", "not_indexed") in (await square.row(id_))["hearings"]
