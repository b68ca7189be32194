"""Callbacks: tried again while nobody listens, and judged by how they are acknowledged."""

import asyncio
import time
from typing import Any

import pytest

from malipo_simulator.request_log import RequestLog, RequestLogEntry, mask
from tests.simulator.airtel import Airtel
from tests.simulator.conftest import SPEED
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Call, Listener, Sim, until

PHONE = "+255754123456"


def acknowledgement(call: Call) -> dict[str, Any]:
    return {
        "output_OriginalConversationID": call.body["input_OriginalConversationID"],
        "output_ResponseCode": "0",
        "output_ResponseDesc": "Successfully Accepted Result",
        "output_ThirdPartyConversationID": call.body["input_ThirdPartyConversationID"],
    }


async def callbacks(sim: Sim) -> list[dict[str, Any]]:
    """The callbacks as the simulator saw them, oldest first."""
    return [each for each in reversed(await sim("GET", "/api/seen")) if each["direction"] == "out"]


async def first_callbacks(sim: Sim) -> list[dict[str, Any]]:
    """The same, when it has seen what came of the first."""
    async with asyncio.timeout(240):
        while not (seen := await callbacks(sim)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return seen


async def test_a_callback_that_is_refused_is_tried_three_more_times(sim: Sim, mpesa: Mpesa, listener: Listener) -> None:
    async def refuse(call: Call) -> tuple[int, Any]:
        return 503, {}

    listener.answering = refuse
    await mpesa.disburse(PHONE)
    await until(lambda: len(listener.calls) == 4)
    await asyncio.sleep(12 / SPEED)
    assert len(listener.calls) == 4
    assert len({call.raw for call in listener.calls}) == 1
    gaps = [after.at - before.at for before, after in zip(listener.calls, listener.calls[1:], strict=False)]
    for gap, seconds in zip(gaps, (2, 4, 8), strict=True):
        assert seconds / SPEED - 0.005 <= gap <= seconds / SPEED + 5
    seen = await callbacks(sim)
    assert [(each["status"], each["attempt"]) for each in seen] == [(503, 1), (503, 2), (503, 3), (503, 4)]
    assert {each["verdict"] for each in seen} == {"not accepted: HTTP 503"}


async def test_a_callback_that_is_accepted_is_sent_once(sim: Sim, mpesa: Mpesa, listener: Listener) -> None:
    async def refuse_once(call: Call) -> tuple[int, Any]:
        return (500, {}) if len(listener.calls) == 1 else (202, acknowledgement(call))

    listener.answering = refuse_once
    await mpesa.disburse(PHONE)
    await until(lambda: len(listener.calls) == 2)
    await asyncio.sleep(8 / SPEED)
    assert len(listener.calls) == 2
    assert [each["verdict"] for each in await callbacks(sim)] == ["not accepted: HTTP 500", "acknowledged"]


async def test_nobody_there_is_noted(sim: Sim, mpesa: Mpesa) -> None:
    await sim("PUT", "/api/callbacks", {"MPESA": "http://127.0.0.1:1/"})
    await mpesa.disburse(PHONE)
    await asyncio.sleep(16 / SPEED)
    # A busy machine may be late with the last one; a fifth would be seen all the same.
    async with asyncio.timeout(240):
        while len(seen := await callbacks(sim)) < 4:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert [each["status"] for each in seen] == [None] * 4
    assert all(each["verdict"].startswith("not delivered: ") for each in seen)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, ""),
        ({"output_ResponseCode": "INS-0"}, "output_ResponseCode"),
        ({"output_ResponseCode": 0}, "output_ResponseCode"),
        ({"output_ResponseDesc": None}, "output_ResponseDesc"),
        ({"output_OriginalConversationID": "x"}, "output_OriginalConversationID"),
        ({"output_ThirdPartyConversationID": "x"}, "output_ThirdPartyConversationID"),
    ],
)
async def test_an_acknowledgement_is_judged(
    sim: Sim, mpesa: Mpesa, listener: Listener, changes: dict[str, Any], wrong: str
) -> None:
    async def answer(call: Call) -> tuple[int, Any]:
        return 200, acknowledgement(call) | changes

    listener.answering = answer
    await mpesa.disburse(PHONE)
    await until(lambda: bool(listener.calls))
    [seen] = await first_callbacks(sim)
    assert seen["verdict"] == (f"acknowledged, but wrongly: {wrong}" if wrong else "acknowledged")
    await asyncio.sleep(3 / SPEED)
    assert len(listener.calls) == 1


async def test_a_page_is_no_acknowledgement(sim: Sim, mpesa: Mpesa, listener: Listener) -> None:
    async def answer(call: Call) -> tuple[int, Any]:
        return 200, b"<html>"

    listener.answering = answer
    await mpesa.disburse(PHONE)
    await until(lambda: bool(listener.calls))
    assert (await first_callbacks(sim))[0]["verdict"] == "acknowledged, but wrongly: not a JSON object"


