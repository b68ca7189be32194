"""Exceptions as rows and in words."""

from typing import Any

from malipo import money
from malipo.reconciliation.exceptions.action import Resolution
from malipo.reconciliation.matching.exception import ReconciliationException, Suggestion
from malipo.words.matching_summary import KINDS


def row_of(found: ReconciliationException) -> dict[str, Any]:
    """An exception as a row for a table or for programs. The reference is our payment's, else the network's receipt."""
    return {
        "id": found.id,
        "kind": found.kind,
        "channel": found.channel,
        "amount": found.amount,
        "reference": found.reference or found.receipt,
        "receipt": found.receipt,
        "payment": found.transaction_id,
        "moved": found.moved_at,
        "found": found.found_at,
        "state": found.state,
    }


def exact_line(found: ReconciliationException) -> str:
    """What its line moved, as the network wrote it."""
    amount = money.exact(found.line_amount or 0, found.line_cents or 0)
    return amount if amount.startswith("-") else f"+{amount}"


def lines_of(found: ReconciliationException) -> list[tuple[str, Any]]:
    shown = [
        ("what it is", KINDS[found.kind]),
        ("account", found.account or None),
        ("line", None if found.line_id is None else f"{exact_line(found)}: {found.details}"),
        ("phone", found.phone or None),
        ("key", found.key or None),
        ("merchant", found.merchant_id),
        ("status", found.status),
        ("payment's amount", found.payment_amount),
        ("resolved by", found.resolved_by),
        ("resolved because", found.why_resolved),
    ]
    return [*row_of(found).items(), *((name, value) for name, value in shown if value is not None)]


def suggested(each: Suggestion) -> dict[str, Any]:
    return {
        "why": each.why,
        "reference": each.reference,
        "merchant": each.merchant_id,
        "type": each.type,
        "status": each.status,
        "amount": each.amount,
        "phone": each.phone,
        "created": each.created_at,
    }


def proposed(each: Resolution) -> dict[str, Any]:
    decided = {None: "waits", True: "approved", False: "rejected"}[each.is_approved]
    return {
        "action": each.action,
        "terms": ", ".join(f"{name} {value}" for name, value in each.terms.items()) or None,
        "reason": each.reason,
        "proposed by": each.requested_by,
        "is": "undone" if each.undone_by else decided,
        "decided by": each.decided_by,
        "booking": each.booking_id,
    }
