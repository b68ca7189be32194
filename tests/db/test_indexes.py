"""Every index of a table that grows with the payments costs bytes for each: each has a reader, and none is unknown.

The queries are those of the stores, in short. A table that grows is listed with how long its rows are kept.
"""

from contextlib import suppress
from datetime import UTC, datetime

from benchmarks.growth.tables import GROWING
from malipo.db import Database
from malipo.payments.listing.filters import TransactionFilter, where_of

AT = datetime(2026, 3, 14, tzinfo=UTC)

# Who reads by it.
READERS = {
    "transactions_pkey": "SELECT FROM transactions WHERE merchant_id = 'm' AND id < 'txn_2' ORDER BY id DESC LIMIT 20",
    "transactions_reference_is_unique": "SELECT FROM transactions WHERE merchant_id = 'm' AND reference = 'MLP-1'",
    "transactions_network_key_is_unique": """
        SELECT FROM transactions WHERE (channel, network_key) IN (SELECT * FROM unnest('{a}'::text[], '{b}'::text[]))
    """,
    "transactions_by_order_reference": """
        SELECT id FROM transactions WHERE merchant_id = 'm' AND order_reference = 'A-1' ORDER BY id DESC LIMIT 20
    """,
    "transactions_by_provider_reference": """
        SELECT id FROM transactions WHERE merchant_id = 'm' AND provider_reference = 'QK1' ORDER BY id DESC LIMIT 20
    """,
    "transactions_paid_out_by_people": """
        SELECT sum(amount) FROM transactions WHERE merchant_id = 'm' AND created_by = 'a@b.tz' AND created_at >= now()
        AND type = 'DISBURSEMENT' AND created_by LIKE '%@%'
    """,
    "transactions_paid_out_to": """
        SELECT max(id) FROM transactions WHERE merchant_id = 'm' AND phone = '+255754000001' AND id >= 'txn_1'
        AND type = 'DISBURSEMENT'
    """,
    "idempotency_keys_pkey": "SELECT FROM idempotency_keys WHERE merchant_id = 'm' AND route = 'COLLECTION' AND key = 'k'",
    "moves_pkey": "SELECT FROM moves WHERE merchant_id = 'm' AND cause_id = 'txn_1' ORDER BY created_at",
    "moves_statement": """
        SELECT FROM moves WHERE merchant_id = 'm' AND statement_line > 1 AND statement_line <= 21 ORDER BY statement_line
    """,
    "moves_in_suspense": "SELECT sum(amount) FROM moves WHERE step IN ('contradiction', 'resolution')",
    "moves_by_time": "SELECT sum(amount) FROM moves WHERE created_at >= now() - interval '1 day' AND created_at < now()",
    "search_index_pkey": "SELECT FROM search_index WHERE merchant_id = 'm' AND id BETWEEN 'txn_1' AND 'txn_2'",
    "search_index_by_ngram": "SELECT FROM search_index WHERE ngrams @> '{1,2}'",
    "batch_items_pkey": """
        SELECT FROM batch_items WHERE merchant_id = 'm' AND batch_id = 'b' AND item_index >= 0 ORDER BY item_index
    """,
    "batch_items_by_key": "SELECT FROM batch_items WHERE network_key = 'K'",
    "network_answers_pkey": "SELECT FROM network_answers WHERE merchant_id = 'm' AND transaction_id = 't' ORDER BY id",
    "rollup_counts_pkey": """
        SELECT FROM rollup_counts WHERE merchant_id = 'm' AND rollup = 'payments' AND level = 0 AND bucket BETWEEN 1 AND 2
    """,
    "daily_totals_pkey": "SELECT FROM daily_totals WHERE merchant_id = 'm' AND day >= '2026-11-01'",
    "events_pkey": "SELECT FROM events WHERE merchant_id = 'm' AND id = 'evt_1'",
    "events_tell_once": "SELECT FROM events WHERE merchant_id = 'm' AND transaction_id = 'txn_1'",
    "events_unnumbered": "SELECT FROM events WHERE feed_number IS NULL ORDER BY created_at LIMIT 100",
    "events_feed": "SELECT FROM events WHERE merchant_id = 'm' AND feed_number > 1 ORDER BY feed_number LIMIT 100",
    "webhook_deliveries_pkey": """
        SELECT FROM webhook_deliveries WHERE endpoint_id = 'e' AND event_id < 'evt_1' ORDER BY event_id LIMIT 1000
    """,
    "webhook_deliveries_due": """
        SELECT FROM webhook_deliveries WHERE endpoint_id = 'e' AND state = 'PENDING' AND due_at <= now() ORDER BY due_at
    """,
    "webhook_deliveries_exhausted": """
        SELECT FROM webhook_deliveries WHERE endpoint_id = 'e' AND state = 'EXHAUSTED' AND event_id >= 'evt_1' LIMIT 100
    """,
    "webhook_attempts_pkey": "SELECT FROM webhook_attempts WHERE endpoint_id = 'e' AND event_id = 'evt_1' ORDER BY id",
    "dispatches_pkey": "SELECT FROM dispatches WHERE merchant_id = 'm' AND transaction_id = 'txn_1'",
    "dispatches_to_send": """
        SELECT FROM dispatches WHERE connector IS NULL AND channel = 'MPESA' AND type = 'COLLECTION' AND due_at <= now()
        ORDER BY due_at
    """,
    "dispatches_single": """
        SELECT FROM dispatches WHERE connector IS NULL AND batch_id IS NULL AND channel = 'MPESA'
        AND type = 'DISBURSEMENT' AND due_at <= now() ORDER BY due_at LIMIT 100
    """,
    "dispatches_of_batch": """
        SELECT FROM dispatches WHERE connector IS NULL AND batch_id = 'b' AND merchant_id = 'm' AND channel = 'MPESA'
        AND due_at <= now() ORDER BY due_at, transaction_id LIMIT 100
    """,
    "dispatches_of_connector": """
        SELECT FROM dispatches WHERE connector = 'mpesa' AND NOT is_follow_up AND due_at <= now() ORDER BY due_at
    """,
    "dispatches_follow_ups": """
        SELECT FROM dispatches WHERE connector = 'mpesa' AND is_follow_up AND due_at <= now() ORDER BY due_at
    """,
    "dispatches_asked_first": """
        SELECT FROM dispatches WHERE is_asked_first AND connector IS NULL AND channel = 'MPESA' AND type = 'COLLECTION'
        AND due_at <= now() ORDER BY due_at
    """,
}
# In an empty table another index costs the same for this one's reader.
AS_CHEAP_WHEN_EMPTY = {"transactions_paid_out_by_people": "transactions_paid_out_to"}
# The statements of the pruner, which run on tables of any size: none may read a whole table.
PRUNING = {
    "deliveries": (
        "webhook_deliveries_pkey",
        """
        DELETE FROM webhook_deliveries WHERE (endpoint_id, event_id) IN (
            SELECT d.endpoint_id, d.event_id FROM webhook_endpoints e CROSS JOIN LATERAL (
                SELECT endpoint_id, event_id FROM webhook_deliveries
                WHERE endpoint_id = e.id AND event_id < 'evt_1' ORDER BY event_id LIMIT 1000
            ) d LIMIT 1000
        )
        """,
    ),
    "attempts": (
        "webhook_attempts_pkey",
        """
        DELETE FROM webhook_attempts
        WHERE (endpoint_id, event_id) IN (SELECT * FROM unnest('{a}'::text[], '{b}'::text[]))
        """,
    ),
    "events": ("events_feed", "DELETE FROM events WHERE merchant_id = 'm' AND feed_number <= 1000"),
}


