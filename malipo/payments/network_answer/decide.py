"""What a network's answer means for a payment, and what to do next. Pure.

The main rules: a payment ends only when its network reports an outcome, never because of silence; and a reported
success is never forgotten. `decide` is the only place that turns a network's answer into a change of status, into
another query, or into a case for operators.
"""

import math
from collections.abc import Collection

from msgspec.structs import replace

from malipo.networks.connector import FailureCode, Resubmit, Type, Verdict
from malipo.payments.dispatch import (
    AnswerSource,
    Decision,
    Dispatch,
    LatestAnswer,
    NextAction,
    ReceivedAnswer,
    ReviewReason,
    Rules,
)
from malipo.payments.network_answer.contradiction import (
    decide_after_end,
    differs,
    end_as_failed,
    failure_of,
    is_believed,
    is_overtaken,
    with_success,
)
from malipo.payments.network_answer.query_schedule import NO_QUERY_SECONDS, query_later, query_now, review_reason_of
from malipo.payments.transaction import Cause, Status, Transaction

_UNSENT_PAUSE_SECONDS = 5.0
_HELD_SECONDS = 100 * 365 * 86_400.0  # Only operators, or a line of a statement, end what is held.


def decide(
    transaction: Transaction,
    dispatch: Dispatch | None,
    received: ReceivedAnswer,
    rules: Rules,
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
            return (
                end_by_statement(transaction, dispatch, received, last)
                if received.is_trusted
                else hint_after_end(dispatch)
            )
        return decide_after_end(transaction, dispatch, received, rules, last)
    assert dispatch is not None, "an open payment has a dispatch"
    if received.answer.verdict is Verdict.CONFIRMED:
        dispatch = with_success(dispatch)
    if received.source is AnswerSource.STATEMENT and received.is_trusted:
        return decide_by_statement(transaction, dispatch, received)
    if dispatch.attention is ReviewReason.RESEMBLES_ADOPTED:
        # What is reported of its key may be about the payout that was lost, and then adopted. Operators decide.
        return Decision(dispatch=dispatch)
    if transaction.status is Status.PENDING and dispatch.is_asked_first and received.source is AnswerSource.QUERY:
        return decide_after_restore(transaction, dispatch, received, rules)
    if transaction.status is Status.PENDING:
        return answer_before_sending(dispatch, received)
    return _while_open(transaction, dispatch, received, rules)


def _is_about_adopted(received: ReceivedAnswer, adopted_receipts: Collection[str]) -> bool:
    """Operators adopted the payment from a line without a key, and the merchant repeated the request. The network
    reports the one payment that it has, with the receipt on the line, or with none."""
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
    held = replace(
        with_success(dispatch),
        attention=ReviewReason.RESEMBLES_ADOPTED,
        next_action=NextAction.SEND if is_pending else NextAction.QUERY,
        is_asked_first=is_pending,  # so that nothing is sent
    )
    return Decision(dispatch=held, wait_seconds=_HELD_SECONDS)


def _while_open(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: Rules) -> Decision:
    if differs(transaction, received.answer):
        return query_later(replace(dispatch, attention=ReviewReason.DIFFERS), received, rules)
    if not is_believed(transaction, received):
        return _hint(dispatch, received)
    if received.source is AnswerSource.QUERY:
        dispatch = _count_in_a_row(dispatch, received.answer.verdict)
    match received.answer.verdict:
        case Verdict.CONFIRMED:
            return Decision(cause=Cause.CONFIRMED)
        case Verdict.REFUSED if received.source is not AnswerSource.QUERY and dispatch.send_count > 1:
            # A refusal of the second sending says nothing about the first.
            return (
                query_later(dispatch, received, rules) if received.source is AnswerSource.SEND else query_now(dispatch)
            )
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
        return query_later(replace(dispatch, attention=ReviewReason.UNHEARD), received, rules)
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
    return Decision(dispatch=replace(hinted, attention=review_reason_of(hinted, is_exhausted=True)))


# What an answer means for a payment that may have been sent before the database was restored. Pure.


# After how many inconclusive answers operators are shown the payment.
_VAGUE_ANSWERS = 3


def decide_after_restore(
    transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: Rules
) -> Decision:
    """A payment that the network has counts as sent. One that it does not have may be sent.

    A payout is sent only if the network also refuses duplicates, and nothing is sent if there is no query. But a
    collection that was created after the restore is sent unless the network has it: the customer is waiting, and must
    approve it. A refund that the network has, and does not say how much it is, waits for the statement, or for
    operators.
    """
    match received.answer.verdict:
        case Verdict.CONFIRMED | Verdict.WAITING if _may_be_another_refund(transaction, received):
            held = replace(dispatch, query_count=dispatch.query_count + 1, attention=ReviewReason.RESTORED)
            is_paid = received.answer.verdict is Verdict.CONFIRMED
            return Decision(dispatch=with_success(held) if is_paid else held, wait_seconds=NO_QUERY_SECONDS)
        case Verdict.CONFIRMED | Verdict.REFUSED | Verdict.WAITING:
            sent = replace(
                dispatch,
                connector=received.connector,
                next_action=NextAction.QUERY,
                send_count=1,
                is_asked_first=False,
                attention=None,
            )
            return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)
        case Verdict.MISSING if had_time(dispatch, rules.not_found_seconds):
            return _not_known(transaction, dispatch, received)
        case Verdict.NOT_INDEXED if had_time(dispatch, rules.not_indexed_seconds):
            return _not_known(transaction, dispatch, received)
    is_answered = received.answer.verdict is not Verdict.UNSENT and not received.answer.is_fault
    if transaction.type is Type.COLLECTION and _is_taken_in_since(dispatch) and (is_answered or not received.can_query):
        return _not_sent_before(transaction, dispatch, received)
    query_count = dispatch.query_count + 1
    if not received.can_query:
        held = replace(dispatch, query_count=query_count, attention=ReviewReason.RESTORED)
        return Decision(dispatch=held, wait_seconds=NO_QUERY_SECONDS)
    seconds = min(
        rules.poll_seconds[min(query_count, len(rules.poll_seconds) - 1)],
        _until_it_counts(dispatch, received.answer.verdict, rules),
    )
    # Some networks never report for certain that they do not have a payment. Queries go on, and operators are shown it.
    is_vague = received.answer.verdict is Verdict.UNKNOWN and not received.answer.is_fault
    is_shown = query_count >= (_VAGUE_ANSWERS if is_vague else len(rules.poll_seconds))
    attention = ReviewReason.RESTORED if is_shown else dispatch.attention
    return Decision(dispatch=replace(dispatch, query_count=query_count, attention=attention), wait_seconds=seconds)


