"""Notifies owners of bank accounts. The notices go to everybody who has been an owner in the last 30 days, and cannot
be switched off: somebody who has taken over an owner's account would add a bank account, and remove the other owners.
Each notice of a new or verified account has a single-use link that stops it without a log-in
(`merchants/bank_account_stop_links.py`). Operators are notified of a stopped account to which money is on its way.
"""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.messages.message import Facts
from malipo.messages.store import messages
from malipo.messages.store.messages import Notices

_SHOWN_CHARACTERS = 4


class NamedBankAccount(NamedTuple):
    """A bank account as its notices name it. The number is stored masked."""

    id: str
    bank: str
    number: str
    holder: str

    @property
    def facts(self) -> Facts:
        return {
            "bank_account": self.id,
            "bank": self.bank,
            "account": masked(self.number),
            "holder": self.holder,
        }


def masked(number: str) -> str:
    """An account number as messages show it: its last characters, never more than half. Pure."""
    shown = min(_SHOWN_CHARACTERS, len(number) // 2)
    return "…" + number[len(number) - shown :]


async def account_added(
    tx: Tx, merchant_id: str, account: NamedBankAccount, *, by: str, path: str, now: datetime
) -> None:
    facts = account.facts | {"by": by, "happened_at": now.isoformat(), "path": path}
    await write.to_people(tx, MessageKind.BANK_ACCOUNT_ADDED, merchant_id, facts, now=now, cause=account.id)


async def count_notices_of_added(connection: Conn, account_id: str) -> Notices:
    return await messages.count_notices(connection, MessageKind.BANK_ACCOUNT_ADDED, account_id)


async def account_verified(
    tx: Tx, merchant_id: str, account: NamedBankAccount, *, usable_at: datetime, path: str, now: datetime
) -> None:
    """Also of one that is verified again, or confirmed, after a restore: that is told again."""
    facts = account.facts | {"usable_at": usable_at.isoformat(), "path": path}
    cause = f"{account.id} {now.isoformat()}"
    await write.to_people(tx, MessageKind.BANK_ACCOUNT_VERIFIED, merchant_id, facts, now=now, cause=cause)


async def account_stopped(
    tx: Tx, merchant_id: str, account: NamedBankAccount, *, by: str, path: str, sent_amount: int, now: datetime
) -> None:
    """`sent_amount` is in approved files to the bank: perhaps it cannot be stopped any more."""
    facts = account.facts | {"by": by, "happened_at": now.isoformat(), "path": path}
    if sent_amount:
        facts["sent_amount"] = sent_amount
    await write.to_people(tx, MessageKind.BANK_ACCOUNT_STOPPED, merchant_id, facts, now=now, cause=account.id)


async def money_to_stopped_account(
    tx: Tx,
    merchant: str,
    account: NamedBankAccount,
    *,
    by: str,
    sent_amount: int,
    paid_amount: int,
    files: Collection[str],
    now: datetime,
) -> None:
    """Notify all operators, also who has stopped it, that money is on its way to an account that was stopped, or has
    just arrived there. `files` are the approved files which send it."""
    facts = account.facts | {"merchant": merchant, "by": by, "happened_at": now.isoformat()}
    facts |= {"sent_amount": sent_amount} if sent_amount else {}
    facts |= {"paid_amount": paid_amount} if paid_amount else {}
    facts |= {"files": ", ".join(sorted(files))} if files else {}
    await write.to_operators(tx, MessageKind.STOPPED_ACCOUNT_IN_FILE, facts, now=now, cause=account.id)


async def look_after_restore(tx: Tx, merchant_id: str, *, restored_at: datetime, path: str, now: datetime) -> None:
    """Nothing is sent before an owner has looked."""
    facts: Facts = {"restored_at": restored_at.isoformat(), "path": path}
    cause = f"{merchant_id} {restored_at.isoformat()}"
    await write.to_people(tx, MessageKind.LOOK_AFTER_RESTORE, merchant_id, facts, now=now, cause=cause)
