"""How a payment ends as FAILED: the reason, and the queries that follow. Pure."""

from msgspec.structs import replace

from malipo.networks.connector import Answer, FailureCode, Type
from malipo.payments.dispatch import Decision, Dispatch, NextAction, QueryRules, ReceivedAnswer, ReviewReason
from malipo.payments.network_answer.query_schedule import NO_QUERY_SECONDS
from malipo.payments.transaction import Cause, Transaction

# A collection that failed like this may still turn out to be paid.
MAY_STILL_BE_PAID = (FailureCode.NOT_RECEIVED, FailureCode.EXPIRED)

# No person declines a payout, and "insufficient funds" means our own float.
_OF_A_PAYOUT = {
    FailureCode.DECLINED: FailureCode.REJECTED,
    FailureCode.EXPIRED: FailureCode.REJECTED,
    FailureCode.INSUFFICIENT_FUNDS: FailureCode.CHANNEL_UNAVAILABLE,
}


def end_as_failed(
    transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer, rules: QueryRules, failure: FailureCode
) -> Decision:
    """End it as FAILED. If it may still turn out to be paid, its network is queried for days."""
    may_be_paid = transaction.type is Type.DISBURSEMENT or failure in MAY_STILL_BE_PAID or dispatch.is_success_reported
    after = follow_up(dispatch, received.connector)
    if may_be_paid and received.can_query:
        seconds = float(rules.follow_up_seconds[0])
    elif after.review_reason is not None:
        seconds = NO_QUERY_SECONDS
    else:
        return Decision(cause=Cause.REFUSED, failure_code=failure)
    return Decision(cause=Cause.REFUSED, failure_code=failure, dispatch=after, wait_seconds=seconds)


def follow_up(dispatch: Dispatch | None, connector: str) -> Dispatch:
    """The dispatch for queries after the end. The schedule begins anew; a reported success stays, for operators to
    review."""
    after = Dispatch(connector=connector, next_action=NextAction.QUERY, is_follow_up=True)
    if dispatch is None or not dispatch.is_success_reported:
        return after
    shown = dispatch.review_reason if dispatch.review_reason in (ReviewReason.DIFFERS, ReviewReason.SAID_PAID) else None
    seconds_ago = dispatch.success_seconds_ago
    return replace(after, is_success_reported=True, success_seconds_ago=seconds_ago, review_reason=shown)


def failure_of(type_: Type, answer: Answer, dispatch: Dispatch) -> FailureCode:
    """The reason of a failure. A query often reports none; then the reason of an unsigned callback is good enough."""
    failure = answer.failure_code or FailureCode.REJECTED
    if failure is FailureCode.REJECTED and dispatch.hinted_failure:
        failure = dispatch.hinted_failure
    return _OF_A_PAYOUT.get(failure, failure) if type_ is Type.DISBURSEMENT else failure
