"""The JSON of a batch and of its items, as the contract defines it; and their CSV. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from malipo import clock
from malipo.payments.batches.batch import Batch, BatchItem, BatchLine, BatchStatus, BatchWarning, WarningCode
from malipo.payments.transaction import Status, Transaction
from malipo.table_files.csv_export import csv_lines

View = dict[str, Any]

COLUMNS = (
    "amount",
    "channel",
    "recipientPhone",
    "recipientName",
    "description",
    "orderReference",
    "fee",
    "id",
    "reference",
    "status",
    "providerReference",
    "failureCode",
    "failureReason",
)


def created(batch: Batch) -> View:
    """The response to the creation of a batch. It never changes: a repeated request gets the same response."""
    shown = _head(batch, BatchStatus.AWAITING_APPROVAL) | {"createdAt": clock.iso(batch.created_at)}
    return shown | _warnings(batch)


def listed(batch: Batch) -> View:
    """A batch in the list."""
    return _head(batch, batch.status) | _times(batch)


def retrieved(batch: Batch, counts: Mapping[Status, int]) -> View:
    """One batch, with the number of its payouts by status; before it is approved it has none."""
    shown = _head(batch, batch.status)
    if counts:
        shown["counts"] = _counts(counts)
    return shown | _times(batch) | _warnings(batch)


def in_event(batch: Batch, counts: Mapping[Status, int]) -> View:
    """The body of an event about a batch."""
    return _head(batch, batch.status) | {"counts": _counts(counts)} | _times(batch)


def item(line: BatchLine) -> View:
    shown = _input(line.item)
    if line.payout is None:
        return shown
    shown |= {"id": line.payout.id, "reference": line.payout.reference, "status": line.payout.status}
    if line.payout.provider_reference is not None:
        shown["providerReference"] = line.payout.provider_reference
    if line.payout.status is Status.FAILED:
        shown |= {"failureCode": line.payout.failure_code, "failureReason": line.payout.failure_reason}
    if line.payout.completed_at is not None:
        shown["completedAt"] = clock.iso(line.payout.completed_at)
    return shown


def csv_of(lines: Iterable[BatchLine], *, is_first: bool, phone: Callable[[str], str] = str) -> str:
    """Lines of a CSV file: each item with its outcome, in the order of the items; the first piece has the column
    names."""
    rows = [_row(line.item, line.payout, phone) for line in lines]
    return csv_lines([COLUMNS, *rows] if is_first else rows)


def sentence(warning: BatchWarning) -> str:
    name = f"items[{warning.index}]"
    if warning.code is WarningCode.REPEATED_ITEM:
        return f"{name} repeats items[{warning.other}]: the same number and amount."
    if warning.code is WarningCode.PAID_BEFORE:
        return f"{name} was paid already within 30 days: the same number and amount, {warning.other}."
    return f"{name} awaits approval in another batch too: the same number and amount, {warning.other}."


def _head(batch: Batch, status: BatchStatus) -> View:
    return {
        "id": batch.id,
        "name": batch.name,
        "status": status,
        "count": batch.item_count,
        "amount": batch.amount,
        "fee": batch.fee,
    }


def _counts(counts: Mapping[Status, int]) -> dict[Status, int]:
    return {status: counts.get(status, 0) for status in Status}


def _times(batch: Batch) -> View:
    times = {
        "createdAt": batch.created_at,
        "approvedAt": batch.approved_at,
        "completedAt": batch.completed_at,
        "cancelledAt": batch.cancelled_at,
    }
    return {name: clock.iso(moment) for name, moment in times.items() if moment is not None}


def _warnings(batch: Batch) -> View:
    if not batch.warnings:
        return {}
    shown = [{"index": each.index, "code": each.code, "message": sentence(each)} for each in batch.warnings]
    return {"warnings": shown}


def _input(of: BatchItem) -> View:
    shown: View = {
        "index": of.index,
        "amount": of.amount,
        "fee": of.fee,
        "channel": of.channel,
        "recipientPhone": of.phone,
        "recipientName": of.name,
        "description": of.description,
    }
    if of.name_found is not None:
        shown["nameFound"] = of.name_found
    if of.order_reference is not None:
        shown["orderReference"] = of.order_reference
    if of.refund_of is not None:
        shown["refundOf"] = of.refund_of
    return shown


def _row(of: BatchItem, payout: Transaction | None, phone: Callable[[str], str]) -> tuple[str | int, ...]:
    became: tuple[str, ...] = ("", "", "", "", "", "")
    if payout is not None:
        became = (
            payout.id,
            payout.reference,
            payout.status,
            payout.provider_reference or "",
            payout.failure_code or "",
            payout.failure_reason or "",
        )
    return (
        of.amount,
        of.channel,
        phone(of.phone),
        of.name,
        of.description,
        of.order_reference or "",
        of.fee,
        *became,
    )
