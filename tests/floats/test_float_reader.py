"""The float reader records the balance that a network reports; without a report nothing changes; and the books agree."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from malipo import clock, ids
from malipo.app.assemble import Service, assemble
from malipo.cli import simulator_setup
from malipo.db import Database
from malipo.floats import store
from malipo.floats.position import Position, Source
from malipo.ledger import check as ledger_check
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.house_bookings import HouseBooking
from malipo.ledger.transfers import Transfer, TransferKind, book
from malipo.networks.connector import Channel, Type
from malipo.networks.name_lookup import NameLookup
from malipo.networks.routing import Networks
from malipo.settings.environment import read
from malipo.worker.float_reader import FloatReader, float_readers, paying_accounts
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until
from tests.simulator.processes import Process, Sim
from tests.simulator.processes import start as start_simulator

# What the simulated networks hold for the merchant in the beginning.
STATELESS = {"MALIPO_STATE_DIR": "none", "MALIPO_ALLOW_HTTP_NETWORKS": "true"}
STARTING_BALANCE = 50_000_000
AIRTEL, CLICKPESA = "+255684000001", "+255624000001"


_OFF: dict[str, Any] = {"wrongQueryCredentials": False, "queryError": None, "errorRate": 0, "isDown": False}


@pytest.fixture(scope="module")
def simulator() -> Iterator[Process]:
    process = start_simulator("--speed", "20")
    yield process
    process.stop()


def _readers(service: Service) -> list[FloatReader]:
    return float_readers(service.networks, service.queries, service.settings, service.clock)


@pytest.fixture
async def readers(simulator: Process, database: Database) -> AsyncIterator[Callable[..., dict[str, FloatReader]]]:
    """The readers of a new worker, by the names of their networks."""
    variables = simulator_setup.environment(simulator.url, await simulator_setup.credentials(simulator.url))
    services: list[Service] = []

    def make(**changes: Any) -> dict[str, FloatReader]:
        services.append(assemble(replace(read({**variables, **STATELESS}), **changes), database))
        return {each.name: each for each in _readers(services[-1])}

    yield make
    for each in services:
        await each.finish()


async def control(simulator: Process, **channels: dict[str, Any]) -> None:
    async with aiohttp.ClientSession() as http:
        await Sim(http, simulator.url, {}).control(channels=channels)


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    async with full_stack_started(tmp_path, database_url) as full_stack:
        yield full_stack


async def position(database: Database, channel: Channel = Channel.AIRTEL_MONEY) -> Position:
    async with database.read() as connection:
        return next(each for each in await store.find_positions(connection) if each.channel is channel)


async def _counted(database: Database, channel: Channel) -> Position:
    """Once the daily totals have what the moves have."""
    async with database.read() as connection:
        held = -(await ledger_check.balances(connection))[f"float {channel}"]

    async def is_counted() -> bool:
        return (await position(database, channel)).ledger == held

    await until(is_counted, what="the totals are those of the ledger")
    return await position(database, channel)


async def _transfer(database: Database, channel: str, amount: int, kind: TransferKind, reference: str) -> None:
    async with database.begin() as tx:
        await book(tx, Transfer(kind, channel, "", amount, reference), booked_by="operator asha", now=clock.now())


async def _book_fees(database: Database, channel: str, amount: int) -> None:
    source, target = house_bookings.ends_of(-amount, Account.NETWORK_FEES)
    fees = HouseBooking(
        id=ids.mint(house_bookings.ID_PREFIX, clock.now()),
        kind=house_bookings.HouseBookingKind.NETWORK_FEE,
        channel=channel,
        source=source,
        target=target,
        amount=amount,
        value_date=clock.day_of(clock.now()),
        booked_by="operator asha",
    )
    async with database.begin() as tx:
        assert await house_bookings.book(tx, [fees], now=clock.now())


async def test_the_ledgers_float_is_what_the_network_holds_after_payments_transfers_and_fees(
    full_stack: FullStack,
) -> None:
    database = full_stack.database
    async with a_worker(full_stack) as service:
        taken = [
            await full_stack.take("AIRTEL_MONEY", "COLLECTION", AIRTEL, 20_000),
            await full_stack.take("AIRTEL_MONEY", "DISBURSEMENT", AIRTEL, 7_000),
            await full_stack.take("HALOPESA", "DISBURSEMENT", CLICKPESA, 3_000),
        ]

        async def are_completed() -> bool:
            return {(await full_stack.shown(each))["status"] for each in taken} == {"COMPLETED"}

        await until(are_completed, what="all were paid")
        for channel in ("AIRTEL_MONEY", "HALOPESA"):
            await _transfer(database, channel, STARTING_BALANCE, TransferKind.FROM_BANK, "the contract's first money")
        for name in ("airtel_money", "clickpesa"):
            await {each.name: each for each in _readers(service)}[name].read_and_store()

        # As the networks have it: 8 and 4 of a thousand, and 15.
        for channel, fee in ((Channel.AIRTEL_MONEY, 160 + 28), (Channel.HALOPESA, 45)):
            assert (await _counted(database, channel)).difference == -fee
            await _book_fees(database, channel, fee)
            seen = await _counted(database, channel)
            assert (seen.reading, seen.difference, seen.in_flight) == (seen.ledger, 0, 0)
        assert (await position(database, Channel.HALOPESA)).readings[0].account == "clickpesa"
    await database_facts.assert_clean(database)


async def test_both_forms_are_read_and_what_is_refused_or_lost_changes_nothing(
    simulator: Process, readers: Callable[..., dict[str, FloatReader]], database: Database
) -> None:
    asking = readers()
    for name, channel in (("clickpesa", Channel.HALOPESA), ("airtel_money", Channel.AIRTEL_MONEY)):
        for form in ("list", "object"):
            await control(simulator, CLICKPESA={"balanceForm": form})
            await asking[name].read_and_store()
        seen = await position(database, channel)
        assert (seen.reading, seen.readings[0].source) == (STARTING_BALANCE, Source.NETWORK)
        for switch in ({"wrongQueryCredentials": True}, {"queryError": "500"}, {"errorRate": 1.0}, {"isDown": True}):
            await control(simulator, **{name.upper(): switch})
            await asking[name].read_and_store()
            await control(simulator, **{name.upper(): {switched: _OFF[switched] for switched in switch}})
            assert await position(database, channel) == seen


async def test_it_is_asked_once_in_each_interval_by_whichever_worker(
    readers: Callable[..., dict[str, FloatReader]], database: Database
) -> None:
    async def count() -> int:
        async with database.read() as connection:
            return int(await connection.fetchval("SELECT count(*) FROM float_readings"))

    workers = [readers()["airtel_money"] for _ in range(2)]
    for each in workers * 3:
        assert not await each.step()
    assert await count() == 1
    async with database.begin() as tx:
        await tx.execute("UPDATE float_readings SET read_at = read_at - interval '300 s'")
    await workers[0].step()
    assert await count() == 1, "its own turn has not come"
    await readers()["airtel_money"].step()
    assert await count() == 2


async def test_nothing_is_asked_if_it_is_switched_off(readers: Callable[..., dict[str, FloatReader]]) -> None:
    assert set(readers()) == {"airtel_money", "clickpesa"}, "the others have no call for it"
    assert readers(float_reading_seconds=0) == {}


COLLECTION, PAYOUT = Type.COLLECTION, Type.DISBURSEMENT


@pytest.mark.parametrize(
    ("routes", "accounts"),
    [
        pytest.param({("HALOPESA", PAYOUT): "x"}, [("HALOPESA", "", False)], id="payouts alone"),
        pytest.param({("HALOPESA", each): "x" for each in Type}, [("HALOPESA", "", False)], id="both ways"),
        pytest.param(
            {("HALOPESA", PAYOUT): "x", ("HALOPESA", COLLECTION): "y"},
            [("HALOPESA", "x", False)],
            id="collections go elsewhere",
        ),
        pytest.param(
            {("HALOPESA", PAYOUT): "x", ("MPESA", PAYOUT): "x", ("MPESA", COLLECTION): "x"},
            [("HALOPESA", "x", True), ("MPESA", "x", True)],
            id="one account for two channels",
        ),
        pytest.param(
            {("HALOPESA", PAYOUT): "x", ("HALOPESA", COLLECTION): "x", ("MPESA", COLLECTION): "x"},
            [("HALOPESA", "x", False)],
            id="one account, also for what another channel collects",
        ),
        pytest.param({("HALOPESA", COLLECTION): "x"}, [], id="it pays nothing out"),
    ],
)
def test_the_accounts_that_a_connector_pays_out_of(
    routes: dict[tuple[str, Type], str], accounts: list[tuple[str, str, bool]]
) -> None:
    names = NameLookup({}, {}, timeout_seconds=1)
    carriers = {(Channel(channel), type_): name for (channel, type_), name in routes.items()}
    networks = Networks({}, carriers, {}, {}, names)
    assert [tuple(each) for each in paying_accounts(networks, "x")] == accounts


def test_a_connectors_account_has_one_name_wherever_it_is_named() -> None:
    """In what is fetched, in what is read, and in what the docs tell operators to type."""
    names = NameLookup({}, {}, timeout_seconds=1)

    def named(connector: str, **carriers: str) -> str:
        routes = {(Channel.AIRTEL_MONEY, Type(type_)): name for type_, name in carriers.items()}
        networks = Networks({}, routes, {}, {}, names)
        return networks.account_name(connector, Channel.AIRTEL_MONEY)

    assert named("clickpesa", COLLECTION="clickpesa", DISBURSEMENT="clickpesa") == ""
    assert named("clickpesa", COLLECTION="airtel_money", DISBURSEMENT="clickpesa") == "clickpesa"
    assert named("airtel_money", COLLECTION="clickpesa", DISBURSEMENT="airtel_money") == ""
