"""The JSON of a payment, as the contract defines it for each response and event. Pure."""

from typing import Any

from msgspec.structs import replace

from malipo import clock
from malipo.http.accept_language import Language
from malipo.payments.failure_reasons import in_language
from malipo.payments.transaction import CorrectionNotice, Status, Transaction, Type

View = dict[str, Any]

_PARTY = {Type.COLLECTION: ("buyerPhone", "buyerName"), Type.DISBURSEMENT: ("recipientPhone", "recipientName")}


def created(transaction: Transaction) -> View:
    """The response to the creation of a payment. It never changes, so that a repeated request gets the same
    response."""
    shown: View = {"id": transaction.id, "reference": transaction.reference}
    if transaction.type is Type.DISBURSEMENT:
        shown["type"] = transaction.type
    phone, name = _PARTY[transaction.type]
    shown["amount"] = transaction.amount
    shown["fee"] = transaction.fee
    shown["netAmount"] = transaction.net_amount
    shown["channel"] = transaction.channel
    shown["status"] = Status.PENDING
    shown[phone] = transaction.phone
    shown[name] = transaction.name
    shown["description"] = transaction.description
    _add_own(shown, transaction)
    shown["createdAt"] = clock.iso(transaction.created_at)
    return shown


def listed(transaction: Transaction) -> View:
    """One item of the list."""
    shown = _head(transaction)
    if transaction.type is Type.COLLECTION:
        shown["buyerName"] = transaction.name
    _add_origin(shown, transaction)
    return shown | _times(transaction)


def retrieved(transaction: Transaction, language: Language = Language.ENGLISH) -> View:
    """The response to `GET` of one payment, with all its fields."""
    log = [{"status": status, "timestamp": clock.iso(moment)} for status, moment in transaction.status_log()]
    return in_full(transaction, language) | {"statusLogs": log}


def in_full(transaction: Transaction, language: Language = Language.ENGLISH) -> View:
    """One item of the list with `view=full`: the fields of `GET` of one payment, without its log."""
    reason = in_language(language, transaction.failure_code, transaction.failure_detail, transaction.failure_reason)
    return in_event(replace(transaction, failure_reason=reason))


def in_event(transaction: Transaction) -> View:
    """The body of an event: the transaction as it was at that moment."""
    shown = _head(transaction)
    phone, name = _PARTY[transaction.type]
    shown[phone] = transaction.phone
    shown[name] = transaction.name
    shown["description"] = transaction.description
    shown["metadata"] = transaction.metadata
    _add_own(shown, transaction)
    if transaction.provider_reference is not None:
        shown["providerReference"] = transaction.provider_reference
    if transaction.status is Status.FAILED:
        shown |= {"failureCode": transaction.failure_code, "failureReason": transaction.failure_reason}
        if transaction.failure_detail is not None:
            shown["failureDetail"] = transaction.failure_detail
        if transaction.network_code is not None:
            shown["networkCode"] = transaction.network_code
    if transaction.refunds:
        shown["refundedAmount"] = sum(each.amount for each in transaction.refunds if each.is_paid)
        shown["refunds"] = [each.id for each in transaction.refunds]
    if transaction.correction is not None:
        shown["correction"] = _correction(transaction.correction)
    return shown | _times(transaction)


def _add_own(shown: View, transaction: Transaction) -> None:
    """Add the fields that only some payments have: the order reference, and the batch or collection of a payout."""
    if transaction.order_reference is not None:
        shown["orderReference"] = transaction.order_reference
    _add_origin(shown, transaction)


def _add_origin(shown: View, transaction: Transaction) -> None:
    if transaction.refund_of is not None:
        shown["refundOf"] = transaction.refund_of
    if transaction.batch_id is not None:
        shown["batchId"] = transaction.batch_id
    if transaction.link_id is not None:
        shown["link"] = transaction.link_id


def _correction(notice: CorrectionNotice) -> View:
    return {
        "outcome": notice.outcome,
        "amount": notice.amount,
        "correctedAt": clock.iso(notice.corrected_at),
        "reason": notice.reason,
    }


def _head(transaction: Transaction) -> View:
    return {
        "id": transaction.id,
        "reference": transaction.reference,
        "type": transaction.type,
        "amount": transaction.amount,
        "fee": transaction.fee,
        "netAmount": transaction.net_amount,
        "channel": transaction.channel,
        "status": transaction.status,
    }


def _times(transaction: Transaction) -> View:
    times = {"createdAt": clock.iso(transaction.created_at)}
    if transaction.completed_at is not None:
        times["completedAt"] = clock.iso(transaction.completed_at)
    return times
