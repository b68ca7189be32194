"""What only M-Pesa's requests have: sealed bearers, and settings of a market. The requests are in `test_wire.py`."""

import json

from tests.networks.mpesa.connector import Connect
from tests.networks.mpesa_spec import (
    ACCEPTED,
    COLLECT,
    COLLECTION,
    COMPLETED,
    DISBURSEMENT,
    PAID,
    PAID_OUT,
    QUERY,
    SESSION,
    SESSION_GIVEN,
    query_reply,
)
from tests.networks.scripted_server import ScriptedServer
from tests.networks.verdict_words import PENDING, SUCCESS


async def test_every_bearer_is_encrypted_with_fresh_padding(server: ScriptedServer, mpesa: Connect) -> None:
    server.always(SESSION, SESSION_GIVEN)
    server.always(COLLECT, PAID)
    await mpesa().send(COLLECTION)
    await mpesa().send(COLLECTION)
    assert len({each.header("Authorization") for each in server.on(SESSION)}) == 2


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
    await connector.query(COLLECTION)
    assert [each.header("Origin") for each in server.requests] == ["*"] * 4
    sent = json.loads(server.requests[1].body)
    assert (sent["input_Country"], sent["input_Currency"]) == ("GHA", "GHS")
    assert "input_Country=GHA" in server.requests[3].target


async def test_an_asynchronous_application_gets_the_outcome_by_query(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(COLLECT, ACCEPTED)
    server.expect(QUERY, query_reply("Pending"), COMPLETED)
    connector = mpesa()
    PENDING.check(await connector.send(COLLECTION))
    assert not (await connector.query(COLLECTION)).verdict.is_definite
    SUCCESS.check(await connector.query(COLLECTION))
