"""The replies of Airtel Money and ClickPesa about a number: a name, no account, or nothing certain."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from malipo.networks.airtel_money import replies as airtel_money_replies
from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.clickpesa import replies as clickpesa_replies
from malipo.networks.clickpesa.connector import Clickpesa
from malipo.networks.connector import Channel, LooksUpNames, Recipient
from malipo.networks.http.client import HttpClient, Reply
from malipo.networks.mpesa.connector import Mpesa
from malipo.networks.person_name import name_in
from malipo.settings import Settings
from tests.networks import airtel_money_spec, clickpesa_spec
from tests.networks.hostile_bodies import UNREADABLE, WRONG_SHAPES
from tests.networks.scripted_server import ScriptedServer, http

NUMBER, PHONE = "684123456", "+255684123456"
USER = {
    "first_name": "ASHA",
    "last_name": "SAIDI MUSHI",
    "grade": "SUBS",
    "is_barred": False,
    "is_pin_set": True,
    "msisdn": NUMBER,
    "reg_status": "Y",
    "registration": {"status": "SUBS"},
}
FOUND = {
    "message": "SUCCESS",
    "code": "200",
    "result_code": "ESB000010",
    "response_code": "DP02200000001",
    "success": True,
}
NOT_FOUND = FOUND | {"message": "User Not Found", "code": "404", "response_code": "DP02200000002", "success": False}
PREVIEW = {
    "amount": 1100,
    "balance": 5_000_000,
    "channelProvider": "AIRTEL-MONEY",
    "fee": 100,
    "order": {"amount": 1000, "currency": "TZS"},
    "payoutFeeBearer": "merchant",
    "receiver": {"accountName": "ASHA SAIDI MUSHI", "accountNumber": "255684123456", "amount": 1000},
}
NAME = "ASHA SAIDI MUSHI"


def _airtel(data: Any = USER, status: Any = FOUND, http_status: int = 200) -> Recipient:
    return airtel_money_replies.of_name(
        Reply(http_status, json.dumps({"data": data, "status": status}).encode()), NUMBER
    )


def _clickpesa(body: Any, http_status: int = 200, channel: Channel = Channel.AIRTEL_MONEY) -> Recipient:
    return clickpesa_replies.of_name(Reply(http_status, json.dumps(body).encode()), channel, "255684123456")


def _known(recipient: Recipient) -> tuple[str | None, bool | None, bool | None]:
    return recipient.name, recipient.is_registered, recipient.is_barred


@pytest.mark.parametrize(
    ("data", "known"),
    [
        (USER, (NAME, True, False)),
        (USER | {"msisdn": 684123456}, (NAME, True, False)),
        (USER | {"msisdn": "255684123456"}, (NAME, True, False)),
        (USER | {"last_name": None}, ("ASHA", True, False)),
        (USER | {"is_barred": True}, (NAME, True, True)),
        (USER | {"is_pin_set": False}, (NAME, True, True)),
        ({"first_name": "ASHA", "last_name": "MUSHI"}, ("ASHA MUSHI", True, None)),
        (USER | {"first_name": "", "last_name": ""}, (None, None, False)),
        (USER | {"first_name": ["ASHA"], "last_name": 7}, (None, None, False)),
        (USER | {"is_barred": "yes"}, (NAME, True, None)),
    ],
)
def test_airtel_names_a_user(data: dict[str, Any], known: tuple[Any, ...]) -> None:
    assert _known(_airtel(data)) == known


@pytest.mark.parametrize("http_status", [200, 400, 404])
def test_only_airtels_own_code_says_that_there_is_no_account(http_status: int) -> None:
    assert _airtel(None, NOT_FOUND, http_status).is_registered is False


@pytest.mark.parametrize(
    ("data", "status", "http_status"),
    [
        pytest.param(None, {"code": "404", "message": "Not Found", "success": False}, 404, id="a wrong path"),
        pytest.param(USER, FOUND, 500, id="a fault"),
        pytest.param(None, NOT_FOUND, 503, id="a fault that says there is none"),
        pytest.param(USER, FOUND | {"success": False, "response_code": "DP02200000000"}, 200, id="failed"),
        pytest.param(USER, FOUND, 403, id="forbidden"),
        pytest.param([], FOUND, 200, id="a list"),
        pytest.param(USER | {"msisdn": "684999999"}, FOUND, 200, id="another number"),
    ],
)
def test_what_airtel_says_otherwise_is_unknown(data: Any, status: Any, http_status: int) -> None:
    assert _known(_airtel(data, status, http_status)) == (None, None, None)


@pytest.mark.parametrize(
    ("channel", "provider"),
    [
        (Channel.MPESA, "M-PESA"),
        (Channel.MPESA, "MPESA TANZANIA"),
        (Channel.MPESA, "Vodacom"),
        (Channel.TIGO_PESA, "TIGO-PESA"),
        (Channel.TIGO_PESA, "Mixx by Yas"),
        (Channel.AIRTEL_MONEY, "AIRTEL-MONEY"),
        (Channel.HALOPESA, "HALOPESA"),
    ],
)
def test_clickpesa_names_the_receiver_at_the_network_that_was_asked_for(channel: Channel, provider: str) -> None:
    assert _known(_clickpesa(PREVIEW | {"channelProvider": provider}, channel=channel)) == (NAME, True, None)
    for other in set(Channel) - {channel}:
        assert _known(_clickpesa(PREVIEW | {"channelProvider": provider}, channel=other)) == (None, None, None)


@pytest.mark.parametrize(
    ("body", "http_status"),
    [
        pytest.param(PREVIEW, 500, id="a fault"),
        pytest.param({"message": "Insufficient balance"}, 400, id="our float"),
        pytest.param({"message": "Invalid / unsupported phone number"}, 400, id="a number that it does not take"),
        pytest.param({"message": ["not registered"]}, 400, id="a message that is no text"),
        pytest.param({"message": "Receiver account is not registered"}, 404, id="not in a 400"),
        pytest.param({"message": "Forbidden resource"}, 403, id="forbidden"),
        pytest.param(PREVIEW | {"receiver": []}, 200, id="no receiver"),
        pytest.param(PREVIEW | {"receiver": {"accountName": None}}, 200, id="no name"),
        pytest.param(
            PREVIEW | {"receiver": {"accountName": NAME, "accountNumber": "255684999999"}}, 200, id="another's"
        ),
        pytest.param(PREVIEW | {"channelProvider": "AZAMPESA"}, 200, id="a network that we do not have"),
        pytest.param({name: value for name, value in PREVIEW.items() if name != "channelProvider"}, 200, id="whose?"),
    ],
)
def test_what_clickpesa_says_otherwise_is_unknown(body: Any, http_status: int) -> None:
    assert _known(_clickpesa(body, http_status)) == (None, None, None)


def test_clickpesa_says_in_words_that_there_is_no_account() -> None:
    assert _clickpesa({"message": "Receiver account is not registered"}, 400).is_registered is False


@pytest.mark.parametrize("body", [*UNREADABLE.values(), *WRONG_SHAPES.values()], ids=[*UNREADABLE, *WRONG_SHAPES])
def test_a_body_that_nobody_understands_is_unknown(body: bytes) -> None:
    for status in (200, 400, 404):
        assert _known(airtel_money_replies.of_name(Reply(status, body), NUMBER)) == (None, None, None)
        found = clickpesa_replies.of_name(Reply(status, body), Channel.AIRTEL_MONEY, "255684123456")
        assert _known(found) == (None, None, None)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("ASHA", "MUSHI"), "ASHA MUSHI"),
        ((" ASHA \t", "", None, "MUSHI\n"), "ASHA MUSHI"),
        (("N/A", "MUSHI"), "MUSHI"),
        (("NULL",), None),
        (("255684123456",), None),
        (("---",), None),
        ((True, 7, [], {}), None),
        (("A" * 300,), "A" * 100),
        (("\u202eASHA",), "ASHA"),
    ],
)
def test_a_name_is_text_with_letters_on_one_line(parts: tuple[object, ...], name: str | None) -> None:
    assert name_in(*parts) == name


async def test_airtel_is_asked_by_nine_digits(server: ScriptedServer, airtel: Callable[..., AirtelMoney]) -> None:
    server.always(airtel_money_spec.GET_TOKEN, airtel_money_spec.TOKEN_GIVEN)
    server.expect(f"GET /standard/v1/users/{NUMBER}", http("200 OK", json.dumps({"data": USER, "status": FOUND})))
    assert (await airtel().look_up(Channel.AIRTEL_MONEY, PHONE)).name == NAME


async def test_clickpesa_is_asked_by_a_preview_that_pays_nothing(
    server: ScriptedServer, http_client: HttpClient
) -> None:
    line = "POST /third-parties/payouts/preview-mobile-money-payout"
    server.always(clickpesa_spec.GET_TOKEN, clickpesa_spec.TOKEN_GIVEN)
    server.expect(line, *[http("200 OK", json.dumps(PREVIEW))] * 2)
    settings = clickpesa_spec.settings(server.port) | {
        "clickpesa_checksum_key": "CHK1",
        "clickpesa_lookups_per_minute": 2,
    }
    connector = Clickpesa(Settings(**settings), http_client)
    for _ in range(2):
        assert (await connector.look_up(Channel.AIRTEL_MONEY, PHONE)).name == NAME
    beyond = await connector.look_up(Channel.AIRTEL_MONEY, PHONE)
    assert (beyond.name, beyond.code) == (None, "minute limit"), "payouts need the rest of the requests of a minute"
    first, second = (json.loads(each.body) for each in server.on(line))
    assert list(first) == ["amount", "currency", "orderReference", "phoneNumber", "checksum"]
    assert (first["amount"], first["currency"], first["phoneNumber"]) == (1000, "TZS", "255684123456")
    assert first["orderReference"] != second["orderReference"]
    assert all(len(each["orderReference"]) == 20 and each["orderReference"].isalnum() for each in (first, second))


async def test_without_a_token_the_name_is_unknown(
    server: ScriptedServer, airtel: Callable[..., AirtelMoney], http_client: HttpClient
) -> None:
    server.always(airtel_money_spec.GET_TOKEN, http("500 Internal Server Error", ""))
    server.always(clickpesa_spec.GET_TOKEN, http("403 Forbidden", '{"message":"Invalid client-id or api-key"}'))
    assert _known(await airtel().look_up(Channel.AIRTEL_MONEY, PHONE)) == (None, None, None)
    clickpesa = Clickpesa(Settings(**clickpesa_spec.settings(server.port)), http_client)
    assert _known(await clickpesa.look_up(Channel.AIRTEL_MONEY, PHONE)) == (None, None, None)


async def test_the_connectors_that_report_names_and_their_channels(
    server_settings: Settings, http_client: HttpClient
) -> None:
    airtel, clickpesa = AirtelMoney(server_settings, http_client), Clickpesa(server_settings, http_client)
    assert not issubclass(Mpesa, LooksUpNames)
    assert isinstance(airtel, LooksUpNames)
    assert isinstance(clickpesa, LooksUpNames)
    assert [channel for channel in Channel if airtel.looks_up(channel)] == [Channel.AIRTEL_MONEY]
    assert all(clickpesa.looks_up(channel) for channel in Channel)
    never = Clickpesa(Settings(**clickpesa_spec.settings(9) | {"clickpesa_lookups_per_minute": 0}), http_client)
    assert not any(never.looks_up(channel) for channel in Channel)


@pytest.fixture
def server_settings() -> Settings:
    return Settings(**airtel_money_spec.settings(9), **clickpesa_spec.settings(9))
