"""Decides by the answer "there is no such payment": when it counts, and when a payout may then be sent again. Pure."""

from msgspec.structs import replace

from malipo.networks.connector import FailureCode, Resubmit, Type
from malipo.payments.dispatch import Decision, Dispatch, NextAction, QueryRules, ReceivedAnswer, ReviewReason
from malipo.payments.network_answer.failure import end_as_failed
from malipo.payments.network_answer.query_schedule import query_later
from malipo.payments.transaction import Transaction

# "Not found" counts after this many such answers.
_NOT_FOUNDS = 3

# A payout is sent at most this often.
_SENDS = 3


def decide_missing(
    transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: QueryRules
) -> Decision:
    if dispatch.not_found_count < _NOT_FOUNDS or not had_time(dispatch, rules.not_found_seconds):
        return query_later(dispatch, received, rules)
    return decide_not_found(transaction, dispatch, received, rules)


def decide_not_indexed(
    transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: QueryRules
) -> Decision:
    """The network does not have the payment, or has not indexed it yet. This counts only after enough time and
    answers."""
    is_enough = dispatch.not_indexed_count >= rules.not_indexed_answers
    if not is_enough or not had_time(dispatch, rules.not_indexed_seconds):
        return query_later(dispatch, received, rules)
    return decide_not_found(transaction, dispatch, received, rules)


def decide_not_found(
    transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: QueryRules
) -> Decision:
    """The network has no such payment, and had time to find it."""
    if dispatch.is_success_reported:
        # The payment was reported as paid, so it neither fails nor is sent again.
        return query_later(dispatch, received, rules)
    if dispatch.is_acknowledged:
        return query_later(replace(dispatch, review_reason=ReviewReason.FORGOTTEN), received, rules)
    if transaction.type is Type.COLLECTION:
        return end_as_failed(transaction, dispatch, received, rules, FailureCode.NOT_RECEIVED)
    if dispatch.review_reason in (ReviewReason.EXCESS_REFUND, ReviewReason.NOT_FOUND):
        return query_later(dispatch, received, rules)  # Operators review it already, and it is not sent again.
    if received.resubmit is Resubmit.DUPLICATES_REFUSED and dispatch.send_count < _SENDS:
        again = replace(dispatch, next_action=NextAction.SEND, not_found_count=0, not_indexed_count=0)
        return Decision(dispatch=again, wait_seconds=0)
    return query_later(replace(dispatch, review_reason=ReviewReason.NOT_FOUND), received, rules)


def had_time(dispatch: Dispatch, seconds: float) -> bool:
    assert dispatch.sent_seconds_ago is not None, "what is queried was sent"
    return dispatch.sent_seconds_ago >= seconds
