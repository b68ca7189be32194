"""What an answer means when the payment has ended: it agrees with the status, or contradicts it. Pure."""

from msgspec.structs import replace

from malipo.networks.connector import Verdict
from malipo.payments.dispatch import (
    AnswerSource,
    Decision,
    Dispatch,
    LatestAnswer,
    QueryRules,
    ReceivedAnswer,
    ReviewReason,
)
from malipo.payments.network_answer.failure import MAY_STILL_BE_PAID, follow_up
from malipo.payments.network_answer.query_schedule import query_after_end, query_now
from malipo.payments.network_answer.trust import differs, is_believed, is_overtaken, with_success
from malipo.payments.transaction import Status, Transaction


def decide_after_end(
    transaction: Transaction, dispatch: Dispatch | None, received: ReceivedAnswer, rules: QueryRules, last: LatestAnswer
) -> Decision:
    """The decision for a payment that has ended. Its status stays; the answer may contradict it."""
    verdict = received.answer.verdict
    current = dispatch or follow_up(None, received.connector)
    if verdict is Verdict.CONFIRMED and not last.is_paid:
        current = with_success(current if current.is_success_reported else replace(current, query_count=0))
    if verdict.is_definite and differs(transaction, received.answer):
        return query_after_end(replace(current, review_reason=ReviewReason.DIFFERS), received, rules)
    if not verdict.is_definite:
        return _unclear_after_the_end(transaction, dispatch, current, received, rules)
    if (verdict is Verdict.CONFIRMED) == last.is_paid:
        return _agrees(transaction, dispatch, received, rules, last)
    if last.source is AnswerSource.STATEMENT:
        # The statement takes precedence over a query or a callback. Nothing is left to query.
        return Decision()
    if last.is_paid and last.source is AnswerSource.CALLBACK:
        # A signed success stands against a query or another callback.
        return query_after_end(replace(current, review_reason=ReviewReason.DISPUTED), received, rules)
    if is_believed(transaction, received) and not _needs_query_first(received):
        contradicted = replace(current, is_success_reported=False, success_seconds_ago=None, review_reason=None)
        again = query_after_end(contradicted, received, rules) if received.can_query else Decision()
        return replace(again, is_contradiction=True)
    if received.can_query:
        is_dispute = received.is_trusted and received.source is AnswerSource.CALLBACK
        return query_now(replace(current, review_reason=ReviewReason.DISPUTED) if is_dispute else current)
    if verdict is Verdict.REFUSED:
        return Decision(dispatch=dispatch)
    return query_after_end(replace(current, review_reason=ReviewReason.SAID_PAID), received, rules)


def _needs_query_first(received: ReceivedAnswer) -> bool:
    """Whether the network is queried before a refusal reverses a success.

    A success counts however it was received. A refusal may be late: the reply to the first sending, or a repeated
    callback.
    """
    is_refusal = received.answer.verdict is Verdict.REFUSED
    return is_refusal and received.source is not AnswerSource.QUERY and received.can_query


def _unclear_after_the_end(
    transaction: Transaction, dispatch: Dispatch | None, current: Dispatch, received: ReceivedAnswer, rules: QueryRules
) -> Decision:
    may_have_it = received.source is AnswerSource.SEND and received.answer.verdict in (Verdict.WAITING, Verdict.UNKNOWN)
    if may_have_it and received.can_query and transaction.status is not Status.COMPLETED:
        if _was_waited_for(transaction, received):
            return Decision(dispatch=dispatch)
        # A paused worker sent the payment after others had ended it.
        return query_now(current)
    if received.source is not AnswerSource.QUERY or dispatch is None:
        return Decision(dispatch=dispatch)
    return query_after_end(dispatch, received, rules)


def _was_waited_for(transaction: Transaction, received: ReceivedAnswer) -> bool:
    """Whether the network ended the payment after this reply, which was only written late (decision 51)."""
    is_refused = transaction.status is Status.FAILED and transaction.failure_code not in MAY_STILL_BE_PAID
    ended_at, replied_at = transaction.ended_at, received.replied_at
    return is_refused and ended_at is not None and replied_at is not None and ended_at >= replied_at


def _agrees(
    transaction: Transaction, dispatch: Dispatch | None, received: ReceivedAnswer, rules: QueryRules, last: LatestAnswer
) -> Decision:
    if received.source is not AnswerSource.QUERY or dispatch is None:
        return Decision(dispatch=dispatch)
    if is_overtaken(dispatch, received) or (last.is_paid and dispatch.is_hinted):
        return query_after_end(dispatch, received, rules)
    if last.is_paid and transaction.status is Status.COMPLETED:
        return Decision()
    # The network confirms the status, so the other report was wrong.
    agreed = replace(dispatch, is_success_reported=False, success_seconds_ago=None, review_reason=None)
    return query_after_end(agreed, received, rules)
