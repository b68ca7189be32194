"""Adopts a debit on the bank's statement that the restored database does not know, by two operators; and what its
wallet could not bear.

The bank's account follows the statement at once, against suspense, as a network's float follows a contradiction. The
wallet bears what it holds, and owes the rest. If the settlement is here and its file is lost, it is completed. If its
money is in the wallet again, because it was cancelled or has come back, the debit is a settlement of its own.
"""

from datetime import date, datetime

from msgspec.structs import replace

from malipo import ids
from malipo.db import Tx
from malipo.errors import Conflict, Missing
from malipo.ledger.accounts import Account, Move, Posting, Step
from malipo.ledger.store import wallets
from malipo.settlement.settlement import (
    ENDED_IN_WALLET,
    ID_PREFIX,
    Settlement,
    SettlementCause,
    SettlementRefusal,
    SettlementStatus,
)
from malipo.settlement.store import settlements
from malipo.settlement.write_status import SettlementChange, emit, write_changes


async def adopt(
    tx: Tx,
    merchant_id: str,
    key: str,
    amount: int,
    *,
    bank_reference: str,
    booked_on: date,
    by: str,
    reference_prefix: str,
    now: datetime,
) -> Settlement:
    """Adopt the debit with this key. Returns its settlement. `amount` is what the bank has taken, and `by` the operator
    who proposed."""
    # Wallets are locked after settlements, and a request that uses the same key holds the wallet.
    known = await settlements.lock_by_key(tx, key)
    if known is None:
        return await _adopt_new(
            tx, merchant_id, key, amount, (bank_reference, booked_on, by, f"{reference_prefix}-{key}"), now=now
        )
    if known.merchant_id != merchant_id or known.net_amount != amount:
        raise Conflict(code=SettlementRefusal.KEY_USED, id=known.id)
    if known.status in ENDED_IN_WALLET:
        # The key is used; nobody asks for this one again.
        own_key = ids.suffix(now)
        facts = (bank_reference, booked_on, by, f"{reference_prefix}-{own_key}")
        return await _adopt_new(tx, merchant_id, own_key, amount, facts, ended=known, now=now)
    if known.completed_at is not None:
        if (known.bank_reference, known.booked_on) != (bank_reference, booked_on):
            raise Conflict(code=SettlementRefusal.KEY_USED, id=known.id)
        return known
    cause = SettlementCause.ADOPTED if known.status is SettlementStatus.REQUESTED else SettlementCause.DEBITED
    changes = {
        "bank_reference": bank_reference,
        "booked_on": booked_on,
        "completed_at": now,
        "sent_at": known.sent_at or now,
    }
    [done] = await write_changes(tx, [SettlementChange(known, cause, changes)], now=now)
    return done


async def _adopt_new(
    tx: Tx,
    merchant_id: str,
    key: str,
    amount: int,
    facts: tuple[str, date, str, str],
    *,
    ended: Settlement | None = None,
    now: datetime,
) -> Settlement:
    """`ended`: the settlement that the bank has paid although its money is in the wallet again."""
    bank_reference, booked_on, by, reference = facts
    locked = await wallets.lock(tx, [merchant_id])
    if merchant_id not in locked:
        raise Missing(code=SettlementRefusal.NO_SUCH, id=merchant_id)
    wallet = locked[merchant_id]
    borne_now = min(wallet.available, amount)
    adopted = Settlement(
        merchant_id=merchant_id,
        id=ids.mint(ID_PREFIX, now),
        key=key,
        reference=reference,
        status=SettlementStatus.COMPLETED,
        amount=amount,
        fee=0,
        bank_account_id=None if ended is None else ended.bank_account_id,
        order_reference=None if ended is None else ended.order_reference,
        created_at=now,
        created_by=by,
        statement_line=wallet.statement_lines + 1 if borne_now else None,
        sent_at=now,
        completed_at=now,
        booked_on=booked_on,
        bank_reference=bank_reference,
        is_adopted=True,
        owed=amount - borne_now,
    )
    if not await settlements.insert(tx, adopted, idempotency_key=None, request_hash=b""):
        raise Conflict(code=SettlementRefusal.KEY_USED, id=key)  # A request has used it just now. Look again.
    debit = Posting(
        merchant_id, adopted.id, Step.CONTRADICTION, [Move(Account.SUSPENSE, Account.BANK, amount)], owed=adopted.owed
    )
    postings = [debit, *([_taken(adopted, borne_now, ordinal=1)] if borne_now else [])]
    await wallets.post(tx, locked, postings, now=now)
    await emit(tx, [adopted], now=now)
    return adopted


async def collect(tx: Tx, settlement_id: str, *, now: datetime, is_waived: bool = False) -> Settlement:
    """Take from the wallet what it still owes of an adopted settlement, as far as it has it; or write it off. By two
    operators."""
    before = (await settlements.lock(tx, [settlement_id])).get(settlement_id)
    if before is None:
        raise Missing(code=SettlementRefusal.NO_SUCH, id=settlement_id)
    locked = await wallets.lock(tx, [before.merchant_id])
    amount = before.owed if is_waived else min(before.owed, locked[before.merchant_id].available)
    if not amount:
        raise Conflict(code=SettlementRefusal.NOTHING_OWED, id=settlement_id)
    ordinal = await settlements.count_resolutions(tx, before) + 1
    source = Account.LOSSES if is_waived else Account.WALLET
    after = replace(before, owed=before.owed - amount, borne=before.borne + amount if is_waived else before.borne)
    posting = _taken(before, amount, ordinal=ordinal, source=source)
    await wallets.post(tx, locked, [replace(posting, owed=-amount)], now=now)
    await settlements.update(tx, [after])
    return after


def _taken(settlement: Settlement, amount: int, *, ordinal: int, source: Account = Account.WALLET) -> Posting:
    moves = [Move(source, Account.SUSPENSE, amount)]
    return Posting(settlement.merchant_id, settlement.id, Step.RESOLUTION, moves, ordinal=ordinal)
