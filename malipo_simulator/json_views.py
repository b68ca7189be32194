"""JSON views: what scripts read."""

from datetime import UTC, datetime
from typing import Any

from malipo_simulator.behaviour import Outcome
from malipo_simulator.request_log import RequestLogEntry, mask
from malipo_simulator.state import Movement
from malipo_simulator.transaction import Transaction


def show_time(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def show_prompt(transaction: Transaction) -> dict[str, Any]:
    return {
        "id": transaction.id,
        "channel": transaction.channel,
        "phone": transaction.phone,
        "amount": transaction.amount,
        "merchant": transaction.merchant,
        "state": transaction.prompt,
    }


def show_movement(movement: Movement) -> dict[str, Any]:
    return {
        "kind": movement.kind,
        "amount": movement.amount,
        "channel": movement.channel,
        "reference": movement.reference,
        "at": show_time(movement.at),
        "isReversal": movement.is_reversal,
    }


def state_of(transaction: Transaction) -> str:
    if transaction.outcome is None:
        return "pending"
    if transaction.outcome is Outcome.REVERSED:
        return "reversed"
    return "success" if transaction.outcome is Outcome.SUCCESS else "failed"


def show_transaction(transaction: Transaction) -> dict[str, Any]:
    return {
        "gateway": transaction.gateway,
        "channel": transaction.channel,
        "kind": transaction.kind,
        "phone": transaction.phone,
        "amount": transaction.amount,
        "reference": transaction.reference,
        "networkId": transaction.network_id,
        "receipt": transaction.receipt if transaction.has_moved else None,
        "state": state_of(transaction),
        "outcome": transaction.outcome,
        "prompt": transaction.prompt,
        "takenAt": show_time(transaction.taken_at),
        "dueAt": show_time(transaction.due_at),
        "decidedAt": show_time(transaction.decided_at),
        "isTold": transaction.is_told,
        "isOpeningDue": transaction.is_opening_due,
    }


def show_entry(entry: RequestLogEntry) -> dict[str, Any]:
    return {
        "at": show_time(entry.at),
        "channel": entry.gateway,
        "direction": entry.direction,
        "method": entry.method,
        "path": mask(entry.path.encode()),
        "headers": entry.shown_headers(),
        "body": mask(entry.body),
        "status": entry.status,
        "reply": mask(entry.reply),
        "seconds": None if entry.seconds is None else round(entry.seconds, 4),
        "verdict": entry.verdict,
        "attempt": entry.attempt or None,
        "phone": entry.phone or None,
        "reference": entry.reference or None,
    }
