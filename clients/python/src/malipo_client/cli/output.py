"""Output: lines for people, or JSON for programs."""

from __future__ import annotations

import argparse
import json

from malipo_client.records import Record, Transaction


def show(record: Record, line: str, arguments: argparse.Namespace) -> None:
    print(json.dumps(record.to_dict(), ensure_ascii=False) if arguments.json else line, flush=True)


def line_of(transaction: Transaction) -> str:
    """With the time at which it got its status. A list does not tell that: there it is when the payment was made."""
    time = transaction.status_logs[-1].timestamp if transaction.status_logs else transaction.created_at
    phone = transaction.buyer_phone or transaction.recipient_phone or "-"
    words = [time[:19] + "Z", transaction.reference, shillings(transaction.amount).rjust(13), phone]
    words += [transaction.channel, transaction.status]
    if transaction.failure_reason:
        words.append(f"({transaction.failure_reason})")
    return plain("  ".join(words))


def shillings(amount: int) -> str:
    return f"TZS {amount:,}"


def plain(text: str) -> str:
    """Without what could control a terminal."""
    return "".join(each if each.isprintable() else " " for each in text)
