"""Writes statuses of settlements, each with its money, its event and its message in one commit. Nothing else changes
one; `create.py` and `adopt.py` insert settlements with their first status."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo import ids
from malipo.db import Tx
from malipo.ledger.accounts import Posting
from malipo.ledger.store import wallets
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.messages.message import Facts
from malipo.outbox import store as outbox
from malipo.outbox.event import Event
from malipo.outbox.store import SettlementEvent
from malipo.settlement import settlement_json
from malipo.settlement.bank_account import BankAccount, named_account
from malipo.settlement.settlement import (
    Settlement,
    SettlementCause,
    SettlementStatus,
    moves_of,
    next_status,
)
from malipo.settlement.store import bank_accounts, settlements

_EVENTS = {
    SettlementStatus.COMPLETED: (Event.SETTLEMENT_COMPLETED, MessageKind.SETTLEMENT_COMPLETED),
    SettlementStatus.RETURNED: (Event.SETTLEMENT_RETURNED, MessageKind.SETTLEMENT_RETURNED),
}
_encode = msgspec.json.Encoder().encode


class SettlementChange(msgspec.Struct, frozen=True):
    """What happens to a settlement; `facts` are the fields that change with its status."""

    before: Settlement
    cause: SettlementCause
    facts: Mapping[str, object] = msgspec.field(default_factory=dict)


async def write_changes(tx: Tx, changes: Sequence[SettlementChange], *, now: datetime) -> list[Settlement]:
    """Write these changes. Returns the settlements after them. The caller has locked them, and each is there once."""
    if not changes:
        return []
    done = [_after(each) for each in changes]
    postings = [posting for each in changes if (posting := _posting_of(each)) is not None]
    if postings:
        locked = await wallets.lock(tx, {each.merchant_id for each in postings})
        await wallets.post(tx, locked, postings, now=now)
    await settlements.update(tx, done)
    await emit(tx, done, now=now)
    return done


def _after(change: SettlementChange) -> Settlement:
    after = replace(change.before, status=next_status(change.before, change.cause), **change.facts)
    # What comes back from the bank settles what the wallet still owed of it.
    return replace(after, owed=0, borne=0) if change.cause is SettlementCause.GIVEN_BACK else after


def _posting_of(change: SettlementChange) -> Posting | None:
    moved = moves_of(change.before, change.cause)
    if moved is None:
        return None
    step, moves = moved
    owed = -change.before.owed if change.cause is SettlementCause.GIVEN_BACK else 0
    return Posting(change.before.merchant_id, change.before.id, step, moves, owed=owed)


async def emit(tx: Tx, changed: Sequence[Settlement], *, now: datetime) -> None:
    """Write the events and the messages of those that are completed or returned."""
    ended = [each for each in changed if each.status in _EVENTS]
    if not ended:
        return
    keys = {(each.merchant_id, each.bank_account_id) for each in ended if each.bank_account_id is not None}
    accounts = await bank_accounts.find(tx, keys)
    events = []
    for each in ended:
        event, kind = _EVENTS[each.status]
        account = None if each.bank_account_id is None else accounts[each.merchant_id, each.bank_account_id]
        body = _encode({"event": event, "settlement": settlement_json.shown(each, account)}).decode()
        events.append(SettlementEvent(ids.mint("evt_", now), each.merchant_id, each.id, event, body, now))
        await write.to_people(tx, kind, each.merchant_id, _facts(each, account), cause=each.id, now=now)
    await outbox.insert_settlement_events(tx, events)


def _facts(settlement: Settlement, account: BankAccount | None) -> Facts:
    is_completed = settlement.status is SettlementStatus.COMPLETED
    facts: Facts = {
        "reference": settlement.reference,
        "amount": settlement.net_amount if is_completed else settlement.amount,
        "path": f"/dashboard/settlements/{settlement.id}",
    }
    if not is_completed:
        facts["reason"] = settlement.return_reason or ""
    return facts if account is None else facts | named_account(account).facts
