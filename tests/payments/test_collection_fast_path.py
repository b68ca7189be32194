"""The statement that creates collections, asked directly: for whom it writes, and in which order it takes their keys."""

import asyncio
from contextlib import suppress
from datetime import datetime

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.db import Database
from malipo.payments import status_writer
from malipo.payments.status_writer import FastPathCollection
from malipo.payments.transaction import Transaction, Type
from tests.conftest import Merchant, make_merchant
from tests.journeys.concurrency import order
from tests.journeys.money.racing import held_up


async def key_of(database: Database, merchant: Merchant, *, now: datetime) -> str:
    """The id of its API key, which was used a moment ago."""
    sql = "UPDATE api_keys SET last_used_at = $2 WHERE merchant_id = $1 RETURNING id"
    async with database.begin() as tx:
        return str(await tx.fetchval(sql, merchant.id, now))


def collection(merchant_id: str, key_id: str) -> Transaction:
    draft = order(merchant_id, Type.COLLECTION, 1000).draft
    assert draft is not None
    return replace(draft, created_by=key_id, is_key_derived=True)


async def create(database: Database, *wanted: tuple[str, Transaction]) -> set[str]:
    asked = [FastPathCollection(each, "", key, b"hash") for key, each in wanted]
    async with database.read() as connection:
        return await status_writer.open_by_fast_path(connection, asked, now=clock.now())


async def test_an_api_key_creates_collections_for_its_merchant_only(database: Database, merchant: Merchant) -> None:
    key_id = await key_of(database, merchant, now=clock.now())
    other = await make_merchant(database)
    own, others = collection(merchant.id, key_id), collection(other.id, key_id)

    assert await create(database, ("k", others)) == set()
    assert await create(database, ("k", own)) == {own.id}
    assert await written(database) == {"transactions": 1, "dispatches": 1, "idempotency_keys": 1, "events": 1}


async def test_of_what_does_not_fit_nothing_is_written_and_the_rest_is(database: Database, merchant: Merchant) -> None:
    now = clock.now()
    other = await make_merchant(database)
    good, revoked = await key_of(database, merchant, now=now), await key_of(database, other, now=now)
    async with database.begin() as tx:
        await tx.execute("UPDATE api_keys SET revoked_at = now() WHERE id = $1", revoked)
    first, repeat = collection(merchant.id, good), collection(merchant.id, good)
    assert await create(database, ("used", first)) == {first.id}

    fits = collection(merchant.id, good)
    done = await create(database, ("k", collection(other.id, revoked)), ("used", repeat), ("k", fits))

    assert done == {fits.id}
    assert await written(database) == {"transactions": 2, "dispatches": 2, "idempotency_keys": 2, "events": 2}


async def test_two_statements_that_use_the_same_keys_take_them_in_one_order(
    database: Database, database_url: str, merchant: Merchant
) -> None:
    """Each brings them in its own order. Otherwise they would wait for each other, and the database would end one."""
    key_id = await key_of(database, merchant, now=clock.now())
    keys = [f"order-{n:02}" for n in range(21)]
    one, other = ([(key, collection(merchant.id, key_id)) for key in order] for order in (keys, keys[::-1]))

    with suppress(_LetGo):
        hold = "INSERT INTO idempotency_keys VALUES ($1, 'COLLECTION', $2, '', '')"
        async with held_up(database_url, hold, merchant.id, keys[10]) as until_waiting:
            tasks = []
            for waiting, wanted in enumerate((one, other), start=1):
                tasks.append(asyncio.create_task(create(database, *wanted)))
                await until_waiting(waiting)
            raise _LetGo
    first, second = [await task for task in tasks]

    assert len(first | second) == 21
    assert not first & second
    assert (await written(database))["transactions"] == 21


class _LetGo(Exception):  # noqa: N818
    """Ends the hold and takes back what it wrote."""


async def written(database: Database) -> dict[str, int]:
    async with database.read() as connection:
        return {
            table: await connection.fetchval(f"SELECT count(*) FROM {table}")
            for table in ("transactions", "dispatches", "idempotency_keys", "events")
        }


@pytest.mark.parametrize("is_other_type", [False, True])
async def test_the_tariff_that_a_fee_was_computed_from_must_be_that_of_collections_now(
    database: Database, merchant: Merchant, is_other_type: bool
) -> None:
    key_id = await key_of(database, merchant, now=clock.now())
    type_ = Type.DISBURSEMENT if is_other_type else Type.COLLECTION
    async with database.begin() as tx:
        sql = "INSERT INTO tariffs VALUES ($1, $2, 'MPESA', 0, 70, 0, 0, NULL)"
        await tx.execute(sql, merchant.id, type_)
    free = collection(merchant.id, key_id)
    assert await create(database, ("k", free)) == ({free.id} if is_other_type else set())
