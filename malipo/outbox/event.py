"""The types of events: `payment.…` of collections, `payout.…` of disbursements, `batch.…`, `link.…`, `settlement.…`.
Pure."""

from enum import StrEnum

# The topic of notifications that there is a new event.
EVENTS_TOPIC = "events"


class Event(StrEnum):
    PAYMENT_PENDING = "payment.pending"
    PAYMENT_COMPLETED = "payment.completed"
    PAYMENT_FAILED = "payment.failed"
    PAYMENT_CANCELLED = "payment.cancelled"
    PAYMENT_CORRECTED = "payment.corrected"
    PAYMENT_REFUNDED = "payment.refunded"
    PAYOUT_COMPLETED = "payout.completed"
    PAYOUT_FAILED = "payout.failed"
    PAYOUT_CANCELLED = "payout.cancelled"
    PAYOUT_CORRECTED = "payout.corrected"
    BATCH_COMPLETED = "batch.completed"
    LINK_PAID = "link.paid"
    LINK_LATE = "link.late"
    SETTLEMENT_COMPLETED = "settlement.completed"
    SETTLEMENT_RETURNED = "settlement.returned"


# The events that report the end of a payment. Each ended payment has exactly one; numbering that event counts the
# payment.
ENDS = frozenset(
    {
        Event.PAYMENT_COMPLETED,
        Event.PAYMENT_FAILED,
        Event.PAYMENT_CANCELLED,
        Event.PAYOUT_COMPLETED,
        Event.PAYOUT_FAILED,
        Event.PAYOUT_CANCELLED,
    }
)
# The same as a condition in SQL, for the table of payments' events: all of them but these. (Events of batches, links
# and settlements are in tables of their own.)
_OTHERS = [each for each in Event if each.startswith(("payment.", "payout.")) and each not in ENDS]
IS_END = f"event NOT IN ({', '.join(repr(str(each)) for each in _OTHERS)})"


# A reader gets batch, link and settlement events only if it asks for them.
OF_BATCHES = frozenset({Event.BATCH_COMPLETED})
OF_LINKS = frozenset({Event.LINK_PAID, Event.LINK_LATE})
OF_SETTLEMENTS = frozenset({Event.SETTLEMENT_COMPLETED, Event.SETTLEMENT_RETURNED})

# Sent to an endpoint to test it. Nothing happened to a payment, so it is not in the feed.
TEST_EVENT = "webhook.test"
