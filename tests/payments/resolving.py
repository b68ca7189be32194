"""Operators who propose, approve and reject what became of a payment, and what that leaves behind."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.payments.cases import cancel_unsent, resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolutionResult, ResolvedOutcome
from malipo.payments.dispatch import ReviewReason
from malipo.payments.store import cases
from malipo.payments.transaction import Transaction, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant
from tests.payments.payment_steps import PaymentSteps

ASHA, JUMA, NEEMA = (Actor(f"operator {name}", "till") for name in ("asha", "juma", "neema"))
EVIDENCE = "Receipt QK12AB on the network's statement"
PAYOUT, COLLECTION = Type.DISBURSEMENT, Type.COLLECTION


@pytest.fixture
async def steps(service: Service, merchant: Merchant) -> PaymentSteps:
    """With fees; and nothing is decided without operators."""
    by_hand = assemble(Settings(**NO_LIMITS, credit_by_itself=False), service.queries.database)
    steps = PaymentSteps(by_hand, merchant.id)
    await steps.charge_fees()
    return steps


Write = Callable[[Tx], Awaitable[ResolutionResult]]


async def write(database: Database, act: Write) -> ResolutionResult:
    async with database.begin() as tx:
        return await act(tx)


async def propose(
    steps: PaymentSteps,
    payment: str,
    outcome: ResolvedOutcome,
    *,
    actor: Actor = ASHA,
    evidence: str = EVIDENCE,
    **more: Any,
) -> ResolutionResult:
    finding = OperatorFinding(outcome, evidence, **{"is_despite_waiting": True, **more})
    return await write(
        steps.database,
        lambda tx: resolve.propose(tx, payment, finding, actor=actor, approval_amount=1_000_000, now=clock.now()),
    )


async def approve(steps: PaymentSteps, payment: str, *, actor: Actor = JUMA) -> ResolutionResult:
    return await write(steps.database, lambda tx: resolve.approve(tx, payment, actor=actor, now=clock.now()))


async def reject(steps: PaymentSteps, payment: str, *, actor: Actor = JUMA) -> ResolutionResult:
    return await write(steps.database, lambda tx: resolve.reject(tx, payment, actor=actor, now=clock.now()))


async def unsettled(steps: PaymentSteps, *, seconds: float = 3600) -> dict[str, ReviewReason | str | None]:
    """Everything that an operator is shown, and why."""
    async with steps.database.snapshot() as connection:
        open_ = await cases.find_unsettled(connection, unsettled_seconds=seconds)
        contradicted = await cases.find_contradicted(connection)
    found = {case.transaction.id: case.dispatch.review_reason for case in open_ if case.dispatch is not None}
    assert len(found) == len(open_), "what a person must look at has a dispatch"
    assert not set(found) & {case.transaction.id for case in contradicted}, "and is listed once"
    return found | {case.transaction.id: "contradicted" for case in contradicted}


async def deeds(steps: PaymentSteps) -> list[tuple[str, str]]:
    """What operators did to payments, oldest first."""
    async with steps.database.read() as connection:
        rows = await connection.fetch(
            "SELECT action, actor FROM audit_log WHERE action LIKE 'payment.res%' ORDER BY id"
        )
    return [(row["action"].removeprefix("payment."), row["actor"].removeprefix("operator ")) for row in rows]


async def corrections_reported(steps: PaymentSteps, transaction: Transaction) -> list[tuple[str, int]]:
    """The corrections that were reported to the merchant, in order."""
    async with steps.database.read() as connection:
        rows = await connection.fetch(
            "SELECT body FROM events WHERE transaction_id = $1 AND event LIKE '%.corrected' ORDER BY ordinal",
            transaction.id,
        )
    said = [json.loads(row["body"])["transaction"]["correction"] for row in rows]
    return [(each["reason"], each["amount"]) for each in said]


async def cancel(steps: PaymentSteps, payment: str) -> Transaction:
    async with steps.database.begin() as tx:
        return (await cancel_unsent.cancel(tx, payment, actor=ASHA, now=clock.now())).transaction
