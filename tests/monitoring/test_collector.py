"""The collector: each gauge has the value of the database, and keeps its last value while the database is away."""

import re
from dataclasses import replace
from datetime import timedelta
from math import isnan
from pathlib import Path

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.bank.balance import find_seen
from malipo.db import Database
from malipo.db.schema import migrations
from malipo.db.schema_monitor import SchemaMonitor
from malipo.floats import store as floats
from malipo.floats.position import FloatReading, Source
from malipo.metrics.process_metrics import Metrics
from malipo.monitoring.collector import Collector
from malipo.payments.transaction import Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant
from tests.journeys.concurrency import order
from tests.reconciliation.close.books import MONDAY, Books, at


class Look:
    """A collector and the metrics that it sets, at a time that can be moved."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.metrics = Metrics()
        self.now = clock.now()
        self.collector = Collector(
            database, self.metrics.money, settings, lambda: self.now, SchemaMonitor(database), find_seen
        )

    def __getitem__(self, name: str) -> float:
        [value] = re.findall(rf"^malipo_{re.escape(name)} (\S+)$", self.metrics.exposition().decode(), re.MULTILINE)
        return float(value)


@pytest.fixture
def settings() -> Settings:
    return replace(Settings(**NO_LIMITS), float_low=(("MPESA", 500),))


@pytest.fixture
async def look(database: Database, settings: Settings) -> Look:
    return Look(database, settings)


async def execute(database: Database, *statements: str) -> None:
    async with database.begin() as tx:
        for each in statements:
            await tx.execute(each)


@pytest.fixture
async def payout(service: Service, merchant: Merchant) -> str:
    return (await service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 1000, key="a"))).transaction.id


async def test_before_the_first_look_nothing_is_claimed(look: Look) -> None:
    assert look["workers_alive"] != look["workers_alive"], "not a number"
    assert look['money_seen_timestamp_seconds{look="often"}'] == 0
    assert look["code_schema"] == migrations()[-1].number
    assert look['float_low_shillings{channel="MPESA"}'] == 500


async def test_a_payout_that_waits_shows_in_the_gauges_and_goes_from_them(
    look: Look, database: Database, payout: str
) -> None:
    await execute(database, "UPDATE dispatches SET queued_at = now() - interval '1000 s'")
    await look.collector.look()
    labels = '{channel="MPESA",type="DISBURSEMENT"}'
    assert look[f"send_backlog{labels}"] == 1
    assert 1000 <= look[f"pending_oldest_seconds{labels}"] < 1100
    assert look['send_backlog{channel="HALOPESA",type="COLLECTION"}'] == 0
    assert (look["database_up"], look["database_schema"]) == (1, migrations()[-1].number)

    await execute(database, "DELETE FROM dispatches")
    await look.collector.look()
    assert (look[f"send_backlog{labels}"], look[f"pending_oldest_seconds{labels}"]) == (0, 0)


SENT = """
    UPDATE transactions SET status = 'PROCESSING', created_at = now() - interval '3 h', processing_at = now() - interval '2 h';
    UPDATE dispatches SET connector = 'mpesa', queued_at = now() - interval '3 h', due_at = now() - interval '1 s'
