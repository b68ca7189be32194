"""ClickPesa, byte for byte: an aggregator that reaches HaloPesa both ways, and signs what it is asked to."""

import json

import pytest

from malipo.networks.connector import Type
from tests.networks.clickpesa.connector import TYPES, Connect, asked, assert_headers, sent
from tests.networks.clickpesa.connector import clickpesa as clickpesa
from tests.networks.clickpesa_spec import (
    API_KEY,
    ASK,
    CHECKSUM_KEY,
    CLIENT_ID,
    COLLECTION,
    DONE,
    GET_TOKEN,
    PAY,
    PUSH,
    REPLIES,
    STARTED,
    TOKEN,
)
from tests.networks.scripted_server import ScriptedServer, http
from tests.networks.verdict_words import PENDING, SUCCESS


async def test_a_token_is_asked_for_with_two_headers(server: ScriptedServer, clickpesa: Connect) -> None:
    await sent(server, clickpesa, Type.COLLECTION, STARTED)
    request = server.heard[0]
    assert (request.method, request.target) == ("POST", "/third-parties/generate-token")
    assert (request.header("client-id"), request.header("api-key")) == (CLIENT_ID, API_KEY)
    assert "authorization" not in request.header_names
    assert request.body in (b"", b"{}")


@pytest.mark.parametrize("said", ["Bearer " + TOKEN, TOKEN, "Bearer eyJ" + "x" * 1500])
async def test_a_token_is_taken_whole_with_its_first_word_or_without(
    server: ScriptedServer, clickpesa: Connect, said: str
) -> None:
    server.expect(GET_TOKEN, http("200 OK", json.dumps({"success": True, "token": said})))
    server.expect(PUSH, STARTED)
    PENDING.check(await clickpesa().send(COLLECTION))
    assert server.heard[1].header("Authorization") == f"Bearer {said.removeprefix('Bearer ')}"


@TYPES
async def test_a_payment_is_this_object(server: ScriptedServer, clickpesa: Connect, type_: Type) -> None:
    PENDING.check(await sent(server, clickpesa, type_, REPLIES[type_]))
    _, request = server.heard
    # A collection's amount is text, a payout's a number.
    expected = {
        Type.COLLECTION: '{"amount":"1500","currency":"TZS","orderReference":"0K3ABCDEFGHJ1234","phoneNumber":"255621000001"}',
        Type.DISBURSEMENT: '{"amount":250000,"currency":"TZS","orderReference":"0K3ABCDEFGHJ5678","phoneNumber":"255692345678"}',
    }
    said = json.loads(request.body)
    assert json.dumps(said, sort_keys=True, separators=(",", ":")) == expected[type_]
    assert f"{request.method} {request.target}" == PAY[type_]
    assert_headers(request, TOKEN)


# printf %s '<the object above>' | openssl dgst -sha256 -hmac CHKclickpesa7f3a
# printf %s '1500TZS0K3ABCDEFGHJ1234255621000001' | openssl dgst -sha256 -hmac CHKclickpesa7f3a
# printf %s '250000TZS0K3ABCDEFGHJ5678255692345678' | openssl dgst -sha256 -hmac CHKclickpesa7f3a
@pytest.mark.parametrize(
    ("type_", "form", "checksum"),
    [
        (Type.COLLECTION, "canonical", "6ac8408c42c5d90810b58d2fa92b74d115979be8e8dad7add62218029dbab376"),
        (Type.DISBURSEMENT, "canonical", "85ec21ca2d18f44c4636451ae4258830ab51333cdd2a604831f179d3e823c076"),
        (Type.COLLECTION, "concatenated", "bd3b36d4c81a1ed296046a65ec7a64eddef3ba563ae022ed8dfd4697be0b13cf"),
        (Type.DISBURSEMENT, "concatenated", "59284fee22b33fbb7d8aa0a15ed1946adebd403198bbc58d92de8dee80aa140c"),
    ],
)
async def test_a_payment_carries_a_checksum_where_one_is_agreed(
    server: ScriptedServer, clickpesa: Connect, type_: Type, form: str, checksum: str
) -> None:
    await sent(server, clickpesa, type_, REPLIES[type_], clickpesa_checksum_key=CHECKSUM_KEY, clickpesa_checksum=form)
    said = json.loads(server.heard[1].body)
    assert said.pop("checksum") == checksum
    said.pop("checksumMethod", None)
    assert set(said) == {"amount", "currency", "orderReference", "phoneNumber"}
    assert CHECKSUM_KEY.encode() not in server.heard[1].raw


@TYPES
async def test_a_question_names_our_reference_in_its_path(
    server: ScriptedServer, clickpesa: Connect, type_: Type
) -> None:
    SUCCESS.check(await asked(server, clickpesa, type_, DONE[type_]))
    request = server.heard[1]
    assert (f"GET {request.target}", request.body) == (ASK[type_], b"")
    assert_headers(request, TOKEN)
