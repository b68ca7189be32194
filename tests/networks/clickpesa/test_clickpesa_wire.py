"""What only ClickPesa's requests have: a token with its first word or without, and a checksum where one is agreed."""

import json

import pytest

from malipo.networks.connector import Type
from tests.networks.clickpesa.connector import Connect, sent
from tests.networks.clickpesa.connector import clickpesa as clickpesa
from tests.networks.clickpesa_spec import (
    CHECKSUM_KEY,
    COLLECTION,
    GET_TOKEN,
    PUSH,
    REPLIES,
    STARTED,
    TOKEN,
)
from tests.networks.scripted_server import ScriptedServer, http
from tests.networks.verdict_words import PENDING


@pytest.mark.parametrize("said", ["Bearer " + TOKEN, TOKEN, "Bearer eyJ" + "x" * 1500])
async def test_a_token_is_taken_whole_with_its_first_word_or_without(
    server: ScriptedServer, clickpesa: Connect, said: str
) -> None:
    server.expect(GET_TOKEN, http("200 OK", json.dumps({"success": True, "token": said})))
    server.expect(PUSH, STARTED)
    PENDING.check(await clickpesa().send(COLLECTION))
    assert server.requests[1].header("Authorization") == f"Bearer {said.removeprefix('Bearer ')}"


# printf %s '<the body in test_wire.py>' | openssl dgst -sha256 -hmac CHKclickpesa7f3a
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
    said = json.loads(server.requests[1].body)
    assert said.pop("checksum") == checksum
    said.pop("checksumMethod", None)
    assert set(said) == {"amount", "currency", "orderReference", "phoneNumber"}
    assert CHECKSUM_KEY.encode() not in server.requests[1].raw
