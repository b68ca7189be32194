"""What a wire can do to a payment through the networks that came later. Never a failure, never a second sending.

Whatever bytes come back: no exception, and no money taken for moved, or for not moved, that the bytes do not say. What
they say is decided here by a few lines of their own, from the same documentation.
"""

import asyncio
import base64
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from malipo import log
from malipo.networks.contract import Answer, Verdict
from malipo.networks.wire import Wire
from tests.networks import clickpesa_sheet, halopesa_sheet, tigo_pesa_sheet
from tests.networks.calls import Call
from tests.networks.faults import test_secrets_wire
from tests.networks.faults.broken_replies import BROKEN
from tests.networks.hostile import UNREADABLE, WRONG_SHAPES
from tests.networks.other_calls import AIRTEL_PAYOUT, CLICK_PUSH, CLICK_QUERY, NO_ENTRY, OTHER_CALLS, TIGO_PUSH
from tests.networks.outcome import UNKNOWN, assert_fit_to_keep
from tests.networks.teller import After, Reply, Request, Teller, http

lines = test_secrets_wire.lines

EACH = pytest.mark.parametrize("call", OTHER_CALLS, ids=str)
WITH_A_DOOR = [TIGO_PUSH, CLICK_PUSH, CLICK_QUERY, AIRTEL_PAYOUT]


def split(reply: Reply) -> tuple[bytes, bytes]:
    head, _, body = reply.sent.partition(b"\r\n\r\n")
    return head, body


def check_lost(answer: Answer, call: Call) -> None:
    UNKNOWN.check(answer)
    assert answer.is_fault, (call, answer)


def check_nothing_sent(call: Call, answer: Answer) -> None:
    assert answer.verdict is (Verdict.UNSENT if call.is_payment else Verdict.UNKNOWN), (call, answer)
    assert answer.is_fault, (call, answer)
    assert answer.failure_code is None
    assert_fit_to_keep(answer)


@pytest.mark.parametrize("what", BROKEN)
async def test_a_reply_that_breaks_is_an_answer_not_heard(teller: Teller, wire: Wire, what: str) -> None:
    for call in OTHER_CALLS:
        call.let_in(teller)
        (teller.expect if call.is_payment else teller.always)(call.line, BROKEN[what])
        answer = await call.make(call.connect(teller.port, wire))
        UNKNOWN.check(answer)
        assert answer.is_fault or what == "is a page of a guard", (call, answer)


