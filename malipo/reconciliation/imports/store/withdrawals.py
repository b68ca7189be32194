"""The SQL of withdrawing a statement: its lines are removed, except lines that another file has, which become that
file's (its heir's).
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo import clock
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Tx
from malipo.reconciliation.matching.statement_answer_ids import is_of_line
from malipo.reconciliation.matching.store.line_queue import UnbookedLine
from malipo.reconciliation.matching.store.line_sources import HAS_FACT
from malipo.reconciliation.matching.store.single_matches import report_payments_again
from malipo.reconciliation.matching.store.summed_lines import HAS_SUMMED_KIND, IS_PAYMENT, IS_SUMMED
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store.statement_lines import merge_copies_of

WHY_RESOLVED = "The statement was withdrawn."
DAY_OF_LINE = clock.day_sql("l.moved_at")
# The heir: the other file that has a line `l` of the file $1, and gets it when that file is withdrawn.
HEIR = """
    LATERAL (
        SELECT c.file_id, c.row, c.kind FROM statement_line_copies c JOIN statement_files f ON f.id = c.file_id
        WHERE c.line_id = l.id AND c.file_id <> $1 AND f.withdrawn_at IS NULL ORDER BY f.imported_at, f.id LIMIT 1
    ) heir
"""


# Matches by a fact that only the file $1 has of a line that stays: its key, or that it is a reversal. Not matches
# that two operators have made.
UNTOLD = f"""
    m.how <> 'operator' AND m.role IN ('payment', 'reversal') AND NOT EXISTS (
        SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
        WHERE k.line_id = l.id AND k.file_id <> $1 AND n.withdrawn_at IS NULL AND {HAS_FACT})
"""


class Hindrances(msgspec.Struct, frozen=True):
    """Decisions that must be undone or made before a withdrawal."""

    decided: int  # lines that operators have matched, booked or adopted: to be undone first
    proposed: int  # exceptions that wait for a second operator


class RemainingPayment(msgspec.Struct, frozen=True):
    """A payment that a withdrawn line has ended or corrected. It stays so."""

    receipt: str
    amount: int
    reference: str
    transaction_id: str
    merchant_id: str
    status: str


class FileBooking(msgspec.Struct, frozen=True):
    """The booking of a file's fees or sweeps of a day."""

    id: str
    kind: str
    day: str
    amount: int  # signed as in the statement
    is_undone: bool


async def sort_lines(tx: Tx, file_id: str) -> None:
    """Sort the file's lines into a temporary table: which are removed, and which file gets each of the others."""
    await tx.execute(
        """
        CREATE TEMPORARY TABLE leaving_lines (
            line_id bigint PRIMARY KEY, kind text, day date, heir text COLLATE "C", heir_row integer, heir_kind text,
            is_payment boolean
        ) ON COMMIT DROP
        """
    )
    await tx.execute(
        f"""
        INSERT INTO leaving_lines
        SELECT l.id, l.kind, {DAY_OF_LINE}, heir.file_id, heir.row, heir.kind, {IS_PAYMENT}
        FROM statement_lines l LEFT JOIN {HEIR} ON true
        WHERE l.file_id = $1
        """,
        file_id,
    )
    await tx.execute("ANALYZE leaving_lines")


async def find_hindrances(tx: Tx, file: StatementFile) -> Hindrances:
    row = await tx.fetchrow(
        """
        SELECT (SELECT count(DISTINCT e.line_id) FROM leaving_lines g
                JOIN reconciliation_exceptions e ON e.line_id = g.line_id
                JOIN exception_resolutions r ON r.exception_id = e.id
                WHERE (g.heir IS NULL OR g.kind IN ('fee', 'sweep')) AND r.is_approved AND r.undone_by IS NULL
                  AND r.action IN ('match', 'book', 'adopt')),
               (SELECT count(*) FROM reconciliation_exceptions e WHERE e.state = 'proposed'
                  AND (e.line_id IN (SELECT line_id FROM leaving_lines WHERE heir IS NULL OR kind IN ('fee', 'sweep'))
                       OR (e.kind = 'ours_only' AND e.channel = $1)))
        """,
        file.channel,
    )
    assert row is not None
    return Hindrances(*row)