"""
UNSETTLED = {
    "late": SENT,
    "review": SENT + ", attention = 'not_found'",
    "closed_merchant": "UPDATE merchants SET is_active = false; UPDATE transactions SET created_at = now() - interval '2 h'",
    "contradicted": """
        INSERT INTO corrections (merchant_id, transaction_id, is_paid, is_fee_paid, credited, borne, owed, ordinal, is_open, since)
        SELECT merchant_id, id, true, true, 0, 0, 1000, 1, true, now() - interval '2 h' FROM transactions
    """,
}


@pytest.mark.parametrize("kind", UNSETTLED)
async def test_an_unsettled_payment_is_counted_once_by_its_kind(
    look: Look, database: Database, payout: str, kind: str
) -> None:
    await execute(database, UNSETTLED[kind])
    await look.collector.look()
    shown = {each: look[f'unsettled_payments{{kind="{each}"}}'] for each in UNSETTLED}
    assert shown == {each: float(each == kind) for each in UNSETTLED}
    assert look[f'unsettled_shillings{{kind="{kind}"}}'] == 1000
    assert 7200 <= look[f'unsettled_oldest_seconds{{kind="{kind}"}}'] < 7300


async def test_a_payment_that_is_not_late_yet_is_not_unsettled(look: Look, database: Database, payout: str) -> None:
    await execute(database, SENT.replace("interval '2 h'", "interval '50 min'"))
    await look.collector.look()
    assert look['unsettled_payments{kind="late"}'] == 0
    assert look['query_backlog{channel="MPESA",type="DISBURSEMENT"}'] == 1


async def test_webhooks_events_and_counts_that_wait_are_seen(
    look: Look, database: Database, merchant: Merchant, payout: str
) -> None:
    await execute(
        database,
        f"""
        INSERT INTO webhook_endpoints (id, merchant_id, url, events, secret, created_at, disabled_reason)
        VALUES ('whk_1', '{merchant.id}', 'https://x.example', '{{}}', '', now(), NULL),
               ('whk_2', '{merchant.id}', 'https://x.example', '{{}}', '', now(), 'it failed');
        UPDATE webhook_endpoints SET is_active = false WHERE id = 'whk_2';
        INSERT INTO webhook_deliveries (endpoint_id, event_id, merchant_id, event, state, due_at)
        SELECT endpoint, 'evt_' || n, '{merchant.id}', 'payout.failed', state, now() - interval '1 min' * n
        FROM (VALUES ('whk_1', 2, 'PENDING'), ('whk_1', 3, 'PENDING'), ('whk_1', -5, 'PENDING'), ('whk_1', 9, 'EXHAUSTED'),
                     ('whk_2', 8, 'PENDING')) AS d (endpoint, n, state);
        INSERT INTO events (merchant_id, id, transaction_id, event, body, created_at)
        VALUES ('{merchant.id}', 'evt_1', '{payout}', 'payout.failed', '{{}}', now() - interval '1 min');
        INSERT INTO unknown_callbacks VALUES ('cbk_1', now(), 'mpesa', 'k', 5, NULL, NULL, 'confirmed', '0', '', true);
        INSERT INTO worker_send_counts (worker_id, host, server_id, seen_at)
        VALUES ('wrk_1', 'a', 's', now()), ('wrk_2', 'a', 's', now() - interval '1 h')
        """,
    )
    await look.collector.look()
    assert (look["webhook_backlog"], look["webhooks_exhausted"], look["webhook_endpoints_disabled"]) == (2, 1, 1)
    assert 180 <= look["webhook_oldest_seconds"] < 200
    assert look["events_unnumbered"] == 1
    assert 60 <= look["events_unnumbered_oldest_seconds"] < 80
    assert (look["unknown_callbacks"], look["workers_alive"]) == (1, 1)
    assert look['counting_backlog{rollup="statement"}'] == 2


async def test_suspense_debts_and_float_are_what_the_ledger_says(
    look: Look, database: Database, merchant: Merchant, payout: str
) -> None:
    await execute(
        database,
        f"""
        UPDATE wallets SET owed = 70;
        INSERT INTO moves (merchant_id, cause_id, step, move_number, source, target, channel, amount, created_at)
        VALUES ('{merchant.id}', '{payout}', 'contradiction', 1, 'suspense', 'float', 'MPESA', 70, now());
        INSERT INTO daily_totals (merchant_id, day, type, channel, amount)
        VALUES ('{merchant.id}', '2026-01-01', 'COLLECTION', 'MPESA', 1000),
               ('{merchant.id}', '2026-01-02', 'DISBURSEMENT', 'MPESA', 300)
        """,
    )
    await look.collector.look()
    assert (look["owed_shillings"], look["suspense_shillings"]) == (70, -70)
    assert look['float_shillings{channel="MPESA"}'] == 1000 - 300 - 70
    assert look['float_shillings{channel="HALOPESA"}'] == 0


async def test_safeguarding_is_that_of_the_last_close(
    look: Look, database: Database, settings: Settings, tmp_path: Path
) -> None:
    await look.collector.look()
    assert isnan(look["safeguarding_difference_shillings"])
    books = await Books.begin(database, tmp_path)
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 4800, "11:59", "money")])
    await books.match("R1")
    await books.try_to_close(MONDAY, accepts_difference=True, reason="200 are missing")
    await books.approve(MONDAY)
    look = Look(database, settings)  # The other one looks again in five minutes.
    await look.collector.look()
    assert (look["safeguarding_difference_shillings"], look["safeguarding_unexplained_shillings"]) == (-190, -200)


async def test_while_the_database_is_away_the_last_look_stays_and_says_how_old_it_is(
    look: Look, database: Database, payout: str
) -> None:
    await look.collector.look()
    seen = look['money_seen_timestamp_seconds{look="often"}']
    assert seen == look.now.timestamp()

    await database.close()
    look.now += timedelta(minutes=5)
    await look.collector.look()
    assert look["database_up"] == 0
    assert look['send_backlog{channel="MPESA",type="DISBURSEMENT"}'] == 1
    assert look['money_seen_timestamp_seconds{look="often"}'] == seen
    await database.open()


async def test_sums_are_made_rarely_and_queues_read_at_each_look(look: Look, database: Database, payout: str) -> None:
    await look.collector.look()
    await execute(database, "UPDATE wallets SET owed = 5", "DELETE FROM dispatches")
    await look.collector.look()
    assert look["owed_shillings"] == 0, "as it was"
    assert look['send_backlog{channel="MPESA",type="DISBURSEMENT"}'] == 0


async def test_the_cover_of_a_float_is_what_was_seen_less_payouts_in_flight(
    look: Look, database: Database, payout: str
) -> None:
    await look.collector.look()
    assert (look['float_in_flight_shillings{channel="MPESA"}'], look['float_cover_shillings{channel="MPESA"}']) == (
        1000,
        -1000,
    ), "without a reading, of what the ledger has"
    assert "malipo_float_reading_shillings{" not in look.metrics.exposition().decode()

    readings = [FloatReading("MPESA", "", 5000, source, look.now - timedelta(seconds=60), "x") for source in Source]
    async with database.begin() as tx:
        await floats.insert(tx, readings[:1])
        await floats.insert(tx, [readings[2]._replace(amount=7, read_at=look.now - timedelta(hours=30))])
    await look.collector.look()
    assert look['float_reading_shillings{channel="MPESA"}'] == 5000
    assert look['float_cover_shillings{channel="MPESA"}'] == 4000
    assert look['float_cover_shillings{channel="HALOPESA"}'] == 0
    assert 60 <= look['float_reading_age_seconds{channel="MPESA",source="network"}'] < 61
    assert look['float_reading_age_seconds{channel="MPESA",source="operator"}'] == 30 * 3600
    assert look["float_reading_interval_seconds"] == 300


async def test_the_database_says_whether_its_log_is_archived(look: Look) -> None:
    await look.collector.look()
    assert (look["wal_archiving"], look["wal_archive_failing"], look["wal_archive_failed"]) == (0, 0, 0)
    assert look["database_bytes"] > 1_000_000


async def test_the_disks_of_the_folders_that_there_are_are_measured(database: Database, tmp_path: Path) -> None:
    here = Look(database, replace(Settings(**NO_LIMITS), data_dir=tmp_path, state_dir=str(tmp_path / "not_there")))
    await here.collector.look_at_disks()
    assert 0 < here['disk_free_bytes{disk="data"}'] <= here['disk_size_bytes{disk="data"}']
    assert b'disk="state"' not in here.metrics.exposition()


async def test_a_channel_is_connected_by_the_settings_and_payouts_on_others_are_unsettled(
    database: Database, service: Service, merchant: Merchant
) -> None:
    here = Look(database, replace(Settings(**NO_LIMITS), airtel_money_base_url="https://airtel.example.com"))
    assert here['channel_connected{channel="AIRTEL_MONEY",type="DISBURSEMENT"}'] == 1
    assert here['channel_connected{channel="MPESA",type="DISBURSEMENT"}'] == 0
    await service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 1000, key="a"))
    await here.collector.look()
    assert here['unsettled_payments{kind="not_connected"}'] == 1
    assert here['unsettled_shillings{kind="not_connected"}'] == 1000
