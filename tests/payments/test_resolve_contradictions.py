"""Operators and networks that contradict each other: debts, losses, and reports that are reversed."""

import pytest

from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.errors import Conflict, Forbidden
from malipo.ledger.bookings import WalletTooLow
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.dispatch import AnswerSource
from malipo.payments.initiate import InsufficientBalance
from malipo.payments.transaction import Status, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, make_merchant
from tests.journeys import database_facts
from tests.payments.payment_steps import PaymentSteps
from tests.payments.resolving import (
    ASHA,
    COLLECTION,
    PAYOUT,
    approve,
    corrections_reported,
    deeds,
    propose,
    reject,
    unsettled,
)
from tests.payments.resolving import steps as steps


async def test_a_report_of_the_network_after_the_resolution_is_a_contradiction_and_moves_nothing_twice(
    steps: PaymentSteps,
) -> None:
    payout = await steps.processing(PAYOUT)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)
    await approve(steps, payout.id)

    settled = await steps.report(payout, Verdict.CONFIRMED, AnswerSource.SEND)  # The reply was late.
    again = await steps.report(payout, Verdict.CONFIRMED)

    assert (settled.is_contradiction, again.is_contradiction) == (True, False)
    assert await steps.status(payout) is Status.FAILED
    assert await steps.balances() == {
        "wallet": 1_000_000,
        "bank": -1_000_000,
        "suspense": -1000,
        "float MPESA": 1000,
    }
    assert await unsettled(steps) == {payout.id: "contradicted"}
    await database_facts.assert_clean(steps.database)


async def test_a_debt_is_held_and_collected_in_parts_and_each_has_an_event(database: Database) -> None:
    """A payout reported FAILED and paid after all: what the wallet then holds cannot be spent again."""
    merchant = await make_merchant(database, wallet=2000)
    steps = PaymentSteps(assemble(Settings(**NO_LIMITS), database), merchant.id)
    first = await steps.ended(PAYOUT, Status.FAILED, 2000)
    await steps.ended(PAYOUT, Status.COMPLETED, 1500)  # Spent before anybody knew.
    assert await database_facts.wallet(database, merchant.id) == (500, 0)
    await steps.report(first, Verdict.CONFIRMED)

    with pytest.raises(InsufficientBalance) as refused:
        await steps.open(PAYOUT, 500)
    assert "owed" in str(refused.value.details)
    await propose(steps, first.id, ResolvedOutcome.COMPLETED)
    taken = await approve(steps, first.id)

    assert (taken.credited, taken.owed) == (-500, 1500)
    assert await database_facts.wallet(database, merchant.id) == (0, 0)
    await database_facts.assert_clean(database)
    await propose(steps, first.id, ResolvedOutcome.COMPLETED)
    with pytest.raises(WalletTooLow):
        await approve(steps, first.id)
    await reject(steps, first.id)
    await steps.ended(COLLECTION, Status.COMPLETED, 2000)  # When there is money again, the rest is taken.
    await propose(steps, first.id, ResolvedOutcome.COMPLETED)
    assert (await approve(steps, first.id)).credited == -1500
    assert await database_facts.wallet(database, merchant.id) == (500, 0)
    assert await corrections_reported(steps, first) == [
        ("debt_recorded", 2000),
        ("debt_collected", 500),
        ("debt_collected", 1500),
    ]
    assert await unsettled(steps) == {}
    await database_facts.assert_clean(database)


async def test_a_waived_debt_is_a_loss_of_the_house_and_never_of_the_float(steps: PaymentSteps) -> None:
    payout = await steps.contradicted(PAYOUT, Status.FAILED)
    with pytest.raises(Conflict, match="case_nothing_owed"):
        await propose(
            steps, (await steps.contradicted(PAYOUT, Status.COMPLETED)).id, ResolvedOutcome.FAILED, is_waived=True
        )
    before = await steps.balances()
    await propose(steps, payout.id, ResolvedOutcome.COMPLETED, is_waived=True)
    waived = await approve(steps, payout.id)
    assert (waived.credited, waived.borne, waived.owed) == (0, -1030, 0)
    after = await steps.balances()
    assert after["losses"] == -1030
    assert after["float MPESA"] == before["float MPESA"]
    assert await corrections_reported(steps, payout) == [("debt_recorded", 1030), ("debt_waived", 1030)]
    await database_facts.assert_clean(steps.database)
    # Told that it was wrong to waive it, two operators take it after all.
    await propose(steps, payout.id, ResolvedOutcome.COMPLETED)
    assert (await approve(steps, payout.id)).credited == -1030
    assert "losses" not in await steps.balances()
    await database_facts.assert_clean(steps.database)


async def test_a_contradicted_payout_takes_two_operators_as_well(steps: PaymentSteps) -> None:
    contradicted = await steps.contradicted(PAYOUT, Status.COMPLETED)
    before = await steps.balances()
    assert not (await propose(steps, contradicted.id, ResolvedOutcome.FAILED)).is_done
    with pytest.raises(Forbidden):
        await approve(steps, contradicted.id, actor=ASHA)
    assert await steps.balances() == before
    assert (await approve(steps, contradicted.id)).is_done
    assert await steps.balances() == {"wallet": 1_000_000, "bank": -1_000_000}


@pytest.mark.parametrize(
    ("type_", "status", "outcome", "wallet"),
    [
        (COLLECTION, Status.FAILED, ResolvedOutcome.COMPLETED, 1_000_970),
        (COLLECTION, Status.COMPLETED, ResolvedOutcome.FAILED, 1_000_000),
        (PAYOUT, Status.FAILED, ResolvedOutcome.COMPLETED, 998_970),
        (PAYOUT, Status.COMPLETED, ResolvedOutcome.FAILED, 1_000_000),
    ],
)
async def test_two_operators_may_say_the_opposite_of_an_end_that_its_network_does_not_take_back(
    steps: PaymentSteps, type_: Type, status: Status, outcome: ResolvedOutcome, wallet: int
) -> None:
    ended = await steps.ended(type_, status)
    before = await steps.balances()

    proposed = await propose(steps, ended.reference, outcome)
    assert not proposed.is_done, "of a collection, too: nobody but us doubts it"
    assert await steps.balances() == before
    with pytest.raises(Forbidden):
        await approve(steps, ended.reference, actor=ASHA)
    approved = await approve(steps, ended.reference)

    assert approved.is_done
    assert await steps.status(ended) is status, "what the merchant saw stays"
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (wallet, 0)
    assert "suspense" not in await steps.balances()
    assert await deeds(steps) == [("resolution_proposed", "asha"), ("resolved", "juma")]
    await database_facts.assert_clean(steps.database)
    # And it is done once: neither an operator nor the network does it again.
    after = await steps.balances()
    with pytest.raises(Conflict):
        await propose(steps, ended.reference, outcome)
    await steps.report(ended, Verdict.CONFIRMED if outcome is ResolvedOutcome.COMPLETED else Verdict.REFUSED)
    assert await steps.balances() == after
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("type_", Type)
@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
async def test_operators_who_were_wrong_can_take_it_back(steps: PaymentSteps, type_: Type, status: Status) -> None:
    ended = await steps.ended(type_, status)
    before = await steps.balances()
    wrong = ResolvedOutcome.FAILED if status is Status.COMPLETED else ResolvedOutcome.COMPLETED
    for outcome in (wrong, ResolvedOutcome(status.lower())):
        await propose(steps, ended.reference, outcome)
        assert (await approve(steps, ended.reference)).is_done
        await database_facts.assert_clean(steps.database)
    assert await steps.balances() == before
