"""Debits on the bank's statements that are perhaps of settlements. It only reads: `bank` writes these tables."""

from collections import defaultdict
from collections.abc import Collection
from datetime import date
from typing import NamedTuple

from malipo.bank_evidence.perhaps_paid import KnownAtBank, Trace, is_perhaps_paid
from malipo.bank_evidence.which_count import MAY_COUNT
from malipo.db import Conn


async def find_perhaps_paid(
    connection: Conn, settlements: Collection[KnownAtBank], *, also_booked: bool = True
) -> set[str]:
    """Which of these settlements the bank has perhaps paid by a debit that has not completed them. A statement that
    waits for its second operator says so too."""
    traces = await _find_traces(connection, settlements)
    return {id_ for id_, each in traces.items() if is_perhaps_paid(each, also_booked=also_booked)}


async def _find_traces(connection: Conn, settlements: Collection[KnownAtBank]) -> dict[str, list[Trace]]:
    rows = await connection.fetch(
        f"""
        WITH asked AS (
            SELECT * FROM unnest($1::text[], $2::text[], $3::boolean[]) AS a (id, key, is_completed)
        ), names AS (
            SELECT id, key AS name, false AS is_voided FROM asked
            UNION ALL
            SELECT a.id, f.message_id, l.left_at IS NOT NULL FROM asked a
            JOIN payout_file_lines l ON l.settlement_id = a.id JOIN payout_files f ON f.id = l.file_id
            WHERE f.message_id IS NOT NULL AND (l.why_left = 'voided' OR l.left_at IS NULL AND a.is_completed)
        ), lines AS (
            SELECT n.id, b.id AS line_id, b.cents, b.key IN ('', n.name) AS is_alone, n.is_voided
            FROM names n JOIN bank_lines b ON b.key = n.name
            UNION
            SELECT n.id, b.id, b.cents, b.key IN ('', n.name), n.is_voided
            FROM names n JOIN bank_lines b ON b.message_id = n.name
        )
        SELECT l.id, l.is_alone, l.is_voided, m.meaning, sum(l.cents)::bigint, bool_or(l.cents < 0)
        FROM lines l LEFT JOIN bank_line_matches m ON m.line_id = l.line_id
        WHERE EXISTS (SELECT FROM bank_statement_lines s JOIN bank_statements f ON f.id = s.statement_id
                      WHERE s.line_id = l.line_id AND {MAY_COUNT})
        GROUP BY l.id, l.is_alone, l.is_voided, m.meaning
        """,
        [each.settlement_id for each in settlements],
        [each.key for each in settlements],
        [each.is_completed for each in settlements],
    )
    found: dict[str, list[Trace]] = defaultdict(list)
    for id_, *trace in map(tuple, rows):
        found[id_].append(Trace(*trace))
    return found


class UnknownDebit(NamedTuple):
    booked_on: date
    has_key: bool  # one like ours


async def find_unknown(connection: Conn) -> list[UnknownDebit]:
    """Debits that nobody knows, and that wait for operators. Of settlements whose bank gives no key, or of a file that
    was booked as one sum, nothing else is seen."""
    rows = await connection.fetch(
        """
        SELECT b.booked_on, e.kind = 'unknown_key' FROM bank_exceptions e JOIN bank_lines b ON b.id = e.line_id
        WHERE e.resolved_at IS NULL AND e.kind IN ('unknown_key', 'unknown_debit')
        """
    )
    return [UnknownDebit(*row) for row in map(tuple, rows)]