async def test_airtel_wants_no_more_than_a_success(sim: Sim, airtel: Airtel, listener: Listener) -> None:
    async def answer(call: Call) -> tuple[int, Any]:
        return 202, b""

    listener.answering = answer
    await airtel.collect("+255684123456")
    await until(lambda: bool(listener.calls))
    assert (await first_callbacks(sim))[0]["verdict"] == "acknowledged"


async def test_a_network_without_a_callback_address_sends_no_callback(
    sim: Sim, mpesa: Mpesa, listener: Listener
) -> None:
    assert (await sim("PUT", "/api/callbacks", {"MPESA": None}))["MPESA"] is None
    assert (await sim("GET", "/api/callbacks"))["AIRTEL_MONEY"] == listener.url
    await mpesa.disburse(PHONE)
    await asyncio.sleep(0.1)
    assert listener.calls == []


async def test_without_an_address_a_reply_does_not_wait_for_its_callback(sim: Sim, mpesa: Mpesa) -> None:
    assert (await mpesa.collect("+255754123107")).code == "INS-0"
    assert await sim.charged("+255754123107") == [("charged", 1000)]


async def test_of_three_tellings_two_come_together(sim: Sim, mpesa: Mpesa, listener: Listener) -> None:
    await sim.control(speed=0.4)
    await mpesa.disburse("+255754123106")
    await until(lambda: len(listener.calls) == 3)
    first, second, third = (call.at for call in listener.calls)
    assert second - first < 1.25
    assert third - first > 2.25


async def test_a_callback_can_be_late(sim: Sim, mpesa: Mpesa, listener: Listener) -> None:
    await sim.control(channels={"MPESA": {"callbackDelaySeconds": 0.4 * SPEED}})
    await mpesa.disburse(PHONE)
    began = time.monotonic()
    assert await sim.charged(PHONE) == [("paid", 1000)]
    await until(lambda: bool(listener.calls))
    assert listener.calls[0].at - began >= 0.35


async def test_a_callback_does_not_follow_a_stranger_elsewhere(sim: Sim, mpesa: Mpesa, listener: Listener) -> None:
    async def send_away(call: Call) -> tuple[int, Any]:
        return 302, listener.url + "/elsewhere"

    listener.answering = send_away
    await mpesa.disburse(PHONE)
    await until(lambda: bool(listener.calls))
    assert (await first_callbacks(sim))[0]["verdict"] == "not accepted: HTTP 302"


async def test_secrets_are_covered_in_what_was_seen(sim: Sim, mpesa: Mpesa, airtel: Airtel) -> None:
    await airtel.disburse("+255684123456", 1000, "salary9")
    opened = await mpesa.call("GET", "/getSession/", bearer=mpesa.seal(mpesa.given["apiKey"]))
    text = str(await sim("GET", "/api/seen?limit=2000"))
    session = opened.body["output_SessionID"]
    for secret in (airtel.token, airtel.given["clientSecret"], mpesa.bearer, mpesa.given["apiKey"], session):
        assert secret not in text
    paid = next(each for each in await sim("GET", "/api/seen") if each["path"] == "/airtel/standard/v1/disbursements/")
    assert '"pin": "••••"' in paid["body"]
    assert paid["headers"]["authorization"] == "••••"
    assert (paid["status"], paid["phone"], paid["reference"]) == (200, "+255684123456", "salary9")
    assert "DP00900001001" in paid["reply"]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"pin": "12\\"34", "amount": 5}', '{"pin": "••••", "amount": 5}'),
        (
            b"<COMMAND><PIN>1234</PIN><AMOUNT>5</AMOUNT></COMMAND>",
            "<COMMAND><PIN>••••</PIN><AMOUNT>5</AMOUNT></COMMAND>",
        ),
        (b"<request><password>x</password></request>", "<request><password>••••</password></request>"),
        (b"username=a&password=b&grant_type=password", "username=a&password=••••&grant_type=password"),
        (b'{"success":true,"token":"Bearer x"}', '{"success":true,"token":"••••"}'),
        (b"\xff", "\ufffd"),
    ],
)
def test_secrets_are_covered_in_every_kind_of_body(body: bytes, shown: str) -> None:
    assert mask(body) == shown


async def test_what_was_seen_can_be_picked_by_channel_and_phone(sim: Sim, mpesa: Mpesa, airtel: Airtel) -> None:
    await mpesa.disburse("+255754123456")
    await airtel.disburse("+255684123456")
    assert {each["channel"] for each in await sim("GET", "/api/seen?channel=MPESA")} == {"MPESA"}
    (one,) = await sim("GET", "/api/seen?phone=0684123456")
    assert one["phone"] == "+255684123456"
    assert len(await sim("GET", "/api/seen?limit=1")) == 1


def test_what_was_seen_is_bounded() -> None:
    seen = RequestLog()
    for number in range(2_500):
        seen.add(RequestLogEntry(number, "MPESA", "in", "GET", "/", {}, b"x" * 100_000))
    found = list(seen.newest())
    assert [entry.at for entry in found] == list(range(2_499, 499, -1))
    assert len(found[0].body) == 8_192
