"""Operators and networks at the same payment: it ends once, and what the network says first is what counts."""

import asyncio

import pytest

from malipo.errors import Conflict, Missing
from malipo.networks.contract import Verdict
from malipo.payments.resolve import Resolved, Truth
from malipo.payments.store import cases
from malipo.payments.transaction import Status
from tests.journeys import witness
from tests.payments.resolving import ASHA, JUMA, NEEMA, PAYOUT, approve, deeds, propose, reject
from tests.payments.resolving import story as story
from tests.payments.story import Story


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


async def test_a_network_that_takes_back_its_word_while_two_operators_say_the_same_moves_money_once(
    story: Story,
) -> None:
    ended = await story.ended(PAYOUT, Status.COMPLETED)
    await propose(story, ended.reference, Truth.FAILED)
    assert (await story.hear(ended, Verdict.REFUSED)).is_contradiction

    assert (await approve(story, ended.reference)).is_done

    assert await story.balances() == {"wallet": 1_000_000, "bank": -1_000_000}
    await witness.assert_clean(story.database)