async def find_ended(connection: Conn, file_id: str) -> list[RemainingPayment]:
    """Payments that lines of a file have ended or corrected, before the file is withdrawn."""
    rows = await connection.fetch(
        f"""
        SELECT l.receipt, l.amount, t.reference, t.id AS transaction_id, t.merchant_id, t.status
        FROM statement_lines l JOIN statement_matches m ON m.line_id = l.id
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
        WHERE l.file_id = $1 AND {_IS_TOLD} ORDER BY l.id
        """,
        file_id,
    )
    return [RemainingPayment(**dict(row)) for row in rows]


async def find_remaining(connection: Conn, file_id: str) -> list[RemainingPayment]:
    """Find the payments that remain as the lines of a file that is withdrawn have left them."""
    rows = await connection.fetch(
        """
        SELECT w.content ->> 'receipt' AS receipt, w.amount, t.reference, t.id AS transaction_id, t.merchant_id,
               t.status
        FROM withdrawn_lines w JOIN transactions t ON t.merchant_id = w.merchant_id AND t.id = w.transaction_id
        WHERE w.file_id = $1 AND w.is_told ORDER BY w.withdrawal_number
        """,
        file_id,
    )
    return [RemainingPayment(**dict(row)) for row in rows]


# Whether a line was reported: an answer with the line's id is stored for a payment that needed the report.
_IS_TOLD = f"""
    m.role IN ('payment', 'reversal') AND EXISTS (
        SELECT FROM network_answers a
        WHERE a.merchant_id = m.merchant_id AND a.transaction_id = m.transaction_id AND a.source = 'statement'
          AND {is_of_line("a", "m.line_id")})
"""


async def find_bookings(connection: Conn, file_id: str) -> list[FileBooking]:
    rows = await connection.fetch(
        """
        SELECT b.id, b.kind, b.reference AS day, CASE b.source WHEN 'float' THEN b.amount ELSE -b.amount END AS amount,
               EXISTS (SELECT FROM house_bookings u WHERE u.reverses = b.id) AS is_undone
        FROM house_bookings b
        WHERE b.file_id = $1 AND b.kind IN ('network_fee', 'sweep') AND b.line_id IS NULL ORDER BY b.reference, b.id
        """,
        file_id,
    )
    return [FileBooking(**dict(row)) for row in rows]


async def withdraw_lines(tx: Tx, file_id: str, proposal_id: str, *, now: datetime) -> list[UnbookedLine]:
    """Remove the file's lines. Fees and sweeps that another file has become new lines of that file, because they are
    booked by file. Other shared lines keep their matches, unless only this file had the fact that they were matched
    by.

    Returns the lines that stay, were matched with payments, and would now be booked by their words.
    """
    await _reopen_fees_of_heirs(tx)
    goes = "(g.heir IS NULL OR g.kind IN ('fee', 'sweep'))"
    await tx.execute(
        f"""
        INSERT INTO withdrawn_lines (
            line_id, proposal_id, file_id, channel, account, moved_at, amount, kind, merchant_id, transaction_id,
            is_told, content)
        SELECT l.id, $1, l.file_id, l.channel, l.account, l.moved_at, l.amount, l.kind,
               CASE WHEN m.role <> 'fee' THEN m.merchant_id END, CASE WHEN m.role <> 'fee' THEN m.transaction_id END,
               coalesce({_IS_TOLD}, false), row_to_json(l)
        FROM leaving_lines g JOIN statement_lines l ON l.id = g.line_id
        LEFT JOIN statement_matches m ON m.line_id = l.id WHERE {goes} ORDER BY l.id
        """,
        proposal_id,
    )
    await report_payments_again(tx, f"SELECT g.line_id FROM leaving_lines g WHERE {goes}")
    await tx.execute(f"DELETE FROM statement_matches m USING leaving_lines g WHERE m.line_id = g.line_id AND {goes}")
    await tx.execute(f"DELETE FROM open_statement_lines o USING leaving_lines g WHERE o.line_id = g.line_id AND {goes}")
    await tx.execute(
        f"""
        UPDATE reconciliation_exceptions e
        SET state = 'resolved', resolved_by = '{SYSTEM_NAME}', resolved_at = $1, why_resolved = $2
        FROM leaving_lines g WHERE e.line_id = g.line_id AND e.state <> 'resolved' AND {goes}
        """,
        now,
        WHY_RESOLVED,
    )
    await _give_to_heirs(tx)
    await tx.execute(
        """
        CREATE TEMPORARY TABLE touched_lines ON COMMIT DROP AS
        SELECT line_id FROM leaving_lines WHERE false
        """
    )
    await tx.execute("INSERT INTO touched_lines SELECT line_id FROM statement_line_copies WHERE file_id = $1", file_id)
    unconfirmed = await _undo_unconfirmed(tx, file_id)
    await tx.execute("DELETE FROM statement_line_copies WHERE file_id = $1", file_id)
    await tx.execute("DELETE FROM statement_lines l USING leaving_lines g WHERE l.id = g.line_id AND g.heir IS NULL")
    await merge_copies_of(tx, "touched_lines")
    return await _find_payments_by_words(tx, unconfirmed)


