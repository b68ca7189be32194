"""Operators say what became of a payment whose network does not: with evidence, and of a payout two of them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from malipo import clock
from malipo.db import Database, Tx
from malipo.errors import Conflict, Forbidden, Invalid, Missing, Refusal
from malipo.ledger.book import WalletTooLow
from malipo.networks.contract import Resubmit, Verdict
from malipo.payments import resolve
from malipo.payments.initiate import InsufficientBalance
from malipo.payments.pursuit import Act, Attention
from malipo.payments.resolve import Finding, Resolved, Truth
from malipo.payments.store import cases
from malipo.payments.transaction import Status, Transaction, Type
from malipo.service import Service
from malipo.settings import Settings
from malipo.trail.store import Actor
from tests.conftest import NO_LIMITS, Merchant, make_merchant
from tests.journeys import witness
from tests.payments.story import Story

ASHA, JUMA, NEEMA = (Actor(f"operator {name}", "till") for name in ("asha", "juma", "neema"))
EVIDENCE = "Receipt QK12AB on the network's statement"
PAYOUT, COLLECTION = Type.DISBURSEMENT, Type.COLLECTION


@pytest.fixture
async def story(service: Service, merchant: Merchant) -> Story:
    """With fees; and nothing is decided without operators."""
    by_hand = Service.assemble(Settings(**NO_LIMITS, credit_by_itself=False), service.database)
    story = Story(by_hand, merchant.id)
    await story.charge_fees()
    return story


Write = Callable[[Tx], Awaitable[Resolved]]


async def _write(database: Database, act: Write) -> Resolved:
    async with database.begin() as tx:
        return await act(tx)


async def propose(
    story: Story, payment: str, truth: Truth, *, actor: Actor = ASHA, evidence: str = EVIDENCE, **more: Any
) -> Resolved:
    finding = Finding(truth, evidence, **{"is_despite_waiting": True, **more})
    return await _write(story.database, lambda tx: resolve.propose(tx, payment, finding, actor=actor, now=clock.now()))


async def approve(story: Story, payment: str, *, actor: Actor = JUMA) -> Resolved:
    return await _write(story.database, lambda tx: resolve.approve(tx, payment, actor=actor, now=clock.now()))


async def reject(story: Story, payment: str, *, actor: Actor = JUMA) -> Resolved:
    return await _write(story.database, lambda tx: resolve.reject(tx, payment, actor=actor, now=clock.now()))


async def unsettled(story: Story, *, seconds: float = 3600) -> dict[str, Attention | str | None]:
    """Everything that an operator is shown, and why."""
    async with story.database.snapshot() as connection:
        open_ = await cases.find_unsettled(connection, unsettled_seconds=seconds)
        contradicted = await cases.find_contradicted(connection)
    found = {case.transaction.id: case.dispatch.attention for case in open_ if case.dispatch is not None}
    assert len(found) == len(open_), "what a person must look at has a dispatch"
    assert not set(found) & {case.transaction.id for case in contradicted}, "and is listed once"
    return found | {case.transaction.id: "contradicted" for case in contradicted}


async def deeds(story: Story) -> list[tuple[str, str]]:
    """What operators did to payments, oldest first."""
    async with story.database.read() as connection:
        rows = await connection.fetch("SELECT what, who FROM audit WHERE what LIKE 'payment.res%' ORDER BY id")
    return [(row["what"].removeprefix("payment."), row["who"].removeprefix("operator ")) for row in rows]


async def test_the_list_has_what_an_operator_must_look_at_and_nothing_else(
    service: Service, merchant: Merchant
) -> None:
    settings = Settings(**NO_LIMITS, not_found_seconds=0, credit_by_itself=False)
    eager = Story(Service.assemble(settings, service.database), merchant.id)
    old = eager.ago(3700)
    shown: dict[str, Attention | str | None] = {}

    for type_ in Type:
        differs = await eager.processing(type_)
        await eager.hear(differs, Verdict.CONFIRMED, amount=999)
        shown[differs.id] = Attention.DIFFERS
        forgotten = await eager.processing(type_)
        for _ in range(3):
            await eager.hear(forgotten, Verdict.MISSING)
        shown[forgotten.id] = Attention.FORGOTTEN
        shown[(await old.processing(type_)).id] = None  # too long
        shown[(await eager.contradicted(type_, Status.FAILED)).id] = "contradicted"
        shown[(await eager.contradicted(type_, Status.COMPLETED)).id] = "contradicted"
        # And these are nobody's business:
        await old.open(type_)
        await eager.processing(type_)
        await eager.send(type_)
        for status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED):
            await old.ended(type_, status)
        asked = await eager.ended(type_, Status.FAILED)
        await eager.hear(asked, Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False)
    missing = await eager.send(PAYOUT)
    for _ in range(3):
        await eager.hear(missing, Verdict.MISSING, resubmit=Resubmit.UNSAFE)
    shown[missing.id] = Attention.NOT_FOUND

    assert await unsettled(eager) == shown
    assert set(await unsettled(eager, seconds=4000)) == {id_ for id_, why in shown.items() if why is not None}


async def test_a_payment_that_was_not_sent_and_is_spoken_of_is_on_the_list_and_is_not_sent(story: Story) -> None:
    opened = await story.open(PAYOUT)

    settled = await story.hear(opened, Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False, provider_reference="FORGED")

    assert settled.transaction.status is Status.PROCESSING
    assert settled.transaction.provider_reference is None, "what is not signed is not written down as true"
    assert await unsettled(story) == {opened.id: Attention.UNSENT}
    assert (await story.claim()).to_send == []
    await witness.assert_clean(story.database)
    await story.hear(opened, Verdict.CONFIRMED)
    assert await unsettled(story) == {}
    await witness.assert_clean(story.database)


async def test_what_was_resolved_is_off_the_list(story: Story) -> None:
    old = story.ago(3700)
    collection, payout = await old.processing(COLLECTION), await old.processing(PAYOUT)
    contradicted = await story.contradicted(COLLECTION, Status.FAILED)
    assert set(await unsettled(story)) == {collection.id, payout.id, contradicted.id}

    await propose(story, collection.id, Truth.FAILED)
    await propose(story, contradicted.id, Truth.COMPLETED)
    await propose(story, payout.id, Truth.FAILED)
    assert set(await unsettled(story)) == {payout.id, contradicted.id}, "which another operator has to approve"
    await approve(story, contradicted.id)
    await approve(story, payout.id)

    assert await unsettled(story) == {}
    await witness.assert_clean(story.database)


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


async def test_two_operators_who_approve_at_the_same_instant_move_money_once(story: Story) -> None:
    payouts = [await story.processing(PAYOUT), await story.contradicted(PAYOUT, Status.COMPLETED)]
    for payout in payouts:
        await propose(story, payout.id, Truth.FAILED)

        answers = await asyncio.gather(
            *(approve(story, payout.id, actor=actor) for actor in (JUMA, NEEMA) * 4), return_exceptions=True
        )

        assert sum(isinstance(answer, Resolved) for answer in answers) == 1
        assert sum(isinstance(answer, Conflict | Missing) for answer in answers) == 7
    assert await story.balances() == {"wallet": 1_000_000, "bank": -1_000_000}, "both were given back once"
    assert sum(what == "resolved" for what, _ in await deeds(story)) == 2
    await witness.assert_clean(story.database)


async def test_two_operators_who_propose_at_the_same_instant_are_one_proposal(story: Story) -> None:
    payout = await story.processing(PAYOUT)
    truths = [Truth.COMPLETED, Truth.FAILED] * 4

    answers = await asyncio.gather(
        *(propose(story, payout.id, truth, actor=actor) for truth, actor in zip(truths, [ASHA, JUMA] * 4, strict=True)),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, Resolved) for answer in answers) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 7
    assert await witness.count(story.database, "resolutions") == 1


async def test_a_network_and_an_operator_at_the_same_instant_end_a_payment_once(story: Story) -> None:
    for _ in range(5):
        payout = await story.processing(PAYOUT)
        await propose(story, payout.id, Truth.FAILED)

        await asyncio.gather(approve(story, payout.id), story.hear(payout, Verdict.CONFIRMED), return_exceptions=True)

        assert (await story.status(payout)).is_final
        await witness.assert_clean(story.database)


@pytest.mark.parametrize(
    ("says", "status", "wallet"),
    [(Verdict.CONFIRMED, Status.COMPLETED, 998_970), (Verdict.REFUSED, Status.FAILED, 1_000_000)],
)
async def test_what_the_network_says_before_the_approval_is_what_counts(
    story: Story, says: Verdict, status: Status, wallet: int
) -> None:
    payout = await story.processing(PAYOUT)
    await propose(story, payout.id, Truth.FAILED)
    await story.hear(payout, says)

    for name in (payout.id, payout.reference):
        with pytest.raises((Conflict, Missing)):
            await approve(story, name)

    assert await story.status(payout) is status
    assert await witness.wallet(story.database, story.merchant_id) == (wallet, 0)
    assert await deeds(story) == [("resolution_proposed", "asha")]
    await witness.assert_clean(story.database)


async def test_a_proposal_of_a_payment_that_its_network_has_ended_is_not_left_for_a_later_contradiction(
    story: Story,
) -> None:
    """It was made with another question in mind, and nobody could take it back meanwhile."""
    payout = await story.processing(PAYOUT)
    await propose(story, payout.id, Truth.FAILED)
    await story.hear(payout, Verdict.CONFIRMED)
    await story.hear(payout, Verdict.REFUSED)  # Asked again, it takes its word back.
    before = await story.balances()
    assert before["suspense"] == 1000

    with pytest.raises(Missing, match="Nobody has proposed"):
        await approve(story, payout.id)

    assert await story.balances() == before
    async with story.database.read() as connection:
        [case] = await cases.find_contradicted(connection)
    assert case.proposed is None, "nor is it shown"
    await propose(story, payout.id, Truth.COMPLETED, actor=JUMA)
    assert (await approve(story, payout.id, actor=ASHA)).is_done
    await witness.assert_clean(story.database)


async def test_a_proposal_that_its_network_has_overtaken_can_still_be_taken_back(story: Story) -> None:
    payout = await story.processing(PAYOUT)
    await propose(story, payout.id, Truth.FAILED)
    await story.hear(payout, Verdict.CONFIRMED)
    await reject(story, payout.reference, actor=ASHA)
    with pytest.raises(Missing, match="Nobody has proposed"):
        await reject(story, payout.reference)
    assert await story.status(payout) is Status.COMPLETED


async def test_what_the_network_says_after_the_resolution_is_a_contradiction_and_moves_nothing_twice(
    story: Story,
) -> None:
    payout = await story.processing(PAYOUT)
    await propose(story, payout.id, Truth.FAILED)
    await approve(story, payout.id)

    settled = await story.hear(payout, Verdict.CONFIRMED, Act.SEND)  # The reply was late.
    again = await story.hear(payout, Verdict.CONFIRMED)

    assert (settled.is_contradiction, again.is_contradiction) == (True, False)
    assert await story.status(payout) is Status.FAILED
    assert await story.balances() == {
        "wallet": 1_000_000,
        "bank": -1_000_000,
        "suspense": -1000,
        "float MPESA": 1000,
    }
    assert await unsettled(story) == {payout.id: "contradicted"}
    await witness.assert_clean(story.database)


async def test_a_debt_is_held_taken_in_parts_and_told(database: Database) -> None:
    """A payout told FAILED and paid after all: what the wallet then holds cannot be spent again."""
    merchant = await make_merchant(database, wallet=2000)
    story = Story(Service.assemble(Settings(**NO_LIMITS), database), merchant.id)
    first = await story.ended(PAYOUT, Status.FAILED, 2000)
    await story.ended(PAYOUT, Status.COMPLETED, 1500)  # Spent before anybody knew.
    assert await witness.wallet(database, merchant.id) == (500, 0)
    await story.hear(first, Verdict.CONFIRMED)

    with pytest.raises(InsufficientBalance) as refused:
        await story.open(PAYOUT, 500)
    assert "owed" in str(refused.value.details)
    await propose(story, first.id, Truth.COMPLETED)
    taken = await approve(story, first.id)

    assert (taken.credited, taken.owed) == (-500, 1500)
    assert await witness.wallet(database, merchant.id) == (0, 0)
    await witness.assert_clean(database)
    await propose(story, first.id, Truth.COMPLETED)
    with pytest.raises(WalletTooLow):
        await approve(story, first.id)
    await reject(story, first.id)
    await story.ended(COLLECTION, Status.COMPLETED, 2000)  # When there is money again, the rest is taken.
    await propose(story, first.id, Truth.COMPLETED)
    assert (await approve(story, first.id)).credited == -1500
    assert await witness.wallet(database, merchant.id) == (500, 0)
    assert await told(story, first) == [("debt_recorded", 2000), ("debt_collected", 500), ("debt_collected", 1500)]
    assert await unsettled(story) == {}
    await witness.assert_clean(database)


async def told(story: Story, transaction: Transaction) -> list[tuple[str, int]]:
    """What the merchant was told of corrections, in order."""
    async with story.database.read() as connection:
        rows = await connection.fetch(
            "SELECT body FROM events WHERE transaction_id = $1 AND event LIKE '%.corrected' ORDER BY ordinal",
            transaction.id,
        )
    said = [json.loads(row["body"])["transaction"]["correction"] for row in rows]
    return [(each["reason"], each["amount"]) for each in said]


async def test_what_is_waived_is_a_loss_of_the_house_and_never_of_the_float(story: Story) -> None:
    payout = await story.contradicted(PAYOUT, Status.FAILED)
    with pytest.raises(Conflict, match="Nothing is owed"):
        await propose(story, (await story.contradicted(PAYOUT, Status.COMPLETED)).id, Truth.FAILED, is_waived=True)
    before = await story.balances()
    await propose(story, payout.id, Truth.COMPLETED, is_waived=True)
    waived = await approve(story, payout.id)
    assert (waived.credited, waived.borne, waived.owed) == (0, -1030, 0)
    after = await story.balances()
    assert after["losses"] == -1030
    assert after["float MPESA"] == before["float MPESA"]
    assert await told(story, payout) == [("debt_recorded", 1030), ("debt_waived", 1030)]
    await witness.assert_clean(story.database)
    # Told that it was wrong to waive it, two operators take it after all.
    await propose(story, payout.id, Truth.COMPLETED)
    assert (await approve(story, payout.id)).credited == -1030
    assert "losses" not in await story.balances()
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


async def test_a_failed_payment_that_is_said_to_be_paid_is_listed_until_two_operators_have_looked(
    story: Story,
) -> None:
    payout = await story.ended(PAYOUT, Status.FAILED)
    await story.hear(payout, Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False)
    for _ in range(9):
        await story.hear(payout, Verdict.UNKNOWN)
    assert await unsettled(story) == {payout.id: Attention.SAID_PAID}
    await propose(story, payout.id, Truth.FAILED)
    assert (await approve(story, payout.id)).is_done
    assert await unsettled(story) == {}
    assert await story.correction(payout) is None, "nothing was put right: the merchant was told the truth"
    await witness.assert_clean(story.database)


async def test_a_closed_merchants_payouts_are_listed_and_an_operator_can_cancel_them(story: Story) -> None:
    payout, collection = await story.open(PAYOUT), await story.open(COLLECTION)
    with pytest.raises(Forbidden, match="active"):
        await cancel(story, payout.id)
    async with story.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", story.merchant_id)
    assert await unsettled(story) == {payout.id: None}

    cancelled = await cancel(story, payout.id)

    assert cancelled.status is Status.CANCELLED
    assert await unsettled(story) == {}
    assert await witness.wallet(story.database, story.merchant_id) == (1_000_000, 0)
    with pytest.raises(Missing):
        await cancel(story, payout.id)
    with pytest.raises(Conflict):
        await cancel(story, cancelled.reference)
    assert await story.status(collection) is Status.PENDING
    await witness.assert_clean(story.database)


async def cancel(story: Story, payment: str) -> Transaction:
    async with story.database.begin() as tx:
        return await resolve.cancel(tx, payment, actor=ASHA, now=clock.now())


async def test_a_contradicted_payout_takes_two_operators_as_well(story: Story) -> None:
    contradicted = await story.contradicted(PAYOUT, Status.COMPLETED)
    before = await story.balances()
    assert not (await propose(story, contradicted.id, Truth.FAILED)).is_done
    with pytest.raises(Forbidden):
        await approve(story, contradicted.id, actor=ASHA)
    assert await story.balances() == before
    assert (await approve(story, contradicted.id)).is_done
    assert await story.balances() == {"wallet": 1_000_000, "bank": -1_000_000}


@pytest.mark.parametrize(
    ("type_", "status", "truth", "wallet"),
    [
        (COLLECTION, Status.FAILED, Truth.COMPLETED, 1_000_970),
        (COLLECTION, Status.COMPLETED, Truth.FAILED, 1_000_000),
        (PAYOUT, Status.FAILED, Truth.COMPLETED, 998_970),
        (PAYOUT, Status.COMPLETED, Truth.FAILED, 1_000_000),
    ],
)
async def test_two_operators_may_say_the_opposite_of_an_end_that_its_network_does_not_take_back(
    story: Story, type_: Type, status: Status, truth: Truth, wallet: int
) -> None:
    ended = await story.ended(type_, status)
    before = await story.balances()

    proposed = await propose(story, ended.reference, truth)
    assert not proposed.is_done, "of a collection, too: nobody but us doubts it"
    assert await story.balances() == before
    with pytest.raises(Forbidden):
        await approve(story, ended.reference, actor=ASHA)
    approved = await approve(story, ended.reference)

    assert approved.is_done
    assert await story.status(ended) is status, "what the merchant saw stays"
    assert await witness.wallet(story.database, story.merchant_id) == (wallet, 0)
    assert "suspense" not in await story.balances()
    assert await deeds(story) == [("resolution_proposed", "asha"), ("resolved", "juma")]
    await witness.assert_clean(story.database)
    # And it is done once: neither an operator nor the network does it again.
    after = await story.balances()
    with pytest.raises(Conflict):
        await propose(story, ended.reference, truth)
    await story.hear(ended, Verdict.CONFIRMED if truth is Truth.COMPLETED else Verdict.REFUSED)
    assert await story.balances() == after
    await witness.assert_clean(story.database)


@pytest.mark.parametrize("type_", Type)
@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
async def test_operators_who_were_wrong_can_take_it_back(story: Story, type_: Type, status: Status) -> None:
    ended = await story.ended(type_, status)
    before = await story.balances()
    wrong = Truth.FAILED if status is Status.COMPLETED else Truth.COMPLETED
    for truth in (wrong, Truth(status.lower())):
        await propose(story, ended.reference, truth)
        assert (await approve(story, ended.reference)).is_done
        await witness.assert_clean(story.database)
    assert await story.balances() == before


async def test_a_payment_can_be_named_by_its_id_as_the_first_operator_is_told(story: Story) -> None:
    ended = await story.ended(PAYOUT, Status.COMPLETED)
    await propose(story, ended.reference, Truth.FAILED)
    assert (await approve(story, ended.id)).is_done


async def test_a_network_that_takes_back_its_word_while_two_operators_say_the_same_moves_money_once(
    story: Story,
) -> None:
    ended = await story.ended(PAYOUT, Status.COMPLETED)
    await propose(story, ended.reference, Truth.FAILED)
    assert (await story.hear(ended, Verdict.REFUSED)).is_contradiction

    assert (await approve(story, ended.reference)).is_done

    assert await story.balances() == {"wallet": 1_000_000, "bank": -1_000_000}
    await witness.assert_clean(story.database)
