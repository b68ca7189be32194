"""The number of payments that match a filter, and their sums by outcome: for the dashboard's list.

It reads a limited number of payments, the newest, as a page of the list does, and reports if there may be more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from malipo.db import Conn, Row
from malipo.payments.listing.filters import TransactionFilter, where_of
from malipo.payments.search import query
from malipo.payments.search.ngrams import LEAST
from malipo.payments.transaction import Status, Type

MOST_READ = 20_000


@dataclass(frozen=True, slots=True)
class Sums:
    count: int
    came: int  # of the completed collections
    went: int  # of the completed payouts and refunds
    waiting: int = 0  # of payments that have not ended
    void: int = 0  # of failed and cancelled payments
    is_cut: bool = False  # older payments were not read


async def find(connection: Conn, merchant_id: str, wanted: TransactionFilter, *, most: int = MOST_READ) -> Sums:
    """Count and sum the matches. The connection is in a snapshot."""
    term = wanted.term
    if term is not None and len(term) >= LEAST:
        rows, last = await query.sums(connection, merchant_id, wanted, term), None
    elif wanted.is_exact:
        # An index finds all matches, however old.
        where, last = where_of(merchant_id, wanted), None
        rows = await connection.fetch(f"{query.SUMS} FROM transactions t WHERE {where} GROUP BY 1, 2", *where.values)
    else:
        span = where_of(merchant_id, TransactionFilter(first=wanted.first, last=wanted.last))
        last = await connection.fetchval(
            f"SELECT t.id FROM transactions t WHERE {span} ORDER BY t.id DESC OFFSET {most:d} LIMIT 1", *span.values
        )
        where = where_of(merchant_id, wanted)
        where.add("t.id > {}", last)
        rows = await connection.fetch(f"{query.SUMS} FROM transactions t WHERE {where} GROUP BY 1, 2", *where.values)
    completed = {Type(row["type"]): int(row["amount"]) for row in rows if row["status"] == Status.COMPLETED}
    return Sums(
        count=sum(row["count"] for row in rows),
        came=completed.get(Type.COLLECTION, 0),
        went=completed.get(Type.DISBURSEMENT, 0),
        waiting=_sum_of(rows, Status.PENDING, Status.PROCESSING),
        void=_sum_of(rows, Status.FAILED, Status.CANCELLED),
        is_cut=last is not None,
    )


def _sum_of(rows: Sequence[Row], *statuses: Status) -> int:
    return sum(int(row["amount"]) for row in rows if row["status"] in statuses)
