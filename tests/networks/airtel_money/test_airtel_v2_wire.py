"""Airtel Money's second version of payouts, and its signed messages, byte for byte."""

import base64
import json
import re
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.connector import PaymentInstruction, Type, Verdict
from tests.networks import rsa_keys
from tests.networks.airtel_money_spec import (
    ACCEPTED,
    ASK,
    COLLECT,
    COLLECTED,
    COLLECTION,
    DISBURSE,
    DISBURSEMENT,
    DISBURSEMENT_CODES,
    DONE,
    GET_TOKEN,
    LETTERS,
    NEXT_TOKEN_GIVEN,
    PAID_OUT,
    PIN,
    TOKEN,
    TOKEN_ENDED,
    TOKEN_GIVEN,
    coded,
    query_reply,
)
from tests.networks.scripted_server import Request, ScriptedServer, http
from tests.networks.verdict_words import FAIL_CFG, PENDING, SUCCESS, UNKNOWN, Outcome

Connect = Callable[..., AirtelMoney]

V2 = {"airtel_money_disbursement_version": "v2"}
SIGNED = {"airtel_money_signing": True}
DISBURSE_V2 = "POST /standard/v2/disbursements/"
ASK_V2 = "GET /standard/v2/disbursements/0K3ABCDEFGHJ5678"


def order(**changes: object) -> PaymentInstruction:
    said = {name: getattr(DISBURSEMENT, name) for name in DISBURSEMENT.__struct_fields__}
    return PaymentInstruction(**(said | {"name": "Juma Hamisi"} | changes))


# The second version.


async def test_a_payout_is_these_bytes(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(DISBURSE_V2, PAID_OUT)
    SUCCESS.check(await airtel(**V2).send(order()))
    request = server.requests[1]
    assert (request.method, request.target) == ("POST", "/standard/v2/disbursements/")
    sealed = json.loads(request.body)["pin"]
    assert rsa_keys.opened(rsa_keys.AIRTEL_MONEY, sealed) == PIN
    assert request.body.replace(sealed.encode(), b"PIN") == (
        b'{"payee":{"currency":"TZS","msisdn":"692345678","name":"Juma Hamisi"},"reference":"0K3ABCDEFGHJ5678","pin":"PIN",'
        b'"transaction":{"amount":250000,"id":"0K3ABCDEFGHJ5678","type":"B2C"}}'
    )
    assert request.header("Authorization") == f"Bearer {TOKEN}"
    assert (request.header("X-Country"), request.header("X-Currency")) == ("TZ", "TZS")
    assert request.header("Content-Type") == "application/json"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Juma Hamisi", "Juma Hamisi"),
        ("  Juma\t\tHamisi\r\n", "Juma Hamisi"),
        ('J","msisdn":"700000000', "J msisdn 700000000"),
        ("Asha-Rose", "Asha Rose"),
        ("", "Customer"),
        ("…!?", "Customer"),
        ("\x00\x01", "Customer"),
    ],
)
async def test_a_name_is_cleaned(server: ScriptedServer, airtel: Connect, name: str, said: str) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(DISBURSE_V2, PAID_OUT)
    await airtel(**V2).send(order(name=name))
    assert json.loads(server.requests[1].body)["payee"]["name"] == said


@given(name=st.text(max_size=100))
@hypothesis_settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_the_name_it_is_plain(server: ScriptedServer, airtel: Connect, name: str) -> None:
    server.always(GET_TOKEN, TOKEN_GIVEN)
    server.always(DISBURSE_V2, PAID_OUT)
    await airtel(**V2).send(order(name=name))
    said = json.loads(server.requests[-1].body)["payee"]["name"]
    assert re.fullmatch("[A-Za-z0-9]+( [A-Za-z0-9]+)*", said)
    assert len(said) <= 100


