"""Operators and networks that say the opposite: debts, losses, and words that are taken back."""

import pytest

from malipo.db import Database
from malipo.errors import Conflict, Forbidden
from malipo.ledger.book import WalletTooLow
from malipo.networks.contract import Verdict
from malipo.payments.initiate import InsufficientBalance
from malipo.payments.pursuit import Act
from malipo.payments.resolve import Truth
from malipo.payments.transaction import Status, Type
from malipo.service import Service
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, make_merchant
from tests.journeys import witness
from tests.payments.resolving import ASHA, COLLECTION, PAYOUT, approve, deeds, propose, reject, told, unsettled
from tests.payments.resolving import story as story
from tests.payments.story import Story


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
