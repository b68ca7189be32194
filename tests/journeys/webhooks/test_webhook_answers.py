"""The response of a receiver is stored and shown, with any bytes, up to a limit."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from malipo.outbox.event import Event
from tests.journeys.in_process_api import WebhookScenario, webhook_scenario
from tests.journeys.webhook_receivers import Behaviour, Got, Line, says

KEPT_BYTES = 2048
KEPT_HEADERS = 50

# Each with how what is shown of its body begins.
ANSWERS: dict[str, tuple[Behaviour, str]] = {
    "nothing": (says(200), ""),
    "NUL bytes": (says(200, b"a\0b\0" * 10), "a\0b\0a"),
    "invalid UTF-8": (says(200, b"caf\xe9 \xff\xfe\xc3"), "caf\ufffd \ufffd"),
    "nothing but invalid bytes": (says(500, b"\xff" * 5000), "\ufffd" * 100),
    "a letter cut in two": (says(200, b"x" * 2047 + "é".encode() * 10), "x" * 2047),
    "a megabyte": (says(200, b"m" * 1_000_000), "m" * 100),
    "a megabyte of refusal": (says(500, b"m" * 1_000_000), "m" * 100),
    "JSON within JSON": (says(200, b'{"a": "\\u0000\\ud800", "b": [1]}'), '{"a": "\\u0000'),
    "200 headers": (says(200, b"h", headers=tuple((f"X-Header-{n}", b"v" * 20) for n in range(200))), "h"),
    "the same header again and again": (says(200, b"s", headers=(("X-Same", b"1"), ("X-Same", b"2"))), "s"),
    "a header that is not ASCII": (says(200, b"l", headers=(("X-Name", b"caf\xe9 \xc3\xa9"),)), "l"),
    "a header that never ends": (says(200, b"e", headers=(("X-Long", b"v" * 7000),)), "e"),
    "markup": (says(404, b"<script>alert(1)</script>"), "<script>"),
}


async def _talks_nonsense(_: Got, line: Line) -> None:
    line.writer.write(b"\0\1\2\xff not HTTP at all\r\n\r\n" * 10)


async def _promises_too_much(_: Got, line: Line) -> None:
    line.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nhalf")
    await line.writer.drain()
    line.writer.close()


NO_ANSWERS: dict[str, Behaviour] = {
    "nonsense": _talks_nonsense,
    "half of an answer": _promises_too_much,
    "a NUL in a header": says(200, headers=(("X-Nul", b"a\0b"),)),
    "a megabyte of headers": says(200, headers=tuple((f"X-{n}", b"v" * 5000) for n in range(200))),
}


@pytest.fixture
async def scenario(database_url: str) -> AsyncIterator[WebhookScenario]:
    async with webhook_scenario(database_url) as scenario:
        yield scenario


async def _attempts_of(scenario: WebhookScenario, behaviours: dict[str, Behaviour]) -> dict[str, dict[str, Any]]:
    """What each delivery shows, in the list and by itself, after one attempt."""
    stands = {
        what: await scenario.register(f"/{stack}", [Event.PAYMENT_PENDING], behaviour=behaviour)
        for stack, (what, behaviour) in enumerate(behaviours.items())
    }
    await scenario.stack.open(scenario.merchant)
    shown = {}
    for what, endpoint in stands.items():
        await scenario.until_attempts(endpoint, 1)
        [shown[what]] = await scenario.deliveries(endpoint)
        alone = await scenario.ask(endpoint, "GET", f"/deliveries/{shown[what]['id']}")
        assert (alone.status, alone.body["delivery"]) == (200, shown[what]), what
    return shown


async def test_any_answer_is_kept_and_shown_and_never_more_than_two_kilobytes(scenario: WebhookScenario) -> None:
    shown = await _attempts_of(scenario, {what: behaviour for what, (behaviour, _) in ANSWERS.items()})

    for what, (_, beginning) in ANSWERS.items():
        [attempt] = shown[what]["attempts"]
        assert "status" in attempt, (what, attempt)
        assert shown[what]["state"] == ("DELIVERED" if attempt["status"] == 200 else "PENDING"), what
        assert attempt["answer"].startswith(beginning), what
        assert len(attempt["answer"]) <= KEPT_BYTES, what
        assert len(attempt["headers"]) <= KEPT_HEADERS, what
    assert shown["the same header again and again"]["attempts"][0]["headers"]["X-Same"] == "1, 2"
    assert shown["a header that is not ASCII"]["attempts"][0]["headers"]["X-Name"] == "café Ã©"
    [kept] = await scenario.stack.rows(
        "SELECT max(octet_length(response_body)) AS answer, max(octet_length(response_headers::text)) AS headers FROM webhook_attempts"
    )
    assert kept["answer"] == KEPT_BYTES
    assert kept["headers"] <= 3 * 4096


async def test_an_attempt_without_an_answer_shows_its_reason(scenario: WebhookScenario) -> None:
    shown = await _attempts_of(scenario, NO_ANSWERS)

    for what in NO_ANSWERS:
        [attempt] = shown[what]["attempts"]
        assert shown[what]["state"] == "PENDING", what
        assert set(attempt) == {"id", "at", "durationMs", "error"}, what
        assert attempt["error"].startswith(("the answer is not valid HTTP", "the answer broke off")), what
