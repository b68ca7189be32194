"""What orders need is one statement, and yet keys are claimed before wallets are held, and a wallet is as it is by then."""

import asyncio

import asyncpg
import pytest

from malipo.db import Database
from malipo.payments.store import initiate_inputs
from malipo.payments.store.idempotency_keys import IdempotencyKey, IdempotencyRecord
from malipo.payments.transaction import Type
from tests.conftest import make_merchant


async def test_a_wallet_that_was_waited_for_is_as_the_other_left_it(database: Database) -> None:
    merchant = await make_merchant(database, wallet=1000)
    wanted: dict[IdempotencyKey, IdempotencyRecord] = {
        (merchant.id, Type.DISBURSEMENT, "order-1"): IdempotencyRecord(b"one", "txn_1")
    }
    async with database.begin() as tx:
        async with database.begin() as other:
            await other.execute(
                "UPDATE wallets SET available = available - 300, in_flight = in_flight + 300, statement_lines = statement_lines + 1"
                " WHERE merchant_id = $1",
                merchant.id,
            )
            finding = asyncio.create_task(initiate_inputs.lock_inputs(tx, wanted, [], [merchant.id]))
            await asyncio.sleep(0.1)
            assert not finding.done()
        found = await finding

    assert found.won == set(wanted)
    assert (found.wallets[merchant.id].available, found.wallets[merchant.id].in_flight) == (700, 300)


async def test_whoever_waits_for_a_key_holds_no_wallet(database: Database) -> None:
    merchant = await make_merchant(database, wallet=1000)
    key = (merchant.id, Type.DISBURSEMENT, "order-1")
    async with database.begin() as tx:
        async with database.begin() as other:
            first = await initiate_inputs.lock_inputs(other, {key: IdempotencyRecord(b"one", "txn_1")}, [], [])
            finding = asyncio.create_task(
                initiate_inputs.lock_inputs(tx, {key: IdempotencyRecord(b"one", "txn_2")}, [], [merchant.id])
            )
            await asyncio.sleep(0.1)
            assert not finding.done()
            # Were it held, this would be refused.
            await other.execute("SELECT FROM wallets WHERE merchant_id = $1 FOR UPDATE NOWAIT", merchant.id)
        found = await finding
        async with database.read() as connection:
            with pytest.raises(asyncpg.LockNotAvailableError):
                await connection.execute("SELECT FROM wallets WHERE merchant_id = $1 FOR UPDATE NOWAIT", merchant.id)

    assert first.won == {key}
    assert found.won == set()
