"""Writes statuses of settlements, each with its money, its event and its message in one commit. Nothing else writes
one."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo.db import Tx
from malipo.ledger.accounts import Posting
from malipo.ledger.store import wallets
from malipo.messages import write
from malipo.messages.kinds import Kind
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.settlement import (
    Settlement,
    SettlementCause,
    SettlementStatus,
    moves_of,
    next_status,
)
from malipo.settlement.store import bank_accounts, settlements

_ENDS_WITH_NOTICE = {
    SettlementStatus.COMPLETED: Kind.SETTLEMENT_COMPLETED,
    SettlementStatus.RETURNED: Kind.SETTLEMENT_RETURNED,
}


class SettlementChange(msgspec.Struct, frozen=True):
    """What happens to a settlement; `facts` are the fields that change with its status."""

    before: Settlement
    cause: SettlementCause
    facts: Mapping[str, object] = msgspec.field(default_factory=dict)


async def write_changes(tx: Tx, changes: Sequence[SettlementChange], *, now: datetime) -> list[Settlement]:
    """The settlements after their changes. The caller has locked them, each is there once."""
    if not changes:
        return []
    done = [_after(each) for each in changes]
    postings = [posting for each in changes if (posting := _posting_of(each)) is not None]
    if postings:
        locked = await wallets.lock(tx, {each.merchant_id for each in postings})
        await wallets.post(tx, locked, postings, now=now)
    await settlements.update(tx, done)
    await _tell(tx, done, now=now)
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


async def _tell(tx: Tx, changed: Sequence[Settlement], *, now: datetime) -> None:
    told = [each for each in changed if each.status in _ENDS_WITH_NOTICE]
    if not told:
        return
    keys = {(each.merchant_id, each.bank_account_id) for each in told if each.bank_account_id is not None}
    accounts = await bank_accounts.find(tx, keys)
    for each in told:
        account = None if each.bank_account_id is None else accounts[each.merchant_id, each.bank_account_id]
        await write.to_people(
            tx,
            _ENDS_WITH_NOTICE[each.status],
            each.merchant_id,
            _facts(each, account),
            cause=each.id,
            now=now,
        )


def _facts(settlement: Settlement, account: BankAccount | None) -> dict[str, str | int]:
    return {
        "reference": settlement.reference,
        "amount": settlement.net_amount if settlement.status is SettlementStatus.COMPLETED else settlement.amount,
        "account": "" if account is None else f"{account.bic} {account.masked_number}",
        "reason": settlement.return_reason or "",
        "path": f"/dashboard/settlements/{settlement.id}",
    }
