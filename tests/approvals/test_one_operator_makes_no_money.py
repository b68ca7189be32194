"""One operator alone cannot create money: neither by a resolution, nor by twenty small ones, nor by acts of several
kinds."""

import asyncio

import pytest

from malipo import clock
from malipo.approvals.booking_approval import request
from malipo.audit_log.actor import Actor, operator_at
from malipo.errors import Forbidden
from malipo.ledger.bookings import Booking, BookingKind
from malipo.operators import four_eyes
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolutionResult, ResolvedOutcome
from malipo.payments.transaction import Status, Transaction
from malipo.settings import Settings
from tests.operators.booking_steps import give_password, hire
from tests.payments.payment_steps import PaymentSteps
from tests.payments.resolving import COLLECTION, EVIDENCE, PAYOUT
from tests.payments.resolving import steps as steps

LIMIT = Settings().booking_approval_amount
ASHA, JUMA = (operator_at(name, "till") for name in ("asha", "juma"))


async def _complete(
    steps: PaymentSteps, payment: Transaction, actor: Actor = ASHA, outcome: str = "completed", *, alone: bool = False
) -> ResolutionResult:
    async with steps.database.begin() as tx:
        return await resolve.propose(
            tx,
            payment.reference,
            OperatorFinding(ResolvedOutcome(outcome), EVIDENCE),
            actor=actor,
            approval_amount=LIMIT,
            now=clock.now(),
            is_single_operator=alone,
        )


async def test_twenty_small_ones_are_a_large_one(steps: PaymentSteps) -> None:
    payments = [await steps.processing(COLLECTION, 100_000) for _ in range(12)]
    done = [(await _complete(steps, each)).is_done for each in payments]
    assert done == [True] * 10 + [False] * 2
    more = await steps.processing(COLLECTION, 100_000)
    assert (await _complete(steps, more, JUMA)).is_done, "others have a sum of their own"


async def test_an_operator_whom_another_has_made_moves_nothing_alone(steps: PaymentSteps) -> None:
    """Otherwise one operator makes ten, and each has an amount of its own."""
    await hire(steps.database, "asha", "juma", "neema")
    await give_password(steps.database, "neema", by=ASHA)
    payments = [await steps.processing(COLLECTION, 1_000) for _ in range(2)]
    neema = operator_at("neema", "till")
    assert not (await _complete(steps, payments[0], neema)).is_done
    async with steps.database.begin() as tx:
        await four_eyes.vouch(tx, "neema", actor=JUMA, now=clock.now())
    assert (await _complete(steps, payments[1], neema)).is_done


async def test_all_kinds_of_acts_count_together_and_for_every_merchant(steps: PaymentSteps) -> None:
    async with steps.database.begin() as tx:
        booking = Booking(BookingKind.TOP_UP, steps.merchant_id, 600_000, "NMB-1")
        assert (await request(tx, booking, approval_amount=LIMIT, actor=ASHA, now=clock.now())).proposal is None
    payment = await steps.processing(COLLECTION, 400_001)
    assert not (await _complete(steps, payment)).is_done


async def test_two_at_once_of_one_operator_are_counted_together(steps: PaymentSteps) -> None:
    payments = [await steps.processing(COLLECTION, 600_000) for _ in range(4)]
    done = await asyncio.gather(*(_complete(steps, each) for each in payments))
    assert sum(each.is_done for each in done) == 1


async def test_a_failed_collection_moves_nothing_and_takes_one(steps: PaymentSteps) -> None:
    payment = await steps.processing(COLLECTION, 9_000_000)
    assert (await _complete(steps, payment, outcome="failed")).is_done


async def test_the_only_operator_says_so_and_the_audit_log_keeps_it(steps: PaymentSteps) -> None:
    database = steps.database
    await hire(database, "asha")
    payment = await steps.processing(COLLECTION, 9_000_000)
    assert (await _complete(steps, payment, alone=True)).is_done
    async with database.read() as connection:
        details = await connection.fetchval("SELECT details FROM audit_log WHERE action = 'payment.resolved'")
    assert '"alone":true' in details.replace(" ", "")

    await hire(database, "juma")
    payment, payout = await steps.processing(COLLECTION, 9_000_000), await steps.processing(PAYOUT, 1000)
    for refused in (payment, payout):
        with pytest.raises(Forbidden):
            await _complete(steps, refused, alone=True)
    assert await steps.status(payment) is Status.PROCESSING
