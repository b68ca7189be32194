"""A payout that pays again what has failed, and that waits for its network while the failed one turns out paid."""

import asyncio

from msgspec.structs import replace

from malipo.db import Database
from malipo.networks.connector import Verdict
from malipo.payments.cases import case_reason
from malipo.payments.claim_for_sending import ClaimForSending
from malipo.payments.dispatch import AnswerSource, NextAction, ReviewReason
from malipo.payments.store import cases, transactions
from malipo.payments.transaction import Status, Transaction, Type
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.payments.payment_steps import PaymentSteps, a_claim, of
from tests.payments.payment_steps import steps as steps
from tests.restore.operators import ASHA, ask_first, fence, let_go

PAYOUT = Type.DISBURSEMENT
A_DAY = 86_400.0


async def _failed(steps: PaymentSteps) -> Transaction:
    return await steps.ended(PAYOUT, Status.FAILED)


async def _again(steps: PaymentSteps, failed: Transaction) -> Transaction:
    asked = order(steps.merchant_id, PAYOUT, failed.amount)
    assert asked.draft is not None
    return (
        await steps.service.payments.initiate(replace(asked, draft=replace(asked.draft, retry_of=failed.id)))
    ).transaction


async def _sent_again(steps: PaymentSteps, failed: Transaction) -> Transaction:
    """A retry that was sent, whose reply was lost, and which its network does not find."""
    again = await _again(steps, failed)
    [sent] = (await steps.claim()).to_send
    assert sent.id == again.id
    await steps.report(sent, Verdict.UNKNOWN, AnswerSource.SEND)
    await _not_found(steps, sent)
    return sent


async def _not_found(steps: PaymentSteps, payout: Transaction) -> None:
    await steps.wait(payout, seconds=A_DAY)
    for _ in range(3):
        await steps.report(payout, Verdict.MISSING)


async def _paid(steps: PaymentSteps, failed: Transaction) -> None:
    assert (await steps.report(failed, Verdict.CONFIRMED)).is_contradiction


async def _acts(steps: PaymentSteps) -> list[tuple[str, str]]:
    async with steps.database.read() as connection:
        rows = await connection.fetch(
            "SELECT action, details ->> 'retry_of' FROM audit_log WHERE action LIKE 'payout.%' ORDER BY id"
        )
    return [(row[0], row[1]) for row in rows]


async def _reason(steps: PaymentSteps, payout: Transaction) -> str:
    async with steps.database.read() as connection:
        case = await cases.find(connection, payout.id)
    assert case is not None
    return case_reason.case_reason(case, unsettled_seconds=1, now=steps.service.clock())


async def test_a_retry_of_a_payout_that_was_paid_after_all_is_not_sent(steps: PaymentSteps) -> None:
    failed = await _failed(steps)
    again = await _again(steps, failed)
    await _paid(steps, failed)
    available, in_flight = await database_facts.wallet(steps.database, steps.merchant_id)

    claimed = await steps.claim()

    assert (claimed.to_send, of(claimed.lapsed)) == ([], [again.id])
    assert await steps.status(again) is Status.CANCELLED
    wallet = await database_facts.wallet(steps.database, steps.merchant_id)
    assert wallet == (available + again.amount, in_flight - again.amount), "its money is back"
    assert await _acts(steps) == [("payout.withheld", failed.id)]
    await database_facts.assert_clean(steps.database)


async def test_a_retry_of_a_payout_that_still_counts_as_failed_is_sent(steps: PaymentSteps) -> None:
    again = await _again(steps, await _failed(steps))
    assert of((await steps.claim()).to_send) == [again.id]


async def test_a_retry_of_a_retry_is_not_sent_if_the_payout_was_paid(steps: PaymentSteps) -> None:
    failed = await _failed(steps)
    await _again(steps, failed)
    [first] = (await steps.claim()).to_send
    await steps.report(first, Verdict.REFUSED, AnswerSource.SEND)
    second = await _again(steps, first)
    await _paid(steps, failed)

    assert (await steps.claim()).to_send == []
    assert await steps.status(second) is Status.CANCELLED


async def test_a_payout_to_the_same_number_that_is_no_retry_is_sent(steps: PaymentSteps) -> None:
    failed = await _failed(steps)
    other = await steps.open(PAYOUT, failed.amount)
    await _paid(steps, failed)
    assert of((await steps.claim()).to_send) == [other.id]


