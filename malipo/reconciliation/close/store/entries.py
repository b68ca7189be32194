"""The SQL of a day's entries: each thing that changed a network's account, by its statement or by the ledger.

Entries of one subject, such as a payment and its lines, cancel each other; the rest is open. The entries are in a
temporary table of the transaction, so memory stays flat however long the day was.
"""

from collections.abc import Sequence
from datetime import date, datetime

import msgspec

from malipo import clock
from malipo.db import Tx
from malipo.db.whole_sets import whole_sets_sql
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.close.two_columns import AccountFlow
from malipo.reconciliation.matching.store.summed_lines import HAS_SUMMED_KIND, IS_PAYMENT, SHILLINGS

# A withdrawn line names the payment that it was matched with.
_WAS_PAYMENT = f"coalesce(l.merchant_id <> '{HOUSE}' AND l.kind <> 'reversal', false)"


def _kind_of_line(is_payment: str) -> str:
    return f"""
        CASE WHEN l.kind = 'money' OR {is_payment} THEN CASE WHEN l.amount > 0 THEN 'in' ELSE 'out' END
             ELSE CASE l.kind WHEN 'fee' THEN 'fees' WHEN 'reversal' THEN 'reversals' WHEN 'bank' THEN 'bank'
                              WHEN 'sweep' THEN 'sweeps' ELSE 'other' END END
    """


_KIND_OF_LINE = _kind_of_line(IS_PAYMENT)
_DAY_OF_LINE = clock.day_sql("l.moved_at")
_CHANGE_OF_FLOAT = "CASE 'float' WHEN source THEN amount WHEN target THEN -amount ELSE 0 END"


class CountedStatements(msgspec.Struct, frozen=True):
    """How far a channel's statements were counted by the last close that had one."""

    until: datetime
    line_id: int
    withdrawn: int = 0  # the number of the last withdrawn line that was taken back


class LineSum(msgspec.Struct, frozen=True):
    channel: str
    account: str
    change_kind: str
    is_of_closed_day: bool
    amount: int  # in whole shillings, as it is booked
    cents: int  # the cents of the lines beyond that


async def begin(tx: Tx, before: date) -> None:
    """Create the table of entries, with the open entries of the day before."""
    # A day may be a large part of all data, so all kinds of joins are allowed, and there is no timeout.
    await tx.execute(whole_sets_sql("128MB"))
    await tx.execute(
        """
        CREATE TEMPORARY TABLE close_entries (
            channel text, account text, entry_kind text, line_id bigint, file_id text COLLATE "C",
            merchant_id text COLLATE "C", cause_id text COLLATE "C", amount bigint, happened_at timestamptz, since date,
            accepted_on date
        ) ON COMMIT DROP;
        CREATE TEMPORARY TABLE close_snapshot (snapshot pg_snapshot) ON COMMIT DROP
        """
    )
    await tx.execute(
        """
        INSERT INTO close_entries
        SELECT channel, account, entry_kind, line_id, file_id, merchant_id, cause_id, amount, happened_at, since,
               accepted_on
        FROM day_close_entries WHERE day = $1
        """,
        before,
    )


async def add_moves(tx: Tx, day: date, begins: datetime, ends: datetime) -> list[AccountFlow]:
    """Add the day's moves of merchants, read once, and the snapshot that has read them: one statement, one snapshot.
    (House bookings count by their value date: `add_house_bookings`.)"""
    rows = await tx.fetch(
        f"""
        WITH todays AS MATERIALIZED (
            SELECT m.merchant_id, m.cause_id, m.source, m.target, m.channel, m.amount, m.created_at,
                   CASE WHEN m.channel IS NULL THEN NULL
                        WHEN m.step <> 'contradiction' OR (m.source = 'float') = (
                             SELECT t.type = 'COLLECTION' FROM transactions t
                             WHERE t.merchant_id = m.merchant_id AND t.id = m.cause_id)
                        THEN CASE WHEN m.source = 'float' THEN 'in' ELSE 'out' END
                        ELSE 'reversals' END AS change_kind
            FROM moves m WHERE m.created_at >= $1 AND m.created_at < $2 AND m.merchant_id <> '{HOUSE}'
        ), added AS (
            INSERT INTO close_entries
            SELECT channel, '', 'payment', NULL, NULL, merchant_id, cause_id, -sum({_CHANGE_OF_FLOAT}),
                   max(created_at), $3
            FROM todays WHERE channel IS NOT NULL GROUP BY channel, merchant_id, cause_id
        ), seen AS (
            INSERT INTO close_snapshot SELECT pg_current_snapshot()
        )
        SELECT source, target, channel, change_kind, sum(amount)::bigint AS amount FROM todays GROUP BY 1, 2, 3, 4
        """,
        begins,
        ends,
        day,
    )
    return [AccountFlow(**dict(row)) for row in rows]


