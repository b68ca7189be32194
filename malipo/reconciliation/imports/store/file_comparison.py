"""The SQL that compares a file with other files and with payments, before anything of it is booked."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from malipo import clock
from malipo.db import Tx
from malipo.ledger.accounts import HOUSE
from malipo.payments.network_keys import ending_sql
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store.statements import FILE, file_of

_SAMPLE = 1000  # lines that are searched in other accounts
_LEAST_RECEIPT = 6  # characters of a receipt that identifies a line
# Near the begin and the end of a file nothing is compared: layouts may have no seconds, and headings say "to 23:59".
_MARGIN = timedelta(minutes=1)


class FileDifference(msgspec.Struct, frozen=True):
    """The differences between two files in the time that both cover."""

    only_new: int  # lines
    only_new_amount: int
    only_other: int
    only_other_amount: int
    offset: int  # by which all balances after common lines differ; 0 if they do not all differ by the same


async def find_apart(tx: Tx, file: StatementFile, *, last_line: datetime | None) -> list[str]:
    """Files of the account that cannot share a line with this one: both are complete, and their times do not overlap.

    By the minute, because a layout may have no seconds: a file that ends within a minute, or has a line in it, covers
    all of it. One that covers less than a minute is apart from none.
    """
    if not file.is_whole:
        return []
    rows = await tx.fetch(
        """
        SELECT f.id FROM statement_files f CROSS JOIN LATERAL (
            SELECT date_trunc('minute', f.begins_at) AS begins, date_trunc('minute', f.ends_at) AS ends,
                   date_trunc('minute', $4::timestamptz) AS own_begins,
                   date_trunc('minute', $5::timestamptz) AS own_ends
        ) m
        WHERE f.channel = $1 AND f.account = $2 AND f.id <> $3 AND f.withdrawn_at IS NULL AND f.problems = '{}'
          AND f.opening IS NOT NULL AND f.closing IS NOT NULL AND m.begins < m.ends AND m.own_begins < m.own_ends
          AND (CASE WHEN m.ends = m.own_begins THEN f.ends_at = m.ends
                         AND NOT EXISTS (SELECT FROM statement_lines l
                                         WHERE l.file_id = f.id AND l.moved_at >= m.ends)
                         AND NOT EXISTS (SELECT FROM statement_line_copies c
                                         WHERE c.file_id = f.id AND c.moved_at >= m.ends)
                    ELSE m.ends < m.own_begins END
            OR CASE WHEN m.begins = m.own_ends THEN $5 = m.own_ends AND $6::timestamptz < m.own_ends
                    ELSE m.begins > m.own_ends END)
        """,
        file.channel,
        file.account,
        file.id,
        file.begins_at,
        file.ends_at,
        last_line,
    )
    return [row["id"] for row in rows]


_IMPORTED_BY = """
    ($4::text IS NULL OR EXISTS (SELECT FROM statement_files f WHERE f.id = l.file_id AND f.imported_by = $4))
"""
# Accounts that have files of about the same time as the file $1; of those that anybody, or only $4, has imported.
_OTHER_ACCOUNTS = """
    new AS MATERIALIZED (
        SELECT receipt, amount, cents, kind, moved_at FROM statement_lines
        WHERE file_id = $1 AND receipt <> '' AND amount <> 0
    ), accounts AS MATERIALIZED (
        SELECT channel, account, array_agg(begins_at) AS begins, array_agg(ends_at) AS ends FROM statement_files
        WHERE (channel, account) <> ($2, $3) AND withdrawn_at IS NULL AND line_count > 0
          AND ($4::text IS NULL OR imported_by = $4)
          AND begins_at <= (SELECT max(moved_at) + interval '1 day' FROM new)
          AND ends_at >= (SELECT min(moved_at) - interval '1 day' FROM new)
        GROUP BY 1, 2
    )
