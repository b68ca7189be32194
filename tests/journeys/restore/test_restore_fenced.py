"""A fenced installation sends nothing, but takes callbacks, answers merchants, and shows its pages."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.webhooks import manage_endpoints
from tests.conftest import NOBODY
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.restore_drill import mute_queries
from tests.journeys.restored_stack import a_host, installation, pay
from tests.journeys.webhook_receivers import Receiver, a_receiver, good

PHONE = "+255684000100"  # the last three digits: it waits for a person


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    async with full_stack_started(tmp_path, database_url, webhook_allow_private="true") as full_stack:
        yield full_stack


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as receiver:
        yield receiver


async def _register(full_stack: FullStack, service: Service, url: str) -> None:
    async with full_stack.database.begin() as tx:
        await manage_endpoints.register(
            tx,
            full_stack.merchant.id,
            url=url,
            events=["payment.completed"],
            encryption=service.encryption,
            actor=NOBODY,
            now=clock.now(),
        )


async def test_behind_a_fence_a_callback_ends_a_payment_its_event_is_sent_and_everything_can_be_read(
    full_stack: FullStack, receiver: Receiver, tmp_path: Path
) -> None:
    async with a_host(full_stack, tmp_path / "state") as service:
        await _register(full_stack, service, receiver.behave("/shop", good))
        made = await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-1", type_="COLLECTION")
        id_ = made.body["transaction"]["id"]

        async def is_at_the_phone() -> list[str]:
            return [each["id"] for each in await full_stack.sim("GET", "/api/prompts") if each["state"] == "waiting"]

        [prompt] = await until(is_at_the_phone, what="the prompt")
        await mute_queries(full_stack, is_muted=True)
        await service.fence("A test says that it was restored.", epoch=1)
        assert (await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-2", type_="COLLECTION")).code == "restored"
        await full_stack.sim("POST", f"/api/prompts/{prompt}", {"action": "approve", "pin": "1234"})

        async def is_delivered() -> bool:
            return [each.event for each in receiver.at("/shop")] == ["payment.completed"]

        await until(is_delivered, what="the webhook")
        assert (await full_stack.shown(id_))["status"] == "COMPLETED"
        for path in ("/v1/payments", "/v1/events", "/v1/wallet", "/v1/wallet/entries"):
            assert (await full_stack.api("GET", path)).status == 200, path
        assert (await installation(full_stack))["fenced_at"] is not None
        async with full_stack.database.read() as connection:
            received = await connection.fetch("SELECT source FROM network_answers WHERE verdict = 'confirmed'")
    assert [each["source"] for each in received] == ["callback"], "no query has said it"
    await database_facts.assert_clean(full_stack.database)