async def add_house_bookings(tx: Tx, day: date) -> list[AccountFlow]:
    """Add house bookings of this value date. A booking and the one that undoes it are one subject."""
    rows = await tx.fetch(
        f"""
        WITH todays AS MATERIALIZED (
            SELECT b.channel, b.account, b.source, b.target, b.amount, b.booked_at, b.file_id,
                   coalesce(b.line_id, o.line_id) AS line_id, coalesce(b.reverses, b.id) AS root,
                   CASE WHEN l.id IS NOT NULL THEN {_KIND_OF_LINE} ELSE
                       CASE coalesce(o.kind, b.kind) WHEN 'bank_transfer' THEN 'bank' WHEN 'network_fee' THEN 'fees'
                                                     WHEN 'sweep' THEN 'sweeps' WHEN 'rounding' THEN 'rounding'
                                                     ELSE 'other' END
                   END AS change_kind
            FROM house_bookings b
            LEFT JOIN house_bookings o ON o.id = b.reverses
            LEFT JOIN statement_lines l ON l.id = coalesce(b.line_id, o.line_id)
            WHERE b.value_date = $1
        ), added AS (
            INSERT INTO close_entries
            SELECT channel, account,
                   CASE WHEN change_kind = 'fees' AND file_id IS NOT NULL THEN 'fee'
                        WHEN change_kind = 'sweeps' AND file_id IS NOT NULL THEN 'sweep'
                        WHEN change_kind = 'rounding' THEN 'rounding' ELSE 'booking' END,
                   line_id, file_id, '{HOUSE}', root, -{_CHANGE_OF_FLOAT}, booked_at, $1
            FROM todays WHERE 'float' IN (source, target)
        )
        SELECT source, target, CASE WHEN 'float' IN (source, target) THEN channel END AS channel,
               CASE WHEN 'float' IN (source, target) THEN change_kind END AS change_kind, sum(amount)::bigint AS amount
        FROM todays GROUP BY 1, 2, 3, 4
        """,
        day,
    )
    return [AccountFlow(**dict(row)) for row in rows]


async def add_lines(tx: Tx, day: date, ends: datetime, counted: dict[str, CountedStatements]) -> list[LineSum]:
    """Add the lines of these channels that no close has counted: of this day, and late lines of earlier days."""
    if not counted:
        return []
    rows = await tx.fetch(
        f"""
        WITH new AS MATERIALIZED (
            SELECT l.*, {_KIND_OF_LINE} AS change_kind, {_DAY_OF_LINE} < $1 AS is_of_closed_day, {_DAY_OF_LINE} AS day,
                   {HAS_SUMMED_KIND} AND NOT {IS_PAYMENT} AS is_summed
            FROM unnest($3::text[], $4::timestamptz[], $5::bigint[]) AS c (channel, until, line_id)
            JOIN statement_lines l ON l.channel = c.channel AND (l.moved_at >= c.until OR l.id > c.line_id)
            -- Said again as constants, for the indexes.
            WHERE l.moved_at < $2 AND (l.moved_at >= $6 OR l.id > $7)
        ), summed AS MATERIALIZED (
            SELECT channel, account, kind, file_id, day, change_kind, is_of_closed_day, max(moved_at) AS moved_at,
                   sum(amount * 100 + cents) AS cents, {SHILLINGS} AS amount
            FROM new l WHERE is_summed GROUP BY 1, 2, 3, 4, 5, 6, 7
        ), added AS (
            INSERT INTO close_entries
            SELECT channel, account, 'line', id, NULL, NULL, NULL, amount, moved_at, $1 FROM new WHERE NOT is_summed
            UNION ALL
            SELECT channel, account, kind, NULL, file_id, NULL, NULL, sum(amount), max(moved_at), $1
            FROM summed GROUP BY channel, account, kind, file_id
        )
        SELECT channel, account, change_kind, is_of_closed_day, sum(amount)::bigint AS amount,
               sum(cents - amount * 100)::bigint AS cents
        FROM (
            SELECT channel, account, change_kind, is_of_closed_day, amount::numeric, amount * 100 + cents AS cents
            FROM new WHERE NOT is_summed
            UNION ALL
            SELECT channel, account, change_kind, is_of_closed_day, amount, cents FROM summed
        ) AS counted GROUP BY 1, 2, 3, 4
        """,
        day,
        ends,
        list(counted),
        [each.until for each in counted.values()],
        [each.line_id for each in counted.values()],
        min(each.until for each in counted.values()),
        min(each.line_id for each in counted.values()),
    )
    return [LineSum(**dict(row)) for row in rows]


