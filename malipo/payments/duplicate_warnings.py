"""What somebody should look at before they ask or pay once more: it may be a second time. Never a refusal. Pure.

The same number and amount, while it is under way or within a day of being paid; and an order that is paid, or is being
paid, whoever pays it and however much. A collection of which all was refunded does not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from malipo.payments.store.refunds import RefundedCollection
from malipo.payments.transaction import Status, Transaction

# A salary of a month is no repetition of the one before, and a bag of flour of today may be.
LATELY = timedelta(hours=24)
LOOKED_BACK = timedelta(days=30)  # for what is under way


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


def repeats_of(draft: Transaction, known: Sequence[RefundedCollection], *, now: datetime) -> list[Repeat]:
    """Of each kind the latest, and of each payment what matters most. `known` are payments of the same merchant."""
    found: dict[RepeatKind, Repeat] = {}
    for each in sorted(known, key=lambda each: each.collection.id, reverse=True):
        kind = _kind_of(draft, each, now)
        if kind is not None and kind not in found:
            found[kind] = Repeat(kind, each.collection)
    return [found[kind] for kind in RepeatKind if kind in found]


def _kind_of(draft: Transaction, known: RefundedCollection, now: datetime) -> RepeatKind | None:
    earlier = known.collection
    if earlier.type is not draft.type:
        return None
    is_same = (earlier.phone, earlier.amount) == (draft.phone, draft.amount)
    is_same_order = draft.order_reference is not None and earlier.order_reference == draft.order_reference
    if not earlier.status.is_final:
        return RepeatKind.UNDER_WAY if is_same else RepeatKind.ORDER_UNDER_WAY if is_same_order else None
    paid_at = _paid_at(known)
    if paid_at is None:
        return None
    return RepeatKind.ORDER_PAID if is_same_order else RepeatKind.PAID if is_same and paid_at > now - LATELY else None


def _paid_at(known: RefundedCollection) -> datetime | None:
    """By the latest report of its network. None: it was not paid, or all of it was given back."""
    earlier, correction = known.collection, known.correction
    is_paid = earlier.status is Status.COMPLETED if correction is None else correction.is_paid
    if not is_paid or sum(each.amount for each in known.refunds if each.is_paid) >= earlier.amount:
        return None
    reported_at = None if correction is None or correction.latest is None else correction.latest.corrected_at
    return max(each for each in (earlier.ended_at, reported_at) if each is not None)