async def test_an_enquiry_says_which_kind_it_means(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(ASK_V2, DONE[Type.DISBURSEMENT])
    SUCCESS.check(await airtel(**V2).query(DISBURSEMENT))
    request = server.requests[1]
    assert (request.method, request.body) == ("GET", b"")
    assert request.target == "/standard/v2/disbursements/0K3ABCDEFGHJ5678?transactionType=B2C"


async def test_a_collection_is_what_it_was(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(COLLECT, ACCEPTED)
    server.expect(ASK[Type.COLLECTION], COLLECTED)
    connector = airtel(**V2)
    PENDING.check(await connector.send(COLLECTION))
    SUCCESS.check(await connector.query(COLLECTION))
    assert "?" not in server.requests[2].target
    assert set(json.loads(server.requests[1].body)) == {"reference", "subscriber", "transaction"}


async def test_the_first_version_knows_nothing_of_the_second(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(DISBURSE, PAID_OUT)
    server.expect(ASK[Type.DISBURSEMENT], DONE[Type.DISBURSEMENT])
    connector = airtel()
    await connector.send(order())
    await connector.query(order())
    said = json.loads(server.requests[1].body)
    assert (set(said["payee"]), set(said["transaction"])) == ({"msisdn"}, {"amount", "id"})
    assert server.requests[2].target == "/standard/v1/disbursements/0K3ABCDEFGHJ5678"


@pytest.mark.parametrize(("code", "outcome", "enquired"), DISBURSEMENT_CODES)
async def test_its_codes_are_those_of_the_first(
    server: ScriptedServer, airtel: Connect, code: str, outcome: Outcome, enquired: Outcome | None
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(DISBURSE_V2, coded(200, code))
    server.expect(ASK_V2, coded(200, code))
    connector = airtel(**V2)
    outcome.check(await connector.send(order()))
    answer = await connector.query(order())
    if enquired is not None:
        enquired.check(answer)


@pytest.mark.parametrize(("letters", "outcome", "_"), LETTERS)
async def test_its_letters_are_those_of_the_first(
    server: ScriptedServer, airtel: Connect, letters: object, outcome: Outcome, _: Outcome
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    said = query_reply(DISBURSEMENT, letters, code="DP00900001006", success=True)
    server.expect(DISBURSE_V2, said)
    server.expect(ASK_V2, said)
    connector = airtel(**V2)
    outcome.check(await connector.send(order()))
    outcome.check(await connector.query(order()))


# Signed messages.


def seal_of(request: Request, *, is_oaep: bool = False) -> tuple[bytes, bytes]:
    """The key and the vector: base64 of each, with a colon between, sealed for Airtel alone."""
    sealed = request.header("x-key")
    said = (
        rsa_keys.opened_oaep(rsa_keys.AIRTEL_MONEY_LONG, sealed)
        if is_oaep
        else rsa_keys.opened(rsa_keys.AIRTEL_MONEY, sealed)
    )
    key, vector = (base64.b64decode(part, validate=True) for part in said.split(":"))
    assert (len(key), len(vector)) == (32, 16)
    return key, vector


def unsealed(request: Request, *, is_oaep: bool = False) -> bytes:
    key, vector = seal_of(request, is_oaep=is_oaep)
    decryptor = Cipher(algorithms.AES(key), modes.CBC(vector)).decryptor()
    padded = decryptor.update(base64.b64decode(request.header("x-signature"), validate=True)) + decryptor.finalize()
    unpadder = PKCS7(128).unpadder()
    return unpadder.update(padded) + unpadder.finalize()


def is_signed(request: Request) -> bool:
    return bool({"x-signature", "x-key"} & set(request.header_names))


@pytest.mark.parametrize("is_oaep", [False, True])
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_signature_holds_exactly_the_body(
    server: ScriptedServer, airtel: Connect, version: str, is_oaep: bool
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(COLLECT, ACCEPTED)
    server.expect(f"POST /standard/{version}/disbursements/", PAID_OUT)
    changes = (
        {"airtel_money_pin_padding": "oaep", "airtel_money_public_key": rsa_keys.AIRTEL_MONEY_LONG_PUBLIC_KEY}
        if is_oaep
        else {}
    )
    connector = airtel(**SIGNED, airtel_money_disbursement_version=version, **changes)
    PENDING.check(await connector.send(COLLECTION))
    SUCCESS.check(await connector.send(order()))
    token, collection, payout = server.requests
    assert not is_signed(token)
    for request in (collection, payout):
        assert unsealed(request, is_oaep=is_oaep) == request.body
        assert request.header("Content-Length") == str(len(request.body))


@pytest.mark.parametrize("length", range(16))
async def test_a_signature_holds_a_body_of_any_length(server: ScriptedServer, airtel: Connect, length: int) -> None:
    """A block that is full is followed by one of nothing but padding."""
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(COLLECT, ACCEPTED)
    note = "Thanks" + "x" * length
    await airtel(**SIGNED).send(
        PaymentInstruction(key=COLLECTION.key, type=Type.COLLECTION, phone="+255684000001", amount=1500, note=note)
    )
    assert unsealed(server.requests[1]) == server.requests[1].body


async def test_every_message_has_a_key_and_a_vector_of_its_own(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(COLLECT, *[ACCEPTED] * 5)
    connector = airtel(**SIGNED)
    for _ in range(5):
        await connector.send(COLLECTION)
    seals = [seal_of(request) for request in server.on(COLLECT)]
    assert len({key for key, _ in seals}) == len({vector for _, vector in seals}) == 5
    assert len({request.header("x-signature") for request in server.on(COLLECT)}) == 5
    assert len({request.body for request in server.on(COLLECT)}) == 1


async def test_an_enquiry_has_nothing_to_sign(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(ASK_V2, DONE[Type.DISBURSEMENT])
    server.expect(ASK[Type.COLLECTION], COLLECTED)
    connector = airtel(**SIGNED, **V2)
    SUCCESS.check(await connector.query(DISBURSEMENT))
    SUCCESS.check(await connector.query(COLLECTION))
    assert not any(is_signed(request) for request in server.requests)


@pytest.mark.parametrize("changes", [{}, V2])
async def test_nothing_is_signed_unless_it_is_agreed(
    server: ScriptedServer, airtel: Connect, changes: dict[str, str]
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(COLLECT, ACCEPTED)
    server.expect(DISBURSE_V2 if changes else DISBURSE, PAID_OUT)
    connector = airtel(**changes)
    await connector.send(COLLECTION)
    await connector.send(order())
    assert not any(is_signed(request) for request in server.requests)


async def test_a_payout_that_goes_again_under_a_new_token_is_the_same_and_signed(
    server: ScriptedServer, airtel: Connect
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(DISBURSE_V2, TOKEN_ENDED, PAID_OUT)
    SUCCESS.check(await airtel(**SIGNED, **V2).send(order()))
    first, second = server.on(DISBURSE_V2)
    assert first.body == second.body == unsealed(first) == unsealed(second)


@pytest.mark.parametrize("status", [200, 400, 403])
@pytest.mark.parametrize(("type_", "code"), [(Type.COLLECTION, "DP00800001026"), (Type.DISBURSEMENT, "DP00900001016")])
async def test_a_signature_that_does_not_match_calls_the_operator(
    server: ScriptedServer, airtel: Connect, type_: Type, code: str, status: int
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(COLLECT if type_ is Type.COLLECTION else DISBURSE_V2, coded(status, code))
    FAIL_CFG.check(await airtel(**SIGNED, **V2).send(COLLECTION if type_ is Type.COLLECTION else order()))


async def test_a_public_key_too_short_for_the_seal_sends_nothing(server: ScriptedServer, airtel: Connect) -> None:
    """OAEP takes 66 bytes of the 128 of a 1024-bit key, and the 69 of key and vector do not fit into the rest."""
    server.always(GET_TOKEN, TOKEN_GIVEN)
    try:
        connector = airtel(**SIGNED, **V2, airtel_money_pin_padding="oaep")
    except ValueError:
        return  # refused before there was anything to send
    answer = await connector.send(order())
    assert answer.verdict in (Verdict.UNSENT, Verdict.REFUSED)
    assert server.on(DISBURSE_V2) == []


async def test_a_signed_payout_whose_answer_is_lost_is_unknown(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(DISBURSE_V2, http("504 Gateway Time-out", "<html></html>", media_type="text/html"))
    answer = await airtel(**SIGNED, **V2).send(order())
    UNKNOWN.check(answer)
    assert answer.is_fault
