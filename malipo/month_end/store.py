"""The SQL of the end of a month: what is open, and what goes into the archive beside the books."""

from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime

from malipo.db import Conn, Row
from malipo.invoices.invoice import FeeSum, Issued, Party, drafts_of
from malipo.invoices.store import fees, invoices
from malipo.month_end.month import Month

_AT_ONCE = 1000  # rows that are in memory


async def find_closed_days(connection: Conn, month: Month) -> list[date]:
    rows = await connection.fetch(
        "SELECT day FROM day_closes WHERE day BETWEEN $1 AND $2 ORDER BY day", month.first, month.last
    )
    return [row["day"] for row in rows]


async def count_open_payments(connection: Conn, before: datetime) -> int:
    """Payments that were asked for before this moment and have not ended."""
    return int(
        await connection.fetchval(
            "SELECT count(*) FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id "
            "AND t.id = d.transaction_id WHERE t.ended_at IS NULL AND t.created_at < $1",
            before,
        )
    )


async def sum_open_settlements(connection: Conn, before: datetime) -> tuple[int, int]:
    """Settlements that were asked for before this moment and are under way: how many, and how much."""
    row = await connection.fetchrow(
        "SELECT count(*), coalesce(sum(amount), 0)::bigint FROM settlements "
        "WHERE status IN ('REQUESTED', 'SENT') AND created_at < $1",
        before,
    )
    assert row is not None
    return row[0], row[1]


async def sum_unanswered_settlements(connection: Conn, before: datetime, *, sent_before: datetime) -> tuple[int, int]:
    """Of the settlements that were asked for before this moment: those that were sent so early, and have no answer."""
    row = await connection.fetchrow(
        "SELECT count(*), coalesce(sum(amount), 0)::bigint FROM settlements "
        "WHERE status = 'SENT' AND created_at < $1 AND sent_at < $2",
        before,
        sent_before,
    )
    assert row is not None
    return row[0], row[1]


async def count_open_exceptions(connection: Conn, before: datetime) -> tuple[int, int]:
    """Exceptions of networks about lines and payments from before this moment: how many, and what is at stake."""
    row = await connection.fetchrow(
        """
        SELECT count(*), coalesce(sum(abs(e.amount)), 0)::bigint FROM reconciliation_exceptions e
        LEFT JOIN statement_lines l ON l.id = e.line_id
        LEFT JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
        WHERE e.state <> 'resolved' AND coalesce(l.moved_at, t.created_at, e.found_at) < $1
        """,
        before,
    )
    assert row is not None
    return row[0], row[1]


async def count_open_bank_lines(connection: Conn, last: date) -> tuple[int, int]:
    """Lines of the bank that nothing fits, up to a day: how many, and how much, in shillings."""
    row = await connection.fetchrow(
        "SELECT count(*), coalesce(sum(abs(b.cents)) / 100, 0)::bigint FROM bank_exceptions e "
        "JOIN bank_lines b ON b.id = e.line_id WHERE e.resolved_at IS NULL AND b.booked_on <= $1",
        last,
    )
    assert row is not None
    return row[0], row[1]


async def count_open_proposals(connection: Conn, before: datetime) -> int:
    return int(
        await connection.fetchval(
            "SELECT count(*) FROM proposals WHERE decided_at IS NULL AND requested_at < $1", before
        )
    )


async def find_payer_accounts(connection: Conn) -> list[Row]:
    return list(await connection.fetch("SELECT id, number, added_at FROM payer_accounts ORDER BY id"))


# What goes into the archive.


async def find_network_files(connection: Conn, month: Month) -> list[Row]:
    """The statements of networks that have something of the month."""
    return list(
        await connection.fetch(
            """
            SELECT f.*, EXISTS (SELECT FROM file_contents c WHERE c.sha256 = f.sha256) AS is_kept
            FROM statement_files f
            WHERE coalesce(begins_at, imported_at) < $2
              AND (coalesce(ends_at, imported_at) > $1 OR (begins_at = ends_at AND begins_at >= $1))
            ORDER BY channel, account, begins_at, id
            """,
            month.begins,
            month.ends,
        )
    )


