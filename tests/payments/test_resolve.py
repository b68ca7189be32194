"""Operators say what became of a payment whose network does not: with evidence, and of a payout two of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from malipo import clock
from malipo.db import Database, Tx
from malipo.errors import Conflict, Forbidden, Invalid, Missing, Refusal
from malipo.ledger.book import WalletTooLow
from malipo.networks.contract import Resubmit, Verdict
from malipo.payments import resolve
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
    """With fees."""
    story = Story(service, merchant.id)
    await story.charge_fees()
    return story


Write = Callable[[Tx], Awaitable[Resolved]]


async def _write(database: Database, act: Write) -> Resolved:
    async with database.begin() as tx:
        return await act(tx)


async def propose(
    story: Story, payment: str, truth: Truth, *, actor: Actor = ASHA, evidence: str = EVIDENCE, **more: Any
) -> Resolved:
    finding = Finding(truth, evidence, **more)
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
    assert len(found) == len(open_), "an open payment has a dispatch"
    return found | {case.transaction.id: "contradicted" for case in contradicted}


async def deeds(story: Story) -> list[tuple[str, str]]:
    """What operators did to payments, oldest first."""
    async with story.database.read() as connection:
        rows = await connection.fetch("SELECT what, who FROM audit WHERE what LIKE 'payment.res%' ORDER BY id")
    return [(row["what"].removeprefix("payment."), row["who"].removeprefix("operator ")) for row in rows]


async def test_the_list_has_what_an_operator_must_look_at_and_nothing_else(
    service: Service, merchant: Merchant
) -> None:
    eager = Story(Service.assemble(Settings(**NO_LIMITS, not_found_seconds=0), service.database), merchant.id)
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
    assert set(await unsettled(story)) == {payout.id}, "which another operator has to approve"
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
    assert await story.dispatch(collection) is None
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
    """The network seems to take back its word, and has not been asked yet."""
    ended = await story.ended(PAYOUT, Status.FAILED)
    await story.hear(ended, Verdict.CONFIRMED, Act.CALLBACK)
    return ended


async def _cleared(story: Story) -> Transaction:
    cleared = await story.contradicted(COLLECTION, Status.FAILED)
    await propose(story, cleared.id, Truth.COMPLETED)
    return cleared


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_pending, "PENDING"),
        (_sending, "on its way"),
        (_completed, "COMPLETED"),
        (_cancelled, "CANCELLED"),
        (_asked_about, "FAILED"),
        (_cleared, "FAILED"),
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

    await story.hear(payout, Verdict.CONFIRMED, Act.SEND)  # The reply was late: it is asked about.
    settled = await story.hear(payout, Verdict.CONFIRMED)

    assert settled.is_contradiction
    assert await story.status(payout) is Status.FAILED
    assert await story.balances() == {
        "wallet": 1_000_000,
        "bank": -1_000_000,
        "suspense": -1000,
        "float MPESA": 1000,
    }
    assert await unsettled(story) == {payout.id: "contradicted"}
    await witness.assert_clean(story.database)


async def test_a_wallet_that_is_too_low_for_a_correction_is_refused_and_nothing_changes(database: Database) -> None:
    merchant = await make_merchant(database, wallet=2000)
    story = Story(Service.assemble(Settings(**NO_LIMITS), database), merchant.id)
    collection = await story.contradicted(COLLECTION, Status.COMPLETED, 1000)
    payout = await story.contradicted(PAYOUT, Status.FAILED, 2000)
    await propose(story, payout.id, Truth.COMPLETED)
    await story.ended(PAYOUT, Status.COMPLETED, 2500)  # The wallet has 500 left.
    before = await story.balances(), await deeds(story)

    with pytest.raises(WalletTooLow, match="TZS 500"):
        await propose(story, collection.id, Truth.FAILED)
    with pytest.raises(WalletTooLow, match="TZS 500"):
        await approve(story, payout.id)

    assert (await story.balances(), await deeds(story)) == before
    assert set(await unsettled(story)) == {collection.id, payout.id}
    assert await witness.count(database, "resolutions") == 1, "the proposal that waits"
    await witness.assert_clean(database)
    # When there is money again, the same works.
    await story.ended(COLLECTION, Status.COMPLETED, 3000)
    assert (await propose(story, collection.id, Truth.FAILED)).is_done
    assert (await approve(story, payout.id)).is_done
    assert await witness.wallet(database, merchant.id) == (500, 0)
    await witness.assert_clean(database)


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
    for again in Truth:
        with pytest.raises(Conflict):
            await propose(story, ended.reference, again)
    await story.hear(ended, Verdict.CONFIRMED if truth is Truth.COMPLETED else Verdict.REFUSED)
    assert await story.balances() == after
    await witness.assert_clean(story.database)


async def test_a_payment_can_be_named_by_its_id_as_the_first_operator_is_told(story: Story) -> None:
    ended = await story.ended(PAYOUT, Status.COMPLETED)
    await propose(story, ended.reference, Truth.FAILED)
    assert (await approve(story, ended.id)).is_done


async def test_a_network_that_takes_back_its_word_while_two_operators_say_the_same_moves_money_once(
    story: Story,
) -> None:
    ended = await story.ended(PAYOUT, Status.COMPLETED)
    await propose(story, ended.reference, Truth.FAILED)
    await story.hear(ended, Verdict.REFUSED, Act.CALLBACK)
    with pytest.raises(Conflict):
        await approve(story, ended.reference)  # It is being asked about: let it answer first.
    assert (await story.hear(ended, Verdict.REFUSED)).is_contradiction

    assert (await approve(story, ended.reference)).is_done

    assert await story.balances() == {"wallet": 1_000_000, "bank": -1_000_000}
    await witness.assert_clean(story.database)
