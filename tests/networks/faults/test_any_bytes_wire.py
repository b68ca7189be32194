"""Whatever bytes come back: no exception, and no money taken for moved, or for not moved, that the bytes do not say.

What the bytes say is decided here by a few lines of their own, from the same documentation.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.connector import Answer, Callback, Type, Verdict
from malipo.networks.http.client import HttpClient
from malipo.networks.mpesa.connector import Mpesa
from tests.networks import (
    airtel_money_spec,
    azampay_spec,
    clickpesa_spec,
    halopesa_spec,
    mpesa_spec,
    tigo_pesa_spec,
)
from tests.networks.faults.broken_replies import EACH, split
from tests.networks.payment_calls import (
    AIRTEL,
    AIRTEL_PAYOUT,
    AIRTEL_QUERY,
    AZAM,
    AZAM_PAYOUT,
    AZAM_QUERY,
    CALLS,
    CLICK,
    CLICK_PUSH,
    CLICK_QUERY,
    MPESA,
    MPESA_COLLECTION,
    NO_ENTRY,
    TIGO,
    TIGO_PUSH,
    Call,
)
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.networks.verdict_words import assert_fit_to_keep

MANY = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

# Bodies that look like those of each network.

AZAM_REFUSING = ("Invalid BankName.", "Invalid Checksum", "Invalid request data: x", "Potential XSS Detected")
KEYS = ["0K3ABCDEFGHJ1234", "0K3ABCDEFGHJ5678", "MLP0K3ABCDEFGHJ1234", "MLP0K3ABCDEFGHJ5678", "0K3ABCDEFGHJ9999"]
WORDS = [
    *(code for code, *_ in mpesa_spec.CODES),
    *(code for _, code, *_ in airtel_money_spec.CODES),
    *(code for code, *_ in airtel_money_spec.RESULT_CODES),
    *("INS-0", "Completed", "Failed", "True", "False", "N/A", "TS", "TF", "TE", "TIP", "TA", "TR", "SUCCESS"),
    *("DP00900001001", "ESB000010", "0K3ABCDEFGHJ1234", "0K3ABCDEFGHJ5678", "Session expired", "\x00", "\ud83d\ude00"),
]
OTHER_WORDS = [
    *KEYS,
    *(code for code, _ in tigo_pesa_spec.PUSH_CODES),
    *(code for code, _ in tigo_pesa_spec.CASH_IN_CODES),
    *(code for code, *_ in halopesa_spec.CODES),
    *(word for word, _ in clickpesa_spec.STATUSES),
    *(word for word, _ in azampay_spec.STATUSES),
    *(azampay_spec.NETWORK_ID, *AZAM_REFUSING, "Duplicate External Reference Id"),
    *("BILLER-18-0000-S", "Posted", "Declined", "Refund", "Refund Declined", "FIN", "GetSOError001", "true"),
]
NAMES = [
    *("output_ResponseCode", "output_ResponseDesc", "output_TransactionID", "output_ConversationID"),
    *("output_ThirdPartyConversationID", "output_ResponseTransactionStatus", "output_Reversed", "output_error"),
    *("output_OriginalTransactionID", "output_SessionID", "input_ResultCode", "input_TransactionID"),
    *("input_ThirdPartyConversationID", "input_OriginalConversationID"),
    *("data", "transaction", "status", "id", "message", "airtel_money_id", "reference_id", "status_code", "code"),
    *("response_code", "result_code", "success", "hash", "payload"),
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=12,
)
texts = st.sampled_from(WORDS) | values
mpesa_bodies = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES[:9], texts))
transactions = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("id", "status", "status_code", "airtel_money_id", "reference_id", "message"), texts)
)
blocks = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("response_code", "result_code", "success", "code", "message"), texts)
)
airtel_bodies = st.fixed_dictionaries(
    {},
    optional={
        "data": st.fixed_dictionaries({}, optional={"transaction": transactions | values}) | values,
        "status": blocks | values,
    },
)
other_texts = st.sampled_from(OTHER_WORDS) | st.text(max_size=8)
other_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | other_texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(other_texts, inner, max_size=2),
    max_leaves=4,
)
OTHER_NAMES = (
    *("ResponseCode", "ResponseStatus", "ResponseDescription", "Message", "ReferenceID", "access_token", "error"),
    *("token", "status", "orderReference", "message", "collectedAmount", "order", "beneficiary", "paymentPhoneNumber"),
    *("id", "data", "success", "statusCode", "pgReferenceId", "initiatorReferenceId", "amount", "title"),
)
XML_NAMES = (
    *("TYPE", "REFERENCEID", "TXNID", "TXNSTATUS", "MESSAGE", "RESULTCODE", "EXTERNALREFID", "AMOUNT"),
    *("response_code", "referenceid", "response_type", "addition_data"),
)
other_bodies = st.fixed_dictionaries({}, optional=dict.fromkeys(OTHER_NAMES, other_values))


def in_json(said: object) -> bytes:
    return json.dumps(said).encode()


def in_xml(said: dict[str, str]) -> bytes:
    inside = "".join(f"<{name}>{text}</{name}>" for name, text in said.items())
    return f"<COMMAND>{inside}</COMMAND>".encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Damage:
    """What happened to a good reply on its way."""

    how: str
    place: int
    byte: int

    def done_to(self, whole: bytes) -> bytes:
        place = self.place % len(whole)
        match self.how:
            case "cut":
                return whole[:place]
            case "drop":
                return whole[:place] + whole[place + 1 :]
            case "swap":
                return whole[place:] + whole[:place]
        return whole[:place] + bytes([self.byte]) + whole[place + 1 :]


damages = st.builds(
    Damage, st.sampled_from(["change", "drop", "cut", "swap"]), st.integers(0, 9999), st.integers(0, 255)
)


MPESA_BODIES = st.binary(max_size=200) | values.map(in_json) | mpesa_bodies.map(in_json) | damages
AIRTEL_BODIES = st.binary(max_size=200) | values.map(in_json) | airtel_bodies.map(in_json) | damages
JSON_BODIES = (
    st.binary(max_size=200) | other_bodies.map(in_json) | st.lists(other_bodies, max_size=2).map(in_json) | damages
)
XML_BODIES = (
    st.binary(max_size=200)
    | st.fixed_dictionaries({}, optional=dict.fromkeys(XML_NAMES, other_texts)).map(in_xml)
    | damages
)

STATUSES = [200, 201, 202, 204, 206, 300, 302, 304, 307, 400, 401, 403, 404, 408, 409, 422, 429, 500, 503, 599, 999]
HEADERS = [
    "Location: /elsewhere/",
    "Content-Encoding: gzip",
    "Content-Encoding: nonsense",
    "Set-Cookie: a=b",
    "Retry-After: soon",
    "Connection: close",
    "X-Odd: \u00e9",
]


def made(body: bytes | Damage, good: bytes) -> bytes:
    return body if isinstance(body, bytes) else body.done_to(good)


def parsed(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def first_of(body: bytes) -> Any:
    """The object, or the first of a list of them."""
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):
        return {}
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, dict) else {}


def said_in_xml(name: str, body: bytes) -> list[str]:
    found = re.findall(rf"<(?:\w+:)?{name}>\s*([^<]*?)\s*<".encode(), body, re.IGNORECASE)
    return [each.decode("utf-8", "replace") for each in found]


# What the bytes say.


def inner(value: object, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_trouble(call: Call, status: int) -> bool:
    """A status from which nothing is believed. 408 is one of M-Pesa's own, where the code decides."""
    return status >= 500 or (status == 408 and not call.name.startswith("M-Pesa"))


