"""Whether a payout that failed still counts as failed, so that it may be paid again. Pure.

A network may report later that it has paid it. A retry that is approved or sent after that report would pay the
recipient twice. A retry that fails is itself retried, so what counts is the whole chain: if any payout of it was paid,
the recipient has the money.
"""

from collections.abc import Iterable
from enum import IntEnum

import msgspec

from malipo.payments.transaction import Status


class RetriedOutcome(IntEnum):
    """Whether a failed payout may be paid again. Of several payouts, the highest counts."""

    FAILED = 0  # it may be paid again
    IN_DOUBT = 1  # it was reported as paid, which is not decided yet; or it has not ended
    PAID = 2  # paying it again would pay it twice


class RetriedPayout(msgspec.Struct, frozen=True):
    """A payout that is retried, with the reports about it."""

    status: Status
    is_reported_paid: bool | None  # by the latest report after its end; None: there was none
    is_doubted: bool  # its dispatch waits for a query, or for operators, about such a report

    @property
    def outcome(self) -> RetriedOutcome:
        is_paid = self.status is Status.COMPLETED if self.is_reported_paid is None else self.is_reported_paid
        if is_paid:
            return RetriedOutcome.PAID
        return RetriedOutcome.IN_DOUBT if self.is_doubted or not self.status.is_final else RetriedOutcome.FAILED


def worst(chain: Iterable[RetriedPayout | None]) -> RetriedOutcome:
    """The outcome of a chain of retries. None is a payout that we do not have, whose outcome is unknown."""
    return max(
        (RetriedOutcome.IN_DOUBT if each is None else each.outcome for each in chain), default=RetriedOutcome.FAILED
    )
