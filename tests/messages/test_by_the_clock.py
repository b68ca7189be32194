"""Messages that a worker sends by the clock: a low wallet, and the summary of the day before."""

import asyncio
from datetime import datetime, timedelta

import msgspec

from malipo import clock
from malipo.db import Database
from malipo.messages.kinds import MessageKind
from malipo.messages.notify_low_wallets import notify_low_wallets
from malipo.messages.store import choices
from malipo.messages.store.choices import Choice
from malipo.messages.summarize_yesterday import summarize_yesterday
from tests.conftest import Merchant
from tests.mail.mail_steps import add_person, rows

SIX = datetime(2026, 11, 19, 6, tzinfo=clock.ZONE)


async def choose(database: Database, merchant: Merchant, kind: MessageKind, amount: int | None = None) -> None:
    neema = await add_person(database, merchant.id, "neema@duka.example.com")
    async with database.begin() as tx:
        await choices.write(tx, neema.id, {kind: Choice(is_wanted=True, amount=amount)})


async def wallet(database: Database, *, available: int, owed: int = 0) -> None:
    async with database.begin() as tx:
        await tx.execute("UPDATE wallets SET available = $1, owed = $2", available, owed)


async def test_a_wallet_that_goes_up_and_down_is_reported_once_in_six_hours(
    database: Database, merchant: Merchant
) -> None:
    await choose(database, merchant, MessageKind.WALLET_LOW, 500_000)

    async def look(hours: int, available: int, owed: int = 0) -> int:
        await wallet(database, available=available, owed=owed)
        async with database.begin() as tx:
            await notify_low_wallets(tx, now=SIX + timedelta(hours=hours))
        return len(await rows(database))

    assert await look(0, 500_000) == 0, "it is not below"
    assert await look(0, 499_999) == 1
    assert await look(1, 499_000) == 1, "it is still below"
    assert await look(2, 900_000) == 1
    assert await look(5, 400_000) == 1, "it was told in these six hours"
    assert await look(6, 900_000) == 1
    assert await look(7, 900_000, owed=400_001) == 2, "what is owed cannot be spent"


async def test_a_day_is_summed_up_once_from_seven_in_the_morning(database: Database, merchant: Merchant) -> None:
    await choose(database, merchant, MessageKind.DAILY_SUMMARY)
    await wallet(database, available=900_000, owed=100_000)

    async def look(at: datetime) -> int:
        async with database.begin() as tx:
            await summarize_yesterday(tx, now=at)
        return len(await rows(database))

    assert await look(SIX.replace(hour=0)) == 0
    assert await look(SIX.replace(hour=6, minute=59)) == 0
    assert await look(SIX.replace(hour=7)) == 1
    await asyncio.gather(*(look(SIX.replace(hour=8)) for _ in range(4)))
    [message] = await rows(database)
    facts = msgspec.json.decode(message["facts"])
    assert (facts["day"], facts["available_amount"]) == ("2026-11-18", 800_000)
    assert await look(SIX.replace(day=20, hour=7)) == 2
