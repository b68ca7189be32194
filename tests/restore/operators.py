"""Steps of operators and workers in a restored installation."""

from collections.abc import Sequence

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.audit_log.actor import Actor
from malipo.networks.connector import Channel, Type
from malipo.payments.after_restore import release
from malipo.payments.store import asked_first
from malipo.payments.transaction import Transaction
from tests.conftest import Merchant
from tests.payments.payment_steps import PAIRS, ROUTE, PaymentSteps

ASHA, JUMA = (Actor(f"operator {name}", "till") for name in ("asha", "juma"))
EVIDENCE = "Statements of the lost hour, all four networks"


@pytest.fixture
async def steps(service: Service, merchant: Merchant) -> PaymentSteps:
    return PaymentSteps(service, merchant.id)


async def fence(steps: PaymentSteps) -> None:
    await steps.service.fence("A test says that it was restored.", epoch=1)


async def let_go(
    steps: PaymentSteps, *actors: Actor, scope: release.Scope = None, is_single_operator: bool = False
) -> bool:
    released = None
    for actor in actors:
        async with steps.database.begin() as tx:
            released = await release.release(
                tx, EVIDENCE, scope, actor=actor, now=clock.now(), is_single_operator=is_single_operator
            )
    assert released is not None
    return released.is_done


async def ask_first(
    steps: PaymentSteps, connector: str = ROUTE, routes: Sequence[tuple[Channel, Type]] = PAIRS
) -> list[Transaction]:
    """What a worker asks a connector about before anything is sent."""
    async with steps.database.begin() as tx:
        found = await asked_first.claim_asked_first(tx, connector, routes, lease_seconds=60, most=100)
    return [each.transaction for each in found]