def may_be_confirmed(call: Call, status: int, body: bytes) -> bool:
    said = parsed(body)
    if is_trouble(call, status):
        return False
    if call.name == "M-Pesa query":
        word = said.get("output_ResponseTransactionStatus")
        is_reversed = str(said.get("output_Reversed")).lower() == "true"
        is_completed = isinstance(word, str) and word.strip().lower() == "completed"
        return said.get("output_ResponseCode") == "INS-0" and is_completed and not is_reversed
    if call.name.startswith("M-Pesa"):
        receipt = said.get("output_TransactionID")
        is_receipt = isinstance(receipt, str) and receipt.strip() not in ("", "N/A")
        return said.get("output_ResponseCode") == "INS-0" and is_receipt
    letters = inner(said, "data", "transaction", "status")
    codes = (inner(said, "status", "response_code"), inner(said, "status", "result_code"))
    success = "DP00800001001" if call.order.type is Type.COLLECTION else "DP00900001001"
    is_coded = success in codes and not (call.is_payment and call.order.type is Type.COLLECTION)
    return letters == "TS" or (letters not in ("TF", "TE", "TA", "TIP", "TR") and is_coded)


REFUSING = {
    *(code for code, _, *outcomes in mpesa_spec.CODES if any(each.failure_code for each in outcomes)),
    *(code for _, code, *outcomes in airtel_money_spec.CODES if any(each and each.failure_code for each in outcomes)),
    *(
        code
        for code, *outcomes in airtel_money_spec.RESULT_CODES
        if any(each and each.failure_code for each in outcomes)
    ),
}


