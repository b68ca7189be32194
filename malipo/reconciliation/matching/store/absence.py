"""The SQL of absent payments: payments of a covered time that no statement shows."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from malipo.db import Conn, Tx
from malipo.networks.connector import Channel, Type
from malipo.payments.network_keys import ending_sql
from malipo.reconciliation.matching.store.carriers import carrier_of_payment_sql
from malipo.reconciliation.matching.store.line_sources import (
    IS_FETCHED_OR_WHOLE,
    is_in_fetched_or_whole_file_sql,
    is_shown_sql,
)
from malipo.reconciliation.matching.store.reported_by_network import SIGNED
from malipo.reconciliation.statements.coverage import AFTER_END, AFTER_SENDING, Span
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store.statements import FILE, file_of

_AT_A_TIME = 1000
# Whether a copy `k` of the line `l` names the payment `p`.
_NAMES = f"""({ending_sql("k.key")} = p.network_key OR l.receipt = p.provider_reference COLLATE "C")"""


class AbsentPayment(msgspec.Struct, frozen=True, kw_only=True):
    merchant_id: str
    transaction_id: str
    channel: Channel
    type: Type
    amount: int  # signed as in a statement


async def find_files(connection: Conn) -> list[StatementFile]:
    rows = await connection.fetch(f"SELECT {FILE} FROM statement_files WHERE withdrawn_at IS NULL")
    return [file_of(row) for row in rows]


async def find_sure_accounts(connection: Conn) -> set[tuple[str, str]]:
    """Channel and name of each account with a file that no operator could have invented alone: it was fetched, or is
    complete, or a second operator has approved its effects."""
    rows = await connection.fetch(
        f"""
        SELECT DISTINCT n.channel, n.account FROM statement_files n
        WHERE {IS_FETCHED_OR_WHOLE} OR n.withdrawn_at IS NULL AND EXISTS (
            SELECT FROM proposals p WHERE p.action = 'import' AND p.subject = n.id AND p.is_approved)
        """
    )
    return {(row["channel"], row["account"]) for row in rows}


async def find_unchecked(connection: Conn) -> list[StatementFile]:
    """Files whose time was not yet searched for absent payments."""
    rows = await connection.fetch(
        f"""
        SELECT {FILE} FROM statement_files f
        WHERE withdrawn_at IS NULL
          AND EXISTS (SELECT FROM matched_files m WHERE m.file_id = f.id AND NOT m.is_absence_checked)
        """
    )
    return [file_of(row) for row in rows]


async def set_checked(tx: Tx, file_ids: Sequence[str]) -> None:
    await tx.execute("UPDATE matched_files SET is_absence_checked = true WHERE file_id = ANY($1)", list(file_ids))


async def check_again(tx: Tx, line_id: int) -> None:
    """Have the payments of a line's time searched again: the line, which might have been one's, is another
    payment's."""
    await tx.execute(
        """
        UPDATE matched_files m SET is_absence_checked = false
        FROM statement_files f, statement_lines l
        WHERE m.file_id = f.id AND l.id = $1 AND f.channel = l.channel
          AND l.moved_at BETWEEN f.begins_at - interval '3 days' AND f.ends_at + interval '3 days'
        """,
        line_id,
    )


async def check_layout_again(tx: Tx, profile: str) -> None:
    """Have the payments of the time of a layout's files searched again, also in the files beside them: the layout has
    another carrier, so these may cover less or more of the time now."""
    await tx.execute(
        """
        UPDATE matched_files m SET is_absence_checked = false
        FROM statement_files f
        WHERE m.file_id = f.id AND f.withdrawn_at IS NULL AND EXISTS (
            SELECT FROM statement_files o
            WHERE o.profile = $1 AND o.withdrawn_at IS NULL AND (o.id = f.id
                OR f.ends_at >= o.begins_at - interval '7 days' AND f.begins_at <= o.ends_at + interval '7 days'))
        """,
        profile,
    )


async def begin(tx: Tx) -> None:
    """Create a temporary table for payments without a line."""
    await tx.execute(
        """
        CREATE TEMPORARY TABLE unmatched_payments (
            merchant_id text, transaction_id text, channel text, type text, amount bigint, is_absent boolean,
            is_uncarried boolean
        ) ON COMMIT DROP
        """
    )