def _may_be_another_refund(transaction: Transaction, received: ReceivedAnswer) -> bool:
    """Its key is that of any lost refund of the same collection, which may have been of another amount."""
    return transaction.refund_of is not None and received.answer.amount is None


def _is_taken_in_since(dispatch: Dispatch) -> bool:
    """Whether it was created after the restore was detected. Until it is sent, that time counts as its sending."""
    assert dispatch.sent_seconds is not None, "what is queried first counts as sent at the restore"
    return dispatch.queued_seconds < dispatch.sent_seconds


def _until_it_counts(dispatch: Dispatch, verdict: Verdict, rules: Rules) -> float:
    """In how many seconds "not found" will be believed, plus one: the query at that time is the last."""
    assert dispatch.sent_seconds is not None, "what is queried first counts as sent at the restore"
    match verdict:
        case Verdict.MISSING:
            return rules.not_found_seconds - dispatch.sent_seconds + 1
        case Verdict.NOT_INDEXED:
            return rules.not_indexed_seconds - dispatch.sent_seconds + 1
    return math.inf


def _not_known(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    """This network does not have it. Another one may have it, if the routing was changed.

    Then each of them is asked. A payout that none of them has is held: if one of them has it after all, another one
    does not refuse it as a duplicate.
    """
    is_payout = transaction.type is Type.DISBURSEMENT
    others = {*dispatch.carriers, received.routed_to or received.connector} - {received.connector}
    if not others or (not is_payout and _is_taken_in_since(dispatch)):
        return _not_sent_before(transaction, dispatch, received)
    known = replace(dispatch, not_known_to=(*dispatch.not_known_to, received.connector))
    left = (others & received.connected) - set(known.not_known_to)
    if not left and not is_payout:
        return _not_sent_before(transaction, dispatch, received)
    held = replace(known, query_count=dispatch.query_count + 1, attention=ReviewReason.RESTORED)
    return Decision(dispatch=held, wait_seconds=0 if left else NO_QUERY_SECONDS)


def _not_sent_before(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    is_safe = transaction.type is Type.COLLECTION or received.resubmit is Resubmit.DUPLICATES_REFUSED
    if is_safe and not dispatch.is_success_reported:
        return Decision(dispatch=replace(dispatch, is_asked_first=False, query_count=0, attention=None), wait_seconds=0)
    held = replace(dispatch, query_count=dispatch.query_count + 1, attention=ReviewReason.RESTORED)
    return Decision(dispatch=held, wait_seconds=NO_QUERY_SECONDS)


# What a line of the network's statement means for a payment. Pure.
#
# A line is the movement itself and not a report of it, so it has the last word: also over a signed callback and over
# operators. A payment's line is CONFIRMED. The reversal of a payment is REFUSED: the money is back. It never ends a
# payment that is open, because what follows is for operators to decide. No line ever leads to a sending. A line that is
# not trusted, because it waits for a second operator, is a hint: the network is queried.


def decide_by_statement(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    """For a payment that is open."""
    is_line_of_it = received.answer.verdict is Verdict.CONFIRMED and not differs(transaction, received.answer)
    if is_line_of_it:
        return Decision(cause=Cause.CONFIRMED, is_submitted_first=transaction.status is Status.PENDING)
    if transaction.status is Status.PENDING:
        return answer_before_sending(dispatch, received)
    # It was paid once, whatever came after: it must not be sent again.
    paid = with_success(dispatch)
    if differs(transaction, received.answer):
        paid = replace(paid, attention=ReviewReason.DIFFERS)
    if received.can_query:
        return query_now(paid)
    shown = replace(paid, attention=paid.attention or ReviewReason.SAID_PAID)
    return Decision(dispatch=replace(shown, next_action=_not_sent(shown.next_action)))


def end_by_statement(
    transaction: Transaction, dispatch: Dispatch | None, received: ReceivedAnswer, last: LatestAnswer
) -> Decision:
    """For a payment that has ended. The status stays."""
    if differs(transaction, received.answer):
        return Decision(dispatch=dispatch)
    is_paid = received.answer.verdict is Verdict.CONFIRMED
    if is_paid != last.is_paid:
        # Nothing is left to ask.
        return Decision(is_contradiction=True)
    return Decision() if is_paid else Decision(dispatch=dispatch)


def hint_after_end(dispatch: Dispatch | None) -> Decision:
    """For a payment that has ended, and whose line waits for a second operator: its network is queried at once, if it
    still is queried at all."""
    return Decision() if dispatch is None else query_now(dispatch)


def _not_sent(next_action: NextAction) -> NextAction:
    return NextAction.QUERY if next_action is NextAction.SEND else next_action


# What an answer means for a payment that we have not sent. Pure.


def answer_before_sending(dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    """An answer about a payment that we have not sent: it is forged, or the database was restored from a backup.

    The payment counts as sent, so the network is queried before anything is sent.
    """
    sent = replace(
        dispatch,
        connector=received.connector,
        next_action=NextAction.QUERY,
        send_count=1,
        attention=ReviewReason.UNSENT,
        is_asked_first=False,
    )
    return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)


# What "there is no such payment" means, and when it counts. Pure.


# How many "not found" answers are needed before they count.
_NOT_FOUNDS = 3
# How often a payout is sent at most.
_SENDS = 3


def decide_not_indexed(
    transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: Rules
) -> Decision:
    """ "Unknown" may mean "not found yet". It counts only after enough time and enough answers."""
    is_enough = dispatch.not_indexed_count >= rules.not_indexed_answers
    if not is_enough or not had_time(dispatch, rules.not_indexed_seconds):
        return query_later(dispatch, received, rules)
    return decide_not_found(transaction, dispatch, received, rules)


def decide_missing(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: Rules) -> Decision:
    if dispatch.not_found_count < _NOT_FOUNDS or not had_time(dispatch, rules.not_found_seconds):
        return query_later(dispatch, received, rules)
    return decide_not_found(transaction, dispatch, received, rules)


def decide_not_found(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: Rules) -> Decision:
    """The network has no such payment, and had time to find it."""
    if dispatch.is_success_reported:
        # It was reported as paid: it neither fails nor is sent again.
        return query_later(dispatch, received, rules)
    if dispatch.is_acknowledged:
        return query_later(replace(dispatch, attention=ReviewReason.FORGOTTEN), received, rules)
    if transaction.type is Type.COLLECTION:
        return end_as_failed(transaction, dispatch, received, rules, FailureCode.NOT_RECEIVED)
    if dispatch.attention is ReviewReason.EXCESS_REFUND:
        return query_later(dispatch, received, rules)
    if received.resubmit is Resubmit.DUPLICATES_REFUSED and dispatch.send_count < _SENDS:
        again = replace(dispatch, next_action=NextAction.SEND, not_found_count=0, not_indexed_count=0)
        return Decision(dispatch=again, wait_seconds=0)
    return query_later(replace(dispatch, attention=ReviewReason.NOT_FOUND), received, rules)


def had_time(dispatch: Dispatch, seconds: float) -> bool:
    assert dispatch.sent_seconds is not None, "what is queried was sent"
    return dispatch.sent_seconds >= seconds
