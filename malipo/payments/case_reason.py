"""The reason of a case: why an operator should look at a payment, as a word. Pure."""

from datetime import datetime, timedelta

from malipo.payments.store.cases import Case
from malipo.payments.transaction import Status, Type


def case_reason(case: Case, *, unsettled_seconds: float, now: datetime) -> str:
    transaction, attention = case.transaction, case.dispatch.attention if case.dispatch else None
    if case.is_contradicted:
        return "now_unpaid" if transaction.status is Status.COMPLETED else "now_paid"
    if attention is not None:
        return attention.value
    if transaction.status.is_final:
        return "none" if case.proposed is None else "doubted"
    if transaction.processing_at is None:
        return "none" if case.is_merchant_active or transaction.type is Type.COLLECTION else "closed_merchant"
    return "late" if now - transaction.processing_at > timedelta(seconds=unsettled_seconds) else "none"


def since(case: Case) -> datetime:
    """Since when the outcome is unclear."""
    transaction = case.transaction
    return transaction.ended_at or transaction.processing_at or transaction.created_at
