"""Which settlements are in which payout file. The files themselves are in `bank`, a layer above, which calls these
functions in its own transactions. Each can be repeated: a second call with the same facts changes nothing, and its
answer says so.

A settlement in a file cannot be cancelled. From the approval of the file on money can leave, and only the bank's word
ends the settlement; a file is voided only with proof that the bank has not paid it.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from malipo.db import Conn, Tx
from malipo.errors import Conflict, Missing
from malipo.ledger.store import wallets
from malipo.settlement import release
from malipo.settlement.bank_account import BankAccount, BankAccountStatus
from malipo.settlement.settlement import Settlement, SettlementCause, SettlementRefusal, SettlementStatus
from malipo.settlement.store import bank_accounts, settlements
from malipo.settlement.write_status import SettlementChange, write_changes


class Unfit(StrEnum):
    """Why a settlement is not put into a file now. It waits, or its merchant cancels it."""

    ACCOUNT = "account"  # it was stopped, or cannot be used yet
    HELD = "held"  # since a restore, until an owner confirms the account
    OWES = "owes"  # the wallet owes after corrections
    INACTIVE = "inactive"  # the merchant is deactivated


class Written(msgspec.Struct, frozen=True):
    """What a call has changed, and what was so already."""

    changed: tuple[Settlement, ...]
    unchanged: tuple[Settlement, ...]


async def due_for_file(tx: Tx, limit: int) -> list[Settlement]:
    """Lock the oldest settlements that wait for a file, fit or not: `unfit_for_file` says which are not."""
    return await settlements.lock_due(tx, most=limit)


async def unfit_for_file(tx: Tx, ids: Collection[str], *, now: datetime) -> dict[str, Unfit]:
    """The settlements that must not be in a file now, and why. Accounts and wallets of all are locked until the commit,
    so that those which an approval finds fit stay fit."""
    found = [*(await settlements.lock(tx, ids)).values()]
    accounts = await bank_accounts.lock_shared(tx, _accounts_of(found))
    locked = await wallets.lock(tx, {each.merchant_id for each in found})
    owing = {each.merchant_id for each in locked.values() if each.owed}
    return await _find_unfit(tx, found, accounts, owing, now=now)


async def look_for_unfit(connection: Conn, ids: Collection[str], *, now: datetime) -> dict[str, Unfit]:
    """The same without a lock, for a page or the terminal: it may change at once."""
    found = await settlements.find(connection, ids)
    accounts = await bank_accounts.find(connection, _accounts_of(found))
    owing = await wallets.find_owing(connection, {each.merchant_id for each in found})
    return await _find_unfit(connection, found, accounts, owing, now=now)


async def sent_to_stopped(tx: Tx, ids: Collection[str]) -> list[Settlement]:
    """Those of these settlements that an approved file sends to a bank account which was stopped since. No other
    account of them is stopped before the commit."""
    found = [each for each in await settlements.find(tx, ids) if each.status is SettlementStatus.SENT]
    accounts = await bank_accounts.lock_shared(tx, _accounts_of(found))
    return _to_stopped(found, accounts)


async def sent_to_held(tx: Tx, ids: Collection[str]) -> list[Settlement]:
    """Those of these settlements that an approved file of before a restore sends to a bank account which no owner has
    confirmed since."""
    found = [each for each in await settlements.find(tx, ids) if each.status is SettlementStatus.SENT]
    accounts = await bank_accounts.lock_shared(tx, _accounts_of(found))
    held = {key for key, each in accounts.items() if each.held_since is not None}
    return [each for each in found if (each.merchant_id, each.bank_account_id) in held]


async def look_for_stopped(connection: Conn, ids: Collection[str]) -> list[Settlement]:
    """The same without a lock, for a page or the terminal: it may change at once."""
    found = [each for each in await settlements.find(connection, ids) if each.status is SettlementStatus.SENT]
    return _to_stopped(found, await bank_accounts.find(connection, _accounts_of(found)))


def _to_stopped(found: Collection[Settlement], accounts: Mapping[tuple[str, str], BankAccount]) -> list[Settlement]:
    stopped = {key for key, each in accounts.items() if each.stored_status is BankAccountStatus.STOPPED}
    return [each for each in found if (each.merchant_id, each.bank_account_id) in stopped]


def _accounts_of(found: Collection[Settlement]) -> list[tuple[str, str]]:
    return [(each.merchant_id, each.bank_account_id) for each in found if each.bank_account_id is not None]


async def _find_unfit(
    connection: Conn,
    found: Collection[Settlement],
    accounts: Mapping[tuple[str, str], BankAccount],
    owing: Collection[str],
    *,
    now: datetime,
) -> dict[str, Unfit]:
    inactive = await settlements.find_inactive_merchants(connection, {each.merchant_id for each in found})
    unfit = {}
    for each in found:
        account = accounts.get((each.merchant_id, each.bank_account_id or ""))
        if account is None or not account.may_be_sent_to(now):
            unfit[each.id] = Unfit.ACCOUNT
        elif account.held_since is not None:
            unfit[each.id] = Unfit.HELD
        elif each.merchant_id in owing:
            unfit[each.id] = Unfit.OWES
        elif each.merchant_id in inactive:
            unfit[each.id] = Unfit.INACTIVE
    return unfit


async def mark_in_file(tx: Tx, ids: Collection[str], file_id: str) -> Written:
    """Put settlements into a file that is gathered. From now on they cannot be cancelled."""
    changed, unchanged = [], []
    for each in await _lock_all(tx, ids):
        if each.payout_file_id == file_id:
            unchanged.append(each)
        elif each.status is not SettlementStatus.REQUESTED:
            raise _wrong_status(each, "gathered")
        elif each.is_in_file:
            raise Conflict(code=SettlementRefusal.IN_A_FILE, id=each.id)
        else:
            changed.append(msgspec.structs.replace(each, payout_file_id=file_id))
    await settlements.set_file(tx, [each.id for each in changed], file_id)
    return Written(tuple(changed), tuple(unchanged))


async def leave_file(tx: Tx, ids: Collection[str], file_id: str) -> Written:
    """Take settlements out of a file that was never approved: they wait for another one, and can be cancelled."""
    changed, unchanged = [], []
    for each in await _lock_all(tx, ids):
        if each.payout_file_id != file_id:
            unchanged.append(each)
        elif each.status is not SettlementStatus.REQUESTED:
            raise _wrong_status(each, "left_file")
        else:
            changed.append(msgspec.structs.replace(each, payout_file_id=None))
    await settlements.set_file(tx, [each.id for each in changed], None)
    return Written(tuple(changed), tuple(unchanged))


async def mark_sent(tx: Tx, ids: Collection[str], file_id: str, *, now: datetime) -> Written:
    """The file is approved: money can leave. After a restore this is refused until operators have released settlements,
    because the bank may have paid some of these already, and pays a repeated EndToEndId again; and while operators hold
    everything."""
    await release.require_may_leave(tx)
    changes, unchanged = [], []
    for each in await _lock_all(tx, ids):
        if each.payout_file_id != file_id:
            raise Conflict(code=SettlementRefusal.NOT_IN_FILE, id=each.id)
        if each.status is SettlementStatus.REQUESTED:
            changes.append(SettlementChange(each, SettlementCause.FILE_APPROVED, {"sent_at": now}))
        else:
            unchanged.append(each)  # it was sent with this file, and perhaps more is known by now
    return Written(tuple(await write_changes(tx, changes, now=now)), tuple(unchanged))


async def wait_again(tx: Tx, ids: Collection[str], file_id: str, *, now: datetime) -> Written:
    """The approved file is voided, and the bank has paid none of these: they wait for another file. One that is not in
    this file any more is left as it is, so that a repeated call does not void the file that it is in by now."""
    changes, unchanged = [], []
    for each in await _lock_all(tx, ids):
        if each.payout_file_id != file_id:
            unchanged.append(each)
        else:
            facts = {"payout_file_id": None, "sent_at": None}
            changes.append(SettlementChange(each, SettlementCause.FILE_VOIDED, facts))
    return Written(tuple(await write_changes(tx, changes, now=now)), tuple(unchanged))


async def _lock_all(tx: Tx, ids: Collection[str]) -> Iterable[Settlement]:
    found = await settlements.lock(tx, ids)
    if missing := set(ids) - set(found):
        raise Missing(code=SettlementRefusal.NO_SUCH, id=min(missing))
    return found.values()


def _wrong_status(settlement: Settlement, what: str) -> Conflict:
    return Conflict(code=SettlementRefusal.WRONG_STATUS, id=settlement.id, status=settlement.status, what=what)
