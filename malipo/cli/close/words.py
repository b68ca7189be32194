"""A closed day at the terminal: as text, as a row, and as JSON. Pure."""

from typing import Any

import msgspec

from malipo.reconciliation.close.differences import balance_lines, channel_lines
from malipo.reconciliation.close.report import verdict_of
from malipo.reconciliation.close.signature import ClosedDay, message_of
from malipo.reconciliation.close.store.closes import ProposedClose
from malipo.reconciliation.close.verification import line_of, pem_of


def as_json(closed: ClosedDay, public_key: bytes) -> dict[str, Any]:
    """With the close itself as it was hashed, and what it takes to check the signature elsewhere."""
    return {
        "day": str(closed.day),
        "isClosed": True,
        "addsUp": closed.close.adds_up,
        "hash": closed.hash.hex(),
        "previous": closed.previous and closed.previous.hex(),
        "signature": closed.signature.hex(),
        "key": closed.key_id,
        "publicKey": pem_of(public_key),
        "signed": message_of(closed).decode(),
        "closedBy": closed.closed_by,
        "closedAt": closed.closed_at,
        "proposedBy": closed.requested_by,
        "reason": closed.reason,
        "close": msgspec.json.decode(closed.content),
    }


def proposal_as_json(proposal: ProposedClose) -> dict[str, Any]:
    return {
        "day": str(proposal.day),
        "isClosed": False,
        "reason": proposal.reason,
        "without": proposal.without,
        "proposedBy": proposal.requested_by,
    }


def row(closed: ClosedDay) -> dict[str, Any]:
    close = closed.close
    return {
        "day": str(closed.day),
        "state": "adds up" if close.agrees else "explained" if close.adds_up else "accepted",
        "open": sum(total.count for channel in close.channels for total in channel.open.values()),
        "unexplained": sum(channel.unexplained for channel in close.channels),
        "without": close.without,
        "by": closed.closed_by,
        "proposed by": closed.requested_by,
        "reason": closed.reason or None,
    }


def proposal_row(proposal: ProposedClose) -> dict[str, Any]:
    return {
        "day": str(proposal.day),
        "state": "proposed",
        "open": None,
        "unexplained": None,
        "without": proposal.without,
        "by": None,
        "proposed by": proposal.requested_by,
        "reason": proposal.reason,
    }


def in_words(closed: ClosedDay, public_key: bytes) -> str:
    close = closed.close
    lines = [f"{close.day} is closed. {verdict_of(closed)}"]
    for channel in close.channels:
        lines += ["", *channel_lines(channel)]
    lines += ["", *balance_lines(close), "", f"Hash {closed.hash.hex()}, signed, closed by {closed.closed_by}."]
    lines.append(f"Public key {line_of(public_key)} ({closed.key_id}). To check it elsewhere: --signed FOLDER")
    return "\n".join(lines)
