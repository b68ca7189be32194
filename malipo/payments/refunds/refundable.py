"""Whether a collection can be refunded, and how much of it. Pure.

The latest report counts, and not the status alone: a FAILED refund that turns out paid has returned the money, and a
collection that its network took back has no money to return.
"""

from collections.abc import Sequence

from malipo import money
from malipo.errors import Conflict, Invalid
from malipo.money import MIN_PAYMENT
from malipo.payments import correction_moves
from malipo.payments.correction_moves import Correction
from malipo.payments.transaction import Refund, Status, Transaction, Type

# Of one collection, failed ones included. Its response and its events list all of them, so there must be a limit.
MOST_REFUNDS = 100


class NotRefundable(Conflict):
    code = "not_refundable"


class RefundInProgress(Conflict):
    code = "refund_in_progress"

    def __init__(self, refund: Refund) -> None:
        super().__init__(f"The refund {refund.id} of this payment has not ended. Only one can be under way.")


class RefundInDoubt(Conflict):
    code = "refund_in_progress"

    def __init__(self) -> None:
        super().__init__(
            "A refund of this payment may have been paid before the service was restored. The operators of the service "
            "are finding out; nothing was sent now."
        )


class AlreadyRefunded(Conflict):
    code = "already_refunded"

    def __init__(self, left: int) -> None:
        rest = f"{money.display(left)} is left" if left > 0 else "nothing is left"
        super().__init__(f"This payment was refunded: {rest}, and a refund is at least {money.display(MIN_PAYMENT)}.")


class TooManyRefunds(Conflict):
    code = "too_many_refunds"

    def __init__(self) -> None:
        super().__init__(f"A payment can have {MOST_REFUNDS} refunds, with those that failed. Send a payout instead.")


class AdoptedRefund(Conflict):
    """A refund cannot be made: its network key is that of a lost payout that operators adopted from a statement."""

    code = "already_refunded"

    def __init__(self) -> None:
        super().__init__("The network has paid this refund before the service was restored. See the latest payouts.")


class WrongRefundAmount(Invalid):
    def __init__(self, message: str, *, code: str) -> None:
        super().__init__("The request has invalid fields.", code=code, details={"amount": [message]})


def has_the_money(collection: Transaction, correction: Correction | None) -> bool:
    """Whether the customer's money is with the merchant: the network has it, and the wallet got it."""
    if correction is None:
        return collection.status is Status.COMPLETED
    is_credited = not correction_moves.is_open(collection, correction) and correction.borne == 0
    return correction.is_paid and is_credited


def why_not(collection: Transaction, correction: Correction | None) -> NotRefundable | None:
    """Why it cannot be refunded at all; None if it can."""
    if collection.type is not Type.COLLECTION:
        return NotRefundable("Only a collection can be refunded; this is a payout.")
    if has_the_money(collection, correction):
        return None
    if correction is None:
        return NotRefundable(f"Only a COMPLETED payment can be refunded; this one is {collection.status}.")
    if correction.is_paid:
        return NotRefundable("The customer has paid, but the wallet was not credited, so there is nothing to refund.")
    return NotRefundable("The network has taken this payment back, so there is nothing to refund.")


def left_of(collection: Transaction, refunds: Sequence[Refund]) -> int:
    """The amount that is neither refunded nor in a refund under way. Negative if, by later reports, too much was
    refunded."""
    return collection.amount - sum(each.amount for each in refunds if each.is_paid or each.is_under_way)


def amount_of(
    collection: Transaction, correction: Correction | None, refunds: Sequence[Refund], *, wanted: int | None
) -> int | Conflict | Invalid:
    """The amount of the next refund: the wanted amount, or all that is left. Or the reason why there can be no
    refund."""
    if (refusal := why_not(collection, correction)) is not None:
        return refusal
    for each in refunds:
        if each.is_under_way:
            return RefundInProgress(each)
    left = left_of(collection, refunds)
    if left < MIN_PAYMENT:
        return AlreadyRefunded(left)
    if len(refunds) >= MOST_REFUNDS:
        return TooManyRefunds()
    amount = left if wanted is None else wanted
    if amount > left:
        message = f"amount must be at most {left}: that is what is left of this payment."
        return WrongRefundAmount(message, code="amount_too_large")
    if 0 < left - amount < MIN_PAYMENT:
        message = f"amount must leave 0 or at least {MIN_PAYMENT}: {left} is left of this payment."
        return WrongRefundAmount(message, code="refund_leaves_too_little")
    return amount


def is_excess(
    refund: Transaction, collection: Transaction, correction: Correction | None, refunds: Sequence[Refund]
) -> bool:
    """Whether a refund that was not sent yet would return money that the merchant does not have any more."""
    others = sum(each.amount for each in refunds if each.is_paid and each.id != refund.id)
    return not has_the_money(collection, correction) or others + refund.amount > collection.amount