async def note_unmatched(
    tx: Tx,
    channels: Sequence[str],
    spans: Sequence[Span],
    *,
    first: Sequence[str],
    last: Sequence[str],
    carrier: str,
    stated: Sequence[str],
) -> None:
    """Note paid and open payments that no line shows. They are absent if the spans cover all of their time, and no
    unmatched line has their amount, or names them with another amount. (Such a line counts only if a complete or
    fetched file has it, because one operator could invent it.)

    A statement has the payments that its carrier carried. For a channel's own network, payments are noted too whose
    carrier is unknown, or has no statement (`stated` are the carriers that have one): they are undecided.
    """
    await tx.execute(
        f"""
        INSERT INTO unmatched_payments
        SELECT t.merchant_id, t.id, t.channel, t.type, {SIGNED},
               k.carrier IS NOT DISTINCT FROM $8 AND EXISTS (
                   SELECT FROM unnest($4::timestamptz[], $5::timestamptz[]) AS s (begins, ends)
                   WHERE t.processing_at >= s.begins AND CASE WHEN t.ended_at IS NULL
                         THEN t.processing_at + $6 <= s.ends
                         ELSE greatest(t.ended_at, c.since) + $7 <= s.ends END
               ) AND {SIGNED} NOT IN (
                   SELECT l.amount FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
                   WHERE o.channel = ANY($1) AND {is_in_fetched_or_whole_file_sql("l")}
               ) AND t.id NOT IN (
                   SELECT p.id FROM reconciliation_exceptions e JOIN statement_lines l ON l.id = e.line_id
                   JOIN transactions p ON p.merchant_id = e.merchant_id AND p.id = e.transaction_id
                   WHERE e.state <> 'resolved' AND e.kind = 'amount_differs'
                     AND {is_in_fetched_or_whole_file_sql("l", _NAMES)}),
               (k.carrier = ANY($9)) IS NOT TRUE
        FROM merchants m CROSS JOIN unnest($2::text[], $3::text[]) AS w (first, last)
        CROSS JOIN LATERAL (
            SELECT p.* FROM transactions p
            WHERE p.merchant_id = m.id AND p.id >= w.first AND p.id <= w.last AND p.channel = ANY($1)
              AND p.processing_at IS NOT NULL
        ) t
        LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
        LEFT JOIN statement_matches s ON s.merchant_id = t.merchant_id AND s.transaction_id = t.id
             AND s.role = 'payment' AND (cardinality($4::timestamptz[]) = 0 OR {is_shown_sql("s")})
        CROSS JOIN LATERAL (SELECT {carrier_of_payment_sql("t.merchant_id", "t.id")} AS carrier) AS k
        WHERE s.line_id IS NULL AND (t.ended_at IS NULL OR coalesce(c.is_paid, t.status = 'COMPLETED'))
          AND (k.carrier = $8 OR $8 = lower(t.channel) AND (k.carrier = ANY($9)) IS NOT TRUE)
        """,
        list(channels),
        list(first),
        list(last),
        [begins for begins, _ in spans],
        [ends for _, ends in spans],
        AFTER_SENDING,
        AFTER_END,
        carrier,
        list(stated),
    )


async def find(tx: Tx) -> AsyncIterator[list[AbsentPayment]]:
    """The absent payments, in pieces."""
    cursor = await tx.cursor(
        """
        SELECT merchant_id, transaction_id, channel, type, amount FROM unmatched_payments
        WHERE is_absent ORDER BY transaction_id
        """
    )
    while rows := await cursor.fetch(_AT_A_TIME):
        yield [msgspec.convert(dict(row), AbsentPayment) for row in rows]


async def count_undecided(tx: Tx) -> tuple[int, int]:
    """The number of payments that are too young, not covered, or may be an unmatched line's; and the number of payments
    whose carrier has no statement."""
    row = await tx.fetchrow(
        """
        SELECT count(*) FILTER (WHERE NOT is_absent AND NOT is_uncarried), count(*) FILTER (WHERE is_uncarried)
        FROM unmatched_payments
        """
    )
    assert row is not None
    return row[0], row[1]
