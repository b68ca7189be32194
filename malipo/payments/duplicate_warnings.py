"""Warns a person before they create a payment that may be a duplicate. It refuses nothing. Pure.

A payment may be a duplicate if another one has the same number and amount, and is under way or was paid within a day;
or if its order is paid or being paid, from any number and of any amount. A fully refunded collection does not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from malipo.payments.store.refunds import PaymentWithRefunds
from malipo.payments.transaction import Status, Transaction

# Last month's salary is no duplicate of this month's; today's second bag of flour may be one.
LATELY = timedelta(hours=24)
LOOKED_BACK = timedelta(days=30)  # for payments under way


class RepeatKind(StrEnum):
    UNDER_WAY = "under_way"
    ORDER_UNDER_WAY = "order_under_way"
    ORDER_PAID = "order_paid"
    PAID = "paid"


@dataclass(frozen=True, slots=True)
class Repeat:
    kind: RepeatKind
    earlier: Transaction

    @property
    def is_under_way(self) -> bool:
        return self.kind in (RepeatKind.UNDER_WAY, RepeatKind.ORDER_UNDER_WAY)


def repeats_of(draft: Transaction, older: Sequence[PaymentWithRefunds], *, now: datetime) -> list[Repeat]:
    """The latest payment of each kind of warning; a payment counts for its most important kind only. `older` are
    payments of the same merchant."""
    found: dict[RepeatKind, Repeat] = {}
    for each in sorted(older, key=lambda each: each.payment.id, reverse=True):
        kind = _kind_of(draft, each, now)
        if kind is not None and kind not in found:
            found[kind] = Repeat(kind, each.payment)
    return [found[kind] for kind in RepeatKind if kind in found]


def _kind_of(draft: Transaction, older: PaymentWithRefunds, now: datetime) -> RepeatKind | None:
    earlier = older.payment
    if earlier.type is not draft.type:
        return None
    is_same = (earlier.phone, earlier.amount) == (draft.phone, draft.amount)
    is_same_order = draft.order_reference is not None and earlier.order_reference == draft.order_reference
    if not earlier.status.is_final:
        return RepeatKind.UNDER_WAY if is_same else RepeatKind.ORDER_UNDER_WAY if is_same_order else None
    paid_at = _paid_at(older)
    if paid_at is None:
        return None
    return RepeatKind.ORDER_PAID if is_same_order else RepeatKind.PAID if is_same and paid_at > now - LATELY else None


def _paid_at(older: PaymentWithRefunds) -> datetime | None:
    """When it was paid, by the latest report of its network. None if it was not paid, or was fully refunded."""
    earlier, correction = older.payment, older.correction
    is_paid = earlier.status is Status.COMPLETED if correction is None else correction.is_paid
    if not is_paid or sum(each.amount for each in older.refunds if each.is_paid) >= earlier.amount:
        return None
    reported_at = None if correction is None or correction.latest is None else correction.latest.corrected_at
    return max(each for each in (earlier.ended_at, reported_at) if each is not None)
