"""The SQL of what is open at the end of a day: subjects whose entries do not cancel each other, and why."""

from collections.abc import Sequence
from datetime import date, datetime

from malipo.db import Conn, Tx
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.close.day_close import MOST_ITEMS, Item, Reason, Sum
from malipo.reconciliation.matching.store.booked_lines import IS_PAYMENT, SHILLINGS, SUMMED
from malipo.reconciliation.matching.store.carriers import carrier_of

# Lines that match a payment belong to it, also if they were counted before they did, or were withdrawn since.
_SUBJECT = f"""
    CASE WHEN m.line_id IS NOT NULL THEN 'payment ' || m.merchant_id || ' ' || m.transaction_id
         WHEN w.transaction_id IS NOT NULL THEN 'payment ' || w.merchant_id || ' ' || w.transaction_id
         WHEN e.what = 'rounding' THEN 'rounding ' || e.account
         WHEN e.what IN ('fee', 'sweep') THEN e.what || ' ' || e.account || ' ' || e.file_id
         WHEN e.line_id IS NOT NULL AND ({SUMMED} OR w.kind = 'sweep' OR w.kind = 'fee' AND w.amount < 0)
             THEN coalesce(l.kind, w.kind) || ' ' || e.account || ' ' || coalesce(l.file_id, w.file_id)
         WHEN e.line_id IS NOT NULL THEN 'line ' || e.line_id
         WHEN e.cause_id IS NOT NULL THEN 'payment ' || e.merchant_id || ' ' || e.cause_id
         ELSE e.what || ' ' || e.account END
"""
# Operators see it, or have decided. One whose cause has gone explains nothing any more.
_IS_KNOWN = "(x.state <> 'resolved' OR x.resolved_by <> 'malipo')"
_CHANGE_OF_FLOAT = "CASE 'float' WHEN b.source THEN b.amount WHEN b.target THEN -b.amount ELSE 0 END"


async def find_open(tx: Tx, *, expected_since: datetime, transfers_since: datetime, stated: Sequence[str]) -> None:
    """Put them into a table of the transaction, each with its reason. `stated` are the connectors of which there is any
    statement."""
    await tx.execute(
        f"""
        CREATE TEMPORARY TABLE close_subjects ON COMMIT DROP AS
        SELECT e.*, {_SUBJECT} AS subject, coalesce(m.merchant_id, w.merchant_id, e.merchant_id) AS whose,
               coalesce(m.transaction_id, w.transaction_id, e.cause_id) AS which,
               coalesce(e.file_id, l.file_id, w.file_id) AS of_file
        FROM close_entries e
        LEFT JOIN statement_matches m ON m.line_id = e.line_id AND m.role <> 'fee'
        LEFT JOIN statement_lines l ON l.id = e.line_id
        LEFT JOIN withdrawn_lines w ON w.line_id = e.line_id;
        CREATE TEMPORARY TABLE close_open ON COMMIT DROP AS
        SELECT channel, subject, sum(amount)::bigint AS amount, min(since) AS since, max(happened_at) AS happened_at,
               max(account) AS account, max(line_id) AS line_id, max(of_file) AS file_id, max(whose) AS merchant_id,
               max(which) AS cause_id, min(what) AS what, bool_and(accepted_on IS NOT NULL) AS is_accepted,
               bool_or(what = 'line') AS has_line,
               CASE WHEN min(what) = 'rounding' THEN 'both'
                    WHEN min(what) = 'late' OR bool_and(cause_id IS NOT NULL) THEN 'ledger'
                    WHEN bool_and(cause_id IS NULL) THEN 'statement' ELSE 'both' END AS side,
               NULL::text AS reason, NULL::text AS exception_id,
               NULL::text AS kind
        FROM close_subjects GROUP BY channel, subject HAVING sum(amount) <> 0;
        UPDATE close_open o SET exception_id = found.id, kind = x.kind
        FROM (
            SELECT channel, subject, min(id) AS id FROM (
                SELECT e.channel, e.subject, x.id FROM close_subjects e JOIN reconciliation_exceptions x
                    ON x.line_id = e.line_id WHERE {_IS_KNOWN}
                UNION ALL
                SELECT e.channel, e.subject, x.id FROM close_subjects e JOIN reconciliation_exceptions x
                    ON x.merchant_id = e.whose AND x.transaction_id = e.which WHERE {_IS_KNOWN}
            ) AS each GROUP BY 1, 2
        ) AS found JOIN reconciliation_exceptions x ON x.id = found.id
        WHERE found.channel = o.channel AND found.subject = o.subject;
        """
    )
    await tx.execute(
        f"""
        UPDATE close_open o SET reason = CASE
            WHEN o.what = 'rounding' AND abs(o.amount) <= 1 + (
                SELECT count(*) FROM open_statement_lines q JOIN statement_lines l ON l.id = q.line_id
                WHERE l.channel = o.channel AND l.account = o.account AND l.cents <> 0) THEN '{Reason.ROUNDING}'
            WHEN o.what IN ('balance', 'late', 'rounding') THEN NULL
            WHEN ({_IN_STATEMENTS}) = ({_IN_LEDGER}) THEN '{Reason.TIMING}'
            WHEN o.exception_id IS NOT NULL THEN '{Reason.EXCEPTION}'
            WHEN o.has_line THEN NULL
            WHEN o.what = 'payment'
                 AND {carrier_of("o.merchant_id", "o.cause_id")} <> ALL($3::text[] || lower(o.channel))
                THEN '{Reason.OTHER_CARRIER}'
            WHEN o.what = 'payment' AND o.happened_at >= $1 THEN '{Reason.EXPECTED}'
            WHEN o.what = 'booking' AND o.line_id IS NULL AND o.happened_at >= $2 THEN '{Reason.TRANSFER}' END
        """,
        expected_since,
        transfers_since,
        list(stated),
    )
    await tx.execute(
        f"""
        UPDATE close_open SET reason = CASE WHEN is_accepted THEN '{Reason.ACCEPTED}' ELSE '{Reason.UNEXPLAINED}' END
        WHERE reason IS NULL
        """
    )


