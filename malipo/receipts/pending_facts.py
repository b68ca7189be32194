"""The facts of a receipt that are not in the log yet, so that nobody takes its proof as complete. Pure.

A correction or a refund is on the receipt from its commit on. Its fact is in the log a moment later, when its event has
a number. If the receipt did not list it, a verifier would compare the new receipt with the old facts, and refuse it.
"""

from collections.abc import Sequence

from malipo import clock
from malipo.payments.transaction import Status, Transaction
from malipo.receipts.fact import Fact, Kind


def pending(payment: Transaction, facts: Sequence[Fact]) -> list[Kind]:
    """The kinds of facts that are still to come. A receipt without any fact proves nothing, so it lists none."""
    if not facts:
        return []
    kinds = []
    for refund in payment.refunds:
        latest = _latest(facts, refund.id)
        if refund.is_paid != (latest is not None and _is_paid(latest)):
            kinds.append(Kind.REFUNDED if latest is None else Kind.CORRECTED)
    if payment.correction is not None:
        latest = _latest(facts, None)
        outcome = (payment.correction.outcome, clock.iso(payment.correction.corrected_at))
        if latest is None or (latest.outcome, latest.at) != outcome:
            kinds.append(Kind.CORRECTED)
    return kinds


def _latest(facts: Sequence[Fact], refund: str | None) -> Fact | None:
    """The latest known outcome of a refund, or of the payment itself after its end."""
    about = [each for each in facts if each.refund == refund and each.fact is not Kind.COMPLETED]
    return max(about, key=lambda each: each.ordinal or 0, default=None)


def _is_paid(fact: Fact) -> bool:
    return fact.fact is Kind.REFUNDED or fact.outcome == Status.COMPLETED