def may_be_refused(call: Call, status: int, body: bytes) -> bool:
    """An error named by a gateway, a refusing code or a refusing word must be there, in its place."""
    said = parsed(body)
    if is_trouble(call, status):
        return False
    if call.name == "M-Pesa query":
        word = str(said.get("output_ResponseTransactionStatus")).strip().lower()
        return word in ("failed", "cancelled", "expired", "declined", "rejected", "reversed", "completed")
    if call.name.startswith("M-Pesa"):
        code = said.get("output_ResponseCode")
        return (isinstance(code, str) and code.strip() in REFUSING) or isinstance(said.get("output_error"), str)
    if inner(said, "data", "transaction", "status") in ("TF", "TE", "TR"):
        return True
    codes = [inner(said, "status", name) for name in ("response_code", "result_code")]
    if any(isinstance(each, str) and each.strip() in REFUSING for each in codes):
        return True
    # A block of Airtel's own that names no code at all leaves the word to HTTP.
    is_bare = isinstance(said.get("status"), dict) and not any(isinstance(each, str) and each.strip() for each in codes)
    return call.is_payment and (status == 401 or is_bare)


TIGO_REFUSING = {code for code, outcome in tigo_pesa_spec.PUSH_CODES if outcome.failure_code}
CASH_IN_REFUSING = {code.lstrip("0") for code, outcome in tigo_pesa_spec.CASH_IN_CODES if outcome.failure_code}
HALO_REFUSING = {code for code, outcome, _ in halopesa_spec.CODES if outcome.failure_code}


def may_be(call: Call, verdict: Verdict, status: int, body: bytes) -> bool:
    """Whether the documentation lets this verdict be read out of these bytes."""
    said, is_good = first_of(body), verdict is Verdict.CONFIRMED
    if is_trouble(call, status):
        return False
    if call.entry.network in ("M-Pesa", "Airtel"):
        return (may_be_confirmed if is_good else may_be_refused)(call, status, body)
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


statuses = st.sampled_from(STATUSES)


# A column takes no NUL, wherever a network puts it.
MPESA_NUL = (
    b'{"output_ResponseCode":"INS-\\u0000","output_ResponseDesc":"a\\u0000b",'
    b'"output_ResponseTransactionStatus":"\\u0000"}'
)
AIRTEL_NUL = (
    b'{"data":{"transaction":{"status":"\\u0000","message":"\\u0000"}},'
    b'"status":{"response_code":"A\\u0000","message":"a\\u0000b"}}'
)
JSON_NUL = b'{"ResponseCode":"A\\u0000","ResponseDescription":"\\u0000","status":"A\\u0000","message":"a\\u0000b"}'
headers_of_any = st.lists(st.sampled_from(HEADERS), unique=True, max_size=2)


async def check_reply(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, headers: list[str], body: bytes | Damage
) -> None:
    content = made(body, split(call.reply)[1])
    call.let_in(server)
    server.always(call.line, Reply(http(f"{status} Whatever", content, *headers).sent, After.CLOSE))
    check(call, await call.make(call.connect(server.port, http_client)), status, content)


@pytest.mark.parametrize("call", [call for call in CALLS if call.entry is MPESA], ids=str)
@settings(MANY, max_examples=30)
@given(status=statuses, headers=headers_of_any, body=MPESA_BODIES)
@example(status=200, headers=[], body=MPESA_NUL)
async def test_no_reply_of_m_pesa_says_what_it_does_not_say(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, headers: list[str], body: bytes | Damage
) -> None:
    await check_reply(server, http_client, call, status, headers, body)


@pytest.mark.parametrize("call", [call for call in CALLS if call.entry is AIRTEL], ids=str)
@settings(MANY, max_examples=30)
@given(status=statuses, headers=headers_of_any, body=AIRTEL_BODIES)
@example(status=200, headers=[], body=AIRTEL_NUL)
async def test_no_reply_of_airtel_says_what_it_does_not_say(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, headers: list[str], body: bytes | Damage
) -> None:
    await check_reply(server, http_client, call, status, headers, body)