"""


async def find_with_a_line_of(tx: Tx, file: StatementFile, *, imported_by: str | None = None) -> StatementFile | None:
    """A file of another account of the same network with one of this file's new lines: the same receipt, amount and
    kind. (A transfer between two accounts has opposite signs in them. Short receipts do not count, because they are
    numbers that any account may have.)"""
    row = await tx.fetchrow(
        f"""
        WITH {_OTHER_ACCOUNTS}
        SELECT {FILE} FROM statement_files WHERE id = (
            SELECT known.file_id FROM new s CROSS JOIN accounts a CROSS JOIN LATERAL (
                SELECT l.file_id FROM statement_lines l
                WHERE l.channel = a.channel AND l.account = a.account AND l.receipt = s.receipt AND l.amount = s.amount
                  AND l.cents = s.cents AND l.kind = s.kind
                  AND l.moved_at BETWEEN s.moved_at - interval '1 day' AND s.moved_at + interval '1 day'
                  AND {_IMPORTED_BY} LIMIT 1
            ) known
            WHERE a.channel = $2 AND length(s.receipt) >= {_LEAST_RECEIPT}
            GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1
        )
        """,
        file.id,
        file.channel,
        file.account,
        imported_by,
    )
    return None if row is None else file_of(row)


async def find_elsewhere(tx: Tx, file: StatementFile, *, imported_by: str | None = None) -> StatementFile | None:
    """A file of another account that has most of this file's new lines, of the time that the other account's files
    cover."""
    row = await tx.fetchrow(
        f"""
        WITH {_OTHER_ACCOUNTS}, sampled AS MATERIALIZED (
            SELECT s.*, a.channel, a.account FROM accounts a CROSS JOIN LATERAL (
                SELECT * FROM new WHERE EXISTS (
                    SELECT FROM unnest(a.begins, a.ends) AS f (begins, ends)
                    WHERE new.moved_at >= f.begins - interval '1 day' AND new.moved_at <= f.ends + interval '1 day'
                ) LIMIT {_SAMPLE}
            ) s
        ), compared AS (
            SELECT s.*, known.file_id, EXISTS (
                       SELECT FROM accounts a CROSS JOIN unnest(a.begins, a.ends) AS f (begins, ends)
                       WHERE (a.channel, a.account) = (s.channel, s.account)
                         AND s.moved_at >= f.begins AND (s.moved_at < f.ends OR f.ends = f.begins)) AS is_of_its_time
            FROM sampled s LEFT JOIN LATERAL (
                SELECT l.file_id FROM statement_lines l
                WHERE l.channel = s.channel AND l.account = s.account AND l.receipt = s.receipt AND l.amount = s.amount
                  AND l.moved_at BETWEEN s.moved_at - interval '1 day' AND s.moved_at + interval '1 day'
                  AND {_IMPORTED_BY} LIMIT 1
            ) known ON true
        )
        SELECT {FILE} FROM statement_files WHERE id = (
            SELECT min(file_id) FROM compared GROUP BY channel, account
            HAVING 2 * count(file_id) > count(*) FILTER (WHERE is_of_its_time OR file_id IS NOT NULL)
            ORDER BY count(file_id) DESC, 1 LIMIT 1
        )
        """,
        file.id,
        file.channel,
        file.account,
        imported_by,
    )
    return None if row is None else file_of(row)


async def find_overlapping(tx: Tx, file: StatementFile) -> list[StatementFile]:
    """Files of the account with balances that cover some of the same time."""
    rows = await tx.fetch(
        f"""
        SELECT {FILE} FROM statement_files
        WHERE channel = $1 AND account = $2 AND id <> $3 AND withdrawn_at IS NULL
          AND opening IS NOT NULL AND closing IS NOT NULL AND begins_at <= $5 AND ends_at >= $4 ORDER BY id
        """,
        file.channel,
        file.account,
        file.id,
        file.begins_at,
        file.ends_at,
    )
    return [file_of(row) for row in rows]


async def find_last_line(tx: Tx, file_id: str) -> datetime | None:
    moment: datetime | None = await tx.fetchval(
        """
        SELECT greatest((SELECT max(moved_at) FROM statement_lines WHERE file_id = $1),
                        (SELECT max(moved_at) FROM statement_line_copies WHERE file_id = $1))
        """,
        file_id,
    )
    return moment


async def compare(tx: Tx, file_id: str, other_id: str, begins: datetime, ends: datetime) -> FileDifference:
    """Compare a file that was just stored with another one, in the time that both cover. New lines are in no other
    file."""
    row = await tx.fetchrow(
        """
        WITH only_new AS (
            SELECT count(*) AS number, coalesce(sum(amount), 0)::bigint AS amount FROM statement_lines
            WHERE file_id = $1 AND moved_at > $3 AND moved_at < $4
        ), only_other AS (
            SELECT count(*) AS number, coalesce(sum(l.amount), 0)::bigint AS amount
            FROM (SELECT id FROM statement_lines WHERE file_id = $2
                  UNION SELECT line_id FROM statement_line_copies WHERE file_id = $2) of_other
            JOIN statement_lines l USING (id)
            WHERE l.moved_at > $3 AND l.moved_at < $4
              AND NOT EXISTS (SELECT FROM statement_line_copies c WHERE c.line_id = l.id AND c.file_id = $1)
        ), balances AS (
            -- Lines of one minute may be in another order, which changes balances, but not all of them by the same.
            SELECT CASE WHEN min(c.balance - o.balance) = max(c.balance - o.balance)
                        THEN min(c.balance - o.balance) ELSE 0 END AS difference
            FROM statement_line_copies c JOIN statement_line_copies o ON o.line_id = c.line_id AND o.file_id = $2
            WHERE c.file_id = $1
        )
        SELECT n.number, n.amount, o.number, o.amount, coalesce(b.difference, 0)
        FROM only_new n, only_other o, balances b
        """,
        file_id,
        other_id,
        begins + _MARGIN,
        ends - _MARGIN,
    )
    assert row is not None
    return FileDifference(*row)


async def find_balance_at(tx: Tx, file: StatementFile, moment: datetime) -> int | None:
    """The balance of a file that adds up at a moment, in cents. None if it has lines near that moment: in a layout
    without seconds they may be on either side."""
    assert file.opening is not None
    row = await tx.fetchrow(
        """
        SELECT coalesce(sum(amount * 100 + cents) FILTER (WHERE at < $2), 0)::bigint,
               count(*) FILTER (WHERE at >= $2::timestamptz - $3::interval AND at < $2::timestamptz + $3::interval)
        FROM (
            SELECT l.amount, l.cents, c.moved_at AS at
            FROM statement_line_copies c JOIN statement_lines l ON l.id = c.line_id WHERE c.file_id = $1
            UNION ALL
            SELECT l.amount, l.cents, l.moved_at FROM statement_lines l
            WHERE l.file_id = $1 AND NOT EXISTS (
                SELECT FROM statement_line_copies c WHERE c.line_id = l.id AND c.file_id = $1)
        ) AS of_file
        """,
        file.id,
        moment,
        _MARGIN,
    )
    assert row is not None
    moved, near = row
    return None if near else file.opening * 100 + file.opening_cents + int(moved)


async def continues_another(tx: Tx, file: StatementFile) -> bool:
    """Whether the file opens with the closing balance of another file of the account, or the other way round. A balance
    of zero does not count, because many accounts are empty."""
    return bool(
        await tx.fetchval(
            """
            SELECT EXISTS (
                SELECT FROM statement_files
                WHERE channel = $1 AND account = $2 AND id <> $3 AND withdrawn_at IS NULL
                  AND ((closing = $4 AND closing <> 0 AND ends_at <= $6::timestamptz + interval '1 minute')
                       OR (opening = $5 AND opening <> 0 AND begins_at >= $7::timestamptz - interval '1 minute'))
            )
            """,
            file.channel,
            file.account,
            file.id,
            file.opening,
            file.closing,
            file.begins_at,
            file.ends_at,
        )
    )


async def has_payment(
    tx: Tx, file_id: str, *, channels: Sequence[str], first: Sequence[str], last: Sequence[str]
) -> bool:
    """Whether a line has the key or the receipt of a payment of these channels, or is a transfer that was booked."""
    by_key = f"""
        SELECT FROM statement_lines l CROSS JOIN unnest($2::text[]) AS c (channel)
        JOIN transactions t ON t.channel = c.channel AND t.network_key = {ending_sql("l.key")}
        WHERE l.file_id = $1 AND l.key <> ''
    """
    if await tx.fetchval(f"SELECT EXISTS ({by_key})", file_id, list(channels)):
        return True
    by_receipt = """
        SELECT FROM merchants m CROSS JOIN unnest($3::text[], $4::text[]) AS w (first, last)
        CROSS JOIN LATERAL (
            SELECT p.provider_reference FROM transactions p
            WHERE p.merchant_id = m.id AND p.id >= w.first AND p.id <= w.last AND p.provider_reference <> ''
              AND p.channel = ANY($2)
        ) t
        JOIN statement_lines l ON l.file_id = $1 AND l.receipt = t.provider_reference COLLATE "C"
    """
    if await tx.fetchval(f"SELECT EXISTS ({by_receipt})", file_id, list(channels), list(first), list(last)):
        return True
    return bool(
        await tx.fetchval(
            f"""
            SELECT EXISTS (
                SELECT FROM statement_lines l
                JOIN house_bookings b ON b.channel = l.channel AND b.kind = 'bank_transfer'
                     AND CASE b.source WHEN 'float' THEN b.amount ELSE -b.amount END = l.amount
                WHERE l.file_id = $1 AND l.kind = 'bank' AND NOT EXISTS (
                    SELECT FROM statement_matches m
                    WHERE m.merchant_id = '{HOUSE}' AND m.transaction_id = b.id AND m.role = 'booking')
            )
            """,
            file_id,
        )
    )


async def find_days(tx: Tx, file_id: str) -> list[datetime]:
    rows = await tx.fetch(
        f"""
        SELECT DISTINCT {clock.day_sql("moved_at")} AS day FROM statement_lines
        WHERE file_id = $1
        """,
        file_id,
    )
    return [row["day"] for row in rows]
