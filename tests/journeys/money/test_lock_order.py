"""Commits that want the same rows take them in one order, and never wait for each other in a circle."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.payments.initiate import InitiatedPayment
from malipo.payments.status_writer import StatusOutcome
from malipo.payments.transaction import Cause, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, PAYOUT, Client, Merchant, make_merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, create, order, tally
from tests.journeys.money.racing import apis as apis
from tests.journeys.money.racing import held_up, news_of
from tests.status_changes import change_status


def _server_log(url: str) -> str:
    return (Path(parse_qs(urlsplit(url).query)["host"][0]).resolve().parent / "server.log").read_text()


@pytest.fixture
def _no_circle(postgres: str) -> Iterator[None]:
    """The database ends a deadlock and the transaction is tried again: only the database's log shows it."""
    said_before = _server_log(postgres)
    yield
    assert "deadlock" not in _server_log(postgres).removeprefix(said_before)


@pytest.fixture
async def services(database: Database, database_url: str) -> AsyncIterator[tuple[Service, Service]]:
    """Two of them, each with connections of its own."""
    other = Database(database_url, size=10)
    await other.open()
    yield tuple(assemble(Settings(**NO_LIMITS), each) for each in (database, other))  # type: ignore[misc]
    await other.close()


async def _from_both_ends(
    act: Callable[[Service, Any], Coroutine[Any, Any, Any]],
    services: tuple[Service, Service],
    wanted: Sequence[Any],
    until_waiting: Callable[[int], Awaitable[None]],
) -> list[asyncio.Task[Any]]:
    """Two commits want the same things in opposite orders; both wait, for the middle one or for each other."""
    tasks = []
    for waiting, (service, ordered) in enumerate(zip(services, (wanted, wanted[::-1]), strict=True), start=1):
        tasks.append(asyncio.create_task(at_once([act(service, each) for each in ordered])))
        await until_waiting(waiting)
    return tasks


@pytest.mark.usefixtures("_no_circle")
async def test_two_commits_that_want_the_same_keys_take_them_in_one_order(
    services: tuple[Service, Service], database: Database, database_url: str, merchant: Merchant
) -> None:
    keys = [f"order-{n:02}" for n in range(21)]

    async def pay(service: Service, key: str) -> InitiatedPayment:
        return await service.payments.initiate(order(merchant.id, Type.COLLECTION, 1000, key=key))

    hold = "INSERT INTO idempotency_keys VALUES ($1, 'COLLECTION', $2, '', '')"
    with suppress(_LetGo):
        async with held_up(database_url, hold, merchant.id, keys[10]) as until_waiting:
            tasks = await _from_both_ends(pay, services, keys, until_waiting)
            raise _LetGo
    answers = [answer for task in tasks for answer in await task]

    assert Counter(answer.is_replay for answer in answers) == {True: 21, False: 21}
    assert len(await database_facts.ids(database)) == 21
    await database_facts.assert_clean(database)


class _LetGo(Exception):  # noqa: N818
    """Ends a hold and takes back what it wrote."""


@pytest.mark.usefixtures("_no_circle")
async def test_two_commits_that_want_the_same_wallets_take_them_in_one_order(
    services: tuple[Service, Service], database: Database, database_url: str
) -> None:
    merchants = sorted([(await make_merchant(database, wallet=24_000)).id for _ in range(11)])

    async def pay(service: Service, merchant_id: str) -> InitiatedPayment:
        return await service.payments.initiate(order(merchant_id, Type.DISBURSEMENT, 1000))

    hold = "SELECT * FROM wallets WHERE merchant_id = $1 FOR UPDATE"
    for _ in range(12):  # An order that is left to chance is right by chance, but not twelve times.
        async with held_up(database_url, hold, merchants[5]) as until_waiting:
            tasks = await _from_both_ends(pay, services, merchants, until_waiting)
        for task in tasks:
            await task

    assert [await database_facts.wallet(database, each) for each in merchants] == [(0, 24_000)] * 11
    await database_facts.assert_clean(database)


@pytest.mark.usefixtures("_no_circle")
async def test_two_commits_that_want_the_same_payments_take_them_in_one_order(
    services: tuple[Service, Service], database: Database, database_url: str, merchant: Merchant
) -> None:
    async def submit(service: Service, payout: str) -> StatusOutcome | None:
        return await change_status(service, news_of(merchant, payout, Cause.SUBMITTED))

    hold = "SELECT * FROM transactions WHERE id = $1 FOR UPDATE"
    for _ in range(12):
        asked = [order(merchant.id, Type.DISBURSEMENT, 1000) for _ in range(11)]
        payouts = sorted(
            [each.transaction.id for each in await at_once([services[0].payments.initiate(each) for each in asked])]
        )
        async with held_up(database_url, hold, payouts[5]) as until_waiting:
            tasks = await _from_both_ends(submit, services, payouts, until_waiting)
        outcomes = [outcome for task in tasks for outcome in await task]
        assert Counter(outcome.has_moved for outcome in outcomes) == {True: 11, False: 11}

    await database_facts.assert_clean(database)


@pytest.mark.usefixtures("_no_circle")
async def test_many_merchants_in_opposite_orders_never_wait_for_each_other_in_a_circle(
    apis: tuple[Client, Client], service: Service, database: Database
) -> None:
    merchants = [await make_merchant(database, wallet=100_000) for _ in range(8)]

    async def pay(api: Client, those: list[Merchant], lap: int) -> list[tuple[Merchant, str]]:
        keyed = [(each, f"order-{lap}-{n}") for each in those for n in range(6)]
        answers = await at_once([create(api.as_(each.key), PAYOUT, key=key) for each, key in keyed])
        assert tally(answers) == {(201, None): len(keyed)}
        return [(each, answer.body["transaction"]["id"]) for (each, _), answer in zip(keyed, answers, strict=True)]

    async def settle(payouts: list[tuple[Merchant, str]]) -> None:
        for causes in ((Cause.SUBMITTED,), (Cause.CONFIRMED, Cause.REFUSED)):
            news = [news_of(who, payout, random.choice(causes)) for who, payout in payouts]
            assert all(await at_once([change_status(service, each) for each in news]))

    async def cancel(api: Client, payouts: list[tuple[Merchant, str]]) -> None:
        answers = await at_once([api.as_(who.key)("POST", f"/v1/payments/{payout}/cancel") for who, payout in payouts])
        assert set(tally(answers)) <= {(200, None), (409, "not_cancellable")}

    for lap in range(3):
        # The same keys from both sides, in opposite orders, so that every key and wallet is wanted twice at once.
        there, back = await asyncio.gather(pay(apis[0], merchants, lap), pay(apis[1], merchants[::-1], lap))
        assert sorted(there, key=str) == sorted(back, key=str)
        fresh = [(each, f"{random.random()}") for each in merchants]
        await asyncio.gather(
            settle(there[::2]),
            settle(back[::3]),
            cancel(apis[0], back),
            cancel(apis[1], there),
            *(create(apis[n % 2].as_(each.key), PAYOUT, key=key) for n, (each, key) in enumerate(fresh)),
        )

    await database_facts.assert_clean(database)
