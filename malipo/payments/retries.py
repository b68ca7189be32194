"""Whether a payout that failed still counts as failed, so that it may be paid again. Pure.

A network may report later that it has paid it. A retry that is approved or sent after that report would pay the
recipient twice. A retry that fails is itself retried, so what counts is the whole chain: if any payout of it was paid,
the recipient has the money.
"""

from collections.abc import Iterable
from enum import IntEnum

import msgspec

from malipo.payments.transaction import Status


class Standing(IntEnum):
    """Of a payout that is retried. Of several, the highest counts."""

    FAILED = 0  # it may be paid again
    IN_DOUBT = 1  # somebody reports that it was paid, and that is not decided; or it has not ended
    PAID = 2  # paying it again would pay it twice


class RetriedPayout(msgspec.Struct, frozen=True):
    """What is known of a payout that is retried."""

    status: Status
    is_reported_paid: bool | None  # by the latest report after its end; None: there was none
    is_doubted: bool  # its dispatch waits for a query, or for operators, about such a report

    @property
    def standing(self) -> Standing:
        is_paid = self.status is Status.COMPLETED if self.is_reported_paid is None else self.is_reported_paid
        if is_paid:
            return Standing.PAID
        return Standing.IN_DOUBT if self.is_doubted or not self.status.is_final else Standing.FAILED


def worst(chain: Iterable[RetriedPayout | None]) -> Standing:
    """Of a chain of retries. None: we do not have that payout, so nobody knows."""
    return max((Standing.IN_DOUBT if each is None else each.standing for each in chain), default=Standing.FAILED)
