"""A closed day at the terminal: as text, as a row, and as JSON. Pure."""

from typing import Any

import msgspec

from malipo.reconciliation.close.close_figures import CloseOutcome, sheet_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.files_to_verify import line_of, pem_of
from malipo.reconciliation.close.plain_text import balance_lines, channel_lines, safeguarding_lines, verdict_of
from malipo.reconciliation.close.signature import message_of
from malipo.reconciliation.close.store.closes import ProposedClose


def as_json(closed: ClosedDay, public_key: bytes) -> dict[str, Any]:
    """The close as JSON: the content as it was hashed, and all that another program needs to check the signature."""
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


_STATES = {CloseOutcome.AGREES: "adds up", CloseOutcome.EXPLAINED: "explained", CloseOutcome.UNEXPLAINED: "accepted"}


def row(closed: ClosedDay) -> dict[str, Any]:
    sheet = sheet_of(closed.close)
    return {
        "day": str(sheet.day),
        "state": _STATES[sheet.outcome],
        "open": sheet.open_count,
        "unexplained": sheet.unexplained,
        "without": sheet.without,
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
    sheet = sheet_of(closed.close)
    lines = [f"{sheet.day} is closed. {verdict_of(closed, sheet)}"]
    for channel in sheet.channels:
        lines += ["", *channel_lines(channel)]
    lines += [
        "",
        *balance_lines(sheet),
        "",
        *safeguarding_lines(sheet.safeguarding),
        "",
        f"Hash {closed.hash.hex()}, signed, closed by {closed.closed_by}.",
    ]
    lines.append(f"Public key {line_of(public_key)} ({closed.key_id}). To check it elsewhere: --signed FOLDER")
    return "\n".join(lines)
