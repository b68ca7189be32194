"""What an answer means when the payment has ended: it agrees with the status, or contradicts it. Pure."""

from msgspec.structs import replace

from malipo.networks.connector import Answer, FailureCode, Type, Verdict
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
from malipo.payments.network_answer.query_schedule import NO_QUERY_SECONDS, query_after_end, query_now
from malipo.payments.transaction import Cause, Status, Transaction

# A collection that failed like this may still turn out to be paid.
_MAY_STILL_BE_PAID = (FailureCode.NOT_RECEIVED, FailureCode.EXPIRED)


def end_as_failed(
    transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: Rules, failure: FailureCode
) -> Decision:
    """End it as FAILED. If it may still turn out to be paid, its network is queried for days."""
    may_be_paid = transaction.type is Type.DISBURSEMENT or failure in _MAY_STILL_BE_PAID or dispatch.is_success_reported
    after = follow_up(dispatch, received.connector)
    if may_be_paid and received.can_query:
        seconds = float(rules.follow_up_seconds[0])
    elif after.attention is not None:
        seconds = NO_QUERY_SECONDS
    else:
        return Decision(cause=Cause.REFUSED, failure_code=failure)
    return Decision(cause=Cause.REFUSED, failure_code=failure, dispatch=after, wait_seconds=seconds)


def follow_up(dispatch: Dispatch | None, connector: str) -> Dispatch:
    """The queries after the end begin anew. A reported success is kept, with its reason for review."""
    after = Dispatch(connector=connector, next_action=NextAction.QUERY, is_follow_up=True)
    if dispatch is None or not dispatch.is_success_reported:
        return after
    shown = dispatch.attention if dispatch.attention in (ReviewReason.DIFFERS, ReviewReason.SAID_PAID) else None
    return replace(after, is_success_reported=True, success_seconds=dispatch.success_seconds, attention=shown)


def decide_after_end(
    transaction: Transaction, dispatch: Dispatch | None, received: ReceivedAnswer, rules: Rules, last: LatestAnswer
) -> Decision:
    """The status stays. The answer may contradict it."""
    verdict = received.answer.verdict
    current = dispatch or follow_up(None, received.connector)
    if verdict is Verdict.CONFIRMED and not last.is_paid:
        current = with_success(current if current.is_success_reported else replace(current, query_count=0))
    if verdict.is_definite and differs(transaction, received.answer):
        return query_after_end(replace(current, attention=ReviewReason.DIFFERS), received, rules)
    if not verdict.is_definite:
        return _unclear_after_the_end(transaction, dispatch, current, received, rules)
    if (verdict is Verdict.CONFIRMED) == last.is_paid:
        return _agrees(transaction, dispatch, received, rules, last)
    if last.source is AnswerSource.STATEMENT:
        # The statement has the last word, whatever a query or a callback reports. Nothing is left to ask.
        return Decision()
    if last.is_paid and last.source is AnswerSource.CALLBACK:
        # A signed success stands, whatever a query or another callback reports.
        return query_after_end(replace(current, attention=ReviewReason.DISPUTED), received, rules)
    if is_believed(transaction, received) and not _needs_query_first(received):
        contradicted = replace(current, is_success_reported=False, success_seconds=None, attention=None)
        again = query_after_end(contradicted, received, rules) if received.can_query else Decision()
        return replace(again, is_contradiction=True)
    if received.can_query:
        is_dispute = received.is_trusted and received.source is AnswerSource.CALLBACK
        return query_now(replace(current, attention=ReviewReason.DISPUTED) if is_dispute else current)
    if verdict is Verdict.REFUSED:
        return Decision(dispatch=dispatch)
    return query_after_end(replace(current, attention=ReviewReason.SAID_PAID), received, rules)


def _needs_query_first(received: ReceivedAnswer) -> bool:
    """Whether the network is queried before a refusal reverses a success.

    A success counts however it was received. A refusal may be late: the reply to the first sending, or a repeated
    callback.
    """
    is_refusal = received.answer.verdict is Verdict.REFUSED
    return is_refusal and received.source is not AnswerSource.QUERY and received.can_query


def _unclear_after_the_end(
    transaction: Transaction, dispatch: Dispatch | None, current: Dispatch, received: ReceivedAnswer, rules: Rules
) -> Decision:
    may_have_it = received.source is AnswerSource.SEND and received.answer.verdict in (Verdict.WAITING, Verdict.UNKNOWN)
    if may_have_it and received.can_query and transaction.status is not Status.COMPLETED:
        # A worker that was paused has sent it after all, when others had ended it.
        return query_now(current)
    if received.source is not AnswerSource.QUERY or dispatch is None:
        return Decision(dispatch=dispatch)
    return query_after_end(dispatch, received, rules)


def _agrees(
    transaction: Transaction, dispatch: Dispatch | None, received: ReceivedAnswer, rules: Rules, last: LatestAnswer
) -> Decision:
    if received.source is not AnswerSource.QUERY or dispatch is None:
        return Decision(dispatch=dispatch)
    if is_overtaken(dispatch, received) or (last.is_paid and dispatch.is_hinted):
        return query_after_end(dispatch, received, rules)
    if last.is_paid and transaction.status is Status.COMPLETED:
        return Decision()
    # The network confirms the status, so the other report was wrong.
    agreed = replace(dispatch, is_success_reported=False, success_seconds=None, attention=None)
    return query_after_end(agreed, received, rules)


# Whether an answer is believed, and which failure it reports. Pure.


# A payout has no customer who could decline it. Insufficient funds are those of our own float.
_OF_A_PAYOUT = {
    FailureCode.DECLINED: FailureCode.REJECTED,
    FailureCode.EXPIRED: FailureCode.REJECTED,
    FailureCode.INSUFFICIENT_FUNDS: FailureCode.CHANNEL_UNAVAILABLE,
}


def is_believed(transaction: Transaction, received: ReceivedAnswer) -> bool:
    """If a network has no query, an unsigned callback from a listed address is believed: there will be nothing better.

    Even then a failure never ends a payout, and a success above the amount that operators review is theirs to decide.
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
    return dispatch.success_seconds is not None and received.age_seconds >= dispatch.success_seconds


def with_success(dispatch: Dispatch) -> Dispatch:
    return replace(dispatch, is_success_reported=True, success_seconds=0)


def failure_of(type_: Type, answer: Answer, dispatch: Dispatch) -> FailureCode:
    """A query often reports only that it failed. For the reason, an unsigned callback is good enough."""
    failure = answer.failure_code or FailureCode.REJECTED
    if failure is FailureCode.REJECTED and dispatch.hinted_failure:
        failure = dispatch.hinted_failure
    return _OF_A_PAYOUT.get(failure, failure) if type_ is Type.DISBURSEMENT else failure
