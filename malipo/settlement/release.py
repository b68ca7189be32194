"""The release of settlements: after a restore of the database, nothing more goes to banks before operators allow it.

Files to the bank may have been lost, and the bank has paid them: it pays a repeated EndToEndId again. So no schedule
runs, no file is approved or downloaded, no settlement is cancelled and no transfer is noted as refused, until
statements of our bank accounts cover the lost time and the days on which a lost file may still be booked, and two
operators have released settlements. After that each merchant's owners confirm their bank accounts and save the schedule
again, before a file pays them: accounts that they have stopped since the backup are back, and so is what they have
cancelled.
"""

from datetime import date, datetime, timedelta

from malipo import clock
from malipo.bank_evidence.coverage import is_covered, stretches
from malipo.bank_evidence.store import coverage, debits, holidays
from malipo.db import Conn, Tx
from malipo.errors import Conflict
from malipo.messages import notify_of_bank_accounts
from malipo.restore.store import installation
from malipo.settlement.settlement import SettlementRefusal
from malipo.settlement.store import bank_accounts, releases, schedules, settlements

BANK_ACCOUNTS = "/dashboard/bank-accounts"  # the page of owners
_NOTICED_WITHIN = timedelta(days=1)  # A worker notices a restore in a second. Perhaps none runs at first.


async def is_released(connection: Conn) -> bool:
    return await releases.is_released(connection)


async def require_released(tx: Tx) -> None:
    """Refuse what must wait for the release. The installation's row is locked until the commit: a fence that begins
    meanwhile waits for it. Before a worker has compared the database with its mark, nobody knows whether it was
    restored."""
    if not await releases.lock_if_released(tx):
        raise Conflict(code=SettlementRefusal.NOT_RELEASED)
    if await installation.why_not_cancel(tx) is not None:
        raise Conflict(code=SettlementRefusal.NOT_COMPARED)


async def require_may_leave(tx: Tx) -> None:
    """Refuse what lets money leave for banks: also while operators hold everything. The installation's row is locked
    until the commit, so a hold that begins meanwhile waits for it."""
    await require_released(tx)
    state = await installation.get(tx)
    if state.held_at is not None:
        raise Conflict(code=SettlementRefusal.HELD, by=state.held_by, reason=state.hold_reason)


async def find_lost_time(connection: Conn) -> tuple[date, date]:
    """The days that statements must cover: from the last thing that is known of settlements, to the day on which the
    bank has booked a file that was handed in just before the restore.

    What was done in the last day before the fence is perhaps of after the restore, and shows nothing. If no settlement
    is known, all of them may be lost, since we have an account to pay from."""
    began_at = (await installation.get(connection)).epoch_began_at
    day = clock.day_of(began_at)
    known = await settlements.find_last_known(connection, before=began_at - _NOTICED_WITHIN)
    first = known or await coverage.find_first_account(connection) or day
    banking_days = await holidays.find_banking_days(connection)
    return min(first, day), banking_days.booked_by(day)


async def why_not_covered(connection: Conn) -> Conflict | None:
    """Why settlements cannot be released: statements do not cover the lost time, of every bank account of ours. The
    first file of an account may be among what was lost, so one without files or statements counts too."""
    first, last = await find_lost_time(connection)
    spans = await coverage.find(connection)
    if not spans:  # Perhaps it was added in the lost time, and the first file has left from it.
        return Conflict(code=SettlementRefusal.NO_PAYER_ACCOUNT, first=first.isoformat(), last=last.isoformat())
    if all(is_covered(stretches(each), first, last) for each in spans.values()):
        return None
    return Conflict(code=SettlementRefusal.NOT_COVERED, first=first.isoformat(), last=last.isoformat())


async def find_waiting_days(connection: Conn) -> tuple[date, date] | None:
    """While settlements wait for their release, the days that statements of our accounts must cover. None: they are
    released, or nobody has settlements: we have no account to pay from, and no merchant has a bank account."""
    if await releases.is_released(connection):
        return None
    has_any = await coverage.find(connection) or await bank_accounts.find_latest(connection, limit=1)
    return await find_lost_time(connection) if has_any else None


async def is_account_missing(connection: Conn) -> bool:
    """Whether no statement can cover the lost time, because no account of ours is known: operators add it first."""
    return not await coverage.find(connection)


async def count_unknown_debits(connection: Conn) -> int:
    """How many debits wait for operators that are perhaps of settlements which the database has lost: with a key like
    ours, and after a restore all of the lost time, because not every bank's statement has keys."""
    found = await debits.find_unknown(connection)
    if found and (await installation.get(connection)).epoch > 1:
        first, last = await find_lost_time(connection)
        found = [each for each in found if each.has_key or first <= each.booked_on <= last]
    else:
        found = [each for each in found if each.has_key]
    return len(found)


async def count_lost_debits(connection: Conn) -> int:
    """The same, if the database was restored; else nothing was lost."""
    is_restored = (await installation.get(connection)).epoch > 1
    return await count_unknown_debits(connection) if is_restored else 0


async def release(tx: Tx, *, now: datetime) -> None:
    """Release settlements. The caller has made sure that two operators agree."""
    if await releases.is_released(tx):
        raise Conflict(code=SettlementRefusal.NOTHING_TO_RELEASE)
    if (refusal := await why_not_covered(tx)) is not None:
        raise refusal
    await releases.insert(tx, now=now)
    await _tell_owners(tx, now=now)


async def _tell_owners(tx: Tx, *, now: datetime) -> None:
    """Only owners know which accounts they have stopped since the backup, what they have cancelled, and whether the
    schedule is still right."""
    state = await installation.get(tx)
    held = {each.merchant_id for each in await bank_accounts.find_held(tx)}
    for merchant_id in sorted(held.union(await schedules.find_paused(tx))):
        await notify_of_bank_accounts.look_after_restore(
            tx, merchant_id, restored_at=state.epoch_began_at, path=BANK_ACCOUNTS, now=now
        )
