"""The ledger's float of a channel has every payment that has ended, also before a worker has added it to the totals."""

import random

from malipo.db import Database
from malipo.floats import store
from malipo.networks.connector import Channel
from malipo.payments.transaction import Status, Type
from tests.conftest import Merchant
from tests.outbox.test_daily_totals import crowd, make, number, number_all


async def floats(database: Database) -> dict[str, int]:
    async with database.read() as connection:
        return await store.find_ledger_floats(connection)


async def test_a_completed_payment_is_in_the_float_at_once_and_once(database: Database, merchant: Merchant) -> None:
    await make(database, merchant, Status.COMPLETED, amount=5000, channel=Channel.TIGO_PESA)
    await make(database, merchant, Status.COMPLETED, amount=2000, channel=Channel.TIGO_PESA, type_=Type.DISBURSEMENT)
    await make(database, merchant, Status.FAILED, amount=700, channel=Channel.TIGO_PESA)
    assert await floats(database) == {"TIGO_PESA": 3000}
    await number_all(database)
    assert await floats(database) == {"TIGO_PESA": 3000}


async def test_the_float_does_not_change_while_events_are_numbered(database: Database, merchant: Merchant) -> None:
    ended = await crowd(database, merchant, 40, random.Random(5))
    expected: dict[str, int] = {}
    for each in ended:
        if each.status is Status.COMPLETED:
            moved = each.amount if each.type is Type.COLLECTION else -each.amount
            expected[each.channel] = expected.get(each.channel, 0) + moved
    has_more = True
    while has_more:
        assert {channel: amount for channel, amount in (await floats(database)).items() if amount} == expected
        async with database.begin() as tx:
            has_more = bool(await number(tx, most=7))
