"""Each row of the table, on each network, held against a grid that was written by hand."""

import asyncio
import time
from dataclasses import replace
from datetime import datetime

import aiohttp
import pytest

from malipo_simulator.behaviour import ANY_OTHER, TABLE
from tests.simulator.behaviour_grids import ASKED, BACK, CUT, GRIDS, Expected
from tests.simulator.conftest import SPEED
from tests.simulator.merchant_clients import HTML, Merchant
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Listener, Sim

_LOOKS = 100


async def reply_to(merchant: Merchant, kind: str, digits: str, reference: str = "") -> str:
    try:
        return await merchant.pay(kind, merchant.start + digits, reference or merchant.reference())
    except aiohttp.ServerDisconnectedError:
        return CUT


def statuses_reported(merchant: Merchant, listener: Listener, reference: str) -> tuple[str, ...]:
    """What was told of this payment, in the order in which it came."""
    ours = [call for call in listener.calls if reference.encode() in call.raw]
    return tuple(merchant.status_in(call) for call in ours)


def test_every_row_has_its_cells() -> None:
    rows = ["456" if row.digits == ANY_OTHER else row.digits for row in TABLE]
    assert all(list(grid) == rows for grid in GRIDS.values())


@pytest.mark.parametrize("kind", ["collection", "disbursement"])
async def test_a_phone_does_what_its_digits_say(
    sim: Sim, merchants: dict[str, Merchant], listener: Listener, kind: str
) -> None:
    # On all networks at once: most of it is waiting.
    grids = {channel: grid for (channel, each), grid in GRIDS.items() if each == kind}
    cells = [(channel, digits, merchants[channel].reference()) for channel, grid in grids.items() for digits in grid]

    replies = await asyncio.gather(*(reply_to(merchants[cell[0]], kind, *cell[1:]) for cell in cells))
    # The longest takes 120 s, and what is said not to happen must have had the time to.
    await asyncio.sleep(126 / SPEED)

    if kind == "disbursement":
        for channel, digits, reference in cells:
            if digits == "107":
                not_found = [await merchants[channel].status(kind, reference) for _ in range(2)]
                assert not_found == [grids[channel]["108"].status] * 2

    async def observe(channel: str) -> dict[str, Expected]:
        merchant = merchants[channel]
        return {
            digits: Expected(
                reply=reply,
                callbacks=tuple(sorted(statuses_reported(merchant, listener, reference))),
                status=await merchant.status(kind, reference),
                moved=_moved(kind, await sim.charged(merchant.start + digits)),
                seconds=await _seconds_planned(sim, channel, reference),
            )
            for (where, digits, reference), reply in zip(cells, replies, strict=True)
            if where == channel
        }

    for channel, grid in grids.items():
        # Two that are told within a moment may overtake each other on a busy machine.
        unordered = {digits: replace(each, callbacks=tuple(sorted(each.callbacks))) for digits, each in grid.items()}
        observed = await observe(channel)
        for _ in range(_LOOKS):
            if observed != unordered:  # A machine that is busy is late.
                await asyncio.sleep(0.5)
                observed = await observe(channel)
        assert observed == unordered


def _movement(kind: str) -> tuple[str, int]:
    return ("charged" if kind == "collection" else "paid", 1000)


def _moved(kind: str, movements: list[tuple[str, int]]) -> bool | str:
    there, back = _movement(kind), _movement("disbursement" if kind == "collection" else "collection")
    return BACK if movements == [there, back] else movements == [there]


async def _seconds_planned(sim: Sim, channel: str, reference: str) -> float | None:
    """How long after the request the (first) decision was due, at the speed of life; None while there is none."""
    found = await sim("GET", f"/api/transactions/{channel}/{reference}", status=None)
    if found.get("decidedAt") is None:
        return None
    taken, due, decided = (_seconds(found[name]) for name in ("takenAt", "dueAt", "decidedAt"))
    assert decided >= due - 0.01  # Timers are exact to a clock's tick.
    return round((due - taken) * SPEED, 0)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


COLLECTORS = [channel for channel, kind in GRIDS if kind == "collection"]
PAYERS = [channel for channel, kind in GRIDS if kind == "disbursement"]


@pytest.mark.parametrize("channel", COLLECTORS)
async def test_a_reply_that_follows_its_callback_finds_it_delivered(
    merchants: dict[str, Merchant], listener: Listener, channel: str
) -> None:
    reference = merchants[channel].reference()
    await reply_to(merchants[channel], "collection", "107", reference)
    assert statuses_reported(merchants[channel], listener, reference) == GRIDS[channel, "collection"]["107"].callbacks


