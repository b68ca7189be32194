"""A tariff is the whole of what one operator has set, whoever sets another one at the same time."""

import asyncio
from collections.abc import Sequence

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.networks.connector import Channel
from malipo.payments.fees import BadTariff, Band
from malipo.payments.set_tariff import set_tariff
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type
from tests.conftest import Merchant
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until

ASHA = Actor("operator asha", "test")


async def set_by(tx: Tx, merchant: Merchant, bands: Sequence[Band]) -> None:
    await set_tariff(tx, merchant.id, Type.COLLECTION, list(Channel), bands, actor=ASHA, now=clock.now())


async def test_of_two_tariffs_set_at_once_the_later_one_holds_whole(database: Database, merchant: Merchant) -> None:
    earlier, later = [Band(500, fixed_fee=50), Band(10_000, fixed_fee=300)], [Band(700, fixed_fee=60)]

    async def set_later() -> None:
        async with database.begin() as tx:
            await set_by(tx, merchant, later)

    async def waits_or_is_done() -> bool:
        return setting.done() or await are_waiting(database)

    async with database.begin() as tx:
        await set_by(tx, merchant, earlier)
        setting = asyncio.create_task(set_later())
        await until(waits_or_is_done, pause=0.01, what="the later tariff")
    await setting
    async with database.read() as connection:
        found = await tariffs.find(connection, [merchant.id])
        entries = await connection.fetch(
            "SELECT details ->> 'bands' AS bands FROM audit_log WHERE action = 'tariff.set'"
        )
    assert list(found.values()) == [later] * len(Channel)
    assert {entry["bands"] for entry in entries} == {'["500:50:0:0","10000:300:0:0"]', '["700:60:0:0"]'}


async def test_a_tariff_that_could_take_all_is_refused_whoever_sets_it(database: Database, merchant: Merchant) -> None:
    async with database.begin() as tx:
        with pytest.raises(BadTariff):
            await set_by(tx, merchant, [Band(500, fixed_fee=500)])
