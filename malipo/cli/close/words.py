"""A closed day at the terminal: as text, as a row, and as JSON. Pure."""

from typing import Any

import msgspec

from malipo import clock, money
from malipo.reconciliation.close.day_close import ChannelClose, DayClose, Row
from malipo.reconciliation.close.differences import REASONS, title_of
from malipo.reconciliation.close.differences import in_words as item_in_words
from malipo.reconciliation.close.report import verdict_of
from malipo.reconciliation.close.signature import ClosedDay, message_of
from malipo.reconciliation.close.store.closes import ProposedClose
from malipo.reconciliation.close.verification import line_of, pem_of

_MOST_ITEMS = 10


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
        lines += ["", *_channel(channel)]
    lines += ["", *_balances(close), "", f"Hash {closed.hash.hex()}, signed, closed by {closed.closed_by}."]
    lines.append(f"Public key {line_of(public_key)} ({closed.key_id}). To check it elsewhere: --signed FOLDER")
    return "\n".join(lines)


def _channel(channel: ChannelClose) -> list[str]:
    lines = [f"{channel.channel:<14}{'statement':>16}{'ledger':>16}{'difference':>16}"]
    lines += [_line(row) for row in channel.rows if row.statement or row.ledger or row.name in ("opening", "closing")]
    for account, read in channel.last_readings:
        at = "" if read.read_at is None else f" at {read.read_at.astimezone(clock.ZONE):%H:%M}"
        told = "no statement covers that time" if read.stated is None else f"its statement then: {read.stated:,}"
        lines.append(f"  last reading{' of ' + account if account else ''}{at}: {read.amount:,}; {told}")
    for reason, total in channel.open.items():
        lines.append(f"  open: {money.display(total.amount)}, {total.count:,} {REASONS[reason]}")
    lines += [f"    {item_in_words(each)}" for each in channel.items[:_MOST_ITEMS]]
    if len(channel.items) > _MOST_ITEMS:
        lines.append("    and more: see --csv")
    return lines


def _line(row: Row) -> str:
    statement = "-" if row.statement is None else f"{row.statement:,}"
    difference = "" if row.difference is None else f"{row.difference:,}"
    return f"  {row.name:<12}{statement:>16}{row.ledger:>16,}{difference:>16}".rstrip()


def _balances(close: DayClose) -> list[str]:
    lines = [f"{'balances':<30}{'in the day':>16}{'at its end':>16}"]
    for name, balance in close.balances.items():
        lines.append(f"  {title_of(name):<28}{close.changes.get(name, 0):>16,}{balance:>16,}")
    lines.append(f"  {'trial balance':<44}{close.trial_balance:>16,}")
    lines.append(f"  {'owed by merchants':<44}{close.owed:>16,}")
    return lines
