"""The SQL of open items at the end of a day: subjects whose entries do not cancel each other, and the reasons."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import NamedTuple

from malipo import clock
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Tx
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.close.signed_content import MOST_ITEMS, ItemKind, OpenItem, OpenReason, Sum
from malipo.reconciliation.matching.store.carriers import carrier_of_payment_sql
from malipo.reconciliation.matching.store.summed_lines import HAS_SUMMED_KIND, IS_PAYMENT, SHILLINGS

_MERCHANT_ID = "coalesce(m.merchant_id, w.merchant_id, e.merchant_id)"
_CAUSE_ID = "coalesce(m.transaction_id, w.transaction_id, e.cause_id)"


class _Subject(NamedTuple):
    """The subject of an entry `e`. Entries of one subject cancel each other."""

    when: str  # a condition; the first one that holds decides
    kind: str
    owner: str  # a merchant, or an account at the network
    id: str  # of the payment, the booking, the line or the file


_PAYMENT = f"CASE {_MERCHANT_ID} WHEN '{HOUSE}' THEN 'booking' ELSE 'payment' END"
_IS_SUMMED_LINE = f"({HAS_SUMMED_KIND} OR w.kind = 'sweep' OR w.kind = 'fee' AND w.amount < 0)"
_SUBJECTS = (
    # A line that matches a payment is about it, also if it was counted before it did, or was withdrawn since.
    _Subject("m.line_id IS NOT NULL OR w.transaction_id IS NOT NULL", _PAYMENT, owner=_MERCHANT_ID, id=_CAUSE_ID),
    _Subject("e.entry_kind = 'rounding'", "e.entry_kind", owner="e.account", id="''"),
    _Subject("e.entry_kind IN ('fee', 'sweep')", "e.entry_kind", owner="e.account", id="e.file_id"),
    _Subject(
        f"e.line_id IS NOT NULL AND {_IS_SUMMED_LINE}\n            ",
        "coalesce(l.kind, w.kind)",
        owner="e.account",
        id="coalesce(l.file_id, w.file_id)",
    ),
    _Subject("e.line_id IS NOT NULL", "'line'", owner="''", id="e.line_id::text"),
    _Subject("e.cause_id IS NOT NULL", _PAYMENT, owner=_MERCHANT_ID, id=_CAUSE_ID),
)
_OF_ACCOUNT = _Subject("true", "e.entry_kind", owner="e.account", id="''")


def _subject_sql(column: Callable[[_Subject], str]) -> str:
    """One column of the subject of an entry `e`, with its match `m`, its line `l` and its withdrawn line `w`."""
    cases = "\n         ".join(f"WHEN {each.when} THEN {column(each)}" for each in _SUBJECTS)
    return f"""
    CASE {cases}
         ELSE {column(_OF_ACCOUNT)} END
"""


_SUBJECT_KIND = _subject_sql(lambda each: each.kind)
_SUBJECT_OWNER = _subject_sql(lambda each: each.owner)
_SUBJECT_ID = _subject_sql(lambda each: each.id)
_SAME_SUBJECT = """
    (e.channel, e.subject_kind, e.subject_owner, e.subject_id)
        = (o.channel, o.subject_kind, o.subject_owner, o.subject_id)
