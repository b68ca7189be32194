"""One slow or dead endpoint delays no other, of its own merchant or of any; its deliveries wait on disk.

Nothing is timed. A receiver may take a minute to answer, longer than any test lasts: an endpoint that got its deliveries
got them while the others had not answered yet.
"""

import random
import re
from collections.abc import AsyncIterator

import pytest

from malipo.app.assemble import Service
from malipo.webhooks.http_client import WebhookClient
from tests.journeys import database_facts
from tests.journeys.full_stack import until
from tests.journeys.webhook_receivers import Behaviour, Got, Line, Receiver, a_receiver, drips, hangs, nobody, says
from tests.journeys.webhook_stack import RegisteredEndpoint, WebhookStack, webhook_stack
from tests.webhooks.dns_server import NameServer

EVENTS = 200
# How many leave at once for an endpoint of which nothing is known, and for the best of all.
FIRST_WINDOW = 4
LARGEST_WINDOW = 64
A_MINUTE = 60


@pytest.fixture
async def stack(database_url: str) -> AsyncIterator[WebhookStack]:
    async with webhook_stack(database_url, webhook_timeout_seconds=A_MINUTE) as stack:
        yield stack
        await database_facts.assert_clean(stack.database)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as receiver:
        yield receiver


async def _until_delivered(stack: WebhookStack, endpoint: RegisteredEndpoint, number: int) -> None:
    async def is_delivered() -> bool:
        return await stack.states(endpoint) == {"DELIVERED": number}

    await until(is_delivered, pause=0.05, what=f"{number} deliveries to the healthy endpoint")


async def _falls_to(worker: Service, number: int) -> None:
    """No more are under way when the worker has done all it can, as it says itself."""

    async def are_under_way() -> bool:
        found = re.search(rb"^malipo_webhooks_under_way (\S+)$", worker.metrics.exposition(), re.MULTILINE)
        return found is not None and float(found[1]) <= number

    await until(are_under_way, pause=0.05, what=f"no more than {number} under way")


@pytest.mark.parametrize("behaviour", [hangs, drips], ids=["hangs", "drips a byte a second"])
@pytest.mark.parametrize("of", ["the same merchant", "another"])
async def test_an_endpoint_that_is_being_waited_for_delays_no_other(
    stack: WebhookStack, receiver: Receiver, behaviour: Behaviour, of: str
) -> None:
    merchant = await stack.merchant()
    neighbour = merchant if of == "the same merchant" else await stack.merchant()
    bad = await stack.register(merchant, receiver.behave("/bad", behaviour))
    healthy = await stack.register(neighbour, receiver.url("/healthy"))
    # Everything of the bad one waits first.
    await stack.make_events(merchant, EVENTS)
    if neighbour is not merchant:
        await stack.make_events(neighbour, EVENTS)

    async with stack.a_worker() as worker:
        await _until_delivered(stack, healthy, EVENTS)
        assert len(receiver.at("/bad")) == FIRST_WINDOW == receiver.under_way["/bad"]
        assert await stack.states(bad) == {"PENDING": EVENTS}
        await _falls_to(worker, FIRST_WINDOW)  # What waits does not wait in memory.


async def test_an_endpoint_that_refuses_connections_delays_no_other(stack: WebhookStack, receiver: Receiver) -> None:
    merchant = await stack.merchant()
    with nobody() as url:
        bad = await stack.register(merchant, url)
        healthy = await stack.register(merchant, receiver.url("/healthy"))
        await stack.make_events(merchant, EVENTS)

        async with stack.a_worker() as worker:
            await _until_delivered(stack, healthy, EVENTS)
            assert await stack.states(bad) == {"PENDING": EVENTS}
            await _falls_to(worker, 0)


async def test_an_endpoint_whose_name_is_never_resolved_delays_no_other(
    stack: WebhookStack, receiver: Receiver
) -> None:
    merchant = await stack.merchant()
    async with NameServer.opened() as names:
        names.says("silent.example", None)
        bad = await stack.register(merchant, "https://silent.example/")
        healthy = await stack.register(merchant, receiver.url("/healthy"))
        await stack.make_events(merchant, EVENTS)
        post = WebhookClient(allow_private=True, ports=(), timeout_seconds=A_MINUTE, nameservers=[names.address])

        async with stack.a_worker(webhook_client=post) as worker:
            await _until_delivered(stack, healthy, EVENTS)
            assert names.asked["silent.example"] >= 1
            assert await stack.states(bad) == {"PENDING": EVENTS}
            await _falls_to(worker, FIRST_WINDOW)


async def test_endpoints_that_answer_get_their_deliveries_however_many_others_hang(
    stack: WebhookStack, receiver: Receiver
) -> None:
    """More than there are places for those who answer: whoever lets us wait gives its place back."""
    merchants = [await stack.merchant() for _ in range(7)]
    for number, merchant in enumerate(merchants):
        for each in range(20):
            await stack.register(merchant, receiver.behave(f"/bad/{number}/{each}", hangs))
        await stack.make_events(merchant, 6)
    neighbour = await stack.merchant()
    healthy = await stack.register(neighbour, receiver.url("/healthy"))

    async with stack.a_worker() as worker:
        await until(lambda: _all_hang(receiver, 140), what="hanging everywhere")
        await stack.make_events(neighbour, EVENTS)
        await _until_delivered(stack, healthy, EVENTS)

        assert max(receiver.most_under_way[f"/bad/{n}/{each}"] for n in range(7) for each in range(20)) == FIRST_WINDOW
        await _falls_to(worker, 140 * FIRST_WINDOW)


async def _all_hang(receiver: Receiver, number: int) -> bool:
    return sum(receiver.under_way[path] > 0 for path in receiver.under_way if path.startswith("/bad")) == number


async def test_an_endpoint_that_answers_is_sent_more_at_once_and_never_more_than_it_can_bear(
    stack: WebhookStack, receiver: Receiver
) -> None:
    chance = random.Random(64)
    merchant = await stack.merchant()
    behaviours = [says(200, after_seconds=chance.uniform(0.02, 0.1)) for _ in range(10)]

    async def slowly(got: Got, line: Line) -> None:
        await chance.choice(behaviours)(got, line)

    healthy = await stack.register(merchant, receiver.behave("/healthy", slowly))
    await stack.make_events(merchant, 5 * EVENTS)

    async with stack.a_worker():
        await _until_delivered(stack, healthy, 5 * EVENTS)

    assert FIRST_WINDOW < receiver.most_under_way["/healthy"] <= LARGEST_WINDOW
    assert len(receiver.at("/healthy")) == 5 * EVENTS
