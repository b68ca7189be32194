"""Whether an answer is believed. Pure."""

from msgspec.structs import replace

from malipo.networks.connector import Answer, Type, Verdict
from malipo.payments.dispatch import Dispatch, ReceivedAnswer
from malipo.payments.transaction import Transaction


def is_believed(transaction: Transaction, received: ReceivedAnswer) -> bool:
    """Whether this answer may end the payment. If a network has no query, an unsigned callback from a listed address
    may, because no better answer will come.

    Even then a failure never ends a payout, and operators decide about a success above the amount that they review.
    """
    is_good_enough = received.is_listed and not received.can_query and not _is_for_review(transaction, received)
    is_refused_payout = transaction.type is Type.DISBURSEMENT and received.answer.verdict is Verdict.REFUSED
    return received.is_trusted or (is_good_enough and not is_refused_payout)


def _is_for_review(transaction: Transaction, received: ReceivedAnswer) -> bool:
    is_above = received.review_amount is not None and transaction.amount > received.review_amount
    return is_above and received.answer.verdict is Verdict.CONFIRMED


def differs(transaction: Transaction, answer: Answer) -> bool:
    return (
        answer.lacks_amount
        or (answer.amount is not None and answer.amount != transaction.amount)
        or (answer.phone is not None and answer.phone != transaction.phone)
    )


def is_overtaken(dispatch: Dispatch, received: ReceivedAnswer) -> bool:
    """A success was reported after this query was sent, so the answer may be older than the success."""
    return dispatch.success_seconds_ago is not None and received.age_seconds >= dispatch.success_seconds_ago


def with_success(dispatch: Dispatch) -> Dispatch:
    return replace(dispatch, is_success_reported=True, success_seconds_ago=0)
