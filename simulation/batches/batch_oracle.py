"""What must be true of batches at the end of a run: all of it or nothing, each item once, and what was told is so.

batch       an approved batch lacks payouts, one that was not approved has some, it does not end, or its end is not
            told once
"""

from collections import Counter
from collections.abc import Callable, Iterable

from simulation.batches.merchant_batches import MerchantBatches
from simulation.database import PaymentRow, SimulatedDatabase
from simulation.networks_book import Book

_ROWS = """
    SELECT b.id, b.status, b.item_count, count(t.id) + b.adopted_count, count(t.ended_at) + b.adopted_count,
           (SELECT count(*) FROM batch_events e WHERE e.merchant_id = b.merchant_id AND e.batch_id = b.id)
    FROM batches b
    LEFT JOIN transactions t ON t.merchant_id = b.merchant_id AND t.batch_id = b.id
    GROUP BY b.merchant_id, b.id, b.status, b.item_count, b.adopted_count ORDER BY b.id
"""


def check(
    merchants: MerchantBatches,
    database: SimulatedDatabase,
    book: Book,
    rows_of_wishes: Iterable[PaymentRow],
    *,
    is_in_lost_time: Callable[[float], bool],
    find: Callable[[str, str], None],
) -> None:
    """A restore excuses a cancellation that it may have lost: one that was told after the backup."""
    rows = {str(row[0]): row for row in database.look().ask(_ROWS)}
    for id_, (_, status, count, payouts, ended, told_times) in rows.items():
        is_approved = status in ("RUNNING", "COMPLETED")
        if payouts != (count if is_approved else "0"):
            find("batch", f"{id_} is {status} with {payouts} payouts of {count}")
        if status == "RUNNING" and ended == count:
            find("batch", f"{id_} is RUNNING, and all its payouts have ended")
        if told_times != ("1" if status == "COMPLETED" else "0"):
            find("batch", f"{id_} is {status}, and {told_times} events say that it is complete")
    made = Counter(row.phone for row in rows_of_wishes)
    for batch in merchants.batches:
        told = merchants.told[batch.number]
        for trouble in told.troubles:
            find("broke", f"{batch.key}: {trouble}")
        for item in batch.items:
            if made[item.phone] > 1:
                find("doubled", f"{batch.key}: {item.phone} has {made[item.phone]} payouts")
            if book.times(item.phone, is_charge=False) > 1:
                find("paid-twice", f"{batch.key}: {item.phone} {book.times(item.phone, is_charge=False)} times")
        kept = [at for at in told.approved_at if not is_in_lost_time(at)]
        if kept and any(made[item.phone] != 1 for item in batch.items):
            find("lost", f"{batch.key} was approved, and not every item has a payout")
        backed_up_at = database.backed_up_at if database.brought_back_at is not None else None
        is_cancelled = any(backed_up_at is None or at < backed_up_at for at in told.cancelled_at)
        if is_cancelled and any(book.times(item.phone, is_charge=False) for item in batch.items):
            find("cancelled", f"{batch.key} was cancelled, and money moved")
