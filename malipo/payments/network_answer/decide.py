"""What a network's answer means for a payment, and what to do next. Pure.

The main rules: a payment ends only when its network reports an outcome, never because of silence; and a reported
success is never forgotten. `decide` is the only place that turns a network's answer into a change of status, into
another query, or into a case for operators.
"""

from collections.abc import Collection

from msgspec.structs import replace

from malipo.networks.connector import Type, Verdict
from malipo.payments.dispatch import (
    AnswerSource,
    Decision,
    Dispatch,
    LatestAnswer,
    NextAction,
    QueryRules,
    ReceivedAnswer,
    ReviewReason,
)
from malipo.payments.network_answer.after_restore import answer_before_sending, decide_after_restore
from malipo.payments.network_answer.by_statement import correct_by_statement, decide_by_statement, query_after_hint
from malipo.payments.network_answer.contradiction import decide_after_end
from malipo.payments.network_answer.failure import end_as_failed, failure_of
from malipo.payments.network_answer.not_found_and_resend import decide_missing, decide_not_indexed
from malipo.payments.network_answer.query_schedule import query_later, query_now, review_reason_of
from malipo.payments.network_answer.trust import differs, is_believed, is_overtaken, with_success
from malipo.payments.transaction import Cause, Status, Transaction

_UNSENT_PAUSE_SECONDS = 5.0
# "Never": nothing is due until operators, or a line of a statement, decide about the payment.
_UNTIL_DECIDED_SECONDS = 100 * 365 * 86_400.0


def decide(
    transaction: Transaction,
    dispatch: Dispatch | None,
    received: ReceivedAnswer,
    rules: QueryRules,
    *,
    last: LatestAnswer | None = None,
    adopted_receipts: Collection[str] = (),
) -> Decision:
    received = replace(received, can_query=transaction.type not in received.cannot_query)
    if _is_about_adopted(received, adopted_receipts):
        return _leave_to_operators(transaction, dispatch)
    if transaction.status.is_final:
        last = last or LatestAnswer(transaction.status is Status.COMPLETED)
        if received.source is AnswerSource.STATEMENT:
            if received.is_trusted:
                return correct_by_statement(transaction, dispatch, received, last)
            return query_after_hint(dispatch)
        return decide_after_end(transaction, dispatch, received, rules, last)
    assert dispatch is not None, "an open payment has a dispatch"
    if received.answer.verdict is Verdict.CONFIRMED:
        dispatch = with_success(dispatch)
    if received.source is AnswerSource.STATEMENT and received.is_trusted:
        return decide_by_statement(transaction, dispatch, received)
    if dispatch.review_reason is ReviewReason.RESEMBLES_ADOPTED:
        # A report about its key may be about the lost payout that operators adopted. So operators decide.
        return Decision(dispatch=dispatch)
    if transaction.status is Status.PENDING and dispatch.is_asked_first and received.source is AnswerSource.QUERY:
        return decide_after_restore(transaction, dispatch, received, rules)
    if transaction.status is Status.PENDING:
        return answer_before_sending(dispatch, received)
    return _while_open(transaction, dispatch, received, rules)


def _is_about_adopted(received: ReceivedAnswer, adopted_receipts: Collection[str]) -> bool:
    """Whether the answer may be about an adopted payment and not about this one.

    Operators adopted a payment from a line without a key, and the merchant repeated its request. The network has one
    payment, and reports it for both: with the receipt on that line, or with none.
    """
    if not adopted_receipts or received.answer.verdict is not Verdict.CONFIRMED:
        return False
    is_by_statement = received.source is AnswerSource.STATEMENT and received.is_trusted
    receipt = received.answer.provider_reference
    return receipt in adopted_receipts or (not receipt and not is_by_statement)


def _leave_to_operators(transaction: Transaction, dispatch: Dispatch | None) -> Decision:
    if transaction.status.is_final:
        return Decision()  # However often the network is queried, it reports the adopted payment.
    assert dispatch is not None, "an open payment has a dispatch"
    is_pending = transaction.status is Status.PENDING
    waiting = replace(
        with_success(dispatch),
        review_reason=ReviewReason.RESEMBLES_ADOPTED,
        next_action=NextAction.SEND if is_pending else NextAction.QUERY,
        is_asked_first=is_pending,  # so that nothing is sent
    )
    return Decision(dispatch=waiting, wait_seconds=_UNTIL_DECIDED_SECONDS)


