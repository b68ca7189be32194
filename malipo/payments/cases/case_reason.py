"""The reason of a case, as a code: why an operator should look at a payment. Pure."""

from collections.abc import Collection
from datetime import datetime, timedelta

from malipo.networks.connector import Channel
from malipo.payments.dispatch import ReviewReason
from malipo.payments.store.cases import Case
from malipo.payments.transaction import Status, Type


def case_reason(
    case: Case, *, unsettled_seconds: float, now: datetime, unconnected: Collection[tuple[Channel, Type]] = ()
) -> str:
    transaction, review_reason = case.transaction, case.dispatch.review_reason if case.dispatch else None
    if case.is_contradicted:
        return "now_unpaid" if transaction.status is Status.COMPLETED else "now_paid"
    if review_reason is ReviewReason.NOT_FOUND and case.is_retry:
        # Stored alike: its network does not find it, or the payout that it pays again was paid, and it was not queried.
        return "retry_not_sent"
    if review_reason is not None:
        return review_reason.value
    if transaction.status.is_final:
        return "none" if case.proposed is None else "doubted"
    if transaction.processing_at is None:
        return _unsent_reason(case, unconnected)
    return "late" if now - transaction.processing_at > timedelta(seconds=unsettled_seconds) else "none"


def _unsent_reason(case: Case, unconnected: Collection[tuple[Channel, Type]]) -> str:
    if not case.is_merchant_active and case.transaction.type is Type.DISBURSEMENT:
        return "closed_merchant"
    return "not_connected" if is_unconnected(case, unconnected) else "none"


def is_unconnected(case: Case, unconnected: Collection[tuple[Channel, Type]]) -> bool:
    """Whether it is a payout that was never sent, on a channel without a connected network."""
    transaction, dispatch = case.transaction, case.dispatch
    return (
        transaction.status is Status.PENDING
        and transaction.type is Type.DISBURSEMENT  # A collection lapses.
        and (transaction.channel, transaction.type) in unconnected
        and (dispatch is None or dispatch.connector is None)
    )


def since(case: Case) -> datetime:
    """The time from which the outcome has been unclear."""
    transaction = case.transaction
    return transaction.ended_at or transaction.processing_at or transaction.created_at
