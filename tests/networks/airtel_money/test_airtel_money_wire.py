"""What only Airtel's requests have: a sealed PIN, and settings of a country. The requests are in `test_wire.py`."""

import json
import re

from malipo.networks.connector import Type
from tests.networks import rsa_keys
from tests.networks.airtel_money.connector import Connect
from tests.networks.airtel_money_spec import (
    ACCEPTED,
    COLLECTED,
    COLLECTION,
    DISBURSE,
    DISBURSEMENT,
    DONE,
    GET_TOKEN,
    PAID_OUT,
    PIN,
    TOKEN_GIVEN,
)
from tests.networks.scripted_server import ScriptedServer


async def test_the_pin_is_padded_at_random_by_pkcs1(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, TOKEN_GIVEN)
    server.expect(DISBURSE, PAID_OUT, PAID_OUT)
    for _ in range(2):
        await airtel().send(DISBURSEMENT)
    numbers = rsa_keys.AIRTEL_MONEY.private_numbers()
    paddings = set()
    for request in server.on(DISBURSE):
        sealed = int.from_bytes(rsa_keys.unpacked(rsa_keys.AIRTEL_MONEY, json.loads(request.body)["pin"]), "big")
        block = pow(sealed, numbers.d, numbers.public_numbers.n).to_bytes(128, "big")
        match = re.fullmatch(rb"\x00\x02([^\x00]{8,})\x004731", block, re.DOTALL)
        assert match is not None
        paddings.add(match[1])
    assert len(paddings) == 2


async def test_the_pin_can_be_sealed_with_oaep(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(DISBURSE, PAID_OUT)
    connector = airtel(airtel_money_pin_padding="oaep", airtel_money_public_key=rsa_keys.AIRTEL_MONEY_LONG_PUBLIC_KEY)
    await connector.send(DISBURSEMENT)
    assert rsa_keys.opened_oaep(rsa_keys.AIRTEL_MONEY_LONG, json.loads(server.requests[1].body)["pin"]) == PIN


async def test_what_differs_between_countries_is_a_setting(server: ScriptedServer, airtel: Connect) -> None:
    server.expect("POST /gateway/token", TOKEN_GIVEN)
    server.expect("POST /gateway/merchant/v2/payments/", ACCEPTED)
    server.expect("POST /gateway/pay/", PAID_OUT)
    server.expect("GET /gateway/collected/0K3ABCDEFGHJ1234", COLLECTED)
    server.expect("GET /gateway/paid/0K3ABCDEFGHJ5678", DONE[Type.DISBURSEMENT])
    connector = airtel(
        airtel_money_base_url=f"http://127.0.0.1:{server.port}/gateway",
        airtel_money_token_path="token",
        airtel_money_collection_path="merchant/v2/payments/",
        airtel_money_collection_query_path="collected/",
        airtel_money_disbursement_path="pay/",
        airtel_money_disbursement_query_path="paid/",
        airtel_money_country="ZM",
        airtel_money_currency="ZMW",
    )
    await connector.send(COLLECTION)
    await connector.send(DISBURSEMENT)
    await connector.query(COLLECTION)
    await connector.query(DISBURSEMENT)
    assert {each.header("X-Country") for each in server.requests[1:]} == {"ZM"}
    assert {each.header("X-Currency") for each in server.requests[1:]} == {"ZMW"}
    sent = json.loads(server.requests[1].body)
    assert sent["subscriber"] == {"country": "ZM", "currency": "ZMW", "msisdn": "684000001"}
    assert sent["transaction"] == {"amount": 1500, "country": "ZM", "currency": "ZMW", "id": "0K3ABCDEFGHJ1234"}