async def lines_of_network_file(connection: Conn, file_id: str) -> AsyncIterator[Row]:
    """The lines of a statement that is not kept as it came, in its order."""
    cursor = connection.cursor(
        """
        SELECT row, moved_at, receipt, kind, amount, cents, balance, balance_cents, key, phone, linked, details
        FROM statement_lines l WHERE file_id = $1 AND NOT EXISTS (
            SELECT FROM statement_line_copies c WHERE c.line_id = l.id AND c.file_id = $1)
        UNION ALL
        SELECT c.row, c.moved_at, l.receipt, c.kind, l.amount, l.cents, c.balance, l.balance_cents, c.key, c.phone,
               c.linked, c.details
        FROM statement_line_copies c JOIN statement_lines l ON l.id = c.line_id WHERE c.file_id = $1
        ORDER BY 1
        """,
        file_id,
        prefetch=_AT_ONCE,
    )
    async for row in cursor:
        yield row


async def find_bank_statements(connection: Conn, month: Month) -> list[Row]:
    return list(
        await connection.fetch(
            """
            SELECT b.*, p.number AS account_number,
                   EXISTS (SELECT FROM file_contents c WHERE c.sha256 = b.sha256) AS is_kept
            FROM bank_statements b JOIN payer_accounts p ON p.id = b.payer_account_id
            WHERE coalesce(begins_on, $1) <= $2 AND coalesce(ends_on, $2) >= $1 AND state IN ('taken', 'withdrawn')
            ORDER BY b.payer_account_id, begins_on, b.id
            """,
            month.first,
            month.last,
        )
    )


async def lines_of_bank_statement(connection: Conn, statement_id: str) -> AsyncIterator[Row]:
    cursor = connection.cursor(
        """
        SELECT b.booked_on, b.reference, b.key, b.message_id, b.part, b.cents, b.is_reversal, b.reason, b.details
        FROM bank_statement_lines s JOIN bank_lines b ON b.id = s.line_id WHERE s.statement_id = $1
        ORDER BY b.booked_on, b.id
        """,
        statement_id,
        prefetch=_AT_ONCE,
    )
    async for row in cursor:
        yield row


async def find_payout_files(connection: Conn, month: Month) -> list[Row]:
    """Files with instructions to our bank to pay, that were approved in the month, as they were at its end. Their
    content is read one by one."""
    return list(
        await connection.fetch(
            """
            SELECT id, message_id, CASE WHEN voided_at < $2 THEN 'VOIDED' ELSE 'APPROVED' END AS status, line_count,
                   total, sha256, pays_on, gathered_by, approved_by, approved_at,
                   CASE WHEN voided_at < $2 THEN why_voided END AS why_voided
            FROM payout_files WHERE approved_at >= $1 AND approved_at < $2 ORDER BY approved_at, id
            """,
            month.begins,
            month.ends,
        )
    )


async def read_payout_file(connection: Conn, file_id: str) -> AsyncIterator[bytes]:
    content: bytes = await connection.fetchval("SELECT content FROM payout_files WHERE id = $1", file_id)
    yield content


async def payments_of(connection: Conn, month: Month) -> AsyncIterator[Row]:
    """Payments that were asked for or ended in the month, and those open at its end, as they were at its end: with
    the last correction, and what all of them have credited."""
    cursor = connection.cursor(
        """
        SELECT t.reference, t.id, t.merchant_id, t.type, t.channel, t.amount, t.fee, t.created_at,
               CASE WHEN e.is_over THEN t.status ELSE 'OPEN' END AS status,
               CASE WHEN e.is_over THEN t.ended_at END AS ended_at,
               CASE WHEN e.is_over THEN t.provider_reference END AS receipt,
               CASE WHEN e.is_over THEN t.failure_code END AS failure_code,
               CASE WHEN e.is_over THEN t.failure_reason END AS failure_reason,
               CASE WHEN e.is_over THEN t.failure_detail END AS failure_detail,
               CASE WHEN e.is_over THEN t.network_code END AS network_code,
               t.order_reference, t.refund_of, t.batch_id, a.transaction_id IS NOT NULL AS is_adopted,
               r.outcome, r.credited, r.decided_at
        FROM transactions t CROSS JOIN LATERAL (SELECT coalesce(t.ended_at < $2, false) AS is_over) AS e
        LEFT JOIN adopted_payments a ON a.merchant_id = t.merchant_id AND a.transaction_id = t.id AND a.adopted_at < $2
        LEFT JOIN (
            SELECT DISTINCT ON (merchant_id, transaction_id) merchant_id, transaction_id, outcome, decided_at,
                   sum(credited) OVER (PARTITION BY merchant_id, transaction_id)::bigint AS credited
            FROM resolutions WHERE is_of_contradiction AND is_approved AND decided_at < $2
            ORDER BY merchant_id, transaction_id, decided_at DESC, id DESC
        ) AS r ON r.merchant_id = t.merchant_id AND r.transaction_id = t.id
        WHERE t.created_at < $2 AND (t.ended_at IS NULL OR t.ended_at >= $1)
        ORDER BY t.merchant_id, t.id
        """,
        month.begins,
        month.ends,
        prefetch=_AT_ONCE,
    )
    async for row in cursor:
        yield row