_IN_STATEMENTS = f"""
    CASE WHEN o.subject LIKE 'payment %' THEN
             (SELECT coalesce(sum(l.amount), 0) FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id
              WHERE m.merchant_id = o.merchant_id AND m.transaction_id = o.cause_id AND m.role <> 'fee')
         WHEN o.subject LIKE 'line %'
             THEN coalesce((SELECT l.amount FROM statement_lines l WHERE l.id = o.line_id), 0)
         ELSE (SELECT coalesce(sum(days.amount), 0) FROM (
                   SELECT {SHILLINGS} AS amount FROM statement_lines l
                   WHERE l.file_id = o.file_id AND l.account = o.account AND o.subject LIKE l.kind || ' %' AND {SUMMED}
                     AND NOT {IS_PAYMENT}
                   GROUP BY (l.moved_at AT TIME ZONE 'Africa/Dar_es_Salaam')::date) AS days) END
"""
_IN_LEDGER = f"""
    CASE WHEN o.subject LIKE 'payment {HOUSE} %' THEN
             (SELECT coalesce(sum({_CHANGE_OF_FLOAT}), 0) FROM house_bookings b
              WHERE o.cause_id IN (b.id, b.reverses))
         WHEN o.subject LIKE 'payment %' THEN
             (SELECT coalesce(sum({_CHANGE_OF_FLOAT}), 0) FROM moves b
              WHERE b.merchant_id = o.merchant_id AND b.cause_id = o.cause_id)
         WHEN o.subject LIKE 'line %' THEN
             (SELECT coalesce(sum({_CHANGE_OF_FLOAT}), 0) FROM house_bookings b WHERE b.line_id = o.line_id)
         ELSE (SELECT coalesce(sum({_CHANGE_OF_FLOAT}), 0) FROM house_bookings b
               LEFT JOIN house_bookings u ON u.id = b.reverses LEFT JOIN statement_lines l ON l.id = b.line_id
               WHERE coalesce(b.file_id, l.file_id) = o.file_id AND b.account = o.account
                 AND CASE WHEN l.id IS NOT NULL THEN o.subject LIKE l.kind || ' %'
                          WHEN coalesce(u.kind, b.kind) = 'sweep' THEN o.subject LIKE 'sweep %'
                          ELSE o.subject LIKE 'fee %' END) END
"""


