"""/callbacks refuses a wrong secret in the address, a sender from another address, and a body that is no callback."""

import ast
import asyncio
import inspect
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from malipo.api import callbacks
from tests.journeys.callbacks.callback_stack import (
    BODY_SECONDS,
    CHANNELS,
    MOST_BYTES,
    CallbackStack,
    Slow,
    assert_is_refusal,
    everything_in,
    is_ready,
    mpesa,
    same_rows,
)
from tests.journeys.callbacks.callback_stack import callback_stack as callback_stack
from tests.journeys.full_stack import until


@pytest.fixture(scope="module", autouse=True)
def slow(callback_stack: CallbackStack) -> Slow:
    """From the first test of this file on."""
    return Slow(callback_stack.full_stack.api.url, callback_stack.path("mpesa"))


NUL = b'{"transaction":{"id":"A\\u0000","status_code":"TS"},"input_ThirdPartyConversationID":"A\\u0000","input_ResultCode":"0"}'

# Who may post.


@pytest.mark.parametrize(
    "path",
    [
        "/callbacks/mpesa/wrong",
        "/callbacks/mpesa/{airtel_money}",
        "/callbacks/airtel_money/{mpesa}",
        "/callbacks/mpesa/{mpesa}x",
        "/callbacks/mpesa/{mpesa}/",
        "/callbacks/mpesa/{mpesa}%0A",
        "/callbacks/mpesa/%C3%A9%F0%9F%92%A9",
        "/callbacks/mpesa/%FF%00",
        "/callbacks/MPESA/{mpesa}",
        "/callbacks/nowhere/{mpesa}",
        "/callbacks/halopesa/{mpesa}",
        "/callbacks/mpesa",
        "/callbacks/",
    ],
)
async def test_a_callback_to_a_wrong_address_gets_404(callback_stack: CallbackStack, path: str) -> None:
    id_ = await callback_stack.stuck("MPESA", "COLLECTION")
    before = await callback_stack.row(id_)
    tokens = {route: callback_stack.path(route).rpartition("/")[2] for route in CHANNELS}

    answer = await callback_stack.send_callback("mpesa", mpesa(before["network_key"]), path=path.format(**tokens))

    assert_is_refusal(answer, 404, "not_found")
    assert answer[1] == {"error": "There is nothing at this address."}, "and cannot tell a wrong token from no route"
    assert same_rows(await callback_stack.row(id_), before)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
async def test_callbacks_are_posted(callback_stack: CallbackStack, method: str) -> None:
    answer = await callback_stack.send_callback("mpesa", b"", method=method)

    assert_is_refusal(answer, 405, "method_not_allowed")


def test_the_token_is_compared_in_constant_time() -> None:
    """No clock would tell in a test. So the source has to: the token is compared by `compare_digest`, and by nothing else."""
    tree = ast.parse(inspect.getsource(callbacks))
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and "compare_digest" in ast.unparse(node.func)
    ]
    compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare) and "token" in ast.unparse(node)]
    assert len([call for call in calls if "token" in ast.unparse(call)]) == 1
    assert compared == []


@pytest.fixture(scope="module")
async def guarded(callback_stack: CallbackStack) -> str:
    """An API that takes M-Pesa's callbacks only from some addresses, and believes only one proxy."""
    running = callback_stack.full_stack.start(
        "api", mpesa_callback_networks="127.0.0.3/32,10.0.0.0/8", trusted_proxies="127.0.0.2/32"
    )
    await until(lambda: is_ready(callback_stack.http, running.url), what="the guarded API")
    return running.url


