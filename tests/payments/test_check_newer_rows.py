"""Rows of a newer version, as after a rollback: unknown to the ledger check, and not wrong."""

import pytest

from malipo.db import Database
from malipo.db.schema import migrations
from malipo.ledger import check as ledger_check
from malipo.ledger.check import LedgerFinding
from malipo.payments.check import newer_rows
from malipo.payments.check import transactions as transactions_check
from malipo.payments.transaction import Status, Transaction, Type
from malipo.settings import Settings
from malipo.worker.ledger_checker import LedgerChecker
from tests.conftest import NO_LIMITS
from tests.journeys.operator_commands import malipo
from tests.payments.payment_steps import PaymentSteps
from tests.payments.payment_steps import steps as steps
from tests.worker.test_ledger_checker import gauge, last, run_whole

NEWER = 9001
# What a later migration might do, and rows that only its version writes. $1 is a merchant, $2 one of its payouts.
MIGRATED = """
    ALTER TABLE moves DROP CONSTRAINT moves_step_check, DROP CONSTRAINT moves_go_between_known_accounts;
    ALTER TABLE bookings DROP CONSTRAINT bookings_kind_check;
"""
AN_EVENT = """
    INSERT INTO events (merchant_id, id, transaction_id, event, body, created_at, ordinal)
    VALUES ($1, 'evt_disputed', $2, 'payout.disputed', '{}', now(), 1)
"""
A_STEP = """
    INSERT INTO moves (merchant_id, cause_id, step, move_number, source, target, amount, channel, created_at)
    SELECT merchant_id, cause_id, 'chargeback', 1, 'suspense', 'fees', 7, NULL, created_at
    FROM moves WHERE merchant_id = $1 AND cause_id = $2 AND step = 'open'
"""
AN_ACCOUNT = "UPDATE moves SET target = 'escrow' WHERE merchant_id = $1 AND cause_id = $2 AND step = 'open'"
A_KIND = """
    WITH kept AS (UPDATE bookings SET kind = 'advance' WHERE merchant_id = $1)
    SELECT FROM transactions WHERE merchant_id = $1 AND id = $2
"""
ROWS = {"event": AN_EVENT, "step": A_STEP, "account": AN_ACCOUNT, "kind": A_KIND}


async def check(database: Database) -> list[LedgerFinding]:
    async with database.snapshot() as connection:
        found = await ledger_check.check(connection) + await transactions_check.check(connection)
        return await newer_rows.mark(connection, found, lists_words=True)


async def migrate_to_newer(database: Database) -> None:
    async with database.begin() as tx:
        await tx.execute(MIGRATED)
        await tx.execute(
            "INSERT INTO schema_migrations (number, name, checksum, serves) VALUES ($1, 'later', '', $2)",
            NEWER,
            migrations()[-1].number,
        )


async def write(database: Database, rows: str, payout: Transaction) -> None:
    async with database.begin() as tx:
        await tx.execute(rows, payout.merchant_id, payout.id)


@pytest.fixture
async def payout(steps: PaymentSteps) -> Transaction:
    return await steps.ended(Type.DISBURSEMENT, Status.COMPLETED)


@pytest.mark.parametrize("what", ROWS)
async def test_a_row_of_a_newer_version_is_unknown_and_not_wrong(
    steps: PaymentSteps, payout: Transaction, database_url: str, what: str
) -> None:
    await migrate_to_newer(steps.database)
    assert await check(steps.database) == [], "a newer schema alone is nothing"
    await write(steps.database, ROWS[what], payout)

    found = await check(steps.database)

    assert found
    assert {each.newer_schema for each in found} == {NEWER}
    said = await malipo("ledger", "check", database_url=database_url)
    assert said.code == 3
    assert "NOT clean" not in said.err
    assert f"a version that has migration {NEWER}; this one has {migrations()[-1].number}." in said.err


async def test_the_scheduled_check_rings_no_alarm_for_it_and_does_not_call_it_clean(
    steps: PaymentSteps, payout: Transaction, database_url: str
) -> None:
    settings = Settings(**NO_LIMITS)
    await migrate_to_newer(steps.database)
    await write(steps.database, AN_EVENT, payout)
    await write(steps.database, A_STEP, payout)

    await run_whole(LedgerChecker(steps.database, settings))

    done = await last(steps.database)
    assert done is not None
    assert done.finding_count == 0
    assert await gauge(steps.database, settings, "ledger_check_findings") == 0
    assert await gauge(steps.database, settings, "ledger_check_newer_rows") == len(done.findings) > 0
    assert await gauge(steps.database, settings, "ledger_check_clean_timestamp_seconds") == 0
    said = await malipo("ledger", "check", "--last", "--json", database_url=database_url)
    assert (said.code, said.json["isClean"], said.json["needsSchema"]) == (3, False, NEWER)


async def test_a_difference_in_what_this_version_knows_rings_beside_it(
    steps: PaymentSteps, payout: Transaction, database_url: str
) -> None:
    other = await steps.ended(Type.DISBURSEMENT, Status.COMPLETED)
    await migrate_to_newer(steps.database)
    await write(steps.database, AN_EVENT, payout)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE wallets SET available = available + 1")
        await tx.execute("DELETE FROM events WHERE transaction_id = $1 AND event = 'payout.completed'", other.id)

    wrong = {(each.what, each.where) for each in await check(steps.database) if each.is_wrong}

    assert ("wallet", payout.merchant_id) in wrong, "also of a merchant with newer rows"
    assert ("payout.completed was never told", other.id) in wrong
    assert (await malipo("ledger", "check", database_url=database_url)).code == 1


async def test_an_unknown_word_is_wrong_if_no_newer_version_has_migrated_the_database(
    steps: PaymentSteps, payout: Transaction
) -> None:
    await write(steps.database, AN_EVENT, payout)
    found = await check(steps.database)
    assert all(each.is_wrong for each in found)
    assert "payout.disputed was told and is not true" in {each.what for each in found}
