"""How much of a callback is believed: a signed one ends a payment by itself, an unsigned one has the network asked.

One passage of each through HTTP. Every form of a signature and every code is in the callbacks of `tests/networks`, and
what follows from each in the grid of `tests/payments/network_answer/test_decide.py`.
"""

import asyncio
import base64
import hashlib
import hmac

import pytest

from tests.journeys.callbacks.callback_stack import CallbackStack, mpesa, same_rows
from tests.journeys.callbacks.callback_stack import callback_stack as callback_stack
from tests.journeys.full_stack import a_worker, until

# Unsigned.


@pytest.mark.parametrize(("type_", "code"), [("COLLECTION", "INS-0"), ("DISBURSEMENT", "INS-6")])
async def test_an_unsigned_callback_ends_nothing_and_makes_a_question_due(
    callback_stack: CallbackStack, type_: str, code: str
) -> None:
    id_ = await callback_stack.stuck("MPESA", type_)
    before = await callback_stack.row(id_)
    assert not before["dispatch"]["is_due"]

    status, body, _ = await callback_stack.send_callback("mpesa", mpesa(before["network_key"], code))

    assert status == 200
    assert body == {
        "output_OriginalConversationID": "c0ffee",
        "output_ResponseCode": "0",
        "output_ResponseDesc": "Successfully Accepted Result",
        "output_ThirdPartyConversationID": before["network_key"],
    }
    after = await callback_stack.row(id_)
    assert (after["status"], after["moves"], after["events"]) == ("PROCESSING", before["moves"], before["events"])
    assert (after["dispatch"]["next_action"], after["dispatch"]["is_due"]) == ("ask", True)


async def test_an_unsigned_callback_ends_nothing_while_the_network_cannot_be_asked(
    callback_stack: CallbackStack,
) -> None:
    id_ = await callback_stack.stuck("MPESA", "DISBURSEMENT")
    await callback_stack.ask_what_is_due()
    await callback_stack.full_stack.sim.control(channels={"MPESA": {"isDown": True}})
    try:
        async with a_worker(callback_stack.full_stack):
            for code in ("INS-0", "INS-6"):
                asked = (await callback_stack.row(id_))["network_answers"].count(("ask", "unknown"))
                await callback_stack.send_callback("mpesa", mpesa(await callback_stack.key(id_), code))

                async def is_asked(asked: int = asked) -> bool:
                    return bool((await callback_stack.row(id_))["network_answers"].count(("ask", "unknown")) > asked)

                await until(is_asked, pause=0.05, what="an attempt to ask")
    finally:
        await callback_stack.full_stack.sim.control(channels={"MPESA": {"isDown": False}})

    row = await callback_stack.row(id_)
    assert (row["status"], [step for step, *_ in row["moves"]]) == ("PROCESSING", ["open"])


@pytest.mark.parametrize(
    ("type_", "digits", "hint", "end", "failure"),
    [
        ("COLLECTION", "001", "INS-6", "COMPLETED", None),  # a lie, or a mistake
        ("COLLECTION", "102", "INS-2006", "FAILED", "insufficient_funds"),  # the query only says Failed
        ("DISBURSEMENT", "001", "INS-6", "COMPLETED", None),
    ],
)
async def test_a_hint_has_the_network_asked_at_once_and_its_word_counts(
    callback_stack: CallbackStack, type_: str, digits: str, hint: str, end: str, failure: str | None
) -> None:
    id_ = await callback_stack.sent("MPESA", type_, digits)
    key = await callback_stack.key(id_)

    async def is_decided() -> bool:
        return bool(
            (await callback_stack.full_stack.sim("GET", f"/api/transactions/MPESA/{key}"))["state"] != "pending"
        )

    await until(is_decided, what="the customer's answer")

    async with a_worker(callback_stack.full_stack):
        await callback_stack.send_callback("mpesa", mpesa(key, hint))
        await callback_stack.until_status(id_, end)

    row = await callback_stack.row(id_)
    assert row["failure_code"] == failure
    assert row["provider_reference"] != "RECEIPT1", "what a hint says of receipts is not believed"


async def test_a_hint_that_overtakes_the_reply_is_not_forgotten(callback_stack: CallbackStack) -> None:
    """The reply only says that the network has it: asked in an hour, the payment would hang until then."""
    await callback_stack.full_stack.sim(
        "PUT", "/api/callbacks", {"MPESA": callback_stack.full_stack.api.url + callback_stack.path("mpesa")}
    )
    try:
        async with a_worker(callback_stack.full_stack):
            ids = [await callback_stack.take("MPESA", "DISBURSEMENT", "001") for _ in range(10)]
            ids += [await callback_stack.take("MPESA", "COLLECTION", "107") for _ in range(10)]
            await asyncio.gather(*(callback_stack.until_status(id_, "COMPLETED") for id_ in ids))
    finally:
        await callback_stack.full_stack.sim("PUT", "/api/callbacks", {"MPESA": None})


async def test_without_a_hash_even_airtel_only_hints(callback_stack: CallbackStack) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", "DISBURSEMENT")

    body = callback_stack.airtel(await callback_stack.key(id_), signed=False)
    status, _, _ = await callback_stack.send_callback("airtel_money", body)

    row = await callback_stack.row(id_)
    assert (status, row["status"], row["dispatch"]["is_due"]) == (200, "PROCESSING", True)


# Signed.


@pytest.mark.parametrize(("type_", "is_in_a_header"), [("COLLECTION", False), ("DISBURSEMENT", True)])
async def test_a_signed_success_ends_a_payment_by_itself(
    callback_stack: CallbackStack, type_: str, is_in_a_header: bool
) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", type_)
    key = await callback_stack.key(id_)
    body, headers = callback_stack.airtel(key), {}
    if is_in_a_header:
        body = callback_stack.airtel(key, signed=False)
        secret = callback_stack.full_stack.environment["MALIPO_AIRTEL_MONEY_CALLBACK_KEY"].encode()
        headers = {"hash": base64.b64encode(hmac.new(secret, body, hashlib.sha256).digest()).decode()}

    status, _, _ = await callback_stack.send_callback("airtel_money", body, headers=headers)

    row = await callback_stack.row(id_)
    assert (status, row["status"], row["provider_reference"]) == (200, "COMPLETED", "MP1.A")
    assert row["dispatch"] is None
    assert [step for step, *_ in row["moves"]] == (["end"] if type_ == "COLLECTION" else ["open", "end"])


async def test_a_signed_failure_ends_a_payment_by_itself(callback_stack: CallbackStack) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", "DISBURSEMENT")

    body = callback_stack.airtel(await callback_stack.key(id_), "TF", code="DP00900001009")
    status, _, _ = await callback_stack.send_callback("airtel_money", body)

    row = await callback_stack.row(id_)
    assert (status, row["status"], row["failure_code"]) == (200, "FAILED", "invalid_recipient")


async def test_signed_letters_that_say_nothing_end_nothing(callback_stack: CallbackStack) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", "DISBURSEMENT")

    await callback_stack.send_callback("airtel_money", callback_stack.airtel(await callback_stack.key(id_), "TIP"))

    assert await callback_stack.status(id_) == "PROCESSING"


async def test_a_wrong_hash_changes_nothing(callback_stack: CallbackStack) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", "COLLECTION")
    before = await callback_stack.row(id_)

    forged = callback_stack.airtel(before["network_key"]).replace(b"TS", b"TF")
    status, _, _ = await callback_stack.send_callback("airtel_money", forged)

    assert 400 <= status < 500
    assert same_rows(await callback_stack.row(id_), before)
