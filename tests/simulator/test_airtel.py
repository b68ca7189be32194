"""Airtel Money's wire: tokens, headers, fields and their codes, the PIN, and the callback's hash."""

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from tests.simulator.airtel import Airtel
from tests.simulator.conftest import SPEED
from tests.simulator.processes import Listener, Sim, until

PHONE = "+255684123456"


async def test_a_token_says_in_text_how_long_it_lives(airtel: Airtel) -> None:
    answer = await airtel.log_in()
    assert answer.status == 200
    assert answer.body["expires_in"] == "180"
    assert answer.body["token_type"] == "bearer"
    assert set(answer.body) == {"access_token", "expires_in", "token_type"}


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"client_secret": "wrong"}, 401, "invalid_client"),
        ({"client_id": None}, 401, "invalid_client"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
    ],
)
async def test_a_wrong_log_in_is_refused(airtel: Airtel, changes: dict[str, Any], status: int, error: str) -> None:
    answer = await airtel.log_in(**changes)
    assert (answer.status, answer.body["error"]) == (status, error)
    assert answer.body["error_description"]


async def test_a_token_ends(airtel: Airtel, sim: Sim) -> None:
    await airtel.open()
    assert (await airtel.ask("payment", "x")).status == 200
    await sim.control(channels={"AIRTEL_MONEY": {"tokenSeconds": 0.1}})
    await airtel.open()
    await asyncio.sleep(0.15)
    answer = await airtel.ask("payment", "x")
    assert (answer.status, answer.body["error"]) == (401, "invalid_token")


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Authorization": ""}, 401, None),
        ({"Authorization": "Bearer nonsense"}, 401, None),
        ({"X-Country": ""}, 400, "ROUTER003"),
        ({"X-Country": "KE"}, 400, "ROUTER006"),
        ({"X-Currency": ""}, 400, "ROUTER119"),
        ({"X-Currency": "KES"}, 400, "ROUTER112"),
    ],
)
async def test_every_call_needs_its_headers(
    airtel: Airtel, sim: Sim, headers: dict[str, str], status: int, code: str | None
) -> None:
    body = airtel.disbursement(PHONE)
    answer = await airtel.call("POST", "/standard/v1/disbursements/", body=body, headers=headers)
    assert answer.status == status
    if code:
        assert (answer.code, answer.body["status"]["success"]) == (code, False)
    assert (await sim("GET", "/api/book"))["movements"] == []


def _with(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    *parents, name = path.split(".")
    part = body
    for parent in parents:
        part = part[parent]
    if value is None:
        del part[name]
    else:
        part[name] = value
    return body


COMMON = [
    ("reference", None, "ROUTER003"),
    ("reference", 5, "ESB000008"),
    ("reference", "a" * 65, "ESB000008"),
    ("transaction.id", None, "ROUTER003"),
    ("transaction.id", "a b", "ESB000008"),
    ("transaction.id", 12, "ESB000008"),
    ("transaction.amount", None, "ROUTER003"),
    ("transaction.amount", "1000", "ESB000008"),
    ("transaction.amount", True, "ESB000008"),
    ("transaction.amount", 0, "ESB000008"),
    ("transaction.amount", -5, "ESB000008"),
    ("transaction.amount", 10.5, "ESB000008"),
]


BAD_COLLECTION = [
    *COMMON,
    ("subscriber.msisdn", None, "ROUTER003"),
    ("subscriber.msisdn", "0684123456", "DP00800001005"),
    ("subscriber.msisdn", "255684123456", "DP00800001005"),
    ("subscriber.msisdn", "12345678x", "DP00800001005"),
    ("subscriber.country", "KE", "ESB000034"),
    ("transaction.country", None, "ESB000034"),
    ("subscriber.currency", "KES", "ESB000035"),
    ("transaction.currency", None, "ESB000035"),
]
BAD_DISBURSEMENT = [
    *COMMON,
    ("payee.msisdn", "0684123456", "DP00900001012"),
    ("pin", None, "ROUTER003"),
    ("pin", "1234", "ROUTER116"),
]


async def test_a_bad_field_of_a_collection_is_refused(airtel: Airtel, sim: Sim) -> None:
    observed = []
    for path, value, _ in BAD_COLLECTION:
        answer = await airtel.call("POST", "/merchant/v1/payments/", body=_with(airtel.collection(PHONE), path, value))
        observed.append((path, value, answer.code))
        assert (answer.status, answer.body["status"]["code"], "data" in answer.body) == (400, "400", False)
    assert observed == BAD_COLLECTION
    assert await sim("GET", "/api/prompts") == []


async def test_a_bad_field_of_a_disbursement_is_refused(airtel: Airtel, sim: Sim) -> None:
    observed = []
    for path, value, _ in BAD_DISBURSEMENT:
        body = _with(airtel.disbursement(PHONE), path, value)
        answer = await airtel.call("POST", "/standard/v1/disbursements/", body=body)
        observed.append((path, value, answer.code))
        assert answer.status == 400
    assert observed == BAD_DISBURSEMENT
    assert (await sim("GET", "/api/book"))["movements"] == []


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'"text"'])
async def test_a_body_that_is_no_object_is_refused(airtel: Airtel, raw: bytes) -> None:
    for path in ("/merchant/v1/payments/", "/standard/v1/disbursements/"):
        answer = await airtel.call("POST", path, raw=raw)
        assert (answer.status, answer.body["status"]["success"]) == (400, False)


