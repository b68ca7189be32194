"""Why an operator should look at a payment. Pure; the words are in the catalogues."""

from datetime import datetime, timedelta

from malipo.payments.store.cases import Case
from malipo.payments.transaction import Status

SENTENCES = {
    "not_found": "The network does not know it, and it must not be sent again.",
    "forgotten": "The network had it, and now does not know it.",
    "differs": "The network speaks of another amount or phone.",
    "unsent": "The network spoke of it before it was sent.",
    "unheard": "Its answer was not heard, and the network cannot be asked.",
    "now_unpaid": "The network said that it was paid, and now that it was not.",
    "now_paid": "The network said that it was not paid, and now that it was.",
    "doubted": "An operator doubts how it ended. Another one must look at it.",
    "late": "It takes too long.",
    "none": "Nothing is in question.",
}


def reason(case: Case, *, unsettled_seconds: float, now: datetime) -> str:
    transaction, attention = case.transaction, case.dispatch.attention if case.dispatch else None
    if case.is_contradicted:
        return "now_unpaid" if transaction.status is Status.COMPLETED else "now_paid"
    if transaction.status.is_final:
        return "none" if case.proposed is None else "doubted"
    if transaction.processing_at is None:
        return "none"
    if attention is not None:
        return attention.value
    return "late" if now - transaction.processing_at > timedelta(seconds=unsettled_seconds) else "none"


def since(case: Case) -> datetime:
    """From when on somebody has waited for the truth."""
    transaction = case.transaction
    return transaction.ended_at or transaction.processing_at or transaction.created_at