def _while_open(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: QueryRules) -> Decision:
    if differs(transaction, received.answer):
        return query_later(replace(dispatch, review_reason=ReviewReason.DIFFERS), received, rules)
    if not is_believed(transaction, received):
        return _hint(dispatch, received)
    if received.source is AnswerSource.QUERY:
        dispatch = _count_in_a_row(dispatch, received.answer.verdict)
    match received.answer.verdict:
        case Verdict.CONFIRMED:
            return Decision(cause=Cause.CONFIRMED)
        case Verdict.REFUSED if received.source is not AnswerSource.QUERY and dispatch.send_count > 1:
            # A refusal of the second sending says nothing about the first.
            if received.source is AnswerSource.SEND:
                return query_later(dispatch, received, rules)
            return query_now(dispatch)
        case Verdict.REFUSED if received.source is AnswerSource.SEND and dispatch.is_success_reported:
            # The reply and a callback contradict each other, so the network is queried.
            return query_later(dispatch, received, rules)
        case Verdict.REFUSED if received.source is AnswerSource.QUERY and is_overtaken(dispatch, received):
            return query_later(dispatch, received, rules)
        case Verdict.REFUSED:
            return end_as_failed(
                transaction, dispatch, received, rules, failure_of(transaction.type, received.answer, dispatch)
            )
        case Verdict.UNSENT if received.source is AnswerSource.SEND and not dispatch.is_success_reported:
            unsent = replace(dispatch, next_action=NextAction.SEND, send_count=dispatch.send_count - 1)
            return Decision(dispatch=unsent, wait_seconds=_UNSENT_PAUSE_SECONDS)
        case Verdict.MISSING if received.source is AnswerSource.QUERY:
            return decide_missing(transaction, dispatch, received, rules)
        case Verdict.NOT_INDEXED if received.source is AnswerSource.QUERY:
            return decide_not_indexed(transaction, dispatch, received, rules)
        case Verdict.WAITING:
            return query_later(
                replace(dispatch, is_acknowledged=True, not_found_count=0, not_indexed_count=0), received, rules
            )
    if not received.can_query and _needs_review(transaction, received):
        return query_later(replace(dispatch, review_reason=ReviewReason.UNHEARD), received, rules)
    return query_later(dispatch, received, rules)


def _needs_review(transaction: Transaction, received: ReceivedAnswer) -> bool:
    """Whether a payment without a query needs an operator's review at once.

    A collection whose reply was lost waits for its callback. One that its network answered with neither yes nor no
    ("duplicate", for example) may never get a callback.
    """
    is_odd_answer = received.source is AnswerSource.SEND and not received.answer.is_fault
    return transaction.type is Type.DISBURSEMENT or received.source is AnswerSource.QUERY or is_odd_answer


def _count_in_a_row(dispatch: Dispatch, verdict: Verdict) -> Dispatch:
    """Counts "not found" and "not indexed" answers in a row: any other answer resets the count."""
    return replace(
        dispatch,
        not_found_count=dispatch.not_found_count + 1 if verdict is Verdict.MISSING else 0,
        not_indexed_count=dispatch.not_indexed_count + 1 if verdict is Verdict.NOT_INDEXED else 0,
    )


def _hint(dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    """An answer that is not believed makes a query due; if there is no query, the payment is a case for operators."""
    hinted = replace(dispatch, hinted_failure=received.answer.failure_code or dispatch.hinted_failure)
    if received.can_query:
        return query_now(hinted)
    if hinted.is_success_reported and hinted.next_action is NextAction.SEND:
        hinted = replace(hinted, next_action=NextAction.QUERY)  # A payment that was reported as paid is not sent.
    return Decision(dispatch=replace(hinted, review_reason=review_reason_of(hinted, is_exhausted=True)))
