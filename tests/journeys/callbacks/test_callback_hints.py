"""Callbacks that nobody signed are only hints: they end nothing, and have the network asked."""

import asyncio

import pytest

from tests.journeys.callbacks.square import Square, mpesa
from tests.journeys.callbacks.square import square as square
from tests.journeys.town import a_worker, until


@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
@pytest.mark.parametrize("code", ["INS-0", "0", "INS-5", "INS-6", "INS-2006", "INS-9999"])
async def test_an_unsigned_callback_ends_nothing_and_makes_a_question_due(
    square: Square, type_: str, code: str
) -> None:
    id_ = await square.stuck("MPESA", type_)
    before = await square.row(id_)
    assert not before["dispatch"]["is_due"]

    status, body, _ = await square.tell("mpesa", mpesa(before["network_key"], code))

    assert status == 200
    assert body == {
        "output_OriginalConversationID": "c0ffee",
        "output_ResponseCode": "0",
        "output_ResponseDesc": "Successfully Accepted Result",
        "output_ThirdPartyConversationID": before["network_key"],
    }
    after = await square.row(id_)
    assert (after["status"], after["moves"], after["events"]) == ("PROCESSING", before["moves"], before["events"])
    assert (after["dispatch"]["next_act"], after["dispatch"]["is_due"]) == ("ask", True)


async def test_an_unsigned_callback_ends_nothing_while_the_network_cannot_be_asked(square: Square) -> None:
    id_ = await square.stuck("MPESA", "DISBURSEMENT")
    await square.ask_what_is_due()
    await square.town.sim.control(channels={"MPESA": {"isDown": True}})
    try:
        async with a_worker(square.town):
            for code in ("INS-0", "INS-6"):
                asked = (await square.row(id_))["hearings"].count(("ask", "unknown"))
                await square.tell("mpesa", mpesa(await square.key(id_), code))

                async def is_asked(asked: int = asked) -> bool:
                    return bool((await square.row(id_))["hearings"].count(("ask", "unknown")) > asked)

                await until(is_asked, pause=0.05, what="an attempt to ask")
    finally:
        await square.town.sim.control(channels={"MPESA": {"isDown": False}})

    row = await square.row(id_)
    assert (row["status"], [step for step, *_ in row["moves"]]) == ("PROCESSING", ["open"])


@pytest.mark.parametrize(
    ("type_", "digits", "hint", "end", "failure"),
    [
        ("COLLECTION", "001", "INS-0", "COMPLETED", None),
        ("COLLECTION", "001", "INS-6", "COMPLETED", None),  # a lie, or a mistake
        ("COLLECTION", "101", "INS-0", "FAILED", "declined"),
        ("COLLECTION", "102", "INS-2006", "FAILED", "insufficient_funds"),  # the query only says Failed
        ("DISBURSEMENT", "001", "INS-6", "COMPLETED", None),
    ],
)
async def test_a_hint_has_the_network_asked_at_once_and_its_word_counts(
    square: Square, type_: str, digits: str, hint: str, end: str, failure: str | None
) -> None:
    id_ = await square.sent("MPESA", type_, digits)
    key = await square.key(id_)

    async def is_decided() -> bool:
        return bool((await square.town.sim("GET", f"/api/transactions/MPESA/{key}"))["state"] != "pending")

    await until(is_decided, what="the customer's answer")

    async with a_worker(square.town):
        await square.tell("mpesa", mpesa(key, hint))
        await square.until_status(id_, end)

    row = await square.row(id_)
    assert row["failure_code"] == failure
    assert row["provider_reference"] != "RECEIPT1", "what a hint says of receipts is not believed"


async def test_a_hint_that_overtakes_the_reply_is_not_forgotten(square: Square) -> None:
    """The reply only says that the network has it: asked in an hour, the payment would hang until then."""
    await square.town.sim("PUT", "/api/callbacks", {"MPESA": square.town.api.url + square.path("mpesa")})
    try:
        async with a_worker(square.town):
            ids = [await square.take("MPESA", "DISBURSEMENT", "001") for _ in range(10)]
            ids += [await square.take("MPESA", "COLLECTION", "107") for _ in range(10)]
            await asyncio.gather(*(square.until_status(id_, "COMPLETED") for id_ in ids))
    finally:
        await square.town.sim("PUT", "/api/callbacks", {"MPESA": None})
