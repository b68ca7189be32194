"""Operators and networks decide about one payment at the same time: it ends once, and a report that came first counts."""

import asyncio

import pytest

from malipo.errors import Conflict, Missing
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import ResolutionResult, ResolvedOutcome
from malipo.payments.store import cases
from malipo.payments.transaction import Status
from tests.journeys import database_facts
from tests.payments.payment_steps import PaymentSteps
from tests.payments.resolving import ASHA, JUMA, NEEMA, PAYOUT, approve, deeds, propose, reject
from tests.payments.resolving import steps as steps


async def test_two_operators_who_approve_at_the_same_instant_move_money_once(steps: PaymentSteps) -> None:
    payouts = [await steps.processing(PAYOUT), await steps.contradicted(PAYOUT, Status.COMPLETED)]
    for payout in payouts:
        await propose(steps, payout.id, ResolvedOutcome.FAILED)

        answers = await asyncio.gather(
            *(approve(steps, payout.id, actor=actor) for actor in (JUMA, NEEMA) * 4), return_exceptions=True
        )

        assert sum(isinstance(answer, ResolutionResult) for answer in answers) == 1
        assert sum(isinstance(answer, Conflict | Missing) for answer in answers) == 7
    assert await steps.balances() == {"wallet": 1_000_000, "bank": -1_000_000}, "both were given back once"
    assert sum(what == "resolved" for what, _ in await deeds(steps)) == 2
    await database_facts.assert_clean(steps.database)


async def test_two_operators_who_propose_at_the_same_instant_are_one_proposal(steps: PaymentSteps) -> None:
    payout = await steps.processing(PAYOUT)
    outcomes = [ResolvedOutcome.COMPLETED, ResolvedOutcome.FAILED] * 4

    answers = await asyncio.gather(
        *(
            propose(steps, payout.id, outcome, actor=actor)
            for outcome, actor in zip(outcomes, [ASHA, JUMA] * 4, strict=True)
        ),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, ResolutionResult) for answer in answers) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 7
    assert await database_facts.count(steps.database, "proposals") == 1


async def test_a_network_and_an_operator_at_the_same_instant_end_a_payment_once(steps: PaymentSteps) -> None:
    for _ in range(5):
        payout = await steps.processing(PAYOUT)
        await propose(steps, payout.id, ResolvedOutcome.FAILED)

        await asyncio.gather(approve(steps, payout.id), steps.report(payout, Verdict.CONFIRMED), return_exceptions=True)

        assert (await steps.status(payout)).is_final
        await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize(
    ("says", "status", "wallet"),
    [(Verdict.CONFIRMED, Status.COMPLETED, 998_970), (Verdict.REFUSED, Status.FAILED, 1_000_000)],
)
async def test_a_report_of_the_network_before_the_approval_counts(
    steps: PaymentSteps, says: Verdict, status: Status, wallet: int
) -> None:
    payout = await steps.processing(PAYOUT)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)
    await steps.report(payout, says)

    for name in (payout.id, payout.reference):
        with pytest.raises((Conflict, Missing)):
            await approve(steps, name)

    assert await steps.status(payout) is status
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (wallet, 0)
    assert await deeds(steps) == [("resolution_proposed", "asha")]
    await database_facts.assert_clean(steps.database)


async def test_a_proposal_of_a_payment_that_its_network_has_ended_is_not_left_for_a_later_contradiction(
    steps: PaymentSteps,
) -> None:
    """The proposal was made while the payment was open, and could not be withdrawn meanwhile."""
    payout = await steps.processing(PAYOUT)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)
    await steps.report(payout, Verdict.CONFIRMED)
    await steps.report(payout, Verdict.REFUSED)  # Queried again, it reverses its report.
    before = await steps.balances()
    assert before["suspense"] == 1000

    with pytest.raises(Missing, match="case_nothing_proposed"):
        await approve(steps, payout.id)

    assert await steps.balances() == before
    async with steps.database.read() as connection:
        [case] = await cases.find_contradicted(connection)
    assert case.proposed is None, "nor is it shown"
    await propose(steps, payout.id, ResolvedOutcome.COMPLETED, actor=JUMA)
    assert (await approve(steps, payout.id, actor=ASHA)).is_done
    await database_facts.assert_clean(steps.database)


async def test_a_proposal_that_its_network_has_overtaken_can_still_be_taken_back(steps: PaymentSteps) -> None:
    payout = await steps.processing(PAYOUT)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)
    await steps.report(payout, Verdict.CONFIRMED)
    await reject(steps, payout.reference, actor=ASHA)
    with pytest.raises(Missing, match="case_nothing_proposed"):
        await reject(steps, payout.reference)
    assert await steps.status(payout) is Status.COMPLETED


async def test_a_network_that_reverses_its_report_while_two_operators_say_the_same_moves_money_once(
    steps: PaymentSteps,
) -> None:
    ended = await steps.ended(PAYOUT, Status.COMPLETED)
    await propose(steps, ended.reference, ResolvedOutcome.FAILED)
    assert (await steps.report(ended, Verdict.REFUSED)).is_contradiction

    assert (await approve(steps, ended.reference)).is_done

    assert await steps.balances() == {"wallet": 1_000_000, "bank": -1_000_000}
    await database_facts.assert_clean(steps.database)
