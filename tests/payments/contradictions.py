"""Payments whose networks contradict themselves, and operators who resolve them."""

import pytest

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolutionResult, ResolvedOutcome
from malipo.payments.dispatch import QueryRules
from malipo.payments.transaction import Transaction
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant
from tests.payments.payment_steps import PaymentSteps

ASHA, JUMA = (Actor(f"operator {name}", "till") for name in ("asha", "juma"))
EVIDENCE = "Receipt QK12AB on the network's statement"
RULES = QueryRules(poll_seconds=(10, 60, 300), not_found_seconds=300)
OUTCOMES = {"paid": ResolvedOutcome.COMPLETED, "not-paid": ResolvedOutcome.FAILED}


@pytest.fixture
async def steps(service: Service, merchant: Merchant) -> PaymentSteps:
    """With fees; and nothing is decided without operators."""
    by_hand = assemble(Settings(**NO_LIMITS, credit_by_itself=False), service.queries.database)
    steps = PaymentSteps(by_hand, merchant.id)
    await steps.charge_fees()
    return steps


async def propose(database: Database, id_: str, outcome: ResolvedOutcome) -> ResolutionResult:
    async with database.begin() as tx:
        return await resolve.propose(
            tx, id_, OperatorFinding(outcome, EVIDENCE), actor=ASHA, approval_amount=1_000_000, now=clock.now()
        )


async def resolve_by_all(database: Database, transaction: Transaction, outcome: ResolvedOutcome) -> None:
    """By as many operators as it takes."""
    resolved = await propose(database, transaction.id, outcome)
    if not resolved.is_done:
        async with database.begin() as tx:
            await resolve.approve(tx, transaction.id, actor=JUMA, now=clock.now())
