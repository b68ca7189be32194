"""Other people's code believes a real delivery: official libraries, openssl, and the receivers in examples/.

An endpoint is registered through the API, a payment is taken and approved, and a worker sends its events over real HTTP.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from malipo import clock
from malipo.merchants import manage_people
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from tests.cheap_hash import cheap_hash
from tests.conftest import NOBODY, Client, create_database, make_merchant
from tests.examples.example_receivers import LANGUAGES, Shop
from tests.examples.signed_webhooks import STRANGE
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until
from tests.journeys.webhook_receivers import Got, Receiver, a_receiver
from tests.webhooks.official import Wrong, verify_with_node, verify_with_openssl, verify_with_python

EVENTS = ["payment.pending", "payment.completed"]


@dataclass
class Owner:
    """Somebody of a merchant, logged in, and their shop's program."""

    api: Client
    token: str

    async def __call__(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = await self.api.as_(None)(method, f"/merchant/webhooks{path}", body, headers=headers)
        assert answer.status in (200, 201, 202), answer.body
        return answer.body

    async def register(self, url: str, events: list[str] = EVENTS) -> tuple[str, str]:
        """The endpoint's id and secret."""
        endpoint = (await self("POST", "", {"url": url, "events": events}))["endpoint"]
        return endpoint["id"], endpoint["secret"]

    async def sell(self, order: int) -> None:
        """A payment for this order, which the customer approves."""
        asked = {"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000001", "buyerName": "Asha née d’Été ✓"}
        answer = await self.api("POST", "/v1/payments", asked | {"metadata": {"orderId": order}})
        assert answer.status == 201, answer.body


@pytest.fixture(scope="module")
async def full_stack(
    tmp_path_factory: pytest.TempPathFactory, postgres: str, template: str
) -> AsyncIterator[FullStack]:
    """One for all: each test has a merchant of its own there."""
    database_url = await create_database(postgres, template)
    folder = tmp_path_factory.mktemp("town")
    async with (
        full_stack_started(folder, database_url, webhook_allow_private="true") as full_stack,
        a_worker(full_stack),
    ):
        yield full_stack


@pytest.fixture
async def owner(full_stack: FullStack) -> Owner:
    merchant = await make_merchant(full_stack.database)
    login = {"email": f"{merchant.id}@example.com", "password": "maji ya kunde 7"}
    async with full_stack.database.begin() as tx:
        person = await manage_people.add_person(
            tx, merchant.id, email=login["email"], name="", role=Role.OWNER, actor=NOBODY, now=clock.now()
        )
        await people.set_password(tx, person.id, cheap_hash(login["password"]))
    api = full_stack.api.as_(merchant.key)
    answer = await api.as_(None)("POST", "/merchant/auth/login", login)
    return Owner(api, answer.body["token"])


async def deliveries(receiver: Receiver, number: int) -> list[Got]:
    """So many deliveries, as they came."""

    async def have() -> bool:
        return len(receiver.got) >= number

    await until(have, pause=0.02, what=f"delivery {number}")
    found, receiver.got[:] = list(receiver.got), []
    assert len(found) == number
    return found


async def check(got: Got, *, standard: list[str], plain: str, next_: str | None = None) -> None:
    """Everybody believes it, with every one of these secrets and with no other."""
    for verify in (verify_with_python, verify_with_node):
        for secret in standard:
            await asyncio.to_thread(verify, secret, got.headers, got.body)
        with pytest.raises(Wrong):
            await asyncio.to_thread(verify, STRANGE, got.headers, got.body)
    await asyncio.to_thread(verify_with_openssl, plain, got.headers["x-service-signature"], got.body)
    assert ("x-service-signature-next" in got.headers) == (next_ is not None)
    if next_:
        await asyncio.to_thread(verify_with_openssl, next_, got.headers["x-service-signature-next"], got.body)


async def test_the_official_libraries_and_openssl_believe_a_real_delivery(owner: Owner) -> None:
    async with a_receiver() as receiver:
        _, secret = await owner.register(receiver.url("/"))
        await owner.sell(17)
        for got in await deliveries(receiver, 2):
            await check(got, standard=[secret], plain=secret)


async def test_official_libraries_accept_either_secret_while_it_is_rotated(owner: Owner) -> None:
    async with a_receiver() as receiver:
        id_, old = await owner.register(receiver.url("/"), ["payment.pending"])
        new = (await owner("POST", f"/{id_}/rotate-secret"))["endpoint"]["secret"]
        await owner.sell(17)
        (during,) = await deliveries(receiver, 1)
        await check(during, standard=[old, new], plain=old, next_=new)
        await owner("POST", f"/{id_}/rotate-secret/finish")
        await owner.sell(18)
        (after,) = await deliveries(receiver, 1)
        await check(after, standard=[new], plain=new)
        with pytest.raises(Wrong):
            verify_with_python(old, after.headers, after.body)


@pytest.fixture(params=LANGUAGES)
def closed_shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    """An example receiver that its owner has yet to start, with the secret that they are given."""
    folder = tmp_path / "shop"
    folder.mkdir()
    shop = Shop(request.param, folder).sell()
    yield shop
    shop.kill()


async def test_the_example_receivers_believe_a_real_delivery_before_during_and_after_a_rotation(
    owner: Owner, closed_shop: Shop
) -> None:
    shop = closed_shop
    id_, old = await owner.register(shop.url)

    async def reopen(secret: str) -> None:
        await asyncio.to_thread(shop.reopen, secret)

    async def deliveries() -> list[Any]:
        found: list[Any] = (await owner("GET", f"/{id_}/deliveries?limit=100"))["deliveries"]
        return found

    async def is_paid(order: int) -> None:
        async def have() -> bool:
            return [each["state"] for each in await deliveries()] == ["DELIVERED"] * 2 * order

        await owner.sell(order)
        await until(have, pause=0.05, what=f"the payment of order {order}")
        assert len(shop.paid_by(order)) == 1

    await reopen(old)
    await is_paid(1)
    new = (await owner("POST", f"/{id_}/rotate-secret"))["endpoint"]["secret"]
    await is_paid(2)
    await reopen(new)
    await is_paid(3)
    await owner("POST", f"/{id_}/rotate-secret/finish")
    await is_paid(4)

    tested = (await owner("POST", f"/{id_}/test"))["delivery"]
    assert (tested["state"], tested["attempts"][0]["answer"]) == ("DELIVERED", "webhook.test: nothing to do\n")
    assert {len(each["attempts"]) for each in await deliveries()} == {1}, "nothing was ever refused"


async def test_the_example_receivers_have_seen_a_real_redelivery_before(owner: Owner, closed_shop: Shop) -> None:
    shop = closed_shop
    id_, secret = await owner.register(shop.url, ["payment.completed"])
    await asyncio.to_thread(shop.reopen, secret)
    await owner.sell(1)

    async def answers() -> list[str]:
        found = (await owner("GET", f"/{id_}/deliveries"))["deliveries"]
        return [each["answer"].strip().split(": ")[1] for delivery in found for each in delivery["attempts"]]

    async def has_answered(number: int) -> bool:
        return len(await answers()) == number

    await until(lambda: has_answered(1), pause=0.05, what="the first delivery")
    (delivery,) = (await owner("GET", f"/{id_}/deliveries"))["deliveries"]
    await asyncio.to_thread(shop.reopen)
    await owner("POST", f"/{id_}/deliveries/{delivery['id']}/redeliver")
    await until(lambda: has_answered(2), pause=0.05, what="the second delivery")
    assert sorted(await answers()) == ["marked paid", "seen before"]
    assert len(shop.paid_by(1)) == 1
