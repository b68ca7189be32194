"""A feed and a receiver for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.cli.listen.feed_and_receiver import Feed, Receiver, serving


@pytest.fixture
async def feed() -> AsyncIterator[Feed]:
    feed = Feed()
    async with serving(feed.take) as feed.url:
        yield feed


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with serving(receiver.take) as url:
        receiver.url = f"{url}/webhooks"
        yield receiver