class _TakenBack(Exception):  # noqa: N818
    """Ends a transaction whose changes are not wanted."""


async def _plan(database: Database, query: str, *, without: str | None = None) -> str:
    plan = ""
    with suppress(_TakenBack):
        async with database.begin() as tx:
            if without is not None:
                await tx.execute(f"DROP INDEX {without}")
            await tx.execute("SET LOCAL enable_seqscan = off")  # Of an empty table nothing is quicker.
            await tx.execute("SET LOCAL join_collapse_limit = 8; SET LOCAL from_collapse_limit = 8")  # as in production
            plan = "\n".join(row[0] for row in await tx.fetch(f"EXPLAIN {query}"))
            raise _TakenBack
    return plan


async def test_every_index_of_a_growing_table_has_a_reader(database: Database) -> None:
    async with database.read() as connection:
        rows = await connection.fetch("SELECT indexname FROM pg_indexes WHERE tablename = ANY($1::text[])", [*GROWING])
    assert {row["indexname"] for row in rows} == READERS.keys()
    for index, query in READERS.items():
        plan = await _plan(database, query, without=AS_CHEAP_WHEN_EMPTY.get(index))
        assert f" {index} " in f"{plan} ".replace("\n", " "), index


async def test_the_payments_of_an_order_are_counted_and_paged_in_the_index_alone(database: Database) -> None:
    """Exactly the statements of `listing/by_reference.py`: a merchant's ten million payments are not read."""
    where = where_of("m", TransactionFilter(order_reference="A-1", first=AT, before="txn_1"))
    condition = str(where)
    for number, value in reversed([*enumerate(where.values, start=1)]):
        condition = condition.replace(f"${number}", f"'{value}'")
    for query in (
        f"SELECT count(*) FROM transactions t WHERE {condition}",
        f"SELECT t.id FROM transactions t WHERE {condition} ORDER BY t.id DESC LIMIT 20 OFFSET 40",
    ):
        plan = await _plan(database, query)
        assert "Index Only Scan" in plan, plan
        assert "transactions_by_order_reference" in plan
        assert "Sort" not in plan


async def test_pruning_reads_by_an_index(database: Database) -> None:
    for what, (index, statement) in PRUNING.items():
        plan = await _plan(database, statement)
        assert index in plan, what
        assert "Seq Scan" not in plan, what