async def set_without_statement(tx: Tx, channels: list[str]) -> None:
    """Of a channel without a statement nothing can be told."""
    await tx.execute(
        f"UPDATE close_open SET reason = '{Reason.NO_STATEMENT}' WHERE channel = ANY($1) AND reason = $2",
        channels,
        Reason.UNEXPLAINED,
    )


async def find_sums(tx: Tx) -> dict[str, dict[Reason, Sum]]:
    rows = await tx.fetch(
        "SELECT channel, reason, count(*), sum(amount)::bigint FROM close_open GROUP BY 1, 2 ORDER BY 1, 2"
    )
    found: dict[str, dict[Reason, Sum]] = {}
    for channel, reason, count, amount in rows:
        found.setdefault(channel, {})[Reason(reason)] = Sum(count, amount)
    return found


async def find_items(tx: Tx) -> dict[str, list[Item]]:
    """The biggest of each channel, by names that are the same if a statement is imported anew."""
    rows = await tx.fetch(
        f"""
        SELECT o.channel, o.amount, o.reason, o.side, o.account, o.since,
               CASE WHEN o.subject LIKE 'payment {HOUSE} %' THEN 'booking'
                    ELSE split_part(o.subject, ' ', 1) END AS what,
               coalesce(l.receipt, t.provider_reference, nullif(b.reference, ''), f.name, o.cause_id, '') AS name,
               CASE WHEN t.id IS NOT NULL THEN t.id ELSE '' END AS payment, coalesce(t.merchant_id, '') AS merchant,
               coalesce(o.exception_id, '') AS exception, coalesce(o.kind, l.kind, b.kind, '') AS kind,
               (o.happened_at AT TIME ZONE 'Africa/Dar_es_Salaam')::date AS day
        FROM (SELECT *, row_number() OVER (PARTITION BY channel ORDER BY reason = '{Reason.UNEXPLAINED}' DESC,
                                           abs(amount) DESC, subject) AS place FROM close_open) o
        LEFT JOIN statement_lines l ON l.id = o.line_id
        LEFT JOIN transactions t ON t.merchant_id = o.merchant_id AND t.id = o.cause_id
        LEFT JOIN house_bookings b ON b.id = o.cause_id
        LEFT JOIN statement_files f ON f.id = o.file_id AND split_part(o.subject, ' ', 1) IN ('fee', 'sweep')
        WHERE o.place <= $1 ORDER BY o.channel, o.place
        """,
        MOST_ITEMS,
    )
    found: dict[str, list[Item]] = {}
    for row in rows:
        fields = dict(row)
        found.setdefault(fields.pop("channel"), []).append(Item(**fields | {"reason": Reason(fields["reason"])}))
    return found


async def keep(tx: Tx, day: date) -> None:
    """Keep the entries of what is open, for the close of the next day. What is unexplained now was accepted."""
    await tx.execute(
        f"""
        INSERT INTO day_close_entries
        SELECT $1::date, row_number() OVER (
                   ORDER BY e.channel, e.subject, e.what, e.line_id, e.since, e.happened_at, e.amount),
               e.channel, e.account, e.what, e.line_id, e.file_id, e.merchant_id, e.cause_id, e.amount, e.happened_at,
               e.since, CASE WHEN o.reason = '{Reason.UNEXPLAINED}' THEN coalesce(e.accepted_on, $1::date)
                             ELSE e.accepted_on END
        FROM close_subjects e JOIN close_open o ON o.channel = e.channel AND o.subject = e.subject
        """,
        day,
    )


async def digest_of(connection: Conn, day: date) -> bytes:
    """Of the entries that a day has kept."""
    digest: bytes = await connection.fetchval(
        """
        SELECT coalesce(sha256(string_agg(hash, '' ORDER BY entry_number)), '') FROM (
            SELECT entry_number, sha256(convert_to(row_to_json(e)::text, 'UTF8')) AS hash FROM day_close_entries e
            WHERE day = $1
        ) AS hashes
        """,
        day,
    )
    return digest
