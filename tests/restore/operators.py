"""What operators and workers do about an installation that was restored."""

import pytest

from malipo import clock
from malipo.payments.store import dispatches
from malipo.payments.transaction import Transaction
from malipo.restore import release
from malipo.service import Service
from malipo.trail.store import Actor
from tests.conftest import Merchant
from tests.payments.story import PAIRS, Story

ASHA, JUMA = (Actor(f"operator {name}", "till") for name in ("asha", "juma"))
EVIDENCE = "Statements of the lost hour, all four networks"


@pytest.fixture
async def story(service: Service, merchant: Merchant) -> Story:
    return Story(service, merchant.id)


async def fence(story: Story) -> None:
    await story.service.fence("A test says that it was restored.", epoch=1)


async def let_go(story: Story, *actors: Actor, scope: release.Scope = None, is_alone: bool = False) -> bool:
    released = None
    for actor in actors:
        async with story.database.begin() as tx:
            released = await release.release(tx, EVIDENCE, scope, actor=actor, now=clock.now(), is_alone=is_alone)
    assert released is not None
    return released.is_done


async def ask_first(story: Story) -> list[Transaction]:
    """What a worker asks about before anything is sent."""
    async with story.database.begin() as tx:
        found = [
            await dispatches.claim_asked_first(tx, channel, type_, lease_seconds=60, most=100)
            for channel, type_ in PAIRS
        ]
    return [each.transaction for some in found for each in some]
