"""The SQL of the gauges. The frequent queries read queues, which are short; anything that can be long is counted up to
a bound."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from malipo import clock
from malipo.bank_evidence.store import holidays
from malipo.db import Conn
from malipo.ledger.store import checks
from malipo.messages.store.messages import MAY_BE_SENT

# Above this bound the exact number does not matter.
_MOST = 100_000
_ALIVE_SECONDS = 30

Labels = tuple[str, ...]


class Queue(NamedTuple):
    """The waiting payments of a channel and type."""

    channel: str
    type: str
    to_send: int
    oldest_seconds: float
    to_query: int


class UnsettledPayments(NamedTuple):
    kind: str
    payments: int
    amount: int
    oldest_seconds: float


def _age(earliest: str) -> str:
    return f"coalesce(date_part('epoch', now() - {earliest}), 0)"


async def prepare(connection: Conn) -> None:
    """Sets a short timeout: the queries are given up rather than delay others."""
    await connection.execute("SET LOCAL enable_seqscan = on; SET LOCAL statement_timeout = '5s'")


async def find_messages(connection: Conn) -> dict[str, float]:
    """Messages that could be sent. Those of before a restore wait for its release."""
    row = await connection.fetchrow(
        f"""
        SELECT count(*), {_age("min(created_at)")},
               (SELECT count(*) FROM messages WHERE state = 'refused' AND ended_at > now() - interval '1 day')
        FROM (SELECT created_at FROM messages
              WHERE state = 'waiting' AND due_at <= now() + interval '1 day' AND expires_at > now() AND {MAY_BE_SENT}
              LIMIT {_MOST}) AS waiting
        """
    )
    assert row is not None
    waiting, oldest, refused = row.values()
    return {"messages_waiting": waiting, "messages_oldest_seconds": oldest, "messages_refused": refused}


async def find_bank(connection: Conn) -> dict[str, float]:
    """Settlements that should be on a statement, or in an approved file, because banks have booked what they were given
    on the day on which they were sent or requested; those in approved files whose bank account was stopped since; and
    lines of the bank without a place."""
    banking_days = await holidays.find_banking_days(connection)
    today = await connection.fetchval(f"SELECT {clock.day_sql('now()')}")
    row = await connection.fetchrow(
        f"""
        SELECT (SELECT count(*) FROM settlements s
                WHERE s.status = 'SENT' AND {clock.day_sql("s.sent_at")} <= $1) AS settlements_overdue,
               (SELECT count(*) FROM settlements s
                WHERE s.status = 'REQUESTED' AND {clock.day_sql("s.created_at")} <= $1) AS settlements_not_sent,
               (SELECT count(*) FROM settlements s
                JOIN bank_accounts a ON (a.merchant_id, a.id) = (s.merchant_id, s.bank_account_id)
                WHERE s.status = 'SENT' AND a.status = 'STOPPED') AS settlements_to_stopped_accounts,
               count(*) AS bank_exceptions, {_age("min(found_at)")} AS bank_exceptions_oldest_seconds
        FROM (SELECT found_at FROM bank_exceptions WHERE resolved_at IS NULL LIMIT {_MOST}) AS open
        """,
        banking_days.last_booked(today - timedelta(days=1)),
    )
    assert row is not None
    return {name: float(value) for name, value in row.items()}


async def find_queues(connection: Conn) -> list[Queue]:
    """A payment without a connector was never sent."""
    rows = await connection.fetch(
        f"""
        SELECT channel, type, count(*) FILTER (WHERE connector IS NULL),
               {_age("min(queued_at) FILTER (WHERE connector IS NULL)")},
               count(*) FILTER (WHERE connector IS NOT NULL AND due_at < now())
        FROM dispatches GROUP BY 1, 2
        """
    )
    return [Queue(*row.values()) for row in rows]


async def find_unsettled(
    connection: Conn, *, unsettled_seconds: float, unconnected_payouts: Sequence[str] = ()
) -> list[UnsettledPayments]:
    """The payments that `malipo payments unsettled` lists, each once."""
    rows = await connection.fetch(
        f"""
        WITH late AS MATERIALIZED (
            SELECT merchant_id, transaction_id FROM dispatches
            WHERE attention IS NULL AND connector IS NOT NULL AND queued_at < now() - make_interval(secs => $1)
        ), cases AS (
            SELECT 'review' AS kind, t.amount, coalesce(t.processing_at, t.created_at) AS since
            FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
            WHERE d.attention IS NOT NULL
            UNION ALL
            SELECT 'late', t.amount, t.processing_at
            FROM late d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
            WHERE t.status = 'PROCESSING' AND t.processing_at < now() - make_interval(secs => $1)
            UNION ALL
            SELECT 'closed_merchant', t.amount, t.created_at
            FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
            WHERE d.merchant_id IN (SELECT id FROM merchants WHERE NOT is_active) AND d.attention IS NULL
              AND t.status = 'PENDING' AND t.type = 'DISBURSEMENT'
            UNION ALL
            SELECT 'not_connected', t.amount, t.created_at
            FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
            WHERE d.channel = ANY($2::text[]) AND d.type = 'DISBURSEMENT' AND d.attention IS NULL
              AND d.connector IS NULL AND t.status = 'PENDING'
              AND d.merchant_id IN (SELECT id FROM merchants WHERE is_active)
            UNION ALL
            SELECT 'contradicted', t.amount, c.since
            FROM corrections c JOIN transactions t ON t.merchant_id = c.merchant_id AND t.id = c.transaction_id
            WHERE c.is_open
        )
        SELECT kind, count(*), sum(amount)::bigint, {_age("min(since)")} FROM cases GROUP BY 1
        """,
        float(unsettled_seconds),
        list(unconnected_payouts),
    )
    return [UnsettledPayments(*row.values()) for row in rows]


async def find_backlogs(connection: Conn) -> dict[str, float]:
    """Webhooks, events, workers and the schema."""
    row = await connection.fetchrow(
        f"""
        SELECT w.webhook_backlog, w.webhook_oldest_seconds, e.events_unnumbered, e.events_unnumbered_oldest_seconds,
               (SELECT count(*) FROM worker_send_counts WHERE seen_at > now() - interval '{_ALIVE_SECONDS} s')
                   AS workers_alive,
               (SELECT max(number) FROM schema_migrations) AS database_schema
        FROM (
            SELECT count(*) AS webhook_backlog, {_age("min(d.due_at)")} AS webhook_oldest_seconds
            FROM webhook_endpoints e CROSS JOIN LATERAL (
                SELECT due_at FROM webhook_deliveries d
                WHERE d.endpoint_id = e.id AND d.state = 'PENDING' AND d.due_at <= now()
                  AND (d.leased_until IS NULL OR d.leased_until < now())
                ORDER BY due_at LIMIT 10000
            ) d WHERE e.is_active AND e.deleted_at IS NULL
        ) w, (
            SELECT count(*) AS events_unnumbered, {_age("min(created_at)")} AS events_unnumbered_oldest_seconds
            FROM (SELECT created_at FROM events WHERE feed_number IS NULL ORDER BY created_at LIMIT {_MOST}) AS events
        ) e
        """
    )
    assert row is not None
    return {name: float(value) for name, value in row.items()}


async def find_counting_backlog(connection: Conn) -> dict[Labels, float]:
    """Events and statement lines that the rollups have not reached."""
    row = await connection.fetchrow(
        """
        SELECT (SELECT coalesce(sum(f.last_number - coalesce(p.position, 0)), 0) FROM feeds f
                LEFT JOIN rollup_positions p ON p.merchant_id = f.merchant_id AND p.rollup = 'payments'),
               (SELECT coalesce(sum(w.statement_lines - coalesce(p.position, 0)), 0) FROM wallets w
                LEFT JOIN rollup_positions p ON p.merchant_id = w.merchant_id AND p.rollup = 'statement')
        """
    )
    assert row is not None
    return {("payments",): float(row[0]), ("statement",): float(row[1])}


async def find_receipt_log(connection: Conn) -> dict[str, float]:
    """How far the latest log is signed, and how far it is behind."""
    row = await connection.fetchrow(
        """
        SELECT coalesce(l.size - c.size, 0) AS receipt_log_unsigned_leaves,
               CASE WHEN l.size > c.size THEN date_part('epoch', now() - greatest(c.signed_at, to_timestamp(l.number)))
                    ELSE 0 END AS receipt_log_unsigned_seconds,
               (SELECT coalesce(sum(last_number - logged_to), 0) FROM feeds) AS receipt_log_behind_events
        FROM (VALUES (1)) AS one
        LEFT JOIN (SELECT number, size FROM receipt_logs ORDER BY number DESC LIMIT 1) l ON true
        LEFT JOIN LATERAL (
            SELECT coalesce(max(size), 0) AS size, max(signed_at) AS signed_at FROM (
                SELECT size, signed_at FROM receipt_checkpoints WHERE log_number = l.number ORDER BY size DESC LIMIT 1
            ) AS last) c ON true
        """
    )
    assert row is not None
    return {name: float(value) for name, value in row.items()}


async def find_ledger_check(connection: Conn) -> dict[str, float]:
    """The last check that has ended, the last clean one, and the findings so far of the one that is running."""
    row = await connection.fetchrow(
        f"""
        SELECT coalesce((SELECT date_part('epoch', finished_at) FROM ledger_checks
                         WHERE {checks.IS_CLEAN} AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1), 0)
                   AS ledger_check_clean_timestamp_seconds,
               coalesce(date_part('epoch', l.finished_at), 0) AS ledger_check_finished_timestamp_seconds,
               coalesce(date_part('epoch', l.finished_at - l.started_at), 0) AS ledger_check_seconds,
               coalesce(l.busy_seconds, 0) AS ledger_check_busy_seconds,
               coalesce(l.longest_seconds, 0) AS ledger_check_longest_piece_seconds,
               greatest(coalesce(l.finding_count, 0),
                        coalesce((SELECT finding_count FROM ledger_checks WHERE finished_at IS NULL), 0))
                   AS ledger_check_findings,
               coalesce((SELECT max({checks.NEWER_COUNT}) FROM ledger_checks
                         WHERE finished_at IS NULL OR id = l.id), 0) AS ledger_check_newer_rows
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM ledger_checks WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1
        ) l ON true
        """
    )
    assert row is not None
    return {name: float(value) for name, value in row.items()}


async def find_archiving(connection: Conn) -> dict[str, float]:
    """Whether the log is archived, as every role may read it."""
    row = await connection.fetchrow(
        """
        SELECT (current_setting('archive_mode') <> 'off')::int AS wal_archiving,
               coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)::int
                   AS wal_archive_failing,
               failed_count AS wal_archive_failed
        FROM pg_stat_archiver
        """
    )
    assert row is not None
    return {name: float(value) for name, value in row.items()}


async def find_sums(connection: Conn) -> dict[str, float]:
    """Suspense, debts, and losses. Few payments are ever corrected, and house bookings are few."""
    row = await connection.fetchrow(
        f"""
        SELECT (SELECT coalesce(sum(CASE 'suspense' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END), 0)
                FROM (SELECT source, target, amount FROM moves WHERE step IN ('contradiction', 'resolution')
                      UNION ALL SELECT source, target, amount FROM house_bookings
                      UNION ALL SELECT 'suspense', 'wallet', amount FROM bookings WHERE kind = 'suspense_release'
                      UNION ALL SELECT 'wallet', 'suspense', amount FROM bookings WHERE kind = 'suspense_take_back'
                      UNION ALL SELECT m.source, m.target, m.amount FROM settlements s
                                JOIN moves m ON m.merchant_id = s.merchant_id AND m.cause_id = s.id
                                WHERE s.is_adopted AND m.step = 'return') AS moved) AS suspense_shillings,
               (SELECT coalesce(sum(owed), 0) FROM wallets) AS owed_shillings,
               (SELECT count(*) FROM (SELECT FROM webhook_deliveries WHERE state = 'EXHAUSTED' LIMIT {_MOST}) AS ended)
                   AS webhooks_exhausted,
               (SELECT count(*) FROM webhook_endpoints WHERE disabled_reason IS NOT NULL AND deleted_at IS NULL)
                   AS webhook_endpoints_disabled,
               (SELECT count(*) FROM unknown_callbacks) AS unknown_callbacks,
               pg_database_size(current_database()) AS database_bytes
        """
    )
    assert row is not None
    return {name: float(value) for name, value in row.items()}
