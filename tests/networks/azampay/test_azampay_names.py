"""Names from AzamPay: what is asked, which answers are a name, and that none is an error."""

import json

import pytest

from malipo.networks.connector import Channel, LooksUpNames, Recipient
from tests.networks.azampay.connector import Connect, assert_checksum, assert_headers
from tests.networks.azampay.connector import azampay as azampay
from tests.networks.azampay_spec import GET_TOKEN, LOOK_UP, NOT_LET_IN, TOKEN, TOKEN_GIVEN
from tests.networks.scripted_server import After, Reply, ScriptedServer, http

PHONE = "+255712000001"
FOUND = {
    "name": "ASHA SAIDI MUSHI",
    "fname": "ASHA",
    "lname": "MUSHI",
    "message": "Success",
    "status": True,
    "statusCode": 200,
    "accountNumber": "255712000001",
    "bankName": "Yas",
}


async def look_up(server: ScriptedServer, azampay: Connect, said: Reply | dict[str, object]) -> Recipient:
    server.always(GET_TOKEN, TOKEN_GIVEN)
    server.expect(LOOK_UP, said if isinstance(said, Reply) else http("200 OK", json.dumps(said)))
    return await azampay().look_up(Channel.TIGO_PESA, PHONE)


async def test_the_number_the_network_and_a_checksum_are_sent(server: ScriptedServer, azampay: Connect) -> None:
    connector = azampay()
    assert isinstance(connector, LooksUpNames)
    assert all(connector.looks_up(channel) for channel in Channel)
    found = await look_up(server, azampay, FOUND)
    assert (found.name, found.is_registered, found.is_barred) == ("ASHA SAIDI MUSHI", True, None)
    request = server.requests[-1]
    said = json.loads(request.body)
    assert_checksum(said.pop("checksum"), "Yas255712000001")
    assert said == {"bankName": "Yas", "accountNumber": "255712000001"}
    assert_headers(request, TOKEN)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"name": None}, "ASHA MUSHI"),
        ({"name": None, "fname": None, "lname": None, "fName": "ASHA", "lName": "MUSHI"}, "ASHA MUSHI"),
        ({"name": " ", "fname": "ASHA", "lname": ""}, "ASHA"),
        ({"accountNumber": None}, "ASHA SAIDI MUSHI"),
        ({"accountNumber": "+255712000001"}, "ASHA SAIDI MUSHI"),
    ],
)
async def test_a_name_comes_in_several_spellings(
    server: ScriptedServer, azampay: Connect, changes: dict[str, object], name: str
) -> None:
    assert (await look_up(server, azampay, FOUND | changes)).name == name


async def test_a_name_comes_as_in_the_sister_country_too(server: ScriptedServer, azampay: Connect) -> None:
    said: dict[str, object] = {"success": True, "accountNumber": "255712000001", "accountName": "Asha Mushi"}
    assert (await look_up(server, azampay, said)).name == "Asha Mushi"


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("word", ["status", "success"])
async def test_a_number_without_an_account_is_not_registered(
    server: ScriptedServer, azampay: Connect, word: str, status: int
) -> None:
    said = http(f"{status} Whatever", json.dumps({word: False, "message": "Account not found", "statusCode": 404}))
    found = await look_up(server, azampay, said)
    assert (found.name, found.is_registered) == (None, False)


@pytest.mark.parametrize(
    "said",
    [
        FOUND | {"status": False},
        FOUND | {"status": "true"},
        FOUND | {"status": None},
        FOUND | {"accountNumber": "255712999999"},
        FOUND | {"name": None, "fname": None, "lname": None},
        FOUND | {"name": 7, "fname": [], "lname": {}},
        {"status": False, "message": "Invalid BankName.", "statusCode": 400},
        {},
        http("400 Bad Request", json.dumps(FOUND)),
        http("500 Internal Server Error", json.dumps(FOUND)),
        http("429 Too Many Requests", '{"status":false,"message":"Account not found"}'),
        http("200 OK", "<html></html>", media_type="text/html"),
        Reply(after=After.RESET),
    ],
)
async def test_anything_else_is_an_unknown_name(
    server: ScriptedServer, azampay: Connect, said: Reply | dict[str, object]
) -> None:
    found = await look_up(server, azampay, said)
    assert (found.name, found.is_registered) == (None, None)
    assert "ASHA" not in found.code + found.detail


@pytest.mark.parametrize("said", [NOT_LET_IN, http("500 Internal Server Error"), Reply(after=After.RESET)])
async def test_without_a_token_no_name_is_asked_for(server: ScriptedServer, azampay: Connect, said: Reply) -> None:
    server.expect(GET_TOKEN, said)
    assert (await azampay().look_up(Channel.TIGO_PESA, PHONE)).name is None
    assert server.on(LOOK_UP) == []
