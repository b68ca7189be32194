"""The balances that networks report: only a reply that is understood is an amount."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from malipo.networks.airtel_money import replies as airtel_money_replies
from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.clickpesa import replies as clickpesa_replies
from malipo.networks.clickpesa.connector import Clickpesa
from malipo.networks.connector import ReadsBalance
from malipo.networks.http.client import HttpClient, Reply
from malipo.networks.mpesa.connector import Mpesa
from malipo.networks.text import shillings_in
from malipo.settings import Settings
from tests.networks import airtel_money_spec, clickpesa_spec
from tests.networks.hostile_bodies import UNREADABLE, WRONG_SHAPES
from tests.networks.scripted_server import ScriptedServer, http

SHILLINGS = {
    "1,234.00": 1234,
    "1234": 1234,
    "0": 0,
    "0.00": 0,
    " 12,345,678.90 ": 12_345_678,
    "999.99": 999,
    "-1,234.00": -1234,
    "-0.50": -1,
    "100,000,000,000.00": 100_000_000_000,
    1234: 1234,
    1234.56: 1234,
    -5: -5,
    50_000_000.0: 50_000_000,
}
NO_SHILLINGS: list[Any] = [
    *("", " ", "-", "1,23", "1,2345", "12,34.00", "1 234", "1.234,00", "1e6", "TZS 5", "5 TZS", "0x10", "٣", "1_000"),
    *("NaN", "Infinity", "9" * 16, "1,,000", ",100", "100,", "1.", None, True, [], {}, 1e300, float("inf")),
]


@pytest.mark.parametrize(("said", "amount"), SHILLINGS.items(), ids=repr)
def test_shillings_are_read_as_numbers_and_as_grouped_text(said: object, amount: int) -> None:
    assert shillings_in(said) == amount


@pytest.mark.parametrize("said", NO_SHILLINGS, ids=repr)
def test_what_is_no_balance_is_none(said: object) -> None:
    assert shillings_in(said) is None


def _airtel(data: Any, status: Any = None, http_status: int = 200) -> int | None:
    body = json.dumps({"data": data, "status": {"success": True} if status is None else status}).encode()
    return airtel_money_replies.of_balance(Reply(http_status, body), "TZS").amount


def _clickpesa(body: Any, http_status: int = 200) -> int | None:
    return clickpesa_replies.of_balance(Reply(http_status, json.dumps(body).encode())).amount


OF_AIRTEL = {"balance": "1,234.00", "currency": "TZS", "account_status": "Active"}
OF_CLICKPESA = {"currency": "TZS", "balance": 5000}


def test_airtel_says_it_as_grouped_text_in_its_data() -> None:
    assert _airtel(OF_AIRTEL) == 1234
    assert _airtel(OF_AIRTEL, status={}) == 1234, "not every reply calls itself a success"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(([], None), id="a list"),
        pytest.param((OF_AIRTEL | {"currency": "KES"}, None), id="another currency"),
        pytest.param(({"balance": "1,234.00"}, None), id="no currency"),
        pytest.param((OF_AIRTEL | {"balance": "12,"}, None), id="no number"),
        pytest.param((OF_AIRTEL, {"success": False, "response_code": "DP1"}), id="refused"),
        pytest.param((OF_AIRTEL, None, 500), id="a fault"),
        pytest.param((OF_AIRTEL, None, 403), id="forbidden"),
    ],
)
def test_what_airtel_says_otherwise_is_no_amount(said: tuple[Any, ...]) -> None:
    assert _airtel(*said) is None


def test_clickpesa_says_it_as_a_list_or_in_an_object() -> None:
    assert _clickpesa([{"currency": "USD", "balance": 1}, OF_CLICKPESA]) == 5000
    assert _clickpesa({"balances": [OF_CLICKPESA | {"balance": "5,000.75"}]}) == 5000


@pytest.mark.parametrize(
    "body",
    [[], {}, [OF_CLICKPESA, OF_CLICKPESA], [{"currency": "USD", "balance": 5}], {"balances": OF_CLICKPESA}, [5]],
    ids=repr,
)
def test_what_clickpesa_says_otherwise_is_no_amount(body: Any) -> None:
    assert _clickpesa(body) is None
    assert _clickpesa([OF_CLICKPESA], 500) is None


@pytest.mark.parametrize("body", [*UNREADABLE.values(), *WRONG_SHAPES.values()], ids=[*UNREADABLE, *WRONG_SHAPES])
def test_a_body_that_nobody_understands_is_no_amount(body: bytes) -> None:
    assert airtel_money_replies.of_balance(Reply(200, body), "TZS").amount is None
    assert clickpesa_replies.of_balance(Reply(200, body)).amount is None


async def test_airtel_is_asked_with_a_token_and_nothing_else(
    server: ScriptedServer, airtel: Callable[..., AirtelMoney]
) -> None:
    server.always(airtel_money_spec.GET_TOKEN, airtel_money_spec.TOKEN_GIVEN)
    server.expect("GET /standard/v1/users/balance", http("200 OK", json.dumps({"data": OF_AIRTEL})))
    assert (await airtel().balance()).amount == 1234


async def test_clickpesa_is_asked_below_its_own_address(server: ScriptedServer, http_client: HttpClient) -> None:
    server.always(clickpesa_spec.GET_TOKEN, clickpesa_spec.TOKEN_GIVEN)
    server.expect("GET /third-parties/account/balance", http("200 OK", json.dumps([OF_CLICKPESA])))
    connector = Clickpesa(Settings(**clickpesa_spec.settings(server.port)), http_client)
    assert (await connector.balance()).amount == 5000


async def test_without_a_token_there_is_no_amount(server: ScriptedServer, airtel: Callable[..., AirtelMoney]) -> None:
    server.always(airtel_money_spec.GET_TOKEN, http("500 Internal Server Error", ""))
    assert (await airtel().balance()).amount is None


def test_a_network_without_the_call_is_known() -> None:
    assert not issubclass(Mpesa, ReadsBalance)
    assert issubclass(AirtelMoney, ReadsBalance)
    assert issubclass(Clickpesa, ReadsBalance)