@pytest.mark.parametrize("call", [call for call in CALLS if call.entry in (TIGO, CLICK, AZAM)], ids=str)
@MANY
@given(status=statuses, headers=headers_of_any, body=JSON_BODIES)
@example(status=200, headers=[], body=JSON_NUL)
async def test_no_reply_of_others_in_json_says_what_it_does_not_say(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, headers: list[str], body: bytes | Damage
) -> None:
    await check_reply(server, http_client, call, status, headers, body)


@pytest.mark.parametrize("call", [call for call in CALLS if call.entry is NO_ENTRY], ids=str)
@MANY
@given(status=statuses, headers=headers_of_any, body=XML_BODIES)
async def test_no_reply_of_others_in_xml_says_what_it_does_not_say(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, headers: list[str], body: bytes | Damage
) -> None:
    await check_reply(server, http_client, call, status, headers, body)


@EACH
@settings(MANY, max_examples=16)
@given(raw=damages | st.binary(max_size=300) | st.binary(max_size=99).map(b"HTTP/1.1 ".__add__))
async def test_no_bytes_at_all_bring_it_down(
    server: ScriptedServer, http_client: HttpClient, call: Call, raw: bytes | Damage
) -> None:
    sent = made(raw, call.reply.sent)
    call.let_in(server)
    server.always(call.line, Reply(sent, After.CLOSE))
    answer = await call.make(call.connect(server.port, http_client))
    begins = re.search(rb"[\[{]", sent)
    check(call, answer, 200, sent[begins.start() :] if begins else sent)


@pytest.mark.parametrize(
    "call",
    [
        *(MPESA_COLLECTION, AIRTEL_PAYOUT, AIRTEL_QUERY, TIGO_PUSH),
        *(CLICK_PUSH, CLICK_QUERY, AZAM_PAYOUT, AZAM_QUERY),
    ],
    ids=str,
)
@settings(MANY, max_examples=18)
@given(status=statuses, body=MPESA_BODIES | JSON_BODIES)
async def test_no_bytes_at_the_door_bring_it_down(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, body: bytes | Damage
) -> None:
    content = made(body, split(call.entry.given)[1])
    server.requests.clear()
    server.always(call.entry.line, Reply(http(f"{status} Whatever", content).sent, After.CLOSE))
    server.always(call.line, call.reply)
    answer = await call.make(call.connect(server.port, http_client))
    assert_fit_to_keep(answer)
    if not server.on(call.line):
        possible = (Verdict.UNSENT, Verdict.REFUSED) if call.is_payment else (Verdict.UNKNOWN,)
        assert answer.verdict in possible, answer


# Callbacks.

callback_bodies = (
    st.binary(max_size=2000) | values.map(in_json) | mpesa_bodies.map(in_json) | airtel_bodies.map(in_json)
)


@settings(MANY, max_examples=40)
@given(body=callback_bodies)
async def test_no_callback_brings_m_pesa_down(mpesa: Callable[..., Mpesa], body: bytes) -> None:
    connector = mpesa()
    report = connector.read(Callback({}, body))
    acknowledgement = connector.acknowledge(Callback({}, body), report)
    assert acknowledgement.status == (400 if report is None else 200)
    if report is not None:
        assert not report.is_signed
        assert_fit_to_keep(report.answer)
        assert report.answer.verdict is not Verdict.CONFIRMED or parsed(body)["input_ResultCode"] in ("INS-0", "0")


@settings(MANY, max_examples=40)
@given(
    body=callback_bodies | st.builds(lambda inside: json.dumps({"transaction": inside}).encode(), transactions),
    header=st.none() | st.text(max_size=50),
)
async def test_no_callback_brings_airtel_down(
    airtel: Callable[..., AirtelMoney], body: bytes, header: str | None
) -> None:
    connector = airtel(airtel_money_callback_key="a1Rtel-callback-private-key")
    callback = Callback({} if header is None else {"hash": header}, body)
    report = connector.read(callback)
    connector.acknowledge(callback, report)
    if report is not None:
        assert not report.is_signed
        assert_fit_to_keep(report.answer)
        said = parsed(body)
        letters = [inner(said, "transaction", "status_code"), inner(said, "payload", "transaction", "status_code")]
        assert report.answer.verdict is not Verdict.CONFIRMED or "TS" in letters
