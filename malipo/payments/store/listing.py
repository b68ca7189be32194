"""The list of transactions: filters, ranges, search, exact totals and pages."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from malipo import clock, ids
from malipo.db import Conn
from malipo.db.where import Where
from malipo.networks.contract import Channel
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Status, Transaction, Type, folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    status: Status | None = None
    type: Type | None = None
    channel: Channel | None = None
    first: datetime | None = None
    last: datetime | None = None
    search: str | None = None


async def page(
    connection: Conn, merchant_id: str, wanted: Filter, *, page: int, limit: int
) -> tuple[int, list[Transaction]]:
    """How many match, and this page of them, newest first. The connection is a snapshot, so the two agree."""
    where = where_of(merchant_id, wanted)
    total = await connection.fetchval(f"SELECT count(*) FROM transactions t WHERE {where}", *where.values)
    offset = (page - 1) * limit
    if offset >= total:
        return total, []
    rows = await connection.fetch(
        f"""
        SELECT {COLUMNS} FROM transactions t WHERE {where}
        ORDER BY t.id DESC LIMIT ${len(where.values) + 1} OFFSET ${len(where.values) + 2}
        """,
        *where.values,
        limit,
        offset,
    )
    return total, [transaction_of(row) for row in rows]


def where_of(merchant_id: str, wanted: Filter) -> Where:
    where = Where("t.merchant_id = {}", merchant_id)
    where.add("t.status = {}", wanted.status)
    where.add("t.type = {}", wanted.type)
    where.add("t.channel = {}", wanted.channel)
    # An id begins with the time of its creation in milliseconds, so a range of time is a range of ids.
    if wanted.first is not None:
        where.add("t.id >= {}", ids.first_of("txn_", _milliseconds_from(wanted.first)))
    if wanted.last is not None:
        where.add("t.id <= {}", ids.last_of("txn_", clock.milliseconds(wanted.last)))
    if wanted.search is not None:
        where.add("strpos(t.searchable, {}) > 0", folded(wanted.search))
    return where


def _milliseconds_from(moment: datetime) -> int:
    """The first whole millisecond that is not before this moment."""
    whole = clock.milliseconds(moment)
    return whole + (moment.microsecond % 1000 != 0)


async def find_versions(connection: Conn, merchant_ids: Collection[str]) -> dict[str, str]:
    """A word for each merchant that changes whenever a payment of theirs is made, is taken up, or ends."""
    rows = await connection.fetch(
        """
        SELECT merchant_id, concat_ws('-', latest.id, f.last, open.count, open.taken) AS version
        FROM unnest($1::text[]) AS merchant_id
        LEFT JOIN feeds f USING (merchant_id)
        LEFT JOIN LATERAL (SELECT id FROM transactions t WHERE t.merchant_id = merchant_id.merchant_id
                           ORDER BY id DESC LIMIT 1) latest ON true
        LEFT JOIN LATERAL (SELECT count(*) AS count, count(route) AS taken FROM dispatches d
                           WHERE d.merchant_id = merchant_id.merchant_id) open ON true
        """,
        list(merchant_ids),
    )
    return {row["merchant_id"]: row["version"] for row in rows}
