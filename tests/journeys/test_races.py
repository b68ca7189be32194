"""Many callers at the same instant, over two processes: each is answered once, and the money is right."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import asyncpg
import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.db import Database, DataError
from malipo.db.group import Group
from malipo.payments.initiate import Initiate, Initiated, Order
from malipo.payments.record import Change, Outcome
from malipo.payments.transaction import Cause, Transaction, Type
from malipo.service import Service
from malipo.settings import Settings
from tests.conftest import COLLECTION, NO_LIMITS, PAYOUT, Answer, Client, Merchant, Running, make_merchant, until_ready
from tests.happen import happen
from tests.journeys import witness
from tests.journeys.crowd import at_once, create, order, tally


@pytest.fixture
async def apis(
    start: Callable[..., Running], database_url: str, merchant: Merchant
) -> AsyncIterator[tuple[Client, Client]]:
    """Two processes of one fleet, called by the same merchant."""
    first, second = (start("api", database_url=database_url, **NO_LIMITS) for _ in range(2))
    await asyncio.gather(until_ready(first), until_ready(second))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        yield Client(http, first.url, merchant.key), Client(http, second.url, merchant.key)


async def test_fifty_payouts_race_for_a_wallet_that_pays_for_twenty(
    apis: tuple[Client, Client], database: Database
) -> None:
    merchant = await make_merchant(database, wallet=20 * 1000)
    clients = [api.as_(merchant.key) for api in apis]

    answers = await at_once([create(clients[n % 2], PAYOUT) for n in range(50)])

    assert tally(answers) == {(201, None): 20, (400, "insufficient_balance"): 30}
    assert all("amount" in answer.body["details"] for answer in answers if answer.status == 400)
    created = {answer.body["transaction"]["id"] for answer in answers if answer.status == 201}
    assert created == set(await witness.ids(database, merchant.id))
    assert await witness.wallet(database, merchant.id) == (0, 20 * 1000)
    shown = await clients[0]("GET", "/v1/wallet")
    assert (shown.body["wallet"]["available"], shown.body["wallet"]["reserved"]) == (0, 20 * 1000)
    await witness.assert_clean(database)


async def test_fees_are_part_of_what_payouts_race_for(apis: tuple[Client, Client], database: Database) -> None:
    merchant = await make_merchant(database, wallet=20 * 1000)
    async with database.begin() as tx:
        await tx.execute(
            "INSERT INTO tariffs VALUES ($1, 'DISBURSEMENT', 'AIRTEL_MONEY', 0, 100, 0, 0, NULL)", merchant.id
        )

    answers = await at_once([create(apis[n % 2].as_(merchant.key), PAYOUT) for n in range(30)])

    assert tally(answers) == {(201, None): 18, (400, "insufficient_balance"): 12}
    assert await witness.wallet(database, merchant.id) == (200, 18 * 1100)
    await witness.assert_clean(database)


@pytest.mark.parametrize("body", [COLLECTION, PAYOUT], ids=["collection", "payout"])
async def test_one_key_sent_a_hundred_times_at_once_makes_one_payment(
    apis: tuple[Client, Client], merchant: Merchant, database: Database, body: dict[str, Any]
) -> None:
    answers = await at_once([create(apis[n % 2], body, key="order-1") for n in range(100)])

    assert tally(answers) == {(201, None): 100}
    assert all(answer.body == answers[0].body for answer in answers)
    assert Counter(answer.headers.get("Idempotency-Replayed") for answer in answers) == {"true": 99, None: 1}
    assert await witness.ids(database) == [answers[0].body["transaction"]["id"]]
    spent = 1000 if body is PAYOUT else 0
    assert await witness.wallet(database, merchant.id) == (1_000_000 - spent, spent)
    await witness.assert_clean(database)


async def test_one_key_with_many_amounts_at_once_is_won_by_one_of_them(
    apis: tuple[Client, Client], merchant: Merchant, database: Database
) -> None:
    bodies = [PAYOUT | {"amount": 1000 + n} for n in range(40)]

    answers = await at_once([create(apis[n % 2], body, key="order-1") for n, body in enumerate(bodies)])

    assert tally(answers) == {(201, None): 1, (409, "idempotency_key_reused"): 39}
    [winner] = [answer.body["transaction"] for answer in answers if answer.status == 201]
    assert await witness.ids(database) == [winner["id"]]
    assert await witness.wallet(database, merchant.id) == (1_000_000 - winner["amount"], winner["amount"])
    again = await create(apis[0], PAYOUT | {"amount": winner["amount"]}, key="order-1")
    assert (again.status, again.headers.get("Idempotency-Replayed")) == (201, "true")
    await witness.assert_clean(database)


async def test_a_key_whose_payout_was_refused_is_free_for_one_that_the_wallet_can_bear(
    apis: tuple[Client, Client], database: Database
) -> None:
    merchant = await make_merchant(database, wallet=1000)
    bodies = [PAYOUT | {"amount": 5000}] * 20 + [PAYOUT] + [PAYOUT | {"amount": 5000}] * 20

    answers = await at_once(
        [create(apis[n % 2].as_(merchant.key), body, key="order-1") for n, body in enumerate(bodies)]
    )

    # Whoever was decided before the one that fits is told of the money; whoever came after it, of the key.
    assert set(tally(answers)) <= {(201, None), (400, "insufficient_balance"), (409, "idempotency_key_reused")}
    assert [answer.body["transaction"]["amount"] for answer in answers if answer.status == 201] == [1000]
    assert answers[20].status == 201
    again = await create(apis[1].as_(merchant.key), PAYOUT, key="order-1")
    assert again.body == answers[20].body
    assert (await create(apis[0].as_(merchant.key), PAYOUT | {"amount": 5000}, key="order-1")).status == 409
    assert await witness.wallet(database, merchant.id) == (0, 1000)
    await witness.assert_clean(database)


async def test_one_bad_request_among_a_hundred_leaves_the_others_alone(
    apis: tuple[Client, Client], merchant: Merchant, database: Database
) -> None:
    bodies = [PAYOUT if n % 2 else COLLECTION for n in range(99)]
    bodies.insert(50, COLLECTION | {"buyerPhone": "12345"})

    answers = await at_once([create(apis[0], body, key=f"order-{n}") for n, body in enumerate(bodies)])

    assert tally(answers) == {(201, None): 99, (400, "phone_invalid"): 1}
    assert answers[50].status == 400
    assert len(await witness.ids(database)) == await witness.count(database, "idempotency_keys") == 99
    assert await witness.largest_commit(database) > 1
    await witness.assert_clean(database)


def _with_a_name_that_is_no_text(draft: Transaction) -> Transaction:
    return replace(draft, name="As\0ha")  # SQLSTATE 22021


def _with_an_amount_that_no_column_holds(draft: Transaction) -> Transaction:
    return replace(draft, amount=2**63)  # Refused by the driver.


def _of_nothing(draft: Transaction) -> Transaction:
    return replace(draft, amount=0, type=Type.COLLECTION)  # SQLSTATE 23514


def _on_a_channel_that_is_none(draft: Transaction) -> Transaction:
    return replace(draft, channel="PIGEON")  # SQLSTATE 23514


@pytest.mark.parametrize(
    "spoil",
    [
        _with_a_name_that_is_no_text,
        _with_an_amount_that_no_column_holds,
        _of_nothing,
        _on_a_channel_that_is_none,
    ],
)
async def test_one_rider_whom_the_database_refuses_leaves_the_others_alone(
    database: Database, merchant: Merchant, spoil: Callable[[Transaction], Transaction]
) -> None:
    group = Group[Order, Any](database, Initiate(clock=clock.now), patience_seconds=10)
    types = [Type.DISBURSEMENT, Type.COLLECTION]
    orders = [order(merchant.id, types[n % 2], 1000, key=f"order-{n}") for n in range(100)]
    draft = orders[41].draft
    assert draft is not None
    orders[41] = replace(orders[41], draft=spoil(draft))

    answers = await asyncio.gather(*(group(each) for each in orders), return_exceptions=True)

    assert isinstance(answers.pop(41), DataError)
    assert all(isinstance(answer, Initiated) and not answer.is_replay for answer in answers)
    good = {each.draft.id for n, each in enumerate(orders) if n != 41 and each.draft is not None}
    assert set(await witness.ids(database)) == good
    assert await witness.count(database, "idempotency_keys") == 99
    assert await witness.wallet(database, merchant.id) == (1_000_000 - 50 * 1000, 50 * 1000)
    await witness.assert_clean(database)


async def test_two_references_that_meet_in_one_batch_are_both_paid(
    service: Service, database: Database, merchant: Merchant
) -> None:
    orders = [order(merchant.id, Type.DISBURSEMENT, 1000) for _ in range(20)]
    first, twin = orders[3].draft, orders[11].draft
    assert first is not None
    assert twin is not None
    orders[11] = replace(orders[11], draft=replace(twin, reference=first.reference, network_key=first.network_key))

    answers = await at_once([service.initiate(each) for each in orders])

    assert len({answer.transaction.reference for answer in answers}) == 20
    assert answers[11].transaction.id == twin.id
    assert await witness.wallet(database, merchant.id) == (1_000_000 - 20 * 1000, 20 * 1000)
    await witness.assert_clean(database)


@asynccontextmanager
async def _held(database_url: str, statement: str, *values: object) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
    """Hold what this statement locks, so that whoever wants it queues; yields a wait for so many in the queue."""
    connection = await asyncpg.connect(database_url)

    async def until_waiting(number: int) -> None:
        waiting = 0
        while waiting < number:
            await asyncio.sleep(0.01)
            waiting = await connection.fetchval("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted")

    try:
        async with asyncio.timeout(20), connection.transaction():
            await connection.execute(statement, *values)
            yield until_waiting
    finally:
        await connection.close()


def _news(merchant: Merchant, transaction_id: str, cause: Cause) -> Change:
    refusal = {"failure_code": "declined", "failure_reason": "No."} if cause is Cause.REFUSED else {}
    return Change(merchant_id=merchant.id, transaction_id=transaction_id, cause=cause, **refusal)


@pytest.mark.parametrize("first_in_line", ["cancel", "submit"])
async def test_of_a_cancel_and_a_submit_that_meet_exactly_one_wins(
    api: Client,
    service: Service,
    database: Database,
    database_url: str,
    merchant: Merchant,
    first_in_line: str,
) -> None:
    created = await at_once([create(api, PAYOUT) for _ in range(10)])
    # Rows are locked in the order of their ids, so whoever waits for the first one is passed by nobody.
    first, *rest = sorted(answer.body["transaction"]["id"] for answer in created)

    async def cancel(*payouts: str) -> list[Answer]:
        return await at_once([api("POST", f"/v1/payments/{each}/cancel") for each in payouts])

    async def submit(*payouts: str) -> list[bool]:
        outcomes = await at_once([happen(service, _news(merchant, each, Cause.SUBMITTED)) for each in payouts])
        return [outcome is not None and outcome.has_moved for outcome in outcomes]

    async with _held(
        database_url, "SELECT * FROM transactions WHERE id = ANY($1) FOR UPDATE", [first, *rest]
    ) as until_waiting:
        if first_in_line == "cancel":
            cancelling = asyncio.create_task(cancel(first))
            await until_waiting(1)
            submitting = asyncio.create_task(submit(first))
        else:
            submitting = asyncio.create_task(submit(first))
            await until_waiting(1)
            cancelling = asyncio.create_task(cancel(first))
        await until_waiting(2)
        others = asyncio.gather(cancel(*rest), submit(*rest))
    cancelled, submitted = await cancelling, await submitting
    cancelled_others, submitted_others = await others
    assert submitted == [first_in_line == "submit"]
    cancelled, submitted = cancelled + cancelled_others, submitted + submitted_others

    for answer, has_moved in zip(cancelled, submitted, strict=True):
        assert (answer.status, answer.code) == ((409, "not_cancellable") if has_moved else (200, None))
    in_flight = 1000 * sum(submitted)
    assert await witness.wallet(database, merchant.id) == (1_000_000 - in_flight, in_flight)
    await witness.assert_clean(database)


async def test_cancels_and_settles_let_loose_on_the_same_payouts_move_each_shilling_once(
    apis: tuple[Client, Client], service: Service, database: Database, merchant: Merchant
) -> None:
    created = await at_once([create(apis[n % 2], PAYOUT) for n in range(40)])
    payouts = [answer.body["transaction"]["id"] for answer in created]

    async def settle(payout: str, end: Cause) -> bool:
        outcomes = [await happen(service, _news(merchant, payout, cause)) for cause in (Cause.SUBMITTED, end, end)]
        assert all(outcomes)
        return [bool(outcome and outcome.has_moved) for outcome in outcomes] == [True, True, False]

    async def cancel(client: Client, payout: str) -> bool:
        await asyncio.sleep(random.uniform(0, 0.02))
        return (await client("POST", f"/v1/payments/{payout}/cancel")).status == 200

    ends = [Cause.CONFIRMED if n % 2 else Cause.REFUSED for n in range(len(payouts))]
    settled, *cancelled = await asyncio.gather(
        at_once([settle(payout, end) for payout, end in zip(payouts, ends, strict=True)]),
        *(at_once([cancel(api, payout) for payout in payouts]) for api in apis),
    )

    for n in range(len(payouts)):
        # Cancelling what the other process has cancelled is no error, so both say the same.
        assert settled[n] is not cancelled[0][n]
        assert cancelled[0][n] is cancelled[1][n]
    paid = 1000 * sum(done for done, end in zip(settled, ends, strict=True) if end is Cause.CONFIRMED)
    assert await witness.wallet(database, merchant.id) == (1_000_000 - paid, 0)
    await witness.assert_clean(database)


def _server_log(url: str) -> str:
    return (Path(parse_qs(urlsplit(url).query)["host"][0]).resolve().parent / "server.log").read_text()


@pytest.fixture
def _no_circle(postgres: str) -> Iterator[None]:
    """Whoever waits in a circle is let out by the database and tries again: only its log tells."""
    said_before = _server_log(postgres)
    yield
    assert "deadlock" not in _server_log(postgres).removeprefix(said_before)


@pytest.fixture
async def services(database: Database, database_url: str) -> AsyncIterator[tuple[Service, Service]]:
    """Two of them, each with connections of its own."""
    other = Database(database_url, size=10)
    await other.open()
    yield tuple(Service.assemble(Settings(**NO_LIMITS), each) for each in (database, other))  # type: ignore[misc]
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

    async def pay(service: Service, key: str) -> Initiated:
        return await service.initiate(order(merchant.id, Type.COLLECTION, 1000, key=key))

    hold = "INSERT INTO idempotency_keys VALUES ($1, 'COLLECTION', $2, '', '')"
    with suppress(_LetGo):
        async with _held(database_url, hold, merchant.id, keys[10]) as until_waiting:
            tasks = await _from_both_ends(pay, services, keys, until_waiting)
            raise _LetGo
    answers = [answer for task in tasks for answer in await task]

    assert Counter(answer.is_replay for answer in answers) == {True: 21, False: 21}
    assert len(await witness.ids(database)) == 21
    await witness.assert_clean(database)


class _LetGo(Exception):  # noqa: N818
    """Ends a hold and takes back what it wrote."""


@pytest.mark.usefixtures("_no_circle")
async def test_two_commits_that_want_the_same_wallets_take_them_in_one_order(
    services: tuple[Service, Service], database: Database, database_url: str
) -> None:
    merchants = sorted([(await make_merchant(database, wallet=24_000)).id for _ in range(11)])

    async def pay(service: Service, merchant_id: str) -> Initiated:
        return await service.initiate(order(merchant_id, Type.DISBURSEMENT, 1000))

    hold = "SELECT * FROM wallets WHERE merchant_id = $1 FOR UPDATE"
    for _ in range(12):  # An order that is left to chance is right by chance, but not twelve times.
        async with _held(database_url, hold, merchants[5]) as until_waiting:
            tasks = await _from_both_ends(pay, services, merchants, until_waiting)
        for task in tasks:
            await task

    assert [await witness.wallet(database, each) for each in merchants] == [(0, 24_000)] * 11
    await witness.assert_clean(database)


@pytest.mark.usefixtures("_no_circle")
async def test_two_commits_that_want_the_same_payments_take_them_in_one_order(
    services: tuple[Service, Service], database: Database, database_url: str, merchant: Merchant
) -> None:
    async def submit(service: Service, payout: str) -> Outcome | None:
        return await happen(service, _news(merchant, payout, Cause.SUBMITTED))

    hold = "SELECT * FROM transactions WHERE id = $1 FOR UPDATE"
    for _ in range(12):
        asked = [order(merchant.id, Type.DISBURSEMENT, 1000) for _ in range(11)]
        payouts = sorted(
            [each.transaction.id for each in await at_once([services[0].initiate(each) for each in asked])]
        )
        async with _held(database_url, hold, payouts[5]) as until_waiting:
            tasks = await _from_both_ends(submit, services, payouts, until_waiting)
        outcomes = [outcome for task in tasks for outcome in await task]
        assert Counter(outcome.has_moved for outcome in outcomes) == {True: 11, False: 11}

    await witness.assert_clean(database)


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
            news = [_news(who, payout, random.choice(causes)) for who, payout in payouts]
            assert all(await at_once([happen(service, each) for each in news]))

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

    await witness.assert_clean(database)
