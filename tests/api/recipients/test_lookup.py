"""POST /v1/recipients/lookup against the simulator's networks."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import pytest

from malipo.audit_log import store as audit_log
from malipo.cli import simulator_setup
from malipo.db import Database
from malipo.merchants.api_keys import Permission
from malipo_simulator.subscriber_names import BARRED_DIGITS, NAMELESS_DIGITS, subscriber_of
from tests.api.conftest import live
from tests.api.published_contract import CONTRACT, faults
from tests.conftest import NO_LIMITS, Answer, Client, Merchant, Running, make_merchant
from tests.simulator.processes import Process
from tests.simulator.processes import start as start_simulator

PATH = "/v1/recipients/lookup"
AIRTEL = {"channel": "AIRTEL_MONEY", "phone": "+255684123456"}


@pytest.fixture(scope="module")
def simulator() -> Iterator[Process]:
    process = start_simulator("--speed", "20")
    yield process
    process.stop()


def _networks(simulator: Process) -> dict[str, Any]:
    variables = simulator_setup.environment(simulator.url, asyncio.run(simulator_setup.credentials(simulator.url)))
    return {name.removeprefix("MALIPO_").lower(): value for name, value in variables.items()}


@pytest.fixture(scope="module")
def networks(simulator: Process) -> dict[str, Any]:
    return _networks(simulator)


@pytest.fixture(scope="module")
async def connected(
    tmp_path_factory: pytest.TempPathFactory, database_url: str, networks: dict[str, Any]
) -> AsyncIterator[Running]:
    limit = {"recipient_lookups_daily": 4}
    async with live(tmp_path_factory.mktemp("names"), database_url, **NO_LIMITS, **networks, **limit) as running:
        yield running


@pytest.fixture
def names(connected: Running, http: aiohttp.ClientSession, merchant: Merchant) -> Client:
    return Client(http, connected.url, merchant.key)


def _fits_the_contract(answer: Answer) -> bool:
    schema = CONTRACT["paths"][PATH]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    return faults(answer.body, schema) == []


async def test_airtel_reports_the_name(names: Client) -> None:
    answer = await names("POST", PATH, AIRTEL)
    assert answer.status == 200
    assert _fits_the_contract(answer)
    recipient = answer.body["recipient"]
    assert recipient.pop("checkedAt")
    assert recipient == AIRTEL | {"name": subscriber_of(AIRTEL["phone"]).name, "isRegistered": True}


@pytest.mark.parametrize(
    ("channel", "phone"), [("MPESA", "+255754123456"), ("TIGO_PESA", "+255714123456"), ("HALOPESA", "+255621123456")]
)
async def test_clickpesa_reports_the_names_of_networks_that_report_none(
    names: Client, channel: str, phone: str
) -> None:
    answer = await names("POST", PATH, {"channel": channel, "phone": phone})
    assert answer.body["recipient"]["name"] == subscriber_of(phone).name


@pytest.mark.parametrize(
    ("digits", "is_registered", "has_name", "is_checked"),
    [
        pytest.param("101", False, False, True, id="no account"),
        pytest.param("108", None, False, False, id="a fault"),
        pytest.param(BARRED_DIGITS, True, True, True, id="barred"),
        pytest.param(NAMELESS_DIGITS, None, False, False, id="no name"),
    ],
)
async def test_what_the_network_does_not_say_is_null(
    names: Client, digits: str, is_registered: bool | None, has_name: bool, is_checked: bool
) -> None:
    answer = await names("POST", PATH, {"channel": "AIRTEL_MONEY", "phone": f"+255684123{digits}"})
    assert answer.status == 200
    assert _fits_the_contract(answer)
    recipient = answer.body["recipient"]
    assert recipient["isRegistered"] is is_registered
    assert (recipient["name"] is not None, recipient["checkedAt"] is not None) == (has_name, is_checked)


async def test_a_number_at_another_network_has_no_name_there(names: Client) -> None:
    answer = await names("POST", PATH, {"channel": "MPESA", "phone": "+255621123456"})
    assert (answer.status, answer.body["recipient"]["name"]) == (200, None)


async def test_every_bad_field_is_named_at_once(names: Client) -> None:
    answer = await names("POST", PATH, {"channel": "BANK", "phone": "0684123456"})
    assert (answer.status, answer.code, set(answer.body["details"])) == (400, "validation_failed", {"channel", "phone"})
    assert (await names("POST", PATH, {})).code == "validation_failed"
    assert (await names("POST", PATH, {"channel": "MPESA"})).code == "field_required"


async def test_only_a_key_with_the_permission_may(names: Client, database: Database) -> None:
    others = tuple(each for each in Permission if each is not Permission.RECIPIENTS_LOOKUP)
    without = await make_merchant(database, permissions=others)
    alone = await make_merchant(database, permissions=(Permission.RECIPIENTS_LOOKUP,))
    assert (await names.as_(without.key)("POST", PATH, AIRTEL)).code == "permission_missing"
    assert (await names.as_(alone.key)("POST", PATH, AIRTEL)).status == 200
    assert (await names.as_(alone.key)("GET", "/v1/payments")).code == "permission_missing"


async def test_above_the_limit_of_a_day_it_is_a_429_and_payments_go_on(
    names: Client, merchant: Merchant, database: Database, connected: Running
) -> None:
    answers = [await names("POST", PATH, AIRTEL) for _ in range(6)]
    assert [each.status for each in answers] == [200] * 4 + [429] * 2
    last = answers[-1]
    assert last.code == "lookup_limit"
    assert 0 < int(last.headers["Retry-After"]) <= 86_401
    payout = {"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": AIRTEL["phone"]}
    assert (await names("POST", "/v1/payments/disburse", payout)).status == 201
    async with database.read() as connection:
        entries = await audit_log.find(connection, merchant_id=merchant.id, limit=100)
    looked_up = [each for each in entries if each.action == "recipient.looked_up"]
    assert [each.details for each in looked_up] == [{"count": 1, **AIRTEL}] * 4
    assert all(each.actor.startswith("key key_") and each.address == "127.0.0.1" for each in looked_up)
    name = subscriber_of(AIRTEL["phone"]).last_name
    assert name not in connected.log.read_text()
    assert AIRTEL["phone"] not in connected.log.read_text()


async def test_a_look_up_without_a_source_of_names_is_a_409(
    api: Client, merchant: Merchant, database: Database
) -> None:
    answer = await api("POST", PATH, AIRTEL)
    assert (answer.status, answer.code) == (409, "lookup_unavailable")
    async with database.read() as connection:
        entries = await audit_log.find(connection, merchant_id=merchant.id, limit=100)
    assert not any("looked_up" in each.action for each in entries)


async def test_a_network_that_is_away_is_an_unknown_name(
    tmp_path_factory: pytest.TempPathFactory,
    database_url: str,
    networks: dict[str, Any],
    http: aiohttp.ClientSession,
    merchant: Merchant,
) -> None:
    away = networks | {"airtel_money_base_url": "http://127.0.0.1:9/airtel"}
    async with live(tmp_path_factory.mktemp("away"), database_url, **NO_LIMITS, **away) as running:
        answer = await Client(http, running.url, merchant.key)("POST", PATH, AIRTEL)
    assert answer.status == 200
    assert _fits_the_contract(answer)
    assert answer.body["recipient"] == AIRTEL | {"name": None, "isRegistered": None, "checkedAt": None}
