"""Windows in the database: what is counted is there for everybody, and nobody waits for a disk because of it."""

from malipo.db import Database
from malipo.limits import store
from malipo.limits.window import RateClass, Window
from tests.conftest import Merchant


async def test_what_is_saved_is_what_the_next_one_finds_and_no_other_class_has_it(
    database: Database, merchant: Merchant
) -> None:
    async with database.begin() as tx:
        key_id = str(await tx.fetchval("SELECT id FROM api_keys WHERE merchant_id = $1", merchant.id))
        places = [(key_id, rate_class) for rate_class in RateClass]
        now_ms, held = await store.lock(tx, places)
        assert held == dict.fromkeys(places, Window())
        _, after = held[places[0]].admit(3, limit=100, now_ms=now_ms)
        await store.save(tx, {places[0]: after})
    async with database.begin() as tx:
        later_ms, held = await store.lock(tx, places)

    assert later_ms > now_ms
    assert held == dict.fromkeys(places, Window()) | {places[0]: after}
    assert after.pairs == [(now_ms, 3)]


async def test_counting_waits_for_no_disk_and_the_next_commit_does(database: Database, merchant: Merchant) -> None:
    async with database.read() as connection:
        async with connection.transaction():
            key_id = str(await connection.fetchval("SELECT id FROM api_keys WHERE merchant_id = $1", merchant.id))
            await store.lock(connection, [(key_id, RateClass.CREATE)])
            assert await connection.fetchval("SHOW synchronous_commit") == "off"
        assert await connection.fetchval("SHOW synchronous_commit") == "on"
