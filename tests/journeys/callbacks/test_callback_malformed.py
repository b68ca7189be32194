"""What is not a callback at all: refused, and it changes nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.journeys.callbacks.callback_stack import (
    BODY_SECONDS,
    CHANNELS,
    MOST_BYTES,
    CallbackStack,
    Slow,
    assert_is_refusal,
    everything_in,
    mpesa,
)
from tests.journeys.callbacks.callback_stack import callback_stack as callback_stack


@pytest.fixture(scope="module", autouse=True)
def slow(callback_stack: CallbackStack) -> Slow:
    """From the first test of this file on."""
    return Slow(callback_stack.full_stack.api.url, callback_stack.path("mpesa"))


_DEEP = b"[" * 30_000 + b"]" * 30_000
MALFORMED = {
    "nothing": b"",
    "a blank": b" ",
    "half an object": b'{"input_ResultCode": "INS-0"',
    "a list": b"[]",
    "null": b"null",
    "a number": b"1e999",
    "not a number": b'{"transaction": NaN}',
    "text": b'"TS"',
    "an empty object": b"{}",
    "deep lists": _DEEP,
    "deep objects": b'{"transaction":' * 4_000 + b"1" + b"}" * 4_000,
    "deep payloads": b'{"payload":' * 4_000 + b"{}" + b"}" * 4_000,
    "bytes": bytes(range(256)) * 16,
    "not UTF-8": b'{"input_ThirdPartyConversationID":"\xff\xfe","input_ResultCode":"INS-0"}',
    "half a pair": b'{"transaction":{"id":"\\ud800","status_code":"TS"}}',
    "a form": b"input_ResultCode=INS-0&id=1",
    "XML": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]><x>&y;</x>',
    "no id": b'{"transaction":{"status_code":"TS"},"input_ResultCode":"INS-0"}',
    "an id that is an object": b'{"transaction":{"id":{},"status_code":"TS"},"input_ThirdPartyConversationID":{}}',
    "an id that is a number": b'{"transaction":{"id":1,"status_code":"TS"},"input_ThirdPartyConversationID":1,"input_ResultCode":0}',
    "an id with SQL": b'{"transaction":{"id":"\' OR 1=1 --","status_code":"TS"},"input_ThirdPartyConversationID":"\' OR 1=1 --","input_ResultCode":"0"}',
    "an id with NUL": b'{"transaction":{"id":"A\\u0000","status_code":"TS"},"input_ThirdPartyConversationID":"A\\u0000","input_ResultCode":"0"}',
    "an id of sixty thousand letters": b'{"transaction":{"id":"%b","status_code":"TS"}}' % (b"A" * 60_000),
    "a transaction that is text": b'{"transaction":"TS"}',
}


@pytest.mark.parametrize("route", list(CHANNELS))
@pytest.mark.parametrize("what", list(MALFORMED))
async def test_what_is_no_callback_is_refused_and_changes_nothing(
    callback_stack: CallbackStack, route: str, what: str
) -> None:
    before = await everything_in(callback_stack)

    status, body, headers = await callback_stack.send_callback(
        route, MALFORMED[what], headers={"Content-Type": "application/json"}
    )

    assert status == 400
    assert isinstance(body, dict)
    assert headers["X-Request-Id"].startswith("req_")
    assert await everything_in(callback_stack) == before


@pytest.mark.parametrize("letters", ["\0", "\ud800", "é" * 5000, "‮", "x" * 20_000, "'; DROP TABLE moves; --"])
async def test_odd_words_in_a_callback_are_kept_as_far_as_they_can_be_and_break_nothing(
    callback_stack: CallbackStack, letters: str
) -> None:
    """They go into the hearing, and a receipt into the payment itself; a column takes no NUL."""
    hinted, ended = (
        await callback_stack.stuck("MPESA", "COLLECTION"),
        await callback_stack.stuck("AIRTEL_MONEY", "COLLECTION"),
    )

    told = mpesa(await callback_stack.key(hinted), "INS-6", input_ResultDesc=letters, input_TransactionID=letters)
    status, _, _ = await callback_stack.send_callback("mpesa", told)
    signed = callback_stack.airtel(
        await callback_stack.key(ended), message=letters[:9000], airtel_money_id=letters[:9000]
    )
    signed_status, _, _ = await callback_stack.send_callback("airtel_money", signed)

    # Half of a pair of surrogates is no text at all: that body is not JSON.
    is_text = letters != "\ud800"
    assert (status, signed_status) == ((200, 200) if is_text else (400, 400))
    assert await callback_stack.status(hinted) == "PROCESSING"
    assert await callback_stack.status(ended) == ("COMPLETED" if is_text else "PROCESSING")
    assert (await callback_stack.full_stack.api("GET", f"/v1/payments/{ended}")).status == 200


@pytest.mark.parametrize("route", list(CHANNELS))
@pytest.mark.parametrize("is_announced", [True, False], ids=["announced", "in chunks"])
async def test_a_body_that_is_too_large_is_refused(
    callback_stack: CallbackStack, route: str, is_announced: bool
) -> None:
    body = b'{"x":"' + b"x" * MOST_BYTES + b'"}'
    before = await everything_in(callback_stack)

    async def chunks() -> AsyncIterator[bytes]:
        for begin in range(0, len(body), 8192):
            yield body[begin : begin + 8192]

    sent: Any = body if is_announced else chunks()
    answer = await callback_stack.send_callback(route, sent)

    assert_is_refusal(answer, 413, "body_too_large")
    assert await everything_in(callback_stack) == before


async def test_a_body_that_does_not_come_is_not_waited_for_for_ever(slow: Slow) -> None:
    """It has been coming since the first test of this file."""
    await asyncio.to_thread(slow.thread.join, BODY_SECONDS + 10)

    head, _, body = slow.answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"body_too_slow" in head
    assert list(json.loads(body)) == ["error"]