async def settlements_of(connection: Conn, month: Month) -> AsyncIterator[Row]:
    """Settlements to which something happened in the month, and those under way at its end, as they were at its end.

    What its files and its times said then follows from rows that never change. A settlement that waits again, because
    its file was voided later, has lost when it was sent: its line in that file still says so.
    """
    cursor = connection.cursor(
        """
        SELECT s.reference, s.id, s.key, s.merchant_id,
               CASE WHEN then_.cancelled_at IS NOT NULL THEN 'CANCELLED'
                    WHEN then_.returned_at IS NOT NULL THEN 'RETURNED'
                    WHEN then_.completed_at IS NOT NULL THEN 'COMPLETED' WHEN then_.sent_at IS NOT NULL THEN 'SENT'
                    ELSE 'REQUESTED' END AS status,
               s.amount, s.fee, s.created_at, then_.sent_at, then_.payout_file_id, then_.completed_at,
               CASE WHEN then_.completed_at IS NOT NULL THEN s.booked_on END AS booked_on,
               CASE WHEN then_.completed_at IS NOT NULL THEN s.bank_reference END AS bank_reference, then_.returned_at,
               CASE WHEN then_.returned_at IS NOT NULL THEN s.return_reason END AS return_reason,
               CASE WHEN then_.returned_at IS NOT NULL THEN s.return_booked_on END AS return_booked_on,
               CASE WHEN then_.returned_at IS NOT NULL THEN s.return_bank_reference END AS return_bank_reference,
               then_.cancelled_at, s.is_adopted
        FROM settlements s
        LEFT JOIN LATERAL (
            SELECT f.id, CASE WHEN f.approved_at < $2 THEN f.approved_at END AS approved_at
            FROM payout_file_lines l JOIN payout_files f ON f.id = l.file_id
            WHERE l.key = s.key AND l.settlement_id = s.id AND f.gathered_at < $2 AND coalesce(l.left_at, $2) >= $2
        ) AS file ON true
        CROSS JOIN LATERAL (
            SELECT CASE WHEN s.cancelled_at < $2 THEN s.cancelled_at END AS cancelled_at,
                   CASE WHEN s.returned_at < $2 THEN s.returned_at END AS returned_at,
                   CASE WHEN s.completed_at < $2 THEN s.completed_at END AS completed_at,
                   coalesce(file.approved_at, CASE WHEN least(s.completed_at, s.returned_at) < $2 THEN s.sent_at END)
                       AS sent_at,
                   file.id AS payout_file_id
        ) AS then_
        WHERE s.created_at < $2
          AND (s.created_at >= $1 OR then_.sent_at >= $1 OR then_.completed_at >= $1 OR then_.returned_at >= $1
               OR then_.cancelled_at >= $1
               OR coalesce(then_.cancelled_at, then_.returned_at, then_.completed_at) IS NULL)
        ORDER BY s.id
        """,
        month.begins,
        month.ends,
        prefetch=_AT_ONCE,
    )
    async for row in cursor:
        yield row


async def find_not_invoiced(connection: Conn, month: Month) -> list[Party]:
    """Merchants whose fees of the month need a document that they do not have, as it would name them."""
    have = await invoices.find_issued(connection, month.first)
    return [
        await invoices.find_buyer(connection, merchant)
        for merchant, sums in (await fees.find(connection, month.first)).items()
        if merchant not in have and await _need_document(connection, month, sums)
    ]


async def _need_document(connection: Conn, month: Month, sums: Sequence[FeeSum]) -> bool:
    """Fees that cancel out need none. (Whether there is one does not depend on VAT.)"""
    issued = await invoices.find_by_month(connection, sums[0].merchant_id)
    without_vat = {each: Issued(invoice.number, has_vat=False) for each, invoice in issued.items()}
    return bool(drafts_of(sums, month.first, rates=[], has_vat=False, issued=without_vat))