@pytest.mark.parametrize(
    ("source", "forwarded", "status"),
    [
        ("127.0.0.1", None, 403),
        ("127.0.0.3", None, 200),
        ("127.0.0.1", "10.1.2.3", 403),  # anybody can say that
        ("127.0.0.3", "8.8.8.8", 200),
        ("127.0.0.2", None, 403),  # the proxy itself is not the network
        ("127.0.0.2", "10.1.2.3", 200),
        ("127.0.0.2", "8.8.8.8", 403),
        ("127.0.0.2", "10.1.2.3, 8.8.8.8", 403),  # what the proxy saw is the last
        ("127.0.0.2", "8.8.8.8, 10.1.2.3", 200),
        ("127.0.0.2", "nonsense", 403),
    ],
)
async def test_only_the_networks_own_addresses_are_let_in(
    callback_stack: CallbackStack, guarded: str, source: str, forwarded: str | None, status: int
) -> None:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    connector = aiohttp.TCPConnector(local_addr=(source, 0))
    async with aiohttp.ClientSession(connector=connector) as http:
        async with http.post(
            guarded + callback_stack.path("mpesa"), data=mpesa("NOSUCHKEY"), headers=headers
        ) as answer:
            assert answer.status == status
            if status == 403:
                assert answer.headers["X-Error-Code"] == "address_not_allowed"
                assert list(await answer.json()) == ["error"]
        # Where no addresses are named, any may come; and who has no token learns nothing of addresses.
        async with http.post(
            guarded + callback_stack.path("airtel_money"), data=callback_stack.airtel("NOSUCHKEY")
        ) as answer:
            assert answer.status == 200
        async with http.post(guarded + "/callbacks/mpesa/wrong", data=b"{}") as answer:
            assert answer.status == 404


# What is no callback. Every body that cannot be read is in the callbacks of `tests/networks`.


@pytest.mark.parametrize("route", list(CHANNELS))
async def test_a_request_that_is_no_callback_is_refused_and_changes_nothing(
    callback_stack: CallbackStack, route: str
) -> None:
    before = await everything_in(callback_stack)

    for sent in (b"", b"[" * 30_000 + b"]" * 30_000, NUL):
        status, body, headers = await callback_stack.send_callback(
            route, sent, headers={"Content-Type": "application/json"}
        )
        assert status == 400
        assert isinstance(body, dict)
        assert headers["X-Request-Id"].startswith("req_")

    assert await everything_in(callback_stack) == before


@pytest.mark.parametrize("letters", ["\0", "x" * 20_000])
async def test_odd_words_in_a_callback_are_kept_as_far_as_they_can_be_and_break_nothing(
    callback_stack: CallbackStack, letters: str
) -> None:
    """They go into the hearing, and a receipt into the payment itself; a column takes no NUL."""
    hinted, ended = (
        await callback_stack.stuck("MPESA", "COLLECTION"),
        await callback_stack.stuck("AIRTEL_MONEY", "COLLECTION"),
    )

    reported = mpesa(await callback_stack.key(hinted), "INS-6", input_ResultDesc=letters, input_TransactionID=letters)
    status, _, _ = await callback_stack.send_callback("mpesa", reported)
    signed = callback_stack.airtel(
        await callback_stack.key(ended), message=letters[:9000], airtel_money_id=letters[:9000]
    )
    signed_status, _, _ = await callback_stack.send_callback("airtel_money", signed)

    assert (status, signed_status) == (200, 200)
    assert await callback_stack.status(hinted) == "PROCESSING"
    assert await callback_stack.status(ended) == "COMPLETED"
    assert (await callback_stack.full_stack.api("GET", f"/v1/payments/{ended}")).status == 200


@pytest.mark.parametrize("is_announced", [True, False], ids=["announced", "in chunks"])
async def test_a_body_that_is_too_large_is_refused(callback_stack: CallbackStack, is_announced: bool) -> None:
    body = b'{"x":"' + b"x" * MOST_BYTES + b'"}'
    before = await everything_in(callback_stack)

    async def chunks() -> AsyncIterator[bytes]:
        for begin in range(0, len(body), 8192):
            yield body[begin : begin + 8192]

    sent: Any = body if is_announced else chunks()
    answer = await callback_stack.send_callback("mpesa", sent)

    assert_is_refusal(answer, 413, "body_too_large")
    assert await everything_in(callback_stack) == before


async def test_a_body_that_does_not_come_is_not_waited_for_for_ever(slow: Slow) -> None:
    """It has been coming since the first test of this file."""
    await asyncio.to_thread(slow.thread.join, BODY_SECONDS + 10)

    head, _, body = slow.answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"body_too_slow" in head
    assert list(json.loads(body)) == ["error"]