async def _find_payments_by_words(tx: Tx, unconfirmed: list[int]) -> list[UnbookedLine]:
    """Lines that would now be booked by their words: their match was undone, or another file got them."""
    rows = await tx.fetch(
        f"""
        SELECT l.id AS line_id, l.channel, l.account, l.amount FROM statement_lines l
        WHERE {HAS_SUMMED_KIND} AND (l.id = ANY($1) OR l.id IN (
            SELECT n.new_id FROM given_lines n JOIN leaving_lines g ON g.line_id = n.old_id WHERE g.is_payment))
        ORDER BY l.id
        """,
        unconfirmed,
    )
    return [msgspec.convert(dict(row), UnbookedLine) for row in rows]


async def _undo_unconfirmed(tx: Tx, file_id: str) -> list[int]:
    """Undo the matches by facts that only this file has, so that the lines are matched again by the other files'
    facts. The reversal of such a payment is undone too, because it found the payment by that line. Returns the
    lines."""
    unconfirmed = f"""
        FROM touched_lines t JOIN statement_lines l ON l.id = t.line_id JOIN statement_matches m ON m.line_id = l.id
        WHERE {UNTOLD}
    """
    await report_payments_again(tx, f"SELECT m.line_id {unconfirmed}", file_id)
    rows = await tx.fetch(
        f"""
        WITH unconfirmed AS (SELECT m.line_id, m.role, m.merchant_id, m.transaction_id {unconfirmed}), gone AS (
            DELETE FROM statement_matches s
            WHERE s.line_id IN (SELECT line_id FROM unconfirmed)
               OR (s.role = 'reversal' AND (s.merchant_id, s.transaction_id) IN (
                   SELECT merchant_id, transaction_id FROM unconfirmed WHERE role = 'payment'))
            RETURNING s.line_id
        )
        INSERT INTO open_statement_lines (line_id, channel)
        SELECT l.id, l.channel FROM gone JOIN statement_lines l ON l.id = gone.line_id ON CONFLICT DO NOTHING
        RETURNING line_id
        """,
        file_id,
    )
    return [row["line_id"] for row in rows]


async def _reopen_fees_of_heirs(tx: Tx) -> None:
    """Put the heirs' fees and sweeps of those days back into the queue, so that their sums are booked again with the
    lines that they get. Lines that operators have decided about are not, nor payments whose words are those of a
    fee."""
    await tx.execute(
        f"""
        INSERT INTO open_statement_lines (line_id, channel)
        SELECT l.id, l.channel FROM statement_lines l
        WHERE l.amount <> 0 AND (l.file_id, l.kind, {DAY_OF_LINE}) IN (
                  SELECT heir, heir_kind, day FROM leaving_lines WHERE kind IN ('fee', 'sweep') AND heir IS NOT NULL)
          AND {IS_SUMMED} AND NOT {IS_PAYMENT}
        ON CONFLICT DO NOTHING
        """
    )


