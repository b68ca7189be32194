"""Secrets at rest: sealed under the operator's key, changed without a pause, and never in the clear but once.

The old key's process, the new one's and the one between are the three that stand beside each other in a fleet while
its key is changed.
"""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from malipo.outbox.event import Event
from tests.conftest import NO_LIMITS, Client, Merchant, Running, until_ready
from tests.journeys.full_stack import until
from tests.journeys.in_process_api import InProcessApi, in_process_api
from tests.journeys.operator_commands import malipo
from tests.journeys.webhook_receivers import Receiver, a_receiver
from tests.journeys.webhook_stack import SECRET_KEY, RegisteredEndpoint, WebhookStack, webhook_stack
from tests.journeys.worker_stack import CrashingWorker, a_crashing_worker

OLD, NEW, WRONG = SECRET_KEY, "the-key-that-is-to-follow-it-in-this-market", "a-key-that-has-nothing-to-do-with-it"


@pytest.fixture
async def stack(database_url: str) -> AsyncIterator[WebhookStack]:
    async with webhook_stack(database_url) as stack:
        yield stack


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as receiver:
        yield receiver


def _is_signed(receiver: Receiver, endpoint: RegisteredEndpoint) -> bool:
    return all(
        got.headers["x-service-signature"] == hmac.new(endpoint.secret.encode(), got.body, hashlib.sha256).hexdigest()
        for got in receiver.got
    )


async def _rotate(stack: WebhookStack, **keys: str) -> Any:
    return await malipo("secrets", "rotate", "--json", database_url=stack.database_url, **keys)


async def test_the_key_is_changed_while_deliveries_go_on(stack: WebhookStack, receiver: Receiver) -> None:
    merchant = await stack.merchant()
    endpoint = await stack.register(merchant, receiver.url("/shop"), [Event.PAYMENT_PENDING])
    other = await stack.register(merchant, receiver.url("/other"), [Event.PAYOUT_COMPLETED])
    async with in_process_api(stack) as opened:
        rotated = await opened(merchant, "POST", f"/merchant/webhooks/{other.id}/rotate-secret")
        assert rotated.status == 200
    sealed = {row["id"]: row for row in await stack.rows("SELECT id, secret, next_secret FROM webhook_endpoints")}

    async with stack.a_worker(secret_key=OLD):
        await stack.open(merchant, 5)
        await stack.until_delivered()
    async with stack.a_worker(secret_key=NEW, secret_key_previous=OLD):
        await stack.open(merchant, 5)
        await stack.until_delivered()
        rotating = asyncio.create_task(_rotate(stack, secret_key=NEW, secret_key_previous=OLD))
        while not rotating.done():
            await stack.open(merchant, 5)
            await asyncio.sleep(0.1)
        said = rotating.result()
        await stack.open(merchant, 5)
        await stack.until_delivered()
    assert (said.code, said.json) == (0, {"resealed": 2, "secrets": 2}), said.err
    async with stack.a_worker(secret_key=NEW):
        delivered = await stack.open(merchant, 5)
        await stack.until_delivered()

    assert len(delivered) == 5
    assert _is_signed(receiver, endpoint), "with the same secret, whatever it is sealed under"
    assert await stack.rows("SELECT FROM webhook_attempts WHERE http_status IS DISTINCT FROM 200") == []
    for row in await stack.rows("SELECT id, secret, next_secret FROM webhook_endpoints"):
        assert row["secret"] != sealed[row["id"]]["secret"]
        assert (row["next_secret"] is None) == (sealed[row["id"]]["next_secret"] is None)
    again = await _rotate(stack, secret_key=NEW)
    assert (again.code, again.json) == (0, {"resealed": 0, "secrets": 2})
    trail = await stack.rows("SELECT details FROM audit_log WHERE action = 'secrets.rotated' ORDER BY id")
    assert len(trail) == 2


async def test_a_change_without_the_previous_key_changes_nothing_and_says_what_is_missing(stack: WebhookStack) -> None:
    merchant = await stack.merchant()
    endpoint = await stack.register(merchant, "http://127.0.0.1:9/")
    before = await stack.rows("SELECT * FROM webhook_endpoints")

    said = await _rotate(stack, secret_key=NEW)

    assert said.code != 0
    assert endpoint.id in said.err
    assert "Traceback" not in said.err
    assert await stack.rows("SELECT * FROM webhook_endpoints") == before
    assert await stack.rows("SELECT FROM audit_log WHERE action = 'secrets.rotated'") == []


async def _until_said(worker: CrashingWorker, words: str) -> str:
    """What the worker has said, when these words are among it."""

    async def said() -> str | None:
        log = worker.log.read_text()
        return log if words in log else None

    return str(await until(said, pause=0.05, what=words))


async def test_a_worker_with_the_wrong_key_says_so_and_costs_no_delivery_a_try(
    stack: WebhookStack, receiver: Receiver, tmp_path: Path
) -> None:
    merchant = await stack.merchant()
    endpoint = await stack.register(merchant, receiver.url("/shop"), [Event.PAYMENT_PENDING])
    await stack.open(merchant, 3)
    mistaken = replace(stack, environment=stack.environment | {"MALIPO_SECRET_KEY": WRONG})
    with a_crashing_worker(mistaken, tmp_path, lease_seconds=1) as worker:
        log = await _until_said(worker, "webhook.cannot_sign")
        await asyncio.sleep(1.2)  # Longer than its lease: it comes to it again.

    assert endpoint.id in log
    assert receiver.got == []
    rows = await stack.rows("SELECT state, attempt_count FROM webhook_deliveries")
    assert rows == [{"state": "PENDING", "attempt_count": 0}] * 3
    assert await stack.rows("SELECT FROM webhook_attempts") == []
    assert await stack.rows("SELECT FROM webhook_endpoints WHERE failing_since IS NOT NULL") == [], (
        "the merchant is not to blame"
    )
    async with stack.a_worker():
        await stack.until_delivered()
    assert len(receiver.got) == 3


