"""Decides by an answer about a payment that was perhaps sent before the database was restored from a backup. Pure."""

import math

from msgspec.structs import replace

from malipo.networks.connector import Resubmit, Type, Verdict
from malipo.payments.dispatch import Decision, Dispatch, NextAction, QueryRules, ReceivedAnswer, ReviewReason
from malipo.payments.network_answer.not_found_and_resend import had_time
from malipo.payments.network_answer.query_schedule import NO_QUERY_SECONDS
from malipo.payments.network_answer.trust import with_success
from malipo.payments.transaction import Cause, Transaction

# After how many inconclusive answers operators are shown the payment.
_VAGUE_ANSWERS = 3


def decide_after_restore(
    transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: QueryRules
) -> Decision:
    """Count a payment that the network has as sent. One that the network does not have may be sent: a payout only if
    the network also refuses duplicates, and nothing if the network has no query.

    But a collection that was created after the restore is sent unless the network has it: the customer is waiting, and
    must approve it. If the network has a refund and does not report its amount, the refund waits for a statement or for
    operators.
    """
    match received.answer.verdict:
        case Verdict.CONFIRMED | Verdict.WAITING if _may_be_another_refund(transaction, received):
            shown = replace(dispatch, query_count=dispatch.query_count + 1, review_reason=ReviewReason.RESTORED)
            is_paid = received.answer.verdict is Verdict.CONFIRMED
            return Decision(dispatch=with_success(shown) if is_paid else shown, wait_seconds=NO_QUERY_SECONDS)
        case Verdict.CONFIRMED | Verdict.REFUSED | Verdict.WAITING:
            sent = replace(
                dispatch,
                connector=received.connector,
                next_action=NextAction.QUERY,
                send_count=1,
                is_asked_first=False,
                review_reason=None,
            )
            return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)
        case Verdict.MISSING if had_time(dispatch, rules.not_found_seconds):
            return _not_known(transaction, dispatch, received)
        case Verdict.NOT_INDEXED if had_time(dispatch, rules.not_indexed_seconds):
            return _not_known(transaction, dispatch, received)
    is_answered = received.answer.verdict is not Verdict.UNSENT and not received.answer.is_fault
    if (
        transaction.type is Type.COLLECTION
        and _is_created_after_restore(dispatch)
        and (is_answered or not received.can_query)
    ):
        return _not_sent_before(transaction, dispatch, received)
    query_count = dispatch.query_count + 1
    if not received.can_query:
        shown = replace(dispatch, query_count=query_count, review_reason=ReviewReason.RESTORED)
        return Decision(dispatch=shown, wait_seconds=NO_QUERY_SECONDS)
    seconds = min(
        rules.poll_seconds[min(query_count, len(rules.poll_seconds) - 1)],
        _until_it_counts(dispatch, received.answer.verdict, rules),
    )
    # Some networks never report for certain that they do not have a payment. Queries go on, and operators are shown it.
    is_vague = received.answer.verdict is Verdict.UNKNOWN and not received.answer.is_fault
    is_shown = query_count >= (_VAGUE_ANSWERS if is_vague else len(rules.poll_seconds))
    reason = ReviewReason.RESTORED if is_shown else dispatch.review_reason
    return Decision(dispatch=replace(dispatch, query_count=query_count, review_reason=reason), wait_seconds=seconds)


def _may_be_another_refund(transaction: Transaction, received: ReceivedAnswer) -> bool:
    """Whether the answer may be about a lost refund of the same collection, which had the same key."""
    return transaction.refund_of is not None and received.answer.amount is None


def _is_created_after_restore(dispatch: Dispatch) -> bool:
    """Whether it was created after the restore was detected. Until it is sent, that time counts as its sending."""
    assert dispatch.sent_seconds_ago is not None, "what is queried first counts as sent at the restore"
    return dispatch.queued_seconds_ago < dispatch.sent_seconds_ago


def _until_it_counts(dispatch: Dispatch, verdict: Verdict, rules: QueryRules) -> float:
    """How long until "not found" is believed, plus one second: the query at that time is the last one."""
    assert dispatch.sent_seconds_ago is not None, "what is queried first counts as sent at the restore"
    match verdict:
        case Verdict.MISSING:
            return rules.not_found_seconds - dispatch.sent_seconds_ago + 1
        case Verdict.NOT_INDEXED:
            return rules.not_indexed_seconds - dispatch.sent_seconds_ago + 1
    return math.inf


def _not_known(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    """This network does not have the payment. If the routing was changed, another network may have it.

    Then each of these networks is queried. A payout that none of them has waits for operators: if one of them paid it
    after all, another one would not refuse it as a duplicate.
    """
    is_payout = transaction.type is Type.DISBURSEMENT
    others = {*dispatch.carriers, received.routed_to or received.connector} - {received.connector}
    if not others or (not is_payout and _is_created_after_restore(dispatch)):
        return _not_sent_before(transaction, dispatch, received)
    known = replace(dispatch, not_known_to=(*dispatch.not_known_to, received.connector))
    left = (others & received.connected) - set(known.not_known_to)
    if not left and not is_payout:
        return _not_sent_before(transaction, dispatch, received)
    shown = replace(known, query_count=dispatch.query_count + 1, review_reason=ReviewReason.RESTORED)
    return Decision(dispatch=shown, wait_seconds=0 if left else NO_QUERY_SECONDS)


def _not_sent_before(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    is_safe = transaction.type is Type.COLLECTION or received.resubmit is Resubmit.DUPLICATES_REFUSED
    if is_safe and not dispatch.is_success_reported:
        sendable = replace(dispatch, is_asked_first=False, query_count=0, review_reason=None)
        return Decision(dispatch=sendable, wait_seconds=0)
    shown = replace(dispatch, query_count=dispatch.query_count + 1, review_reason=ReviewReason.RESTORED)
    return Decision(dispatch=shown, wait_seconds=NO_QUERY_SECONDS)


def answer_before_sending(dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    """An answer about a payment that we have not sent: it is forged, or the database was restored from a backup.

    The payment counts as sent, so the network is queried before anything is sent.
    """
    sent = replace(
        dispatch,
        connector=received.connector,
        next_action=NextAction.QUERY,
        send_count=1,
        review_reason=ReviewReason.UNSENT,
        is_asked_first=False,
    )
    return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)
