"""The list of transactions: filters, ranges, search, exact totals and pages."""

from dataclasses import dataclass
from datetime import datetime

from malipo import clock, ids
from malipo.db import Conn
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
    where, values = _where(merchant_id, wanted)
    total = await connection.fetchval(f"SELECT count(*) FROM transactions t WHERE {where}", *values)
    offset = (page - 1) * limit
    if offset >= total:
        return total, []
    rows = await connection.fetch(
        f"""
        SELECT {COLUMNS} FROM transactions t WHERE {where}
        ORDER BY t.id DESC LIMIT ${len(values) + 1} OFFSET ${len(values) + 2}
        """,
        *values,
        limit,
        offset,
    )
    return total, [transaction_of(row) for row in rows]


def _where(merchant_id: str, wanted: Filter) -> tuple[str, list[object]]:
    """Only what is asked for stands in the statement, so that each combination gets a plan of its own."""
    conditions = ["t.merchant_id = $1"]
    values: list[object] = [merchant_id]

    def add(condition: str, value: object) -> None:
        values.append(value)
        conditions.append(condition.format(f"${len(values)}"))

    if wanted.status is not None:
        add("t.status = {}", wanted.status)
    if wanted.type is not None:
        add("t.type = {}", wanted.type)
    if wanted.channel is not None:
        add("t.channel = {}", wanted.channel)
    # An id begins with the time of its creation in milliseconds, so a range of time is a range of ids.
    if wanted.first is not None:
        add("t.id >= {}", ids.first_of("txn_", _milliseconds_from(wanted.first)))
    if wanted.last is not None:
        add("t.id <= {}", ids.last_of("txn_", clock.milliseconds(wanted.last)))
    if wanted.search is not None:
        add("strpos(t.searchable, {}) > 0", folded(wanted.search))
    return " AND ".join(conditions), values


def _milliseconds_from(moment: datetime) -> int:
    """The first whole millisecond that is not before this moment."""
    whole = clock.milliseconds(moment)
    return whole + (moment.microsecond % 1000 != 0)
