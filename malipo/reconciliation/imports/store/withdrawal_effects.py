"""The SQL of the effects of a withdrawal: bookings to undo, and bookings that other files get instead. It only
reads."""

from collections.abc import Collection

import msgspec

from malipo.db import Conn
from malipo.reconciliation.imports.store.withdrawals import DAY_OF_LINE, HEIR, UNTOLD
from malipo.reconciliation.matching.store.summed_lines import (
    IS_PAYMENT,
    IS_SUMMED,
    ChargeSum,
    has_summed_kind_sql,
    unconfirmed_sql,
)
from malipo.reconciliation.statements.store.statements import authors_sql

_AUTHORS = authors_sql("f")
# Fees and sweeps of the file that another file has too: they become that file's, of the kind that it calls them. A line
# that two files have has a copy of each.
_GIVEN = f"""
    given AS MATERIALIZED (
        SELECT l.id AS line_id, heir.kind, {DAY_OF_LINE} AS day, heir.file_id AS heir
        FROM statement_line_copies own JOIN statement_lines l ON l.id = own.line_id CROSS JOIN {HEIR}
        WHERE own.file_id = $1 AND l.file_id = $1 AND l.kind IN ('fee', 'sweep')
    )
"""


async def find_bookings_to_undo(connection: Conn, file_id: str) -> list[str]:
    """The bookings of the file, and of files that get fees or sweeps of the same day from it, because their sums
    change."""
    rows = await connection.fetch(
        f"""
        WITH {_GIVEN}
        SELECT b.id FROM house_bookings b
        WHERE b.kind IN ('network_fee', 'sweep') AND b.line_id IS NULL
          AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = b.id)
          AND (b.file_id = $1 OR (b.file_id, b.kind, b.reference) IN (
              SELECT heir, CASE kind WHEN 'fee' THEN 'network_fee' ELSE kind END, day::text FROM given))
        ORDER BY b.id
        """,
        file_id,
    )
    return [row["id"] for row in rows]


async def sum_lines_of_heirs(connection: Conn, file_id: str) -> list[ChargeSum]:
    """The sums that the matching after a withdrawal books again: fees or sweeps of those files and days, with the lines
    that they get. Lines that operators have decided about are not in them."""
    rows = await connection.fetch(
        f"""
        WITH {_GIVEN}, booked AS (
            SELECT g.heir AS file_id, g.kind, g.day, l.id FROM given g JOIN statement_lines l ON l.id = g.line_id
            WHERE {has_summed_kind_sql("g.kind")} AND NOT {IS_PAYMENT}
            UNION ALL
            SELECT l.file_id, l.kind, {DAY_OF_LINE}, l.id FROM statement_lines l
            WHERE (l.file_id, l.kind, {DAY_OF_LINE}) IN (SELECT heir, kind, day FROM given)
              AND {IS_SUMMED} AND NOT {IS_PAYMENT}
        )
        SELECT b.file_id, l.channel, l.account, b.kind, b.day, sum(l.amount * 100 + l.cents)::bigint AS cents,
               f.imported_by, count(*) AS lines, {unconfirmed_sql("b.kind", without="$1")} AS unconfirmed,
               {_AUTHORS} AS authors
        FROM booked b JOIN statement_lines l ON l.id = b.id JOIN statement_files f ON f.id = b.file_id
        WHERE l.amount <> 0 GROUP BY 1, 2, 3, 4, 5, f.imported_by, f.authors ORDER BY 1, 4, 5
        """,
        file_id,
    )
    return [msgspec.convert(dict(row), ChargeSum) for row in rows]


async def count_lines_of_heirs(connection: Conn, file_id: str, waiting_files: Collection[str]) -> tuple[int, int]:
    """How many fees and sweeps of the file other files call so too (without files that wait for a second operator), and
    how many they call something else."""
    row = await connection.fetchrow(
        f"""
        WITH {_GIVEN} SELECT count(*) FILTER (WHERE kind IN ('fee', 'sweep') AND heir <> ALL($2)),
                             count(*) FILTER (WHERE kind NOT IN ('fee', 'sweep')) FROM given
        """,
        file_id,
        list(waiting_files),
    )
    assert row is not None
    return row[0], row[1]


async def count_matches(connection: Conn, file_id: str) -> int:
    """The number of matches that a withdrawal undoes: of lines that only this file has (payments, reversals, bank
    transfers), and matches by facts that only this file has."""
    return int(
        await connection.fetchval(
            f"""
            SELECT (SELECT count(*) FROM statement_lines l JOIN statement_matches m ON m.line_id = l.id
                    WHERE l.file_id = $1 AND m.role <> 'fee' AND NOT EXISTS (SELECT FROM {HEIR}))
                 + (SELECT count(*) FROM statement_line_copies own JOIN statement_lines l ON l.id = own.line_id
                    JOIN statement_matches m ON m.line_id = l.id
                    WHERE own.file_id = $1 AND EXISTS (SELECT FROM {HEIR}) AND {UNTOLD})
            """,
            file_id,
        )
    )
