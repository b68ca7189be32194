"""Debits on the bank's statements that are perhaps of settlements which wait. The room of the bank writes them."""

from collections.abc import Collection
from datetime import date
from typing import NamedTuple

from malipo.db import Conn


async def find_perhaps_paid(connection: Conn, settlement_ids: Collection[str], *, also_booked: bool = True) -> set[str]:
    """Which of these settlements the bank has perhaps paid by a debit that has not completed them: it has the key of
    one, or the MsgId of a voided file that it was in. One that is completed was then perhaps paid again, also by a
    second sum of its file. A statement that waits for its second operator says so too.

    `also_booked`: what operators have booked to the house was paid all the same, unless as much came back and was
    booked too.
    """
    rows = await connection.fetch(
        """
        WITH names AS (
            SELECT id, key AS name, false AS is_voided FROM settlements WHERE id = ANY($1)
            UNION ALL
            SELECT s.id, f.message_id, l.left_at IS NOT NULL FROM settlements s
            JOIN payout_file_lines l ON l.settlement_id = s.id JOIN payout_files f ON f.id = l.file_id
            WHERE s.id = ANY($1) AND f.message_id IS NOT NULL
              AND (l.why_left = 'voided' OR l.left_at IS NULL AND s.completed_at IS NOT NULL)
        ), lines AS (
            SELECT n.id, b.id AS line_id, b.cents, b.key IN ('', n.name) AS is_of_it, n.is_voided
            FROM names n JOIN bank_lines b ON b.key = n.name
            UNION
            SELECT n.id, b.id, b.cents, b.key IN ('', n.name), n.is_voided
            FROM names n JOIN bank_lines b ON b.message_id = n.name
        )
        SELECT l.id FROM lines l LEFT JOIN bank_line_matches m ON m.line_id = l.line_id
        WHERE EXISTS (SELECT FROM bank_statement_lines s JOIN bank_statements f ON f.id = s.statement_id
                      WHERE s.line_id = l.line_id AND f.state IN ('waiting', 'taken'))
        GROUP BY l.id
        HAVING bool_or(l.cents < 0 AND m.line_id IS NULL AND (l.is_of_it OR l.is_voided))
            OR $2 AND sum(l.cents) FILTER (WHERE l.is_of_it AND m.meaning IN ('house', 'booking')) < 0
        """,
        list(settlement_ids),
        also_booked,
    )
    return {row["id"] for row in rows}


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
