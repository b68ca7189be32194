"""M-Pesa, byte for byte: what the connector says to it."""

import json
import re
from urllib.parse import parse_qsl, urlsplit

from malipo.networks.connector import Type
from tests.networks.mpesa.connector import HARMLESS, TYPES, Connect, bearer
from tests.networks.mpesa_spec import (
    ACCEPTED,
    API_KEY,
    COLLECT,
    COLLECTION,
    COMPLETED,
    DISBURSE,
    DISBURSEMENT,
    ORDERS,
    PAID,
    PAID_OUT,
    QUERY,
    SESSION,
    SESSION_GIVEN,
    SESSION_ID,
    told,
)
from tests.networks.scripted_server import ScriptedServer
from tests.networks.verdict_words import PENDING, SUCCESS


async def test_a_session_is_asked_for_with_the_encrypted_api_key(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(COLLECT, PAID)
    await mpesa().send(COLLECTION)
    request = server.heard[0]
    assert (request.method, request.target) == ("GET", "/sandbox/ipg/v2/vodacomTZN/getSession/")
    assert bearer(request) == API_KEY
    assert request.header("Origin") == "pay.example.co.tz"
    assert request.header("Content-Type") == "application/json"
    assert request.header("Host") == f"127.0.0.1:{server.port}"
    assert request.body == b""
    assert set(request.header_names) - HARMLESS == {"authorization", "origin", "content-type"}
    assert len(request.header_names) == len(set(request.header_names))


async def test_every_bearer_is_encrypted_with_fresh_padding(server: ScriptedServer, mpesa: Connect) -> None:
    server.always(SESSION, SESSION_GIVEN)
    server.always(COLLECT, PAID)
    await mpesa().send(COLLECTION)
    await mpesa().send(COLLECTION)
    assert len({each.header("Authorization") for each in server.on(SESSION)}) == 2


async def test_a_collection_is_these_bytes(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(COLLECT, PAID)
    await mpesa().send(COLLECTION)
    request = server.heard[1]
    assert (request.method, request.target) == ("POST", "/sandbox/ipg/v2/vodacomTZN/c2bPayment/singleStage/")
    assert request.body == (
        b'{"input_Amount":"1500","input_CustomerMSISDN":"255754000001","input_Country":"TZN","input_Currency":"TZS",'
        b'"input_ServiceProviderCode":"000000","input_TransactionReference":"0K3ABCDEFGHJ1234",'
        b'"input_ThirdPartyConversationID":"0K3ABCDEFGHJ1234","input_PurchasedItemsDesc":"Order 12 thanks"}'
    )
    assert bearer(request) == SESSION_ID
    assert request.header("Origin") == "pay.example.co.tz"
    assert request.header("Content-Type") == "application/json"
    assert request.header("Content-Length") == str(len(request.body))
    assert set(request.header_names) - HARMLESS == {"authorization", "origin", "content-type", "content-length"}
    assert len(request.header_names) == len(set(request.header_names))


async def test_a_disbursement_is_these_bytes(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(DISBURSE, PAID_OUT)
    await mpesa(mpesa_service_provider_code="541234").send(DISBURSEMENT)
    request = server.heard[1]
    assert (request.method, request.target) == ("POST", "/sandbox/ipg/v2/vodacomTZN/b2cPayment/")
    assert request.body == (
        b'{"input_Amount":"250000","input_CustomerMSISDN":"255765432109","input_Country":"TZN","input_Currency":"TZS",'
        b'"input_ServiceProviderCode":"541234","input_TransactionReference":"0K3ABCDEFGHJ5678",'
        b'"input_ThirdPartyConversationID":"0K3ABCDEFGHJ5678","input_PaymentItemsDesc":"Wages week 7 Juma"}'
    )
    assert bearer(request) == SESSION_ID


@TYPES
async def test_a_query_goes_in_the_address_and_has_an_id_of_its_own(
    server: ScriptedServer, mpesa: Connect, type_: Type
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(QUERY, COMPLETED, COMPLETED)
    connector = mpesa()
    own_ids = set()
    for _ in range(2):
        await connector.ask(ORDERS[type_])
        request = server.heard[-1]
        asked = parse_qsl(urlsplit(request.target).query, keep_blank_values=True, strict_parsing=True)
        own_id = dict(asked)["input_ThirdPartyConversationID"]
        assert re.fullmatch("[0-9a-f]{32}", own_id)
        own_ids.add(own_id)
        assert sorted(asked) == [
            ("input_Country", "TZN"),
            ("input_QueryReference", ORDERS[type_].key),
            ("input_ServiceProviderCode", "000000"),
            ("input_ThirdPartyConversationID", own_id),
        ]
        assert bearer(request) == SESSION_ID
        assert request.header("Origin") == "pay.example.co.tz"
        assert request.header("Content-Type") == "application/json"
        assert request.body == b""
    assert len(own_ids) == 2


async def test_what_differs_between_markets_is_a_setting(server: ScriptedServer, mpesa: Connect) -> None:
    path = "/openapi/ipg/v3/vodacomGHA/"
    server.expect(f"GET {path}session/", SESSION_GIVEN)
    server.expect(f"POST {path}c2b/", PAID)
    server.expect(f"POST {path}b2c/", PAID_OUT)
    server.expect(f"GET {path}query/", COMPLETED)
    connector = mpesa(
        mpesa_base_url=f"http://127.0.0.1:{server.port}/openapi/ipg/v3/vodacomGHA",
        mpesa_session_path="session/",
        mpesa_collection_path="c2b/",
        mpesa_disbursement_path="b2c/",
        mpesa_query_path="query/",
        mpesa_country="GHA",
        mpesa_currency="GHS",
        mpesa_origin="*",
    )
    await connector.send(COLLECTION)
    await connector.send(DISBURSEMENT)
    await connector.ask(COLLECTION)
    assert [each.header("Origin") for each in server.heard] == ["*"] * 4
    sent = json.loads(server.heard[1].body)
    assert (sent["input_Country"], sent["input_Currency"]) == ("GHA", "GHS")
    assert "input_Country=GHA" in server.heard[3].target


async def test_an_asynchronous_application_is_told_by_query(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(COLLECT, ACCEPTED)
    server.expect(QUERY, told("Pending"), COMPLETED)
    connector = mpesa()
    PENDING.check(await connector.send(COLLECTION))
    assert not (await connector.ask(COLLECTION)).verdict.is_definite
    SUCCESS.check(await connector.ask(COLLECTION))