"""


def _order_of_subjects(of: str) -> str:
    """Signed closes have their items in this order, and the digest of a day its entries: it never changes."""
    kind = f"CASE {of}.subject_kind WHEN 'booking' THEN 'payment' ELSE {of}.subject_kind END"
    return f"""({kind}) COLLATE "C", ({of}.subject_owner || ' ' || {of}.subject_id) COLLATE "C" """


# Operators see the exception, or have decided about it. An exception whose cause no longer exists explains nothing.
_IS_KNOWN = f"(x.state <> 'resolved' OR x.resolved_by <> '{SYSTEM_NAME}')"
_CHANGE_OF_FLOAT = "CASE 'float' WHEN b.source THEN b.amount WHEN b.target THEN -b.amount ELSE 0 END"


async def build_open_items(
    tx: Tx, *, expected_since: datetime, transfers_since: datetime, stated: Sequence[str]
) -> None:
    """Put the open items into the temporary table `close_open`, each with its reason: the first one in the order of
    `OpenReason` that applies. `close_subjects` has the entries that they are the sums of. `stated` are the connectors
    of which there is any statement."""
    await tx.execute(
        f"""
        CREATE TEMPORARY TABLE close_subjects ON COMMIT DROP AS
        SELECT e.*, {_SUBJECT_KIND} AS subject_kind, {_SUBJECT_OWNER} AS subject_owner, {_SUBJECT_ID} AS subject_id,
               {_MERCHANT_ID} AS subject_merchant_id, {_CAUSE_ID} AS subject_cause_id,
               coalesce(e.file_id, l.file_id, w.file_id) AS of_file
        FROM close_entries e
        LEFT JOIN statement_matches m ON m.line_id = e.line_id AND m.role <> 'fee'
        LEFT JOIN statement_lines l ON l.id = e.line_id
        LEFT JOIN withdrawn_lines w ON w.line_id = e.line_id;
        CREATE TEMPORARY TABLE close_open ON COMMIT DROP AS
        SELECT channel, subject_kind, subject_owner, subject_id, sum(amount)::bigint AS amount, min(since) AS since,
               max(happened_at) AS happened_at, max(account) AS account, max(line_id) AS line_id,
               max(of_file) AS file_id, max(subject_merchant_id) AS merchant_id, max(subject_cause_id) AS cause_id,
               min(entry_kind) AS entry_kind, bool_and(accepted_on IS NOT NULL) AS is_accepted,
               bool_or(entry_kind = 'line') AS has_line,
               CASE WHEN min(entry_kind) = 'rounding' THEN 'both'
                    WHEN min(entry_kind) = 'late' OR bool_and(cause_id IS NOT NULL) THEN 'ledger'
                    WHEN bool_and(cause_id IS NULL) THEN 'statement' ELSE 'both' END AS side,
               NULL::text AS reason, NULL::text AS exception_id,
               NULL::text AS kind
        FROM close_subjects GROUP BY channel, subject_kind, subject_owner, subject_id HAVING sum(amount) <> 0;
        UPDATE close_open o SET exception_id = e.exception_id, kind = x.kind
        FROM (
            SELECT channel, subject_kind, subject_owner, subject_id, min(id) AS exception_id FROM (
                SELECT e.channel, e.subject_kind, e.subject_owner, e.subject_id, x.id
                FROM close_subjects e JOIN reconciliation_exceptions x
                    ON x.line_id = e.line_id WHERE {_IS_KNOWN}
                UNION ALL
                SELECT e.channel, e.subject_kind, e.subject_owner, e.subject_id, x.id
                FROM close_subjects e JOIN reconciliation_exceptions x
                    ON x.merchant_id = e.subject_merchant_id AND x.transaction_id = e.subject_cause_id WHERE {_IS_KNOWN}
            ) AS each GROUP BY 1, 2, 3, 4
        ) AS e JOIN reconciliation_exceptions x ON x.id = e.exception_id
        WHERE {_SAME_SUBJECT};
        """
    )
    await tx.execute(
        f"""
        UPDATE close_open o SET reason = CASE
            WHEN o.entry_kind = 'rounding' AND abs(o.amount) <= 1 + (
                SELECT count(*) FROM open_statement_lines q JOIN statement_lines l ON l.id = q.line_id
                WHERE l.channel = o.channel AND l.account = o.account AND l.cents <> 0) THEN 'rounding'
            WHEN o.entry_kind IN ('balance', 'late', 'rounding') THEN NULL
            WHEN ({_IN_STATEMENTS}) = ({_IN_LEDGER}) THEN 'timing'
            WHEN o.exception_id IS NOT NULL THEN 'exception'
            WHEN o.has_line THEN NULL
            WHEN o.entry_kind = 'payment'
                 AND {carrier_of_payment_sql("o.merchant_id", "o.cause_id")} <> ALL($3::text[] || lower(o.channel))
                THEN 'other_carrier'
            WHEN o.entry_kind = 'payment' AND o.happened_at >= $1 THEN 'expected'
            WHEN o.entry_kind = 'booking' AND o.line_id IS NULL AND o.happened_at >= $2 THEN 'transfer' END
        """,
        expected_since,
        transfers_since,
        list(stated),
    )
    await tx.execute(
        """
        UPDATE close_open
        SET reason = CASE WHEN is_accepted THEN 'accepted' ELSE 'unexplained' END
        WHERE reason IS NULL
        """
    )


_IN_STATEMENTS = f"""
    CASE WHEN o.subject_kind IN ('payment', 'booking') THEN
             (SELECT coalesce(sum(l.amount), 0) FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id
              WHERE m.merchant_id = o.merchant_id AND m.transaction_id = o.cause_id AND m.role <> 'fee')
         WHEN o.subject_kind = 'line'
             THEN coalesce((SELECT l.amount FROM statement_lines l WHERE l.id = o.line_id), 0)
         ELSE (SELECT coalesce(sum(days.amount), 0) FROM (
                   SELECT {SHILLINGS} AS amount FROM statement_lines l
                   WHERE l.file_id = o.file_id AND l.account = o.account AND o.subject_kind = l.kind
                     AND {HAS_SUMMED_KIND} AND NOT {IS_PAYMENT}
                   GROUP BY {clock.day_sql("l.moved_at")}) AS days) END
