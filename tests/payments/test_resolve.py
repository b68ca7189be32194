"""Operators say what became of a payment whose network does not: with evidence, and of a payout two of them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from malipo.errors import Conflict, Forbidden, Invalid, Missing, Refusal
from malipo.networks.contract import Verdict
from malipo.payments.pursuit import Act
from malipo.payments.resolve import Truth
from malipo.payments.store import cases
from malipo.payments.transaction import Status, Transaction
from malipo.trail.store import Actor
from tests.journeys import witness
from tests.payments.resolving import ASHA, COLLECTION, EVIDENCE, JUMA, PAYOUT, approve, deeds, propose, reject
from tests.payments.resolving import story as story
from tests.payments.story import Story


@pytest.mark.parametrize(
    ("truth", "status", "wallet"), [(Truth.COMPLETED, Status.COMPLETED, 970), (Truth.FAILED, Status.FAILED, 0)]
)
async def test_one_operator_is_enough_for_a_collection(story: Story, truth: Truth, status: Status, wallet: int) -> None:
    collection = await story.processing(COLLECTION)

    resolved = await propose(story, collection.id, truth, provider_reference="QK12AB")

    assert resolved.is_done
    assert (resolved.transaction.status, resolved.transaction.provider_reference) == (status, "QK12AB")
    assert resolved.transaction.failure_code == ("rejected" if truth is Truth.FAILED else None)
    assert await story.status(collection) is status
    asked = await story.dispatch(collection)
    assert (asked is not None and asked.is_follow_up) == (truth is Truth.FAILED), "an operator can be wrong"
    assert await witness.wallet(story.database, story.merchant_id) == (1_000_000 + wallet, 0)
    assert await deeds(story) == [("resolved", "asha")]
    await witness.assert_clean(story.database)


@pytest.mark.parametrize(
    ("truth", "status", "wallet"), [(Truth.COMPLETED, Status.COMPLETED, -1030), (Truth.FAILED, Status.FAILED, 0)]
)
async def test_a_payout_takes_two_operators(story: Story, truth: Truth, status: Status, wallet: int) -> None:
    payout = await story.processing(PAYOUT)

    proposed = await propose(story, payout.reference, truth, provider_reference="QK12AB")
    assert not proposed.is_done
    assert await story.status(payout) is Status.PROCESSING
    assert await witness.wallet(story.database, story.merchant_id) == (998_970, 1030), "the money stays held"

    approved = await approve(story, payout.reference)

    assert approved.is_done
    assert (approved.transaction.status, approved.transaction.provider_reference) == (status, "QK12AB")
    assert await witness.wallet(story.database, story.merchant_id) == (1_000_000 + wallet, 0)
    assert await deeds(story) == [("resolution_proposed", "asha"), ("resolved", "juma")]
    await witness.assert_clean(story.database)


async def test_whoever_proposed_cannot_approve(story: Story) -> None:
    payout = await story.processing(PAYOUT)
    await propose(story, payout.id, Truth.FAILED)

    with pytest.raises(Forbidden, match="two operators"):
        await approve(story, payout.id, actor=ASHA)

    assert await story.status(payout) is Status.PROCESSING
    assert await deeds(story) == [("resolution_proposed", "asha")]
    await approve(story, payout.id, actor=JUMA)
    assert await story.status(payout) is Status.FAILED


async def test_the_same_operator_from_another_machine_is_still_the_same(story: Story) -> None:
    payout = await story.processing(PAYOUT)
    await propose(story, payout.id, Truth.FAILED)
    with pytest.raises(Forbidden):
        await approve(story, payout.id, actor=Actor(ASHA.who, "another till"))


@pytest.mark.parametrize("by", [ASHA, JUMA], ids=["taken back", "by another"])
async def test_a_proposal_that_was_rejected_is_gone_and_another_may_be_made(story: Story, by: Actor) -> None:
    payout = await story.processing(PAYOUT)
    await propose(story, payout.id, Truth.FAILED)

    rejected = await reject(story, payout.id, actor=by)

    assert not rejected.is_done
    assert await story.status(payout) is Status.PROCESSING
    with pytest.raises(Missing, match="Nobody has proposed"):
        await approve(story, payout.id)
    await propose(story, payout.id, Truth.COMPLETED, actor=JUMA)
    await approve(story, payout.id, actor=ASHA)
    assert await story.status(payout) is Status.COMPLETED
    whose = by.who.removeprefix("operator ")
    assert await deeds(story) == [
        ("resolution_proposed", "asha"),
        ("resolution_rejected", whose),
        ("resolution_proposed", "juma"),
        ("resolved", "asha"),
    ]
    await witness.assert_clean(story.database)


async def test_a_second_proposal_waits_until_the_first_is_decided(story: Story) -> None:
    payout = await story.processing(PAYOUT)
    await propose(story, payout.id, Truth.FAILED)
    for actor in (ASHA, JUMA):
        with pytest.raises(Conflict, match="already proposed as failed"):
            await propose(story, payout.id, Truth.COMPLETED, actor=actor)


async def test_evidence_that_says_nothing_is_refused(story: Story) -> None:
    collection = await story.processing(COLLECTION)
    for evidence in ("", "paid", "123456789", "x" * 1001):
        with pytest.raises(Invalid, match="10 to 1,000 characters"):
            await propose(story, collection.id, Truth.COMPLETED, evidence=evidence)
    assert await story.status(collection) is Status.PROCESSING


async def test_the_evidence_is_kept_with_who_said_it_and_who_agreed(story: Story) -> None:
    payout = await story.processing(PAYOUT)
    await propose(story, payout.id, Truth.COMPLETED)
    await approve(story, payout.id)

    async with story.database.read() as connection:
        [kept] = await connection.fetch("SELECT * FROM resolutions")
        [row] = await connection.fetch("SELECT merchant_id, details FROM audit WHERE what = 'payment.resolved'")

    assert (kept["outcome"], kept["evidence"], kept["is_approved"]) == ("completed", EVIDENCE, True)
    assert (kept["proposed_by"], kept["ended_by"]) == (ASHA.who, JUMA.who)
    assert row["merchant_id"] == story.merchant_id
    for word in (payout.id, "completed", EVIDENCE, ASHA.who, "1000"):
        assert word in row["details"]


async def _pending(story: Story) -> Transaction:
    return await story.open(PAYOUT)


async def _sending(story: Story) -> Transaction:
    return await story.send(PAYOUT)


async def _completed(story: Story) -> Transaction:
    return await story.ended(PAYOUT, Status.COMPLETED)


async def _cancelled(story: Story) -> Transaction:
    return await story.ended(COLLECTION, Status.CANCELLED)


async def _asked_about(story: Story) -> Transaction:
    """A callback says that it was paid, and its network has not been asked yet."""
    ended = await story.ended(PAYOUT, Status.COMPLETED)
    await story.hear(ended, Verdict.REFUSED, Act.CALLBACK, is_trusted=False)
    return ended


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_pending, "PENDING"),
        (_sending, "on its way"),
        (_completed, "COMPLETED"),
        (_cancelled, "CANCELLED"),
        (_asked_about, "COMPLETED"),
    ],
)
async def test_a_payment_that_is_not_an_operators_to_decide_is_left_alone(
    story: Story, make: Callable[[Story], Awaitable[Transaction]], words: str
) -> None:
    payment = await make(story)
    before = await story.balances(), await deeds(story)

    for call in (propose(story, payment.reference, Truth.COMPLETED), approve(story, payment.reference)):
        with pytest.raises(Conflict, match=words):
            await call
    if payment.status is not Status.COMPLETED:
        with pytest.raises(Refusal):
            await propose(story, payment.id, Truth.FAILED)

    assert await story.status(payment) is payment.status
    assert (await story.balances(), await deeds(story)) == before
    await witness.assert_clean(story.database)


async def test_a_payment_that_does_not_exist_is_said_to_be_missing(story: Story) -> None:
    for name in ("txn_nowhere", "MLP-NOWHERE", "", "' OR true --"):
        for call in (propose(story, name, Truth.FAILED), approve(story, name), reject(story, name)):
            with pytest.raises(Missing, match="no payment"):
                await call


async def test_a_payment_whose_worker_died_can_be_resolved_when_its_lease_has_ended(story: Story) -> None:
    dead = await story.send(COLLECTION, lease_seconds=0.01)
    await asyncio.sleep(0.02)
    assert (await propose(story, dead.id, Truth.FAILED)).is_done
    await witness.assert_clean(story.database)


async def test_a_payout_that_its_network_last_called_waiting_fails_only_for_who_says_so(story: Story) -> None:
    payout = await story.processing(PAYOUT)
    with pytest.raises(Conflict, match="has not decided"):
        await propose(story, payout.id, Truth.FAILED, is_despite_waiting=False)
    assert not (await propose(story, payout.id, Truth.COMPLETED, is_despite_waiting=False)).is_done
    await reject(story, payout.id)
    await propose(story, payout.id, Truth.FAILED)
    async with story.database.begin() as tx:
        proposal = await cases.find_proposal(tx, payout)
    assert proposal is not None
    assert proposal.is_despite_waiting, "the second operator is shown it"
    await approve(story, payout.id)
    asked = await story.dispatch(payout)
    assert asked is not None
    assert asked.is_follow_up, "and its network is asked again"


async def test_a_collection_that_is_said_to_be_paid_fails_only_by_two_operators(story: Story) -> None:
    collection = await story.processing(COLLECTION)
    await story.hear(collection, Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False)
    assert not (await propose(story, collection.id, Truth.FAILED)).is_done
    assert (await approve(story, collection.id)).is_done
    assert await story.status(collection) is Status.FAILED


async def test_a_payment_can_be_named_by_its_id_as_the_first_operator_is_told(story: Story) -> None:
    ended = await story.ended(PAYOUT, Status.COMPLETED)
    await propose(story, ended.reference, Truth.FAILED)
    assert (await approve(story, ended.id)).is_done
