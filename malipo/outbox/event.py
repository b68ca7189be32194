"""The events there are. Collections tell `payment.…`, disbursements only `payout.…`. Pure."""

from enum import StrEnum


class Event(StrEnum):
    PAYMENT_PENDING = "payment.pending"
    PAYMENT_COMPLETED = "payment.completed"
    PAYMENT_FAILED = "payment.failed"
    PAYMENT_CANCELLED = "payment.cancelled"
    PAYOUT_COMPLETED = "payout.completed"
    PAYOUT_FAILED = "payout.failed"
    PAYOUT_CANCELLED = "payout.cancelled"


# What an endpoint gets when its owner wants to see whether it works. Nothing happened, so it is not in the feed.
TEST_EVENT = "webhook.test"