"""
_IN_LEDGER = f"""
    CASE WHEN o.subject_kind = 'booking' THEN
             (SELECT coalesce(sum({_CHANGE_OF_FLOAT}), 0) FROM house_bookings b
              WHERE o.cause_id IN (b.id, b.reverses))
         WHEN o.subject_kind = 'payment' THEN
             (SELECT coalesce(sum({_CHANGE_OF_FLOAT}), 0) FROM moves b
              WHERE b.merchant_id = o.merchant_id AND b.cause_id = o.cause_id)
         WHEN o.subject_kind = 'line' THEN
             (SELECT coalesce(sum({_CHANGE_OF_FLOAT}), 0) FROM house_bookings b WHERE b.line_id = o.line_id)
         ELSE (SELECT coalesce(sum({_CHANGE_OF_FLOAT}), 0) FROM house_bookings b
               LEFT JOIN house_bookings u ON u.id = b.reverses LEFT JOIN statement_lines l ON l.id = b.line_id
               WHERE coalesce(b.file_id, l.file_id) = o.file_id AND b.account = o.account
                 AND CASE WHEN l.id IS NOT NULL THEN o.subject_kind = l.kind
                          WHEN coalesce(u.kind, b.kind) = 'sweep' THEN o.subject_kind = 'sweep'
                          ELSE o.subject_kind = 'fee' END) END
"""


async def set_without_statement(tx: Tx, channels: list[str]) -> None:
    """Give unexplained items of channels without a statement that reason."""
    await tx.execute(
        "UPDATE close_open SET reason = 'no_statement' WHERE channel = ANY($1) AND reason = $2",
        channels,
        OpenReason.UNEXPLAINED,
    )


async def find_sums(tx: Tx) -> dict[str, dict[OpenReason, Sum]]:
    rows = await tx.fetch(
        "SELECT channel, reason, count(*), sum(amount)::bigint FROM close_open GROUP BY 1, 2 ORDER BY 1, 2"
    )
    found: dict[str, dict[OpenReason, Sum]] = {}
    for channel, reason, count, amount in rows:
        found.setdefault(channel, {})[OpenReason(reason)] = Sum(count, amount)
    return found


async def find_items(tx: Tx) -> dict[str, list[OpenItem]]:
    """The largest items of each channel. Their names stay the same if a statement is imported again."""
    rows = await tx.fetch(
        f"""
        SELECT o.channel, o.amount, o.reason, o.side, o.account, o.since,
               o.subject_kind AS what,
               coalesce(l.receipt, t.provider_reference, nullif(b.reference, ''), f.name, o.cause_id, '') AS name,
               CASE WHEN t.id IS NOT NULL THEN t.id ELSE '' END AS payment, coalesce(t.merchant_id, '') AS merchant,
               coalesce(o.exception_id, '') AS exception, coalesce(o.kind, l.kind, b.kind, '') AS kind,
               {clock.day_sql("o.happened_at")} AS day
        FROM (SELECT *, row_number() OVER (
                  PARTITION BY channel
                  ORDER BY reason = 'unexplained' DESC, abs(amount) DESC, {_order_of_subjects("s")}
              ) AS place
              FROM close_open s) o
        LEFT JOIN statement_lines l ON l.id = o.line_id
        LEFT JOIN transactions t ON t.merchant_id = o.merchant_id AND t.id = o.cause_id
        LEFT JOIN house_bookings b ON b.id = o.cause_id
        LEFT JOIN statement_files f ON f.id = o.file_id AND o.subject_kind IN ('fee', 'sweep')
        WHERE o.place <= $1 ORDER BY o.channel, o.place
        """,
        MOST_ITEMS,
    )
    found: dict[str, list[OpenItem]] = {}
    for row in rows:
        fields = dict(row)
        typed = {"reason": OpenReason(fields["reason"]), "what": ItemKind(fields["what"])}
        found.setdefault(fields.pop("channel"), []).append(OpenItem(**fields | typed))
    return found


async def keep(tx: Tx, day: date) -> None:
    """Keep the entries of open items for the close of the next day. Operators have accepted those that are
    unexplained."""
    await tx.execute(
        f"""
        INSERT INTO day_close_entries
        SELECT $1::date, row_number() OVER (
                   ORDER BY e.channel, {_order_of_subjects("e")}, e.entry_kind, e.line_id, e.since, e.happened_at,
                            e.amount),
               e.channel, e.account, e.entry_kind, e.line_id, e.file_id, e.merchant_id, e.cause_id, e.amount,
               e.happened_at, e.since, CASE WHEN o.reason = 'unexplained' THEN coalesce(e.accepted_on, $1::date)
                             ELSE e.accepted_on END
        FROM close_subjects e JOIN close_open o ON {_SAME_SUBJECT}
        """,
        day,
    )


async def digest_of(connection: Conn, day: date) -> bytes:
    """A digest of the entries that a day has kept."""
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