async def test_a_retry_waits_while_it_is_unknown_whether_the_failed_payout_was_paid(steps: PaymentSteps) -> None:
    failed = await _failed(steps)
    again = await _again(steps, failed)
    await steps.report(failed, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)

    claimed = await steps.claim()

    assert (claimed.to_send, claimed.lapsed) == ([], [])
    assert await steps.status(again) is Status.PENDING
    assert 50 < await steps.due_in_seconds(again) <= 60, "and others are not kept waiting behind it"
    await steps.report(failed, Verdict.REFUSED)
    await steps.make_due(again)
    assert of((await steps.claim()).to_send) == [again.id]


async def test_a_retry_that_was_sent_is_not_sent_again_nor_ended_once_the_failed_payout_was_paid(
    steps: PaymentSteps,
) -> None:
    """Its network does not find it, which may change: it may have been paid."""
    failed = await _failed(steps)
    again = await _sent_again(steps, failed)
    await _paid(steps, failed)

    for _ in range(3):
        claimed = await steps.claim()
        assert (claimed.to_send, claimed.lapsed) == ([], [])
        dispatch = await steps.dispatch(again)
        assert dispatch is not None
        assert (dispatch.next_action, dispatch.review_reason) == (NextAction.QUERY, ReviewReason.NOT_FOUND)
        assert await steps.status(again) is Status.PROCESSING
        await _not_found(steps, again)
        assert await _reason(steps, again) == "retry_not_sent", "never that the network surely does not know it"
    assert await _acts(steps) == [("payout.in_doubt", failed.id)]
    await steps.report(again, Verdict.REFUSED)
    assert await steps.status(again) is Status.FAILED
    await database_facts.assert_clean(steps.database)


async def test_a_retry_that_was_sent_is_sent_again_while_the_failed_payout_counts_as_failed(
    steps: PaymentSteps,
) -> None:
    again = await _sent_again(steps, await _failed(steps))
    assert of((await steps.claim()).to_send) == [again.id]


async def test_a_claim_whose_commit_was_not_confirmed_does_not_send_what_was_paid_by_now(steps: PaymentSteps) -> None:
    failed = await _failed(steps)
    again = await _again(steps, failed)
    claim = a_claim()
    assert of((await steps.service.network_work.claim_for_sending(claim)).to_send) == [again.id]
    await _paid(steps, failed)

    async with steps.database.begin() as tx:
        [claimed] = await ClaimForSending(clock=steps.service.clock)(tx, [claim], again=True)

    assert claimed.to_send == []


async def test_a_report_that_is_being_written_while_it_is_claimed_counts(
    steps: PaymentSteps, database_url: str
) -> None:
    """The claim does not wait for the report. It finds the payout when the report is written."""
    failed = await _failed(steps)
    again = await _again(steps, failed)
    async with Database.opened(database_url, size=1) as other, other.begin() as tx:
        await transactions.lock(tx, {(failed.merchant_id, failed.id)})
        claimed = await asyncio.wait_for(steps.claim(), 60)
        assert (claimed.to_send, claimed.lapsed) == ([], [])
    await _paid(steps, failed)
    assert (await steps.claim()).to_send == []
    assert await steps.status(again) is Status.CANCELLED


async def test_a_retry_that_may_have_been_sent_before_a_restore_is_not_ended(steps: PaymentSteps) -> None:
    """The restore has lost whether it was sent. Its network is queried, and does not find it."""
    failed = await _failed(steps)
    again = await _again(steps, failed)
    await fence(steps)
    assert await let_go(steps, ASHA, is_single_operator=True)
    await ask_first(steps)
    await steps.wait(again, seconds=A_DAY)
    await steps.report(again, Verdict.MISSING)
    await _paid(steps, failed)

    claimed = await steps.claim()

    assert (claimed.to_send, claimed.lapsed) == ([], [])
    assert await steps.status(again) is Status.PROCESSING
    assert await _acts(steps) == [("payout.in_doubt", failed.id)]


async def test_others_of_the_same_claim_are_sent(steps: PaymentSteps) -> None:
    failed = await _failed(steps)
    await _again(steps, failed)
    others = await steps.open_many(PAYOUT, 3)
    await _paid(steps, failed)
    assert of((await steps.claim()).to_send) == of(others)
