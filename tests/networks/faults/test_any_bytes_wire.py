"""Whatever bytes come back: no exception, and no money taken for moved, or for not moved, that the bytes do not say.

What the bytes say is decided here by a few lines of their own, from the same documentation.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from malipo.networks.airtel_money import AirtelMoney
from malipo.networks.connector import Callback, Type, Verdict
from malipo.networks.http.client import HttpClient
from malipo.networks.mpesa import Mpesa
from tests.networks import airtel_money_spec, mpesa_spec, rsa_keys
from tests.networks.payment_calls import CALLS, Call
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.networks.verdict_words import assert_fit_to_keep

MANY = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

WORDS = [
    *(code for code, *_ in mpesa_spec.CODES),
    *(code for _, code, *_ in airtel_money_spec.CODES),
    *(code for code, *_ in airtel_money_spec.RESULT_CODES),
    *("INS-0", "Completed", "Failed", "True", "False", "N/A", "TS", "TF", "TE", "TIP", "TA", "TR", "SUCCESS"),
    *("DP00900001001", "ESB000010", "0K3ABCDEFGHJ1234", "0K3ABCDEFGHJ5678", "Session expired", "\x00", "\ud83d\ude00"),
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
bodies = st.one_of(
    st.binary(max_size=200),
    values.map(lambda value: json.dumps(value).encode()),
    mpesa_bodies.map(lambda value: json.dumps(value).encode()),
    airtel_bodies.map(lambda value: json.dumps(value).encode()),
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


def made(body: bytes | Damage, good: bytes) -> bytes:
    return body if isinstance(body, bytes) else body.done_to(good)


def parsed(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


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


async def check(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, body: bytes, reply: Reply
) -> None:
    call.let_in(server)
    server.always(call.line, reply)
    # A short key, for there are many of these.
    connector = call.connect(server.port, http_client, mpesa_public_key=rsa_keys.AIRTEL_MONEY_PUBLIC_KEY)
    answer = await call.make(connector)
    assert_fit_to_keep(answer)
    if answer.verdict is Verdict.CONFIRMED:
        assert may_be_confirmed(call, status, body), answer
    if answer.verdict is Verdict.REFUSED:
        assert may_be_refused(call, status, body), answer
    assert (answer.failure_code is not None) == (answer.verdict is Verdict.REFUSED)
    assert call.is_payment or answer.verdict is not Verdict.UNSENT
    assert not call.is_payment or answer.verdict is not Verdict.MISSING


statuses = st.sampled_from(STATUSES)


@pytest.mark.parametrize("call", CALLS, ids=str)
@MANY
@given(status=statuses, headers=st.lists(st.sampled_from(HEADERS), unique=True, max_size=2), body=bodies | damages)
async def test_no_reply_says_what_it_does_not_say(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, headers: list[str], body: bytes | Damage
) -> None:
    content = made(body, call.reply.sent.partition(b"\r\n\r\n")[2])
    reply = http(f"{status} Whatever", content, *headers)
    await check(server, http_client, call, status, content, Reply(reply.sent, After.CLOSE))


@pytest.mark.parametrize("call", CALLS, ids=str)
@settings(MANY, max_examples=25)
@given(raw=damages | st.binary(max_size=300) | st.binary(max_size=99).map(b"HTTP/1.1 ".__add__))
async def test_no_bytes_at_all_bring_it_down(
    server: ScriptedServer, http_client: HttpClient, call: Call, raw: bytes | Damage
) -> None:
    sent = made(raw, call.reply.sent)
    await check(server, http_client, call, 200, sent[sent.find(b"{") :], Reply(sent, After.CLOSE))


@pytest.mark.parametrize("call", [CALLS[0], CALLS[4], CALLS[5]], ids=str)
@settings(MANY, max_examples=25)
@given(status=statuses, body=bodies | damages)
async def test_no_bytes_at_the_door_bring_it_down(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int, body: bytes | Damage
) -> None:
    content = made(body, call.entry_given.sent.partition(b"\r\n\r\n")[2])
    server.heard.clear()
    server.always(call.entry, Reply(http(f"{status} Whatever", content).sent, After.CLOSE))
    server.always(call.line, call.reply)
    answer = await call.make(call.connect(server.port, http_client, mpesa_public_key=rsa_keys.AIRTEL_MONEY_PUBLIC_KEY))
    assert_fit_to_keep(answer)
    if not server.on(call.line):
        possible = (Verdict.UNSENT, Verdict.REFUSED) if call.is_payment else (Verdict.UNKNOWN,)
        assert answer.verdict in possible, answer


@MANY
@given(body=bodies | st.binary(max_size=2000))
async def test_no_callback_brings_m_pesa_down(mpesa: Callable[..., Mpesa], body: bytes) -> None:
    connector = mpesa()
    news = connector.read(Callback({}, body))
    acknowledgement = connector.acknowledge(Callback({}, body), news)
    assert acknowledgement.status == (400 if news is None else 200)
    if news is not None:
        assert not news.is_signed
        assert_fit_to_keep(news.answer)
        assert news.answer.verdict is not Verdict.CONFIRMED or parsed(body)["input_ResultCode"] in ("INS-0", "0")


@MANY
@given(
    body=bodies | st.builds(lambda inside: json.dumps({"transaction": inside}).encode(), transactions),
    header=st.none() | st.text(max_size=50),
)
async def test_no_callback_brings_airtel_down(
    airtel: Callable[..., AirtelMoney], body: bytes, header: str | None
) -> None:
    connector = airtel(airtel_money_callback_key="a1Rtel-callback-private-key")
    callback = Callback({} if header is None else {"hash": header}, body)
    news = connector.read(callback)
    connector.acknowledge(callback, news)
    if news is not None:
        assert not news.is_signed
        assert_fit_to_keep(news.answer)
        said = parsed(body)
        letters = [inner(said, "transaction", "status_code"), inner(said, "payload", "transaction", "status_code")]
        assert news.answer.verdict is not Verdict.CONFIRMED or "TS" in letters