@pytest.mark.parametrize("channel", PAYERS)
async def test_a_slow_payout_is_answered_when_it_is_paid(
    merchants: dict[str, Merchant], sim: Sim, channel: str
) -> None:
    began = time.monotonic()
    await reply_to(merchants[channel], "disbursement", "103")
    assert time.monotonic() - began >= 8 / SPEED
    assert await sim.charged(merchants[channel].start + "103") == [("paid", 1000)]


async def _change_of_mind(sim: Sim, merchant: Merchant, channel: str, kind: str, digits: str) -> list[str]:
    """What a query says after the first decision, and after the second."""
    reference = merchant.reference()
    await reply_to(merchant, kind, digits, reference)
    first = await _decided(sim, channel, reference)
    found = [await merchant.status(kind, reference)]
    await _decided(sim, channel, reference, after=first)
    return [*found, await merchant.status(kind, reference)]


async def _decided(sim: Sim, channel: str, reference: str, after: str | None = None) -> str:
    async with asyncio.timeout(240):
        while True:
            at: str | None = (await sim("GET", f"/api/transactions/{channel}/{reference}"))["decidedAt"]
            if at not in (None, after):
                return str(at)
            await asyncio.sleep(0.02)


FIRST_WORDS = {
    "110": ["Failed", "Failed", "TF", "TF", "Declined", "FAILED", "FAILED", "failure"],
    "111": ["Expired", "Failed", "TE", "TF", "Declined", "FAILED", "FAILED", "failure"],
    "112": ["Completed", "Completed", "TS", "TS", "Posted", "SUCCESS", "SUCCESS", "success"],
}


@pytest.mark.parametrize("digits", FIRST_WORDS)
async def test_before_a_change_of_mind_everybody_says_the_first_word(
    sim: Sim, merchants: dict[str, Merchant], digits: str
) -> None:
    await sim.control(speed=6)
    stories = await asyncio.gather(*(_change_of_mind(sim, merchants[key[0]], *key, digits) for key in ASKED))
    assert [first for first, _ in stories] == FIRST_WORDS[digits]
    assert [second for _, second in stories] == [GRIDS[key][digits].status for key in ASKED]


async def test_a_change_of_mind_that_is_to_come_comes_at_a_new_speed(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(speed=0.01)
    paid = "a" * 32
    await mpesa.disburse("+255754123112", 1000, input_ThirdPartyConversationID=paid)
    first = await _decided(sim, "MPESA", paid)
    assert await mpesa.status(paid) == "Completed"
    await sim.control(speed=SPEED)
    await _decided(sim, "MPESA", paid, after=first)  # and not after seven minutes
    assert await mpesa.status(paid) == GRIDS["MPESA", "disbursement"]["112"].status


async def test_a_payout_that_was_spent_is_not_taken_back(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(speed=2)
    phone, paid, spent = "+255754123112", "a" * 32, "b" * 32
    await mpesa.disburse(phone, 1000, input_ThirdPartyConversationID=paid)
    await mpesa.collect(phone, 1_000_500, input_ThirdPartyConversationID=spent)
    (prompt,) = await sim("GET", "/api/prompts")
    await sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve"})
    # What was spent comes back later than the payout would have been taken.
    await _decided(sim, "MPESA", spent, after=await _decided(sim, "MPESA", spent))
    assert await mpesa.status(paid) == "Completed"
    assert await sim.charged(phone) == [("paid", 1000), ("charged", 1_000_500), ("paid", 1_000_500)]


@pytest.mark.parametrize(("channel", "kind"), list(GRIDS))
async def test_what_answers_500_does_so_every_time_and_knows_nothing(
    merchants: dict[str, Merchant], sim: Sim, channel: str, kind: str
) -> None:
    merchant = merchants[channel]
    reference = merchant.reference()
    assert [await reply_to(merchant, kind, "108", reference) for _ in range(3)] == [HTML] * 3
    await sim("GET", f"/api/transactions/{channel}/{reference}", status=404)
    assert await sim("GET", "/api/prompts") == []


@pytest.mark.parametrize("channel", COLLECTORS)
async def test_a_stuck_payment_shows_no_prompt(merchants: dict[str, Merchant], sim: Sim, channel: str) -> None:
    await reply_to(merchants[channel], "collection", "109")
    assert await sim("GET", "/api/prompts") == []


@pytest.mark.parametrize(("channel", "kind"), list(GRIDS))
async def test_a_lost_reply_is_one_payment_however_often_it_is_sent_again(
    merchants: dict[str, Merchant], sim: Sim, channel: str, kind: str
) -> None:
    merchant = merchants[channel]
    reference = merchant.reference()
    replies = [await reply_to(merchant, kind, "104", reference) for _ in range(3)]
    assert replies[0] == CUT
    assert CUT not in replies[1:]
    await asyncio.sleep(4 / SPEED)
    assert await sim.charged(merchant.start + "104") == [_movement(kind)]
