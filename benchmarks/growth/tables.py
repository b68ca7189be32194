"""Which tables grow with the payments, and how long their rows are kept. docs/operating/growth.md says why. Pure."""

from enum import StrEnum


class Kept(StrEnum):
    FOR_EVER = "for ever"
    DAYS = "MALIPO_EVENTS_KEEP_DAYS"
    UNTIL_THE_END = "until the payment ends"


# Every other table grows with merchants, people and what they do, or with time, and not with payments.
GROWING = {
    "transactions": Kept.FOR_EVER,
    "idempotency_keys": Kept.FOR_EVER,
    "moves": Kept.FOR_EVER,
    "search_index": Kept.FOR_EVER,
    "network_answers": Kept.FOR_EVER,
    "batch_items": Kept.FOR_EVER,
    "rollup_counts": Kept.FOR_EVER,
    "daily_totals": Kept.FOR_EVER,
    "events": Kept.DAYS,
    "webhook_deliveries": Kept.DAYS,
    "webhook_attempts": Kept.DAYS,
    "dispatches": Kept.UNTIL_THE_END,
}
