"""Finds lines that would be booked by their words but may be payments: operators decide about each."""

from collections.abc import Sequence

from malipo.db import Tx
from malipo.reconciliation.matching.payment_times import ids_of, payment_times
from malipo.reconciliation.matching.possible_payment import may_be_payment
from malipo.reconciliation.matching.store import possible_payments as store
from malipo.reconciliation.matching.store.possible_payments import SuspectLine


async def find_possible_payments(tx: Tx, *, layouts: Sequence[str], accounts: Sequence[str]) -> list[SuspectLine]:
    """The lines that name one of our keys and are no charge for its payment, or that resemble a payment that may still
    be paid."""
    suspects = await store.find_suspects(tx, layouts=layouts, accounts=accounts)
    possible = [each for each in suspects if _is_possible(each)]
    rest = [each for each in suspects if each.phone and not _is_possible(each)]
    if not rest:
        return possible
    first, last = ids_of(payment_times({each.day for each in rest}))
    line_ids = [each.line_id for each in rest]
    like = await store.find_like_payments(tx, line_ids, layouts=layouts, accounts=accounts, first=first, last=last)
    return [*possible, *(each for each in rest if each.line_id in like)]


def _is_possible(line: SuspectLine) -> bool:
    """Whether the line may be a payment. A fee that names the key of a paid payment is a charge for it, with another
    amount; a sweep is never a charge. An unpaid payment may have the key of a lost one."""
    key = "" if line.is_charge else line.key
    return may_be_payment(line.kind, line.amount, key=key, phone=line.phone)