async def test_a_number_may_be_a_number(airtel: Airtel, sim: Sim) -> None:
    body = _with(airtel.disbursement(PHONE), "payee.msisdn", int(PHONE[4:]))
    assert (await airtel.call("POST", "/standard/v1/disbursements/", body=body)).letters == "TS"
    assert await sim.charged(PHONE) == [("paid", 1000)]


@pytest.mark.usefixtures("unhurried")
async def test_an_accepted_collection_sounds_like_success_and_is_not(airtel: Airtel, sim: Sim) -> None:
    answer = await airtel.collect("+255684123100", id_="order1")
    assert answer.status == 200
    assert answer.body["data"] == {"transaction": {"id": "order1", "status": "SUCCESS"}}
    assert answer.body["status"] == {
        "code": "200",
        "message": "SUCCESS",
        "result_code": "ESB000010",
        "response_code": "DP00800001006",
        "success": True,
    }
    assert await airtel.status("payment", "order1") == "TIP"
    assert await sim.charged("+255684123100") == []


async def test_a_paid_disbursement_says_so_at_once(airtel: Airtel) -> None:
    answer = await airtel.disburse(PHONE, 2500, "salary1")
    transaction = answer.body["data"]["transaction"]
    assert (transaction["id"], transaction["status"]) == ("salary1", "TS")
    assert re.fullmatch(r"CI\d{6}\.\d{4}\.[A-Z]\d{5}", transaction["airtel_money_id"])
    assert transaction["reference_id"]
    assert answer.body["status"]["response_code"] == "DP00900001001"
    assert answer.body["status"]["success"] is True


async def test_a_repeated_id_is_refused_and_pays_nothing(airtel: Airtel, sim: Sim) -> None:
    for kind, code in (("collect", "ESB000041"), ("disburse", "DP00900001017")):
        act, id_ = getattr(airtel, kind), secrets.token_hex(8)
        assert (await act(PHONE, 1000, id_)).status == 200
        again = await act(PHONE, 1000, id_)
        assert (again.status, again.code) == (400, code)
        assert again.body["status"]["success"] is False
    await asyncio.sleep(4 / SPEED)
    assert sorted(await sim.charged(PHONE)) == [("charged", 1000), ("paid", 1000)]


async def test_an_enquiry_words_success_as_the_portal_does(airtel: Airtel, listener: Listener) -> None:
    await airtel.collect(PHONE, 1000, "order2")
    await until(lambda: bool(listener.calls))
    answer = await airtel.ask("payment", "order2")
    assert answer.letters == "TS"
    # The code says "in process": the letters are what counts.
    assert answer.body["status"]["response_code"] == "DP00800001006"
    money_id = answer.body["data"]["transaction"]["airtel_money_id"]
    assert money_id == listener.calls[0].body["transaction"]["airtel_money_id"]
    assert re.fullmatch(r"MP\d{6}\.\d{4}\.[A-Z]\d{5}", money_id)


async def test_an_enquiry_about_a_failure_answers_200_with_success_false(airtel: Airtel, listener: Listener) -> None:
    await airtel.collect("+255684123101", 1000, "order3")
    await until(lambda: bool(listener.calls))
    answer = await airtel.ask("payment", "order3")
    assert (answer.status, answer.letters) == (200, "TF")
    assert answer.body["status"]["success"] is False
    assert answer.body["status"]["response_code"] == "DP00800001008"
    assert answer.body["data"]["transaction"]["airtel_money_id"]


async def test_each_kind_has_its_own_enquiry(airtel: Airtel) -> None:
    await airtel.disburse(PHONE, 1000, "salary2")
    assert await airtel.status("disbursement", "salary2") == "TS"
    unknown = await airtel.ask("payment", "salary2")
    assert (unknown.status, unknown.code) == (200, "DP00800001025")
    assert unknown.body["status"]["result_code"] == "ESB000045"
    assert "data" not in unknown.body
    assert await airtel.status("disbursement", "nothing") == "DP00900001015"


