"""The SQL of booked lines whose payments became known, and of the sums that they are taken out of."""

from collections.abc import Sequence
from datetime import date

import msgspec

from malipo import clock
from malipo.db import Tx
from malipo.ledger.accounts import HOUSE
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.store.possible_payments import ACCOUNTS, HAS_LINE, HAS_PAYMENT_LINE
from malipo.reconciliation.matching.store.reported_by_network import SIGNED, keys_of_sql
from malipo.reconciliation.matching.store.summed_lines import IS_PAYMENT, IS_SUMMED, ChargeSum
from malipo.reconciliation.statements.statement_file import FETCHED_BY
from malipo.reconciliation.statements.store.statements import authors_sql

_AUTHORS = authors_sql("f")


class BookedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was booked by its words, in the sum of its file, kind and day."""

    line_id: int
    receipt: str
    file_id: str
    channel: str
    account: str
    kind: str
    day: date
    key: str
    payments: list[str]  # with its receipt and amount, and without a line


class LaterKeyLine(BookedLine, frozen=True, kw_only=True):
    """A booked line whose key is in a file that was imported later."""

    amount: int
    key_file_id: str  # the file
    key_imported_by: str
    authors: tuple[str, ...]  # of the layout that read that file, beside its importer

    @property
    def is_fetched(self) -> bool:
        return self.key_imported_by == FETCHED_BY


# Lines that were booked in a sum, and are not known to be a charge for a payment.
_IS_BOOKED = f"""
    {IS_SUMMED} AND l.amount <> 0
    AND EXISTS (SELECT FROM matched_files q WHERE q.file_id = l.file_id)
    AND NOT EXISTS (SELECT FROM open_statement_lines o WHERE o.line_id = l.id)
    AND NOT EXISTS (SELECT FROM statement_matches s WHERE s.line_id = l.id)
"""


_BOOKED = "l.id AS line_id, l.receipt, l.file_id, l.channel, l.account, l.kind"


_DAY_OF_LINE = clock.day_sql("l.moved_at")


async def find_booked_of_payments(tx: Tx, *, layouts: Sequence[str], accounts: Sequence[str]) -> list[BookedLine]:
    """Booked lines with exactly the receipt and amount of a payment whose float has moved since the last complete run.
    The query goes from payments to lines, because only lines have an index of receipts."""
    rows = await tx.fetch(
        f"""
        WITH {ACCOUNTS}, moved AS MATERIALIZED (
            SELECT DISTINCT e.merchant_id, e.cause_id FROM moves e
            WHERE e.merchant_id <> '{HOUSE}' AND e.channel IS NOT NULL AND e.created_at >= (
                -- Absence is checked at the end of a run. A commit may be slower than the next one.
                SELECT coalesce(max(queued_at) FILTER (WHERE is_absence_checked), min(queued_at)) - interval '1 hour'
                FROM matched_files)
        )
        SELECT {_BOOKED}, l.key, {_DAY_OF_LINE} AS day, array_agg(DISTINCT t.id) AS payments
        FROM moved JOIN transactions t ON t.merchant_id = moved.merchant_id AND t.id = moved.cause_id
        JOIN accounts a ON a.is_shared OR a.channel = t.channel
        CROSS JOIN LATERAL (
            SELECT l.* FROM statement_lines l
            WHERE l.channel = a.channel AND l.account = a.account AND l.receipt = t.provider_reference COLLATE "C"
              AND l.amount = {SIGNED} AND l.cents = 0 OFFSET 0
        ) l
        WHERE t.provider_reference <> '' AND NOT {HAS_LINE} AND {_IS_BOOKED} AND NOT {HAS_PAYMENT_LINE}
        GROUP BY l.id, l.receipt, l.file_id, l.channel, l.account, l.kind, l.key, l.moved_at ORDER BY 1
        """,
        list(layouts),
        list(accounts),
    )
    return [msgspec.convert(dict(row), BookedLine) for row in rows]


async def find_booked_with_later_keys(tx: Tx, *, layouts: Sequence[str], accounts: Sequence[str]) -> list[LaterKeyLine]:
    """Booked lines whose key is in a file that no complete run has seen: a payment without a line has exactly this key,
    or no payment has it and the file was fetched. (An operator's file could be invented.)"""
    rows = await tx.fetch(
        f"""
        WITH {ACCOUNTS}
        SELECT DISTINCT {_BOOKED}, k.key, {_DAY_OF_LINE} AS day, ARRAY[]::text[] AS payments,
               l.amount, f.id AS key_file_id, f.imported_by AS key_imported_by, {_AUTHORS} AS authors
        FROM statement_line_copies k JOIN statement_lines l ON l.id = k.line_id
        JOIN statement_files f ON f.id = k.file_id AND f.withdrawn_at IS NULL
        JOIN accounts a ON a.channel = l.channel AND a.account = l.account
        CROSS JOIN LATERAL (
            SELECT count(*) AS known, count(*) FILTER (WHERE {SIGNED} = l.amount AND l.cents = 0 AND NOT {HAS_LINE})
                   AS exact
            FROM unnest(CASE WHEN a.is_shared THEN $3::text[] ELSE ARRAY[a.channel] END) AS c (channel)
            CROSS JOIN LATERAL ({keys_of_sql("k.key")}) AS n (key)
            JOIN transactions t ON t.channel = c.channel AND t.network_key = n.key
        ) p
        WHERE k.file_id IN (SELECT q.file_id FROM matched_files q WHERE NOT q.is_absence_checked)
          AND k.key <> '' AND {_IS_BOOKED}
          AND (p.exact > 0 AND (k.key = l.key OR f.imported_by = '{FETCHED_BY}')
               OR p.known = 0 AND f.imported_by = '{FETCHED_BY}')
          AND NOT {HAS_PAYMENT_LINE}
        ORDER BY 1
        """,
        list(layouts),
        list(accounts),
        list(Channel),
    )
    return [msgspec.convert(dict(row), LaterKeyLine) for row in rows]


async def find_booking_of(tx: Tx, line: BookedLine, *, kind: str) -> str | None:
    """The booking of the line's file, kind and day; None if its lines cancelled each other."""
    found: str | None = await tx.fetchval(
        """
        SELECT b.id FROM house_bookings b
        WHERE b.file_id = $1 AND b.account = $2 AND b.kind = $3 AND b.reference = $4 AND b.line_id IS NULL
          AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = b.id)
        """,
        line.file_id,
        line.account,
        kind,
        line.day.isoformat(),
    )
    return found


async def sum_booked(tx: Tx, line: BookedLine, *, without: Sequence[int]) -> ChargeSum | None:
    """The sum that was booked with a line, without these lines; None if no line is left."""
    row = await tx.fetchrow(
        f"""
        SELECT l.file_id, l.channel, l.account, l.kind, {_DAY_OF_LINE} AS day,
               sum(l.amount * 100 + l.cents)::bigint AS cents
        FROM statement_lines l
        WHERE l.file_id = $1 AND l.account = $2 AND l.kind = $3 AND {_DAY_OF_LINE} = $4 AND l.id <> ALL($5)
          AND l.amount <> 0
          AND {IS_SUMMED} AND NOT {IS_PAYMENT}
          AND NOT EXISTS (SELECT FROM open_statement_lines o WHERE o.line_id = l.id)
        GROUP BY 1, 2, 3, 4, 5
        """,
        line.file_id,
        line.account,
        line.kind,
        line.day,
        list(without),
    )
    return None if row is None else msgspec.convert(dict(row), ChargeSum)
