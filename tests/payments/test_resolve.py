"""Operators say what became of a payment whose network does not: with evidence, and of a payout two of them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from malipo.audit_log.actor import Actor
from malipo.errors import Conflict, Forbidden, Invalid, Missing, Refusal
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store import cases
from malipo.payments.transaction import Status, Transaction
from tests.journeys import database_facts
from tests.operators.booking_steps import give_password, hire
from tests.payments.payment_steps import PaymentSteps
from tests.payments.resolving import ASHA, COLLECTION, EVIDENCE, JUMA, PAYOUT, approve, deeds, propose, reject
from tests.payments.resolving import steps as steps


@pytest.mark.parametrize(
    ("outcome", "status", "wallet"),
    [(ResolvedOutcome.COMPLETED, Status.COMPLETED, 970), (ResolvedOutcome.FAILED, Status.FAILED, 0)],
)
async def test_one_operator_is_enough_for_a_collection(
    steps: PaymentSteps, outcome: ResolvedOutcome, status: Status, wallet: int
) -> None:
    collection = await steps.processing(COLLECTION)

    resolved = await propose(steps, collection.id, outcome, provider_reference="QK12AB")

    assert resolved.is_done
    receipt = "QK12AB" if outcome is ResolvedOutcome.COMPLETED else None  # What was not paid has none.
    assert (resolved.transaction.status, resolved.transaction.provider_reference) == (status, receipt)
    assert resolved.transaction.failure_code == ("rejected" if outcome is ResolvedOutcome.FAILED else None)
    assert await steps.status(collection) is status
    asked = await steps.dispatch(collection)
    assert (asked is not None and asked.is_follow_up) == (outcome is ResolvedOutcome.FAILED), "an operator can be wrong"
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (1_000_000 + wallet, 0)
    assert await deeds(steps) == [("resolved", "asha")]
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize(
    ("outcome", "status", "wallet"),
    [(ResolvedOutcome.COMPLETED, Status.COMPLETED, -1030), (ResolvedOutcome.FAILED, Status.FAILED, 0)],
)
async def test_a_payout_takes_two_operators(
    steps: PaymentSteps, outcome: ResolvedOutcome, status: Status, wallet: int
) -> None:
    payout = await steps.processing(PAYOUT)

    proposed = await propose(steps, payout.reference, outcome, provider_reference="QK12AB")
    assert not proposed.is_done
    assert await steps.status(payout) is Status.PROCESSING
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (998_970, 1030), "the money stays held"

    approved = await approve(steps, payout.reference)

    assert approved.is_done
    receipt = "QK12AB" if outcome is ResolvedOutcome.COMPLETED else None  # What was not paid has none.
    assert (approved.transaction.status, approved.transaction.provider_reference) == (status, receipt)
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (1_000_000 + wallet, 0)
    assert await deeds(steps) == [("resolution_proposed", "asha"), ("resolved", "juma")]
    await database_facts.assert_clean(steps.database)


async def test_whoever_proposed_cannot_approve(steps: PaymentSteps) -> None:
    payout = await steps.processing(PAYOUT)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)

    with pytest.raises(Forbidden, match="operators_same"):
        await approve(steps, payout.id, actor=ASHA)

    assert await steps.status(payout) is Status.PROCESSING
    assert await deeds(steps) == [("resolution_proposed", "asha")]
    await approve(steps, payout.id, actor=JUMA)
    assert await steps.status(payout) is Status.FAILED


async def test_the_same_operator_from_another_machine_is_still_the_same(steps: PaymentSteps) -> None:
    payout = await steps.processing(PAYOUT)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)
    with pytest.raises(Forbidden):
        await approve(steps, payout.id, actor=Actor(ASHA.name, "another till"))


@pytest.mark.parametrize(("proposer", "approver"), [(ASHA, JUMA), (JUMA, ASHA)])
async def test_an_operator_whose_password_another_has_set_is_no_second_operator(
    steps: PaymentSteps, proposer: Actor, approver: Actor
) -> None:
    await hire(steps.database, "asha", "juma")
    payout = await steps.processing(PAYOUT)
    await give_password(steps.database, "juma", by=ASHA)
    await propose(steps, payout.id, ResolvedOutcome.COMPLETED, actor=proposer)
    with pytest.raises(Forbidden, match="operators_not_vouched_for"):
        await approve(steps, payout.id, actor=approver)
    assert await steps.status(payout) is Status.PROCESSING


@pytest.mark.parametrize("by", [ASHA, JUMA], ids=["taken back", "by another"])
async def test_a_proposal_that_was_rejected_is_gone_and_another_may_be_made(steps: PaymentSteps, by: Actor) -> None:
    payout = await steps.processing(PAYOUT)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)

    rejected = await reject(steps, payout.id, actor=by)

    assert not rejected.is_done
    assert await steps.status(payout) is Status.PROCESSING
    with pytest.raises(Missing, match="case_nothing_proposed"):
        await approve(steps, payout.id)
    await propose(steps, payout.id, ResolvedOutcome.COMPLETED, actor=JUMA)
    await approve(steps, payout.id, actor=ASHA)
    assert await steps.status(payout) is Status.COMPLETED
    whose = by.name.removeprefix("operator ")
    assert await deeds(steps) == [
        ("resolution_proposed", "asha"),
        ("resolution_rejected", whose),
        ("resolution_proposed", "juma"),
        ("resolved", "asha"),
    ]
    await database_facts.assert_clean(steps.database)


async def test_a_second_proposal_waits_until_the_first_is_decided(steps: PaymentSteps) -> None:
    payout = await steps.processing(PAYOUT)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)
    for actor in (ASHA, JUMA):
        with pytest.raises(Conflict, match="case_proposed_failed"):
            await propose(steps, payout.id, ResolvedOutcome.COMPLETED, actor=actor)


async def test_evidence_that_says_nothing_is_refused(steps: PaymentSteps) -> None:
    collection = await steps.processing(COLLECTION)
    for evidence in ("", "paid", "123456789", "x" * 1001):
        with pytest.raises(Invalid, match="case_evidence"):
            await propose(steps, collection.id, ResolvedOutcome.COMPLETED, evidence=evidence)
    assert await steps.status(collection) is Status.PROCESSING


async def test_the_evidence_is_kept_with_who_said_it_and_who_agreed(steps: PaymentSteps) -> None:
    payout = await steps.processing(PAYOUT)
    await propose(steps, payout.id, ResolvedOutcome.COMPLETED)
    await approve(steps, payout.id)

    async with steps.database.read() as connection:
        [kept] = await connection.fetch("SELECT * FROM resolutions")
        [row] = await connection.fetch("SELECT merchant_id, details FROM audit_log WHERE action = 'payment.resolved'")

    assert (kept["outcome"], kept["evidence"], kept["is_approved"]) == ("completed", EVIDENCE, True)
    assert (kept["requested_by"], kept["decided_by"]) == (ASHA.name, JUMA.name)
    assert row["merchant_id"] == steps.merchant_id
    for word in (payout.id, "completed", EVIDENCE, ASHA.name, "1000"):
        assert word in row["details"]


async def _pending(steps: PaymentSteps) -> Transaction:
    return await steps.open(PAYOUT)


async def _sending(steps: PaymentSteps) -> Transaction:
    return await steps.send(PAYOUT)


async def _completed(steps: PaymentSteps) -> Transaction:
    return await steps.ended(PAYOUT, Status.COMPLETED)


async def _cancelled(steps: PaymentSteps) -> Transaction:
    return await steps.ended(COLLECTION, Status.CANCELLED)


async def _asked_about(steps: PaymentSteps) -> Transaction:
    """A callback says that it was paid, and its network has not been asked yet."""
    ended = await steps.ended(PAYOUT, Status.COMPLETED)
    await steps.report(ended, Verdict.REFUSED, AnswerSource.CALLBACK, is_trusted=False)
    return ended


@pytest.mark.parametrize(
    ("make", "refused"),
    [
        (_pending, "case_pending"),
        (_sending, "case_sending"),
        (_completed, "case_not_contradicted status=.*COMPLETED"),
        (_cancelled, "case_not_contradicted status=.*CANCELLED"),
        (_asked_about, "case_not_contradicted status=.*COMPLETED"),
    ],
)
async def test_a_payment_that_is_not_an_operators_to_decide_is_left_alone(
    steps: PaymentSteps, make: Callable[[PaymentSteps], Awaitable[Transaction]], refused: str
) -> None:
    payment = await make(steps)
    before = await steps.balances(), await deeds(steps)

    for call in (propose(steps, payment.reference, ResolvedOutcome.COMPLETED), approve(steps, payment.reference)):
        with pytest.raises(Conflict, match=refused):
            await call
    if payment.status is not Status.COMPLETED:
        with pytest.raises(Refusal):
            await propose(steps, payment.id, ResolvedOutcome.FAILED)

    assert await steps.status(payment) is payment.status
    assert (await steps.balances(), await deeds(steps)) == before
    await database_facts.assert_clean(steps.database)


async def test_a_payment_that_does_not_exist_is_said_to_be_missing(steps: PaymentSteps) -> None:
    for name in ("txn_nowhere", "MLP-NOWHERE", "", "' OR true --"):
        for call in (propose(steps, name, ResolvedOutcome.FAILED), approve(steps, name), reject(steps, name)):
            with pytest.raises(Missing, match="case_unknown"):
                await call


async def test_a_payment_whose_worker_died_can_be_resolved_when_its_lease_has_ended(steps: PaymentSteps) -> None:
    dead = await steps.send(COLLECTION, lease_seconds=0.01)
    await asyncio.sleep(0.02)
    assert (await propose(steps, dead.id, ResolvedOutcome.FAILED)).is_done
    await database_facts.assert_clean(steps.database)


async def test_a_payout_that_its_network_last_called_waiting_fails_only_for_who_says_so(steps: PaymentSteps) -> None:
    payout = await steps.processing(PAYOUT)
    with pytest.raises(Conflict, match="case_network_waits"):
        await propose(steps, payout.id, ResolvedOutcome.FAILED, is_despite_waiting=False)
    assert not (await propose(steps, payout.id, ResolvedOutcome.COMPLETED, is_despite_waiting=False)).is_done
    await reject(steps, payout.id)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)
    async with steps.database.begin() as tx:
        proposal = await cases.find_proposal(tx, payout)
    assert proposal is not None
    assert proposal.is_despite_waiting, "the second operator is shown it"
    await approve(steps, payout.id)
    asked = await steps.dispatch(payout)
    assert asked is not None
    assert asked.is_follow_up, "and its network is asked again"


async def test_a_collection_that_is_said_to_be_paid_fails_only_by_two_operators(steps: PaymentSteps) -> None:
    collection = await steps.processing(COLLECTION)
    await steps.report(collection, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)
    assert not (await propose(steps, collection.id, ResolvedOutcome.FAILED)).is_done
    assert (await approve(steps, collection.id)).is_done
    assert await steps.status(collection) is Status.FAILED


async def test_a_payment_can_be_named_by_the_id_that_the_first_operator_was_shown(steps: PaymentSteps) -> None:
    ended = await steps.ended(PAYOUT, Status.COMPLETED)
    await propose(steps, ended.reference, ResolvedOutcome.FAILED)
    assert (await approve(steps, ended.id)).is_done