async def test_the_pin_must_be_the_right_one(airtel: Airtel, sim: Sim) -> None:
    wrong = f"{(int(airtel.given['pin']) + 1) % 10_000:04}"
    body = airtel.disbursement(PHONE) | {"pin": airtel.seal(wrong)}
    assert (await airtel.call("POST", "/standard/v1/disbursements/", body=body)).code == "ROUTER115"
    assert await sim.charged(PHONE) == []


async def test_the_pin_is_sealed_in_the_way_that_is_set(airtel: Airtel, sim: Sim) -> None:
    body = airtel.disbursement(PHONE) | {"pin": airtel.seal(airtel.given["pin"], is_oaep=True)}
    assert (await airtel.call("POST", "/standard/v1/disbursements/", body=body)).code == "ROUTER116"
    await sim.control(channels={"AIRTEL_MONEY": {"pinPadding": "oaep"}})
    assert (await airtel.call("POST", "/standard/v1/disbursements/", body=body)).letters == "TS"
    assert (await airtel.disburse(PHONE)).code == "ROUTER116"


@pytest.mark.parametrize(
    ("version", "payee", "transaction", "code"),
    [
        (2, {"currency": "TZS", "name": "Asha"}, {"type": "B2C"}, "DP00900001001"),
        (2, {"name": "Asha"}, {"type": "B2C"}, "ESB000035"),
        (2, {"currency": "TZS", "name": "Asha"}, {}, "ROUTER003"),
        (3, {"currency": "TZS", "wallet_type": "NORMAL"}, {"type": "B2C"}, "DP00900001001"),
        (3, {"currency": "TZS"}, {"type": "B2C"}, "ESB000008"),
    ],
)
async def test_newer_versions_want_more(
    airtel: Airtel, version: int, payee: dict[str, str], transaction: dict[str, str], code: str
) -> None:
    body = airtel.disbursement(PHONE)
    body["payee"] |= payee
    body["transaction"] |= transaction
    answer = await airtel.call("POST", f"/standard/v{version}/disbursements/", body=body)
    assert answer.code == code


async def test_the_key_for_the_pin_can_be_asked_for(airtel: Airtel) -> None:
    answer = await airtel.call("GET", "/v1/rsa/encryption-keys")
    assert answer.body["data"]["key"] == airtel.given["publicKey"]
    assert answer.code == "DP02010001001"
    assert re.fullmatch(r"\d\d-\d\d-\d{4} \d\d:\d\d:\d\d", answer.body["data"]["valid_upto"])
    serialization.load_der_public_key(base64.b64decode(answer.body["data"]["key"]))


def _hash(airtel: Airtel, signed: bytes) -> str:
    key = airtel.given["callbackKey"].encode()
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


async def _callback(airtel: Airtel, sim: Sim, listener: Listener, form: str) -> bytes:
    await sim.control(channels={"AIRTEL_MONEY": {"callbackForm": form}})
    await airtel.collect(PHONE, 1000, "order4")
    await until(lambda: bool(listener.calls))
    return listener.calls[0].raw


async def test_a_callback_is_signed_over_its_transaction(airtel: Airtel, sim: Sim, listener: Listener) -> None:
    raw = await _callback(airtel, sim, listener, "signed")
    body = listener.calls[0].body
    assert list(body) == ["transaction", "hash"]
    assert list(body["transaction"]) == ["id", "message", "status_code", "code", "airtel_money_id"]
    assert (body["transaction"]["id"], body["transaction"]["status_code"]) == ("order4", "TS")
    object_ = raw[len(b'{"transaction":') : raw.index(b',"hash"')]
    assert body["hash"] == _hash(airtel, b'{"transaction":' + object_ + b"}")


async def test_or_over_the_object_alone(airtel: Airtel, sim: Sim, listener: Listener) -> None:
    raw = await _callback(airtel, sim, listener, "signedObject")
    object_ = raw[len(b'{"transaction":') : raw.index(b',"hash"')]
    assert listener.calls[0].body["hash"] == _hash(airtel, object_)


async def test_or_not_at_all(airtel: Airtel, sim: Sim, listener: Listener) -> None:
    await _callback(airtel, sim, listener, "unsigned")
    assert list(listener.calls[0].body) == ["transaction"]


async def test_or_wrapped(airtel: Airtel, sim: Sim, listener: Listener) -> None:
    await _callback(airtel, sim, listener, "wrapped")
    body = listener.calls[0].body
    assert list(body) == ["country", "mno", "payload"]
    assert body["payload"]["transaction"]["id"] == "order4"
