"""The SQL of transfers to and from the bank: the network's lines, and the bookings of operators."""

from collections.abc import Sequence
from datetime import date, datetime

import msgspec

from malipo import clock
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Tx
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.statements.statement_file import FETCHED_BY


class BankTransferLine(msgspec.Struct, frozen=True, kw_only=True):
    line_id: int
    channel: str
    amount: int
    day: date
    words: str  # all texts that may contain the bank's reference
    key: str = ""
    phone: str = ""
    is_own: bool = False  # the network's own statement has it


class BookedTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """A transfer that operators have booked, and that is not paired with a line of the network's own yet."""

    booking_id: str
    channel: str
    amount: int
    day: date
    reference: str
    line_id: int | None = None  # a line of an operator's file that one of the network's own would replace


_DAY_OF_LINE = clock.day_sql("l.moved_at")


def _is_own_bank_line(line: str) -> str:
    """A condition: whether the network's own statement calls a line a bank transfer."""
    return f"""
        CASE WHEN EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = {line}.id) THEN EXISTS (
            SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND k.kind = 'bank' AND n.imported_by = '{FETCHED_BY}'
              AND n.withdrawn_at IS NULL)
        ELSE EXISTS (SELECT FROM statement_files n WHERE n.id = {line}.file_id AND n.imported_by = '{FETCHED_BY}') END
    """


async def find_bank_lines(connection: Conn) -> list[BankTransferLine]:
    """Lines of bank transfers in the queue, in the order of their times."""
    rows = await connection.fetch(
        f"""
        SELECT l.id AS line_id, l.channel, l.amount, {_DAY_OF_LINE} AS day,
               concat_ws(' ', l.receipt, l.key, l.details) AS words, l.key, l.phone,
               {_is_own_bank_line("l")} AS is_own
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE l.kind = 'bank' AND l.cents = 0 ORDER BY l.moved_at, l.id
        """
    )
    return [msgspec.convert(dict(row), BankTransferLine) for row in rows]


async def find_transfers(connection: Conn) -> list[BookedTransfer]:
    """Transfers without a line, and transfers whose line only operators brought, if a line of the network's own with
    their amount is in the queue."""
    rows = await connection.fetch(
        f"""
        WITH transfer AS (
            SELECT b.id AS booking_id, b.channel, CASE b.source WHEN 'float' THEN b.amount ELSE -b.amount END AS amount,
                   b.value_date AS day, b.reference, m.line_id
            FROM house_bookings b
            LEFT JOIN statement_matches m ON m.merchant_id = '{HOUSE}' AND m.transaction_id = b.id
                 AND m.role = 'booking'
            WHERE b.kind = 'bank_transfer' AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = b.id)
        ), own AS MATERIALIZED (
            SELECT DISTINCT l.channel, l.amount FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
            WHERE l.kind = 'bank' AND l.cents = 0 AND {_is_own_bank_line("l")}
        )
        SELECT t.* FROM transfer t LEFT JOIN statement_lines d ON d.id = t.line_id
        WHERE t.line_id IS NULL OR (t.channel, t.amount) IN (SELECT channel, amount FROM own)
              AND NOT {_is_own_bank_line("d")}
        ORDER BY t.booking_id
        """
    )
    return [msgspec.convert(dict(row), BookedTransfer) for row in rows]


async def match_transfers(tx: Tx, pairs: Sequence[tuple[int, str]], *, now: datetime) -> int:
    """Match lines with bookings. Returns their number."""
    return int(
        await tx.fetchval(
            f"""
            WITH matched AS (
                INSERT INTO statement_matches (
                    line_id, merchant_id, transaction_id, role, how, is_reported, ledger_at, matched_by, matched_at)
                SELECT p.line_id, '{HOUSE}', p.booking_id, 'booking', 'transfer', true, b.booked_at, '{SYSTEM_NAME}', $3
                FROM unnest($1::bigint[], $2::text[]) AS p (line_id, booking_id)
                JOIN house_bookings b ON b.id = p.booking_id
                ON CONFLICT DO NOTHING RETURNING line_id
            ), closed AS (
                DELETE FROM open_statement_lines o USING matched WHERE o.line_id = matched.line_id
            )
            SELECT count(*) FROM matched
            """,
            [line_id for line_id, _ in pairs],
            [booking_id for _, booking_id in pairs],
            now,
        )
    )
