"""Any bytes from the networks that came later: no exception, and no money taken for moved, or for not moved, that the
bytes do not say. What they say is decided here by a few lines of their own, from the same documentation.
"""

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from malipo.networks.connector import Answer, Verdict
from malipo.networks.http.client import HttpClient
from tests.networks import azampay_spec, clickpesa_spec, halopesa_spec, tigo_pesa_spec
from tests.networks.faults.other_replies import EACH, WITH_A_DOOR, split
from tests.networks.payment_calls import Call
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.networks.verdict_words import assert_fit_to_keep

MANY = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
AZAM_REFUSING = ("Invalid BankName.", "Invalid Checksum", "Invalid request data: x", "Potential XSS Detected")
KEYS = ["0K3ABCDEFGHJ1234", "0K3ABCDEFGHJ5678", "MLP0K3ABCDEFGHJ1234", "MLP0K3ABCDEFGHJ5678", "0K3ABCDEFGHJ9999"]
WORDS = [
    *KEYS,
    *(code for code, _ in tigo_pesa_spec.PUSH_CODES),
    *(code for code, _ in tigo_pesa_spec.CASH_IN_CODES),
    *(code for code, *_ in halopesa_spec.CODES),
    *(word for word, _ in clickpesa_spec.STATUSES),
    *(word for word, _ in azampay_spec.STATUSES),
    *(azampay_spec.NETWORK_ID, *AZAM_REFUSING, "Duplicate External Reference Id"),
    *(
        "BILLER-18-0000-S",
        "Posted",
        "Declined",
        "Refund",
        "Refund Declined",
        "FIN",
        "GetSOError001",
        "TS",
        "TF",
        "true",
    ),
    *("DP00900001001", "DP00900001005", "ESB000010"),
]
texts = st.sampled_from(WORDS) | st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
JSON_NAMES = (
    *(
        "ResponseCode",
        "ResponseStatus",
        "ResponseDescription",
        "Message",
        "ReferenceID",
        "access_token",
        "error",
        "token",
    ),
    *(
        "status",
        "orderReference",
        "message",
        "collectedAmount",
        "order",
        "beneficiary",
        "paymentPhoneNumber",
        "id",
        "data",
    ),
    *("success", "statusCode", "pgReferenceId", "initiatorReferenceId", "amount", "title"),
)
XML_NAMES = (
    *("TYPE", "REFERENCEID", "TXNID", "TXNSTATUS", "MESSAGE", "RESULTCODE", "EXTERNALREFID", "AMOUNT"),
    *("response_code", "referenceid", "response_type", "addition_data"),
)


def in_xml(said: dict[str, str]) -> bytes:
    inside = "".join(f"<{name}>{text}</{name}>" for name, text in said.items())
    return f"<COMMAND>{inside}</COMMAND>".encode("utf-8", "surrogatepass")


jsons = st.fixed_dictionaries({}, optional=dict.fromkeys(JSON_NAMES, values))
bodies = st.one_of(
    st.binary(max_size=200),
    jsons.map(lambda said: json.dumps(said).encode()),
    st.lists(jsons, max_size=2).map(lambda said: json.dumps(said).encode()),
    st.fixed_dictionaries({}, optional=dict.fromkeys(XML_NAMES, texts)).map(in_xml),
    st.fixed_dictionaries({}, optional=dict.fromkeys(XML_NAMES, texts)).map(in_xml),
)
damages = st.tuples(st.sampled_from(["change", "drop", "cut"]), st.integers(0, 9999), st.integers(0, 255))
Damage = tuple[str, int, int]


def made(body: bytes | Damage, good: bytes) -> bytes:
    """These bytes, or the good ones, damaged on their way."""
    if isinstance(body, bytes):
        return body
    how, place, byte = body
    place %= len(good)
    middle = {"change": bytes([byte]), "drop": b"", "cut": b""}[how]
    return good[:place] + middle + (b"" if how == "cut" else good[place + 1 :])


def parsed(body: bytes) -> Any:
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):
        return {}
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, dict) else {}


def said_in_xml(name: str, body: bytes) -> list[str]:
    found = re.findall(rf"<(?:\w+:)?{name}>\s*([^<]*?)\s*<".encode(), body, re.IGNORECASE)
    return [each.decode("utf-8", "replace") for each in found]


TIGO_REFUSING = {code for code, outcome in tigo_pesa_spec.PUSH_CODES if outcome.failure_code}
CASH_IN_REFUSING = {code.lstrip("0") for code, outcome in tigo_pesa_spec.CASH_IN_CODES if outcome.failure_code}
HALO_REFUSING = {code for code, outcome, _ in halopesa_spec.CODES if outcome.failure_code}


