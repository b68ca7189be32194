"""Behind the fence nothing is sent; but networks are heard, merchants are told, and everybody can look."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from malipo import clock
from malipo.service import Service
from malipo.webhooks import register
from tests.conftest import NOBODY
from tests.journeys import witness
from tests.journeys.drill import mute_queries
from tests.journeys.receivers import Receiver, a_receiver, good
from tests.journeys.restored import a_host, installation, pay
from tests.journeys.town import Town, founded, until

PHONE = "+255684000100"  # the last three digits: it waits for a person


@pytest.fixture
async def town(tmp_path: Path, database_url: str) -> AsyncIterator[Town]:
    async with founded(tmp_path, database_url, webhook_allow_private="true") as town:
        yield town


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as receiver:
        yield receiver


async def _register(town: Town, service: Service, url: str) -> None:
    async with town.database.begin() as tx:
        await register.register(
            tx,
            town.merchant.id,
            url=url,
            events=["payment.completed"],
            seal=service.seal,
            actor=NOBODY,
            now=clock.now(),
        )


async def test_a_callback_ends_a_payment_its_merchant_is_told_and_everything_can_be_read(
    town: Town, receiver: Receiver, tmp_path: Path
) -> None:
    async with a_host(town, tmp_path / "state") as service:
        await _register(town, service, receiver.behave("/shop", good))
        made = await pay(town, "AIRTEL_MONEY", PHONE, "order-1", type_="COLLECTION")
        id_ = made.body["transaction"]["id"]

        async def is_at_the_phone() -> list[str]:
            return [each["id"] for each in await town.sim("GET", "/api/prompts") if each["state"] == "waiting"]

        [prompt] = await until(is_at_the_phone, what="the prompt")
        await mute_queries(town, is_muted=True)
        await service.fence("A test says that it was restored.", epoch=1)
        assert (await pay(town, "AIRTEL_MONEY", PHONE, "order-2", type_="COLLECTION")).code == "restored"
        await town.sim("POST", f"/api/prompts/{prompt}", {"action": "approve", "pin": "1234"})

        async def is_told() -> bool:
            return [each.event for each in receiver.at("/shop")] == ["payment.completed"]

        await until(is_told, what="the webhook")
        assert (await town.shown(id_))["status"] == "COMPLETED"
        for path in ("/v1/payments", "/v1/events", "/v1/wallet", "/v1/wallet/entries"):
            assert (await town.api("GET", path)).status == 200, path
        assert (await installation(town))["fenced_at"] is not None
        async with town.database.read() as connection:
            heard = await connection.fetch("SELECT act FROM hearings WHERE verdict = 'confirmed'")
    assert [each["act"] for each in heard] == ["callback"], "no query has said it"
    await witness.assert_clean(town.database)
