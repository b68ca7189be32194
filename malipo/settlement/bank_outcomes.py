"""What the bank has done with settlements, by its statement or its refusal. `bank`, a layer above, reads those, and
calls these functions in its own transactions. Each can be repeated: the same facts change nothing, and other facts
about the same settlement are a conflict.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple, TypeVar

from malipo.db import Tx
from malipo.errors import Conflict, Missing
from malipo.settlement.payout_files import Written
from malipo.settlement.settlement import Settlement, SettlementCause, SettlementRefusal, SettlementStatus
from malipo.settlement.store import settlements
from malipo.settlement.write_status import SettlementChange, write_changes

_MOST_REASON = 255


class Debit(NamedTuple):
    """The bank has taken a settlement's net amount from our account."""

    settlement_id: str
    bank_reference: str
    booked_on: date


class BankReturn(NamedTuple):
    """The bank has refused a settlement, or given it back."""

    settlement_id: str
    reason: str  # in the bank's words
    bank_reference: str
    booked_on: date


News = TypeVar("News", Debit, BankReturn)


async def complete(tx: Tx, debits: Sequence[Debit], *, now: datetime) -> Written:
    """The bank has booked these debits. The caller has compared the amounts."""
    changes, unchanged = [], []
    for each, debit in await _locked(tx, debits):
        facts = {"bank_reference": debit.bank_reference, "booked_on": debit.booked_on}
        if each.completed_at is not None:
            # Also if it was returned since.
            _require_same((each.bank_reference, each.booked_on), (debit.bank_reference, debit.booked_on), each)
            unchanged.append(each)
        else:
            changes.append(SettlementChange(each, SettlementCause.DEBITED, {**facts, "completed_at": now}))
    return Written(tuple(await write_changes(tx, changes, now=now)), tuple(unchanged))


async def give_back(tx: Tx, returns: Sequence[BankReturn], *, now: datetime) -> Written:
    """The money of these is in their wallets again, with the fee. The caller has compared the amounts."""
    changes, unchanged = [], []
    for each, back in await _locked(tx, returns):
        if each.status is SettlementStatus.RETURNED:
            _require_same(
                (each.return_bank_reference, each.return_booked_on), (back.bank_reference, back.booked_on), each
            )
            unchanged.append(each)
        else:
            facts = {
                "returned_at": now,
                "return_reason": back.reason[:_MOST_REASON],
                "return_bank_reference": back.bank_reference,
                "return_booked_on": back.booked_on,
            }
            changes.append(SettlementChange(each, SettlementCause.GIVEN_BACK, facts))
    return Written(tuple(await write_changes(tx, changes, now=now)), tuple(unchanged))


async def _locked(tx: Tx, news: Sequence[News]) -> list[tuple[Settlement, News]]:
    """Each settlement with its news. Two pieces of news about one settlement contradict each other."""
    by_id: dict[str, News] = {}
    for each in news:
        if by_id.setdefault(each.settlement_id, each) != each:
            raise Conflict(code=SettlementRefusal.KNOWN_OTHERWISE, id=each.settlement_id)
    found = await settlements.lock(tx, by_id)
    if missing := set(by_id) - set(found):
        raise Missing(code=SettlementRefusal.NO_SUCH, id=min(missing))
    return [(each, by_id[each.id]) for each in found.values()]


def _require_same(known: tuple[object, ...], told: tuple[object, ...], settlement: Settlement) -> None:
    if known != told:
        raise Conflict(code=SettlementRefusal.KNOWN_OTHERWISE, id=settlement.id)