def may_be(call: Call, verdict: Verdict, status: int, body: bytes) -> bool:
    """Whether the documentation lets this verdict be read out of these bytes."""
    said, is_good = parsed(body), verdict is Verdict.CONFIRMED
    if status >= 500 or status == 408:
        return False
    match call.name:
        case "Tigo push":
            return not is_good and (status == 401 or str(said.get("ResponseCode")).strip() in TIGO_REFUSING)
        case "Tigo payout":
            (code,) = said_in_xml("TXNSTATUS", body) or [""]
            is_paid = bool(re.fullmatch("0+|0*200", code))
            return is_paid if is_good else code.lstrip("0") in CASH_IN_REFUSING
        case "Tigo query":
            (result,), (word,) = said_in_xml("RESULTCODE", body) or [""], said_in_xml("TXNSTATUS", body) or [""]
            expected = ("posted", "refund declined") if is_good else ("declined", "refund")
            return result.strip("0") == "" and result != "" and word.lower() in expected
        case "HaloPesa push":
            return not is_good and bool(set(said_in_xml("response_code", body)) & HALO_REFUSING)
        case "AzamPay payout":
            words = next((said[name] for name in ("message", "title") if isinstance(said.get(name), str)), "")
            is_known = any(known.rstrip("x.").lower() in words.lower() for known in AZAM_REFUSING)
            return not is_good and (
                status == 401 or (status in (200, 400) and is_known and not said.get("pgReferenceId"))
            )
        case "AzamPay query":
            is_named = (
                azampay_spec.NETWORK_ID in str(said.get("pgReferenceId")) or said.get("initiatorReferenceId") in KEYS
            )
            word = str(said.get("status")).strip().lower()
            return (
                status == 200
                and said.get("success") is True
                and is_named
                and word == ("success" if is_good else "failure")
            )
        case "Airtel v2 payout":
            return True  # held to its codes elsewhere
    word = said.get("status")
    if is_good:
        return 200 <= status < 300 and isinstance(word, str) and word.strip().upper() in ("SUCCESS", "SETTLED")
    if isinstance(word, str) and word.strip().upper() in ("FAILED", "REFUNDED", "REVERSED"):
        return True
    return call.is_payment and (status == 401 or (status == 400 and isinstance(said.get("message"), str | int | float)))


def check(call: Call, answer: Answer, status: int, body: bytes) -> None:
    assert_fit_to_keep(answer)
    assert (answer.failure_code is not None) == (answer.verdict is Verdict.REFUSED)
    assert call.is_payment or answer.verdict is not Verdict.UNSENT
    assert not call.is_payment or answer.verdict is not Verdict.MISSING
    if answer.verdict.is_definite:
        assert may_be(call, answer.verdict, status, body), (call, answer, body)


STATUSES = [200, 200, 200, 201, 204, 302, 304, 400, 400, 401, 403, 404, 408, 409, 422, 429, 500, 503, 999]


@EACH
@MANY
@given(status=st.sampled_from(STATUSES), body=bodies | damages)
async def test_no_reply_says_what_it_does_not_say(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, body: bytes | Damage
) -> None:
    content = made(body, split(call.reply)[1])
    call.let_in(server)
    server.always(call.line, Reply(http(f"{status} Whatever", content).sent, After.CLOSE))
    check(call, await call.make(call.connect(server.port, http_client)), status, content)


@EACH
@settings(MANY, max_examples=12)
@given(raw=damages | st.binary(max_size=300) | st.binary(max_size=99).map(b"HTTP/1.1 ".__add__))
async def test_no_bytes_at_all_bring_it_down(
    server: ScriptedServer, http_client: HttpClient, call: Call, raw: bytes | Damage
) -> None:
    sent = made(raw, call.reply.sent)
    call.let_in(server)
    server.always(call.line, Reply(sent, After.CLOSE))
    answer = await call.make(call.connect(server.port, http_client))
    assert_fit_to_keep(answer)


@pytest.mark.parametrize("call", WITH_A_DOOR[:5], ids=str)
@settings(MANY, max_examples=15)
@given(status=st.sampled_from(STATUSES), body=bodies | damages)
async def test_no_bytes_at_the_door_bring_it_down(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, body: bytes | Damage
) -> None:
    content = made(body, split(call.entry_given)[1])
    server.heard.clear()
    server.always(call.entry, Reply(http(f"{status} Whatever", content).sent, After.CLOSE))
    server.always(call.line, call.reply)
    answer = await call.make(call.connect(server.port, http_client))
    assert_fit_to_keep(answer)
    if not server.on(call.line):
        possible = (Verdict.UNSENT, Verdict.REFUSED) if call.is_payment else (Verdict.UNKNOWN,)
        assert answer.verdict in possible, answer