@EACH
@pytest.mark.parametrize("after", [After.CLOSE, After.RESET])
async def test_a_reply_cut_anywhere_is_an_answer_not_heard(
    teller: Teller, wire: Wire, call: Call, after: After
) -> None:
    call.let_in(teller)
    connector = call.connect(teller.port, wire)
    head, body = split(call.reply)
    whole = len(call.reply.sent)
    for length in (1, len(head) - 2, len(head) + 4, whole - len(body) // 2, whole - 1):
        teller.always(call.line, Reply(call.reply.sent[:length], after))
        check_lost(await call.make(connector), call)
    if call.is_payment:
        assert len(teller.on(call.line)) == 5


@pytest.mark.parametrize("name", UNREADABLE | WRONG_SHAPES)
async def test_a_body_that_cannot_be_understood_says_nothing(teller: Teller, wire: Wire, name: str) -> None:
    for call in OTHER_CALLS:
        call.let_in(teller)
        connector = call.connect(teller.port, wire)
        for status in ("200 OK", "400 Bad Request"):
            teller.expect(call.line, http(status, (UNREADABLE | WRONG_SHAPES)[name]))
            UNKNOWN.check(await call.make(connector))


async def test_silence_is_an_answer_not_heard(wire: Wire) -> None:
    async def wait(call: Call, silence: Reply) -> tuple[str, Verdict, bool, int]:
        async with Teller.opened() as teller:
            call.let_in(teller)
            teller.always(call.line, silence)
            answer = await call.make(call.connect(teller.port, wire, timeout_seconds=1))
            return (call.name, answer.verdict, answer.is_fault, len(teller.on(call.line)))

    cases = [
        (call, silence)
        for call in OTHER_CALLS
        for silence in (Reply(after=After.HANG), Reply(call.reply.sent[:-1], After.HANG), Reply(after=After.POUR))
    ]
    answers = await asyncio.gather(*(wait(*case) for case in cases))
    assert answers == [(call.name, Verdict.UNKNOWN, True, 1) for call, _ in cases]


async def test_silence_at_the_door_sent_nothing(wire: Wire) -> None:
    async def knock(call: Call) -> None:
        async with Teller.opened() as teller:
            teller.always(call.entry, Reply(after=After.HANG))
            check_nothing_sent(call, await call.make(call.connect(teller.port, wire, timeout_seconds=1)))
            assert teller.on(call.line) == []

    await asyncio.gather(*(knock(call) for call in WITH_A_DOOR))


async def test_a_call_takes_no_longer_than_the_connector_says(wire: Wire) -> None:
    """The way in is slow, twice, and the last step never ends."""

    async def crawl(call: Call) -> float:
        async with Teller.opened() as teller:
            teller.always(call.entry, replace(call.entry_given, delay_seconds=0.45))
            teller.expect(call.line, http("401 Unauthorized"), Reply(after=After.HANG))
            connector = call.connect(teller.port, wire, timeout_seconds=1)
            began = asyncio.get_running_loop().time()
            await call.make(connector)
            return asyncio.get_running_loop().time() - began - connector.timeout_seconds

    assert max(await asyncio.gather(*(crawl(call) for call in WITH_A_DOOR))) < 0.5


@EACH
async def test_a_closed_door_was_told_nothing(wire: Wire, call: Call) -> None:
    async with Teller.opened() as teller:
        pass
    check_nothing_sent(call, await call.make(call.connect(teller.port, wire)))
    assert (await call.connect(teller.port, wire).probe()).is_fault


@EACH
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_payment_does_not_follow_a_redirection(teller: Teller, wire: Wire, call: Call, status: int) -> None:
    call.let_in(teller)
    teller.expect(call.line, http(f"{status} Moved", "", f"Location: http://127.0.0.1:{teller.port}/elsewhere/"))
    UNKNOWN.check(await call.make(call.connect(teller.port, wire)))
    assert teller.unexpected == []


@pytest.mark.parametrize("call", [call for call in OTHER_CALLS if call.is_payment], ids=str)
async def test_a_reply_said_twice_is_not_taken_for_the_next_payments(teller: Teller, wire: Wire, call: Call) -> None:
    """The second copy comes late, on a line that nobody should use again for a payment."""
    call.let_in(teller)
    twice = Reply(call.reply.sent * 2, After.STAY, piece=len(call.reply.sent), pause_seconds=0.02)
    teller.expect(call.line, twice, Reply(after=After.CLOSE))
    connector = call.connect(teller.port, wire)
    call.outcome.check(await call.make(connector))
    await asyncio.sleep(0.05)
    check_lost(await call.make(connector), call)


# Any bytes.

MANY = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
KEYS = ["0K3ABCDEFGHJ1234", "0K3ABCDEFGHJ5678", "MLP0K3ABCDEFGHJ1234", "MLP0K3ABCDEFGHJ5678", "0K3ABCDEFGHJ9999"]
WORDS = [
    *KEYS,
    *(code for code, _ in tigo_pesa_sheet.PUSH_CODES),
    *(code for code, _ in tigo_pesa_sheet.CASH_IN_CODES),
    *(code for code, *_ in halopesa_sheet.CODES),
    *(word for word, _ in clickpesa_sheet.STATUSES),
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


TIGO_REFUSING = {code for code, outcome in tigo_pesa_sheet.PUSH_CODES if outcome.failure_code}
CASH_IN_REFUSING = {code.lstrip("0") for code, outcome in tigo_pesa_sheet.CASH_IN_CODES if outcome.failure_code}
HALO_REFUSING = {code for code, outcome, _ in halopesa_sheet.CODES if outcome.failure_code}


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
    teller: Teller, wire: Wire, call: Call, status: int, body: bytes | Damage
) -> None:
    content = made(body, split(call.reply)[1])
    call.let_in(teller)
    teller.always(call.line, Reply(http(f"{status} Whatever", content).sent, After.CLOSE))
    check(call, await call.make(call.connect(teller.port, wire)), status, content)


@EACH
@settings(MANY, max_examples=12)
@given(raw=damages | st.binary(max_size=300) | st.binary(max_size=99).map(b"HTTP/1.1 ".__add__))
async def test_no_bytes_at_all_bring_it_down(teller: Teller, wire: Wire, call: Call, raw: bytes | Damage) -> None:
    sent = made(raw, call.reply.sent)
    call.let_in(teller)
    teller.always(call.line, Reply(sent, After.CLOSE))
    answer = await call.make(call.connect(teller.port, wire))
    assert_fit_to_keep(answer)


@pytest.mark.parametrize("call", WITH_A_DOOR[:3], ids=str)
@settings(MANY, max_examples=15)
@given(status=st.sampled_from(STATUSES), body=bodies | damages)
async def test_no_bytes_at_the_door_bring_it_down(
    teller: Teller, wire: Wire, call: Call, status: int, body: bytes | Damage
) -> None:
    content = made(body, split(call.entry_given)[1])
    teller.heard.clear()
    teller.always(call.entry, Reply(http(f"{status} Whatever", content).sent, After.CLOSE))
    teller.always(call.line, call.reply)
    answer = await call.make(call.connect(teller.port, wire))
    assert_fit_to_keep(answer)
    if not teller.on(call.line):
        possible = (Verdict.UNSENT, Verdict.REFUSED) if call.is_payment else (Verdict.UNKNOWN,)
        assert answer.verdict in possible, answer


# Secrets.

SECRETS = [
    *(tigo_pesa_sheet.PASSWORD, tigo_pesa_sheet.PIN, tigo_pesa_sheet.TOKEN),
    *(halopesa_sheet.PASSWORD, halopesa_sheet.SECRET_KEY),
    *(clickpesa_sheet.API_KEY, clickpesa_sheet.TOKEN, clickpesa_sheet.CHECKSUM_KEY),
]
FAILURES = {
    "reset": Reply(after=After.RESET),
    "error": http("500 Internal Server Error", '{"message":"trouble"}'),
    "nonsense": http("200 OK", "{{{{<<<<"),
    "refused": http(
        "400 Bad Request",
        '{"message":"No","ResponseCode":"DebitMandate-10-3000-E","ResponseStatus":false,"error":"no"}',
    ),
    "unauthorised": http("401 Unauthorized", '{"message":"No","error":"invalid_grant"}'),
}


def repeated(request: Request) -> Reply:
    """Gateways in debug mode do that: a page with every header, and the body."""
    return http("502 Bad Gateway", b"<pre>" + request.raw + b"</pre>", media_type="text/html")


def assert_discreet(text: str) -> None:
    for secret in SECRETS:
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode().rstrip("=") not in text


@pytest.fixture
def secretive(lines: io.StringIO) -> Iterator[io.StringIO]:
    yield lines
    log.flush()
    assert_discreet(lines.getvalue())


@pytest.mark.parametrize("what", [*FAILURES, "a page that repeats the request"])
async def test_a_call_that_fails_tells_no_secret(wire: Wire, secretive: io.StringIO, what: str) -> None:
    for call in OTHER_CALLS:
        for place in (call.line, call.entry):
            async with Teller.opened() as teller:
                call.let_in(teller)
                teller.always(place, FAILURES.get(what, repeated))
                teller.always(call.line, FAILURES.get(what, repeated))
                connector = call.connect(teller.port, wire, clickpesa_checksum_key=clickpesa_sheet.CHECKSUM_KEY)
                answer = await call.make(connector)
                log.info("payment.sent", answer=answer, connector=repr(connector), text=str(connector))
                assert_discreet(repr(answer) + repr(connector))
    log.flush()
    assert "payment.sent" in secretive.getvalue()


def test_calls_without_a_door_have_none() -> None:
    assert {call.name for call in OTHER_CALLS if call.entry == NO_ENTRY[0]} == {
        "Tigo payout",
        "Tigo query",
        "HaloPesa push",
    }