async def test_a_secret_in_another_endpoints_row_signs_nothing(
    stack: WebhookStack, receiver: Receiver, tmp_path: Path
) -> None:
    """Whoever can write to the database cannot make us sign with a secret that is not the endpoint's own."""
    merchant = await stack.merchant()
    endpoint = await stack.register(merchant, receiver.url("/shop"), [Event.PAYMENT_PENDING])
    other = await stack.register(merchant, receiver.url("/other"), [Event.PAYOUT_COMPLETED])
    swap = "UPDATE webhook_endpoints e SET secret = o.secret FROM webhook_endpoints o WHERE e.id = $1 AND o.id = $2"
    [kept] = await stack.rows("SELECT secret FROM webhook_endpoints WHERE id = $1", endpoint.id)
    await stack.rows(swap, endpoint.id, other.id)
    await stack.open(merchant)
    with a_crashing_worker(stack, tmp_path, lease_seconds=1) as worker:
        log = await _until_said(worker, "webhook.cannot_sign")

    assert receiver.got == []
    assert "changed since it was encrypted" in log
    await stack.rows("UPDATE webhook_endpoints SET secret = $2 WHERE id = $1", endpoint.id, kept["secret"])
    async with stack.a_worker():
        await stack.until_delivered()
    assert _is_signed(receiver, endpoint)


def _forms(secret: str) -> list[str]:
    """A secret as it might be found: itself, what it encodes, and both as PostgreSQL shows bytes."""
    encoded = secret.removeprefix("whsec_")
    return [secret, encoded, secret.encode().hex(), base64.b64decode(encoded).hex()]


async def _everything(stack: WebhookStack) -> str:
    """Every row of every table, as text."""
    tables = await stack.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    parts = [await stack.rows(f'SELECT t::text FROM "{each["tablename"]}" t') for each in tables]
    return "\n".join(row["t"] for part in parts for row in part)


async def test_a_secret_is_in_the_clear_only_in_the_answer_that_gives_it(
    stack: WebhookStack, receiver: Receiver, tmp_path: Path, start: Callable[..., Running]
) -> None:
    merchant = await stack.merchant()
    named = {
        "database_url": stack.database_url,
        "secret_key": OLD,
        "webhook_allow_private": "true",
        "log_level": "debug",
    }
    running = await until_ready(start("api", **NO_LIMITS, **named))
    talkative = replace(stack, environment=stack.environment | {"MALIPO_LOG_LEVEL": "debug"})
    async with aiohttp.ClientSession() as http:
        opened = InProcessApi(stack, Client(http, running.url, None), {})
        given, id_ = await _live(opened, merchant, receiver)
        with a_crashing_worker(talkative, tmp_path, lease_seconds=1) as worker:
            await stack.open(merchant, 2)
            await stack.until_delivered()
        for path in ("", f"/{id_}", f"/{id_}/deliveries"):
            answer = await opened(merchant, "GET", f"/merchant/webhooks{path}")
            assert answer.status == 200
            assert not any(form in str(answer.body) for secret in given for form in _forms(secret)), path
    said = await _rotate(stack, secret_key=NEW, secret_key_previous=OLD)

    assert len(given) == 2
    assert len(receiver.got) == 2
    logs = running.log.read_text() + worker.log.read_text() + said.out + said.err
    everything = await _everything(stack)
    assert merchant.id in everything
    assert "request" in logs
    for secret in given:
        for form in _forms(secret):
            assert form not in everything
            assert form not in logs
    for key in (OLD, NEW):
        assert key not in everything
        assert key not in logs


async def _live(opened: InProcessApi, merchant: Merchant, receiver: Receiver) -> tuple[list[str], str]:
    """An endpoint's first day: the secrets it was given, and its id."""
    body = {"url": receiver.url("/shop"), "events": ["payment.pending"]}
    made = await opened(merchant, "POST", "/merchant/webhooks", body)
    assert made.status == 201, made.body
    id_ = made.body["endpoint"]["id"]
    rotated = await opened(merchant, "POST", f"/merchant/webhooks/{id_}/rotate-secret")
    await opened(merchant, "PATCH", f"/merchant/webhooks/{id_}", {"events": ["payment.pending", "payment.failed"]})
    return [made.body["endpoint"]["secret"], rotated.body["endpoint"]["secret"]], id_


async def test_a_session_stays_valid_while_the_secret_key_is_changed(database_url: str, stack: WebhookStack) -> None:
    merchant = await stack.merchant()
    # The door makes its tokens with the old key, whatever the service behind it has.
    async with (
        webhook_stack(database_url, secret_key=NEW, secret_key_previous=OLD) as between,
        webhook_stack(database_url, secret_key=NEW) as after,
        in_process_api(stack) as before_door,
        in_process_api(between) as between_door,
        in_process_api(after) as after_door,
    ):
        between_door.people = after_door.people = before_door.people
        statuses = [
            (await each(merchant, "GET", "/merchant/webhooks")).status
            for each in (before_door, between_door, after_door)
        ]

    assert statuses == [200, 200, 401]
