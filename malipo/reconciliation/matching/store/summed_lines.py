"""The SQL of fees and sweeps, which are booked as sums: one for each file, kind and day."""

from collections.abc import Sequence
from datetime import date

import msgspec

from malipo import clock
from malipo.db import Conn, Tx
from malipo.reconciliation.matching.exception import UNMATCHED_LINE_KINDS
from malipo.reconciliation.matching.store.line_queue import UnbookedLine
from malipo.reconciliation.statements.statement_file import FETCHED_BY
from malipo.reconciliation.statements.store.statements import authors_sql

_AUTHORS = authors_sql("f")


# Lines that are booked as sums. Incoming money is never booked as a fee: it may be a payment whose remark says "fees".
def has_summed_kind_sql(kind: str) -> str:
    """A condition: whether a line `l` of this kind is booked in a sum."""
    return f"({kind} = 'sweep' OR {kind} = 'fee' AND l.amount < 0)"


HAS_SUMMED_KIND = has_summed_kind_sql("l.kind")


# Except fees and sweeps that may be payments, or whose booking operators have undone: each has an exception, and
# operators decide about it.
IS_SUMMED = f"""
    {HAS_SUMMED_KIND} AND NOT EXISTS (
        SELECT FROM reconciliation_exceptions e
        WHERE e.line_id = l.id AND e.kind IN ({", ".join(f"'{kind}'" for kind in UNMATCHED_LINE_KINDS)}))
"""


# Of lines that are not in the queue: lines with the words of a fee that are matched with a payment.
IS_PAYMENT = "EXISTS (SELECT FROM statement_matches p WHERE p.line_id = l.id AND p.role = 'payment')"


# The nearest whole shillings of a sum of lines, and at least 1, as in `money.split_movement`.
SHILLINGS = """
    CASE WHEN abs(sum(l.amount * 100 + l.cents)) BETWEEN 1 AND 49 THEN sign(sum(l.amount * 100 + l.cents))
         ELSE round(sum(l.amount * 100 + l.cents) / 100.0) END
"""


def unconfirmed_sql(kind: str, *, without: str = "NULL") -> str:
    """An expression: the shillings of lines `l` of this kind, in files `f`, to which no fetched statement gives this
    kind. The file `without` is ignored."""
    return f"""
        coalesce(ceil(sum(abs(l.amount * 100 + l.cents) / 100.0) FILTER (
            WHERE f.imported_by <> '{FETCHED_BY}' AND NOT EXISTS (
                SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
                WHERE k.line_id = l.id AND k.kind = {kind} AND n.imported_by = '{FETCHED_BY}'
                  AND n.withdrawn_at IS NULL AND n.id IS DISTINCT FROM {without}))), 0)::bigint
    """


class ChargeSum(msgspec.Struct, frozen=True, kw_only=True):
    """The fees or the sweeps of a file on a day."""

    file_id: str
    channel: str
    account: str
    kind: str
    day: date
    cents: int  # the whole sum in cents, signed as in the statement
    imported_by: str = ""
    lines: int = 0
    unconfirmed: int = 0  # shillings without signs, of lines to which no fetched statement gives the same kind
    money_in: int = 0  # incoming shillings
    money_out: int = 0
    authors: tuple[str, ...] = ()  # of the layout that read the file, beside its importer


async def sum_lines(connection: Conn, file_id: str | None = None) -> list[ChargeSum]:
    """The open sums of fees and sweeps, of all files or of one."""
    rows = await connection.fetch(
        f"""
        SELECT l.file_id, l.channel, l.account, l.kind,
               {_DAY_OF_LINE} AS day,
               sum(l.amount * 100 + l.cents)::bigint AS cents, f.imported_by, count(*) AS lines,
               {unconfirmed_sql("l.kind")} AS unconfirmed,
               coalesce(sum(l.amount) FILTER (WHERE l.amount > 0), 0)::bigint AS money_in,
               coalesce(-sum(l.amount) FILTER (WHERE l.amount < 0), 0)::bigint AS money_out, {_AUTHORS} AS authors
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        JOIN statement_files f ON f.id = l.file_id
        WHERE {IS_SUMMED} AND ($1::text IS NULL OR l.file_id = $1)
        GROUP BY 1, 2, 3, 4, 5, f.imported_by, f.authors ORDER BY 1, 4, 5
        """,
        file_id,
    )
    return [msgspec.convert(dict(row), ChargeSum) for row in rows]


async def close_summed(tx: Tx, file_ids: Sequence[str]) -> None:
    """Take the lines of `sum_lines` of these files from the queue. They are the same lines, because the caller has
    taken the lock of matching."""
    await tx.execute(
        f"""
        DELETE FROM open_statement_lines o USING statement_lines l
        WHERE l.id = o.line_id AND l.file_id = ANY($1) AND {IS_SUMMED}
        """,
        list(file_ids),
    )


async def find_summed(tx: Tx, file_id: str) -> list[UnbookedLine]:
    """The lines of `sum_lines` of a file, one by one."""
    rows = await tx.fetch(
        f"""
        SELECT l.id AS line_id, l.channel, l.account, l.amount
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE l.file_id = $1 AND {IS_SUMMED} ORDER BY l.id
        """,
        file_id,
    )
    return [msgspec.convert(dict(row), UnbookedLine) for row in rows]


_DAY_OF_LINE = clock.day_sql("l.moved_at")