async def add_withdrawn(tx: Tx, day: date, first: datetime, counted: dict[str, CountedStatements]) -> list[LineSum]:
    """Take back lines that a close has counted and that were withdrawn since, because a closed day does not change.

    `first` is when the first closed day began. Lines before it that were there at the channel's first close were never
    counted.
    """
    rows = await tx.fetch(
        f"""
        WITH first_counted AS (
            SELECT DISTINCT ON (c.key) c.key AS channel, (c.value ->> 'line_id')::bigint AS line_id
            FROM day_closes d CROSS JOIN json_each(d.counted::json) c ORDER BY c.key, d.day
        ), gone AS MATERIALIZED (
            SELECT l.*, {_DAY_OF_LINE} AS day, (l.content ->> 'cents')::smallint AS cents,
                   {_kind_of_line(_WAS_PAYMENT)} AS change_kind, {HAS_SUMMED_KIND} AND NOT {_WAS_PAYMENT} AS is_summed
            FROM unnest($2::text[], $3::timestamptz[], $4::bigint[], $5::bigint[])
                 AS c (channel, until, line_id, withdrawn)
            JOIN first_counted f ON f.channel = c.channel
            JOIN withdrawn_lines l ON l.channel = c.channel AND l.withdrawal_number > c.withdrawn
            WHERE l.moved_at < c.until AND l.line_id <= c.line_id AND (l.moved_at >= $6 OR l.line_id > f.line_id)
        ), summed AS MATERIALIZED (
            SELECT channel, account, kind, file_id, day, change_kind, max(moved_at) AS moved_at,
                   sum(amount * 100 + cents) AS cents, {SHILLINGS} AS amount
            FROM gone l WHERE is_summed GROUP BY 1, 2, 3, 4, 5, 6
        ), added AS (
            INSERT INTO close_entries
            SELECT channel, account, 'line', line_id, NULL, NULL, NULL, -amount, moved_at, $1::date
            FROM gone WHERE NOT is_summed
            UNION ALL
            SELECT channel, account, kind, NULL, file_id, NULL, NULL, -sum(amount), max(moved_at), $1::date
            FROM summed GROUP BY channel, account, kind, file_id
        )
        SELECT channel, account, change_kind, true AS is_of_closed_day, -sum(amount)::bigint AS amount,
               -sum(cents - amount * 100)::bigint AS cents
        FROM (
            SELECT channel, account, change_kind, amount::numeric, amount * 100 + cents AS cents
            FROM gone WHERE NOT is_summed
            UNION ALL
            SELECT channel, account, change_kind, amount, cents FROM summed
        ) AS taken_back GROUP BY 1, 2, 3
        """,
        day,
        list(counted),
        [each.until for each in counted.values()],
        [each.line_id for each in counted.values()],
        [each.withdrawn for each in counted.values()],
        first,
    )
    return [LineSum(**dict(row)) for row in rows]


async def add(tx: Tx, entry_kind: str, changes: Sequence[tuple[str, str, int]], *, day: date, moment: datetime) -> None:
    """Add balances that do not follow from the lines, or moves that were written late, by channel and account."""
    await tx.executemany(
        "INSERT INTO close_entries VALUES ($1, $2, $3, NULL, NULL, NULL, NULL, $4, $5, $6)",
        [(channel, account, entry_kind, amount, moment, day) for channel, account, amount in changes if amount],
    )


async def last_line_id(tx: Tx) -> int:
    """The id of the last line. The close is locked, so all lines up to this one are committed or never will be."""
    return int(await tx.fetchval("SELECT coalesce(max(id), 0) FROM statement_lines"))


async def last_withdrawn_number(tx: Tx) -> int:
    """The number of the last withdrawn line, in the same way: a withdrawal also takes the lock of the open day."""
    return int(await tx.fetchval("SELECT coalesce(max(withdrawal_number), 0) FROM withdrawn_lines"))