async def _give_to_heirs(tx: Tx) -> None:
    await tx.execute(
        """
        UPDATE statement_lines l SET file_id = g.heir, row = g.heir_row
        FROM leaving_lines g WHERE l.id = g.line_id AND g.heir IS NOT NULL AND g.kind NOT IN ('fee', 'sweep')
        """
    )
    await tx.execute(
        """
        CREATE TEMPORARY TABLE given_lines (old_id bigint, new_id bigint, channel text, amount bigint) ON COMMIT DROP
        """
    )
    # The line gets a new id, because a close has counted the old id and takes that back. Its kind is the heir's,
    # because nobody answers for the word of a withdrawn file.
    await tx.execute(
        """
        WITH called AS (
            SELECT g.*, CASE WHEN g.heir_kind = s.kind THEN s.nth ELSE coalesce((
                SELECT max(k.nth) FROM statement_lines k
                WHERE (k.channel, k.account, k.receipt, k.moved_at, k.amount, k.kind)
                      = (s.channel, s.account, s.receipt, s.moved_at, s.amount, g.heir_kind)), 0)
                + row_number() OVER (PARTITION BY s.channel, s.account, s.receipt, s.moved_at, s.amount, g.heir_kind,
                                     g.heir_kind = s.kind ORDER BY s.id) END AS nth
            FROM leaving_lines g JOIN statement_lines s ON s.id = g.line_id
            WHERE g.heir IS NOT NULL AND g.kind IN ('fee', 'sweep')
        ), given AS (
            UPDATE statement_lines l
            SET id = DEFAULT, file_id = c.heir, row = c.heir_row, kind = c.heir_kind, nth = c.nth
            FROM called c WHERE l.id = c.line_id RETURNING c.line_id, l.id, l.channel, l.amount
        )
        INSERT INTO given_lines SELECT * FROM given
        """
    )
    await tx.execute(
        """
        UPDATE statement_line_copies c SET line_id = n.new_id FROM given_lines n WHERE c.line_id = n.old_id
        """
    )
    await tx.execute(
        """
        INSERT INTO open_statement_lines (line_id, channel)
        SELECT new_id, channel FROM given_lines WHERE amount <> 0
        """
    )


async def withdraw_file(tx: Tx, file: StatementFile, *, now: datetime) -> None:
    """Mark the file as withdrawn: it covers no time any more, and its closing balance is no reading of the float."""
    await tx.execute("UPDATE statement_files SET withdrawn_at = $2 WHERE id = $1", file.id, now)
    if file.closing is not None and file.ends_at is not None and not file.problems:
        await tx.execute(
            """
            DELETE FROM float_readings WHERE id = (
                SELECT min(id) FROM float_readings
                WHERE channel = $1 AND account = $2 AND source = 'statement' AND amount = $3 AND read_at = $4)
            """,
            file.channel,
            file.account,
            file.closing,
            min(file.ends_at, file.imported_at),
        )


async def look_for_absent_again(
    tx: Tx, file: StatementFile, channels: Sequence[str], *, first: str, last: str, now: datetime
) -> None:
    """Resolve the exceptions of absent payments of the file's time, and search them again: other files may still cover
    that time."""
    await tx.execute(
        f"""
        UPDATE reconciliation_exceptions
        SET state = 'resolved', resolved_by = '{SYSTEM_NAME}', resolved_at = $4, why_resolved = $5
        WHERE kind = 'ours_only' AND state = 'open' AND channel = ANY($1) AND transaction_id BETWEEN $2 AND $3
        """,
        list(channels),
        first,
        last,
        now,
        WHY_RESOLVED,
    )
    await tx.execute(
        """
        UPDATE matched_files m SET is_absence_checked = false FROM statement_files f
        WHERE m.file_id = f.id AND f.channel = ANY($1) AND f.withdrawn_at IS NULL
          AND f.ends_at >= $2::timestamptz - interval '7 days' AND f.begins_at <= $3::timestamptz + interval '7 days'
        """,
        list(channels),
        file.begins_at,
        file.ends_at,
    )


async def find_days_lines(tx: Tx, file_id: str, *, kind: str, day: str) -> list[tuple[int, int]]:
    """The lines, with their amounts, of which a booking of fees or sweeps is the sum: without lines that operators
    decided about one by one, and without payments whose words are those of a fee."""
    rows = await tx.fetch(
        f"""
        SELECT l.id, l.amount FROM statement_lines l
        WHERE l.file_id = $1 AND l.kind = $2 AND l.amount <> 0
          AND {DAY_OF_LINE} = $3::text::date
          AND {IS_SUMMED} AND NOT {IS_PAYMENT}
        ORDER BY l.id
        """,
        file_id,
        kind,
        day,
    )
    return [(row["id"], row["amount"]) for row in rows]
