"""A refund that was sent, whose outcome is unknown, and that turns out to be one too many: it is never sent again."""

import asyncio

import pytest

from malipo.db import Database
from malipo.networks.connector import Verdict
from malipo.payments.cases import case_reason
from malipo.payments.claim_for_sending import ClaimForSending
from malipo.payments.dispatch import AnswerSource, NextAction
from malipo.payments.refunds.refundable import NotRefundable, RefundInProgress
from malipo.payments.store import cases, transactions
from malipo.payments.transaction import Status, Transaction
from tests.journeys import database_facts
from tests.payments.payment_steps import a_claim
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps
from tests.restore.operators import ASHA, ask_first, fence, let_go

F = Status.FAILED
A_DAY = 86_400.0
HOW = ["an earlier refund was paid", "the collection was taken back"]


async def _two(steps: RefundSteps) -> tuple[Transaction, Transaction, Transaction]:
    """A collection, its first refund that FAILED, and a second that was sent and whose reply was lost."""
    collection = await steps.collected()
    first = await steps.refunded(collection, status=F)
    second = await steps.sent(collection)
    await steps.report(second, Verdict.UNKNOWN, AnswerSource.SEND)
    return collection, first, second


async def _not_found(steps: RefundSteps, refund: Transaction) -> None:
    await steps.wait(refund, seconds=A_DAY)
    for _ in range(3):
        await steps.report(refund, Verdict.MISSING)


async def _learn(steps: RefundSteps, how: str, collection: Transaction, first: Transaction) -> None:
    if how == HOW[0]:
        await steps.contradict(first, is_paid=True)
    else:
        await steps.contradict(collection, is_paid=False)


async def _assert_in_doubt(steps: RefundSteps, refund: Transaction) -> None:
    assert await steps.status(refund) is Status.PROCESSING, "it may have been paid, so it has not failed"
    dispatch = await steps.dispatch(refund)
    assert dispatch is not None
    assert dispatch.next_action is NextAction.QUERY, "its network is still queried"
    async with steps.database.read() as connection:
        listed = await cases.find_unsettled(connection, unsettled_seconds=A_DAY * 30)
    words = {
        case.transaction.id: case_reason.case_reason(case, unsettled_seconds=1, now=steps.service.clock())
        for case in listed
    }
    assert words[refund.id] == "excess_refund"
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("is_learned_late", [False, True], ids=["before it is not found", "before it is claimed"])
async def test_a_refund_in_doubt_that_is_one_too_many_is_shown_to_operators_and_never_sent_again(
    steps: RefundSteps, how: str, is_learned_late: bool
) -> None:
    collection, first, second = await _two(steps)
    if not is_learned_late:
        await _learn(steps, how, collection, first)
    await _not_found(steps, second)
    if is_learned_late:
        await _learn(steps, how, collection, first)

    for _ in range(3):
        claimed = await steps.claim()
        assert (claimed.to_send, claimed.lapsed) == ([], [])
        await _assert_in_doubt(steps, second)
        await _not_found(steps, second)
    with pytest.raises((RefundInProgress, NotRefundable)):
        await steps.ask(collection)
    assert await steps.value("SELECT count(*) FROM audit_log WHERE action = 'refund.in_doubt'") == 1


@pytest.mark.parametrize(("verdict", "status"), [(Verdict.CONFIRMED, Status.COMPLETED), (Verdict.REFUSED, F)])
async def test_the_networks_definite_word_still_ends_it(steps: RefundSteps, verdict: Verdict, status: Status) -> None:
    _, first, second = await _two(steps)
    await steps.contradict(first, is_paid=True)
    await _not_found(steps, second)
    await steps.claim()

    await steps.report(second, verdict)

    assert await steps.status(second) is status
    await database_facts.assert_clean(steps.database)


async def test_a_refund_in_doubt_stays_with_operators_if_the_network_contradicts_itself_about_the_first(
    steps: RefundSteps,
) -> None:
    _, first, second = await _two(steps)
    await steps.contradict(first, is_paid=True)
    await _not_found(steps, second)
    await steps.claim()
    await steps.contradict(first, is_paid=False)
    await _not_found(steps, second)
    assert (await steps.claim()).to_send == []
    await _assert_in_doubt(steps, second)


async def test_a_refund_in_doubt_that_is_not_one_too_many_is_sent_again(steps: RefundSteps) -> None:
    _, _, second = await _two(steps)
    await _not_found(steps, second)
    assert [each.id for each in (await steps.claim()).to_send] == [second.id]


async def test_a_second_sending_of_which_nothing_left_is_not_tried_again_and_has_not_failed(steps: RefundSteps) -> None:
    """Of the second sending provably nothing left, of the first one nobody knows."""
    _, first, second = await _two(steps)
    await _not_found(steps, second)
    await steps.claim()
    await steps.report(second, Verdict.UNSENT, AnswerSource.SEND)
    await steps.contradict(first, is_paid=True)
    await steps.make_due(second)
    claimed = await steps.claim()
    assert (claimed.to_send, claimed.lapsed) == ([], [])
    await _assert_in_doubt(steps, second)


async def test_a_claim_whose_commit_was_not_confirmed_does_not_send_what_is_one_too_many_by_now(
    steps: RefundSteps,
) -> None:
    _, first, second = await _two(steps)
    await _not_found(steps, second)
    claim = a_claim()
    assert (await steps.service.network_work.claim_for_sending(claim)).to_send
    await steps.contradict(first, is_paid=True)

    async with steps.database.begin() as tx:
        [again] = await ClaimForSending(clock=steps.service.clock)(tx, [claim], again=True)

    assert again.to_send == []
    await steps.make_due(second)
    await _not_found(steps, second)
    await steps.claim()
    await _assert_in_doubt(steps, second)


@pytest.mark.parametrize("locked", ["first", "collection"])
async def test_a_report_that_is_being_written_while_it_is_claimed_counts(
    steps: RefundSteps, database_url: str, locked: str
) -> None:
    """The claim does not wait for the report. It takes the refund when the report is written, or has failed."""
    collection, first, second = await _two(steps)
    await _not_found(steps, second)
    subject = first if locked == "first" else collection
    async with Database.opened(database_url, size=1) as other, other.begin() as tx:
        await transactions.lock(tx, {(subject.merchant_id, subject.id)})
        claimed = await asyncio.wait_for(steps.claim(), 60)
        assert (claimed.to_send, claimed.lapsed) == ([], [])
    await _learn(steps, HOW[locked == "collection"], collection, first)
    assert (await steps.claim()).to_send == []
    await _assert_in_doubt(steps, second)


async def test_a_refund_that_may_have_been_sent_before_a_restore_is_not_cancelled(steps: RefundSteps) -> None:
    """Its network does not find it, and it would be sent again. What was sent in the lost time may have been paid."""
    collection = await steps.collected()
    first = await steps.refunded(collection, status=F)
    waiting = await steps.refund(collection)
    await fence(steps)
    assert await let_go(steps, ASHA, is_single_operator=True)
    await ask_first(steps)
    await steps.wait(waiting, seconds=A_DAY)
    await steps.report(waiting, Verdict.MISSING)
    await steps.contradict(first, is_paid=True)

    claimed = await steps.claim()

    assert (claimed.to_send, claimed.lapsed) == ([], [])
    await _assert_in_doubt(steps, waiting)
    await steps.report(waiting, Verdict.REFUSED)
    assert await steps.status(waiting) is F
