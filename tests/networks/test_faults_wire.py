"""What a wire can do to a payment: silence, half an answer, nonsense. Never a failure, never a second sending."""

import asyncio
import datetime
import gzip
import ipaddress
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from malipo.networks.contract import Answer, Order, Verdict
from malipo.networks.wire import Wire
from tests.networks import airtel_money_sheet, keys, mpesa_sheet
from tests.networks.calls import CALLS, Call, connect_airtel, connect_mpesa
from tests.networks.hostile import UNREADABLE, WRONG_SHAPES
from tests.networks.outcome import UNKNOWN, assert_fit_to_keep
from tests.networks.teller import After, Reply, Request, Teller, http

EACH = pytest.mark.parametrize("call", CALLS, ids=str)
NETWORKS = pytest.mark.parametrize("call", [CALLS[0], CALLS[4]], ids=str)
ENDED = {connect_mpesa: mpesa_sheet.SESSION_ENDED, connect_airtel: airtel_money_sheet.TOKEN_ENDED}
NEXT = {connect_mpesa: mpesa_sheet.NEXT_SESSION_GIVEN, connect_airtel: airtel_money_sheet.NEXT_TOKEN_GIVEN}


def split(reply: Reply) -> tuple[bytes, bytes]:
    head, _, body = reply.sent.partition(b"\r\n\r\n")
    return head, body


def check_lost(answer: Answer, call: Call) -> None:
    """The answer was not heard."""
    UNKNOWN.check(answer)
    assert answer.is_fault, (call, answer)


def check_nothing_sent(call: Call, answer: Answer) -> None:
    """Nothing of a payment was sent. Of one that was sent before, a question that was not put says nothing."""
    assert answer.verdict is (Verdict.UNSENT if call.is_payment else Verdict.UNKNOWN), answer
    assert answer.is_fault, (call, answer)
    assert answer.failure_code is None
    assert_fit_to_keep(answer)


# After the payment may have been heard.

CUT_HEAD = b"HTTP/1.1 201 Crea"
BROKEN = {
    "hangs up": Reply(after=After.CLOSE),
    "resets": Reply(after=After.RESET),
    "hangs up in the status line": Reply(CUT_HEAD, After.CLOSE),
    "resets in the status line": Reply(CUT_HEAD, After.RESET),
    "is no HTTP": Reply(b"SSH-2.0-OpenSSH_9.2\r\n", After.CLOSE),
    "is another HTTP": Reply(b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\n{}", After.CLOSE),
    "has no number for a status": Reply(b"HTTP/1.1 OK\r\n\r\n{}", After.CLOSE),
    "has a header without a colon": Reply(b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n{}", After.CLOSE),
    "has a header without an end": Reply(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, After.CLOSE),
    "has two lengths": Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", After.CLOSE),
    "is empty": http("200 OK"),
    "has no content": Reply(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "is not modified": Reply(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "is a page": http("200 OK", "<html><body>Welcome</body></html>", media_type="text/html"),
    "is a page of a proxy": http("502 Bad Gateway", "<html><body>Bad gateway</body></html>", media_type="text/html"),
    "is a page of a guard": http("403 Forbidden", "<html><body>Request blocked</body></html>", media_type="text/html"),
    "is an empty error": http("500 Internal Server Error"),
    "is unavailable": http("503 Service Unavailable", "", "Retry-After: 1"),
    "is late at a proxy": http("504 Gateway Time-out", "<html></html>", media_type="text/html"),
    "is no gzip": http("200 OK", b"\x00\x01\x02not gzip", "Content-Encoding: gzip"),
    "is half a gzip": http("200 OK", gzip.compress(b"{}" * 1000)[:-12], "Content-Encoding: gzip"),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_a_reply_that_breaks_is_an_answer_not_heard(teller: Teller, wire: Wire, what: str) -> None:
    for call in CALLS:
        call.let_in(teller)
        # The library may put a question again on a line that died; a payment it may not.
        (teller.expect if call.is_payment else teller.always)(call.line, BROKEN[what])
        check_lost(await call.make(call.connect(teller.port, wire)), call)


@EACH
@pytest.mark.parametrize("after", [After.CLOSE, After.RESET])
async def test_a_reply_cut_anywhere_is_an_answer_not_heard(
    teller: Teller, wire: Wire, call: Call, after: After
) -> None:
    call.let_in(teller)
    connector = call.connect(teller.port, wire)
    head, body = split(call.reply)
    whole = len(call.reply.sent)
    for length in (1, len(head) - 2, len(head) + 4, len(head) + 5, whole - len(body) // 2, whole - 1):
        teller.always(call.line, Reply(call.reply.sent[:length], after))
        check_lost(await call.make(connector), call)
    if call.is_payment:
        assert len(teller.on(call.line)) == 6


@EACH
async def test_good_news_shorter_than_announced_is_not_believed(teller: Teller, wire: Wire, call: Call) -> None:
    """All of the JSON came, but not all of the bytes: who knows what the rest would have said."""
    call.let_in(teller)
    _, body = split(call.reply)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    connector = call.connect(teller.port, wire)
    for sent in (
        head + b"Content-Length: %d\r\n\r\n" % (len(body) + 7) + body,
        head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n",
    ):
        teller.always(call.line, Reply(sent, After.CLOSE))
        check_lost(await call.make(connector), call)


@pytest.mark.parametrize("name", UNREADABLE | WRONG_SHAPES)
async def test_a_body_that_cannot_be_understood_says_nothing(teller: Teller, wire: Wire, name: str) -> None:
    for call in CALLS:
        call.let_in(teller)
        connector = call.connect(teller.port, wire)
        for status in ("201 Created", "400 Bad Request"):
            teller.expect(call.line, http(status, (UNREADABLE | WRONG_SHAPES)[name]))
            answer = await call.make(connector)
            UNKNOWN.check(answer)
            assert answer.is_fault or name in WRONG_SHAPES, (call, answer)


@EACH
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_payment_does_not_follow_a_redirection(teller: Teller, wire: Wire, call: Call, status: int) -> None:
    call.let_in(teller)
    connector = call.connect(teller.port, wire)
    for place in ("/elsewhere/", f"http://127.0.0.1:{teller.port}/elsewhere/", call.line.partition(" ")[2]):
        teller.expect(call.line, http(f"{status} Moved", "<html></html>", f"Location: {place}", media_type="text/html"))
        UNKNOWN.check(await call.make(connector))
    assert teller.unexpected == []


async def test_silence_is_never_a_failure(wire: Wire) -> None:
    """All kinds of it at once, for they take their time."""

    async def listen(call: Call, what: str, reply: Reply) -> str | None:
        async with Teller.opened() as teller:
            call.let_in(teller)
            teller.always(call.line, reply)
            connector = call.connect(teller.port, wire, timeout_seconds=1)
            began = asyncio.get_running_loop().time()
            answer = await call.make(connector)
            took = asyncio.get_running_loop().time() - began
            is_right = answer.verdict is Verdict.UNKNOWN and answer.is_fault and answer.failure_code is None
            is_in_time = 0.9 < took < connector.timeout_seconds + 0.7
            is_once = len(teller.on(call.line)) == 1
            return None if is_right and is_in_time and is_once else f"{call}, {what}: {answer} after {took:.2f} s"

    def silences(reply: Reply) -> dict[str, Reply]:
        head, _ = split(reply)
        return {
            "not a word": Reply(after=After.HANG),
            "half a head": Reply(CUT_HEAD, After.HANG),
            "a head": Reply(head + b"\r\n\r\n", After.HANG),
            "all but a byte": Reply(reply.sent[:-1], After.HANG),
            "a byte now and then": replace(reply, piece=1, pause_seconds=0.05),
            "good news without an end": Reply(
                reply.sent.replace(b"\r\nContent-Length: ", b"\r\nX-Length: "), After.HANG
            ),
        }

    wrong = await asyncio.gather(
        *(listen(call, what, reply) for call in CALLS for what, reply in silences(call.reply).items())
    )
    assert [each for each in wrong if each] == []


@NETWORKS
async def test_a_reply_without_end_is_given_up(teller: Teller, wire: Wire, call: Call) -> None:
    call.let_in(teller)
    teller.expect(call.line, Reply(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", After.POUR))
    check_lost(await call.make(call.connect(teller.port, wire, timeout_seconds=2)), call)
    assert teller.poured < 64 * 2**20


async def test_a_late_reply_is_not_taken_for_the_next_payments(wire: Wire) -> None:
    async def try_one(call: Call, refused: Reply) -> list[Verdict]:
        async with Teller.opened() as teller:
            gate = asyncio.Event()
            call.let_in(teller)
            teller.expect(call.line, replace(call.reply, held_by=gate), refused)
            connector = call.connect(teller.port, wire, timeout_seconds=1)
            first = await call.make(connector)
            gate.set()
            await asyncio.sleep(0.05)
            return [first.verdict, (await call.make(connector)).verdict]

    verdicts = await asyncio.gather(
        try_one(CALLS[0], mpesa_sheet.coded(401, "INS-6", key=CALLS[0].order.key)),
        try_one(CALLS[4], airtel_money_sheet.coded(400, "DP00900001005")),
    )
    assert list(verdicts) == [[Verdict.UNKNOWN, Verdict.REFUSED]] * 2


@pytest.mark.parametrize("pause_seconds", [0, 0.02])
async def test_a_reply_said_twice_is_not_taken_for_the_next_payments(
    teller: Teller, wire: Wire, pause_seconds: float
) -> None:
    once = mpesa_sheet.PAID
    twice = Reply(once.sent * 2, piece=len(once.sent) if pause_seconds else None, pause_seconds=pause_seconds)
    second = Order(
        key="0K3ABCDEFGHJ4321",
        type=mpesa_sheet.COLLECTION.type,
        phone="+255754000009",
        amount=900,
        note="The next",
    )
    teller.expect(mpesa_sheet.SESSION, mpesa_sheet.SESSION_GIVEN)
    teller.expect(mpesa_sheet.COLLECT, twice)
    teller.always(mpesa_sheet.COLLECT, mpesa_sheet.coded(401, "INS-6", key=second.key))
    connector = connect_mpesa(teller.port, wire)
    assert (await connector.send(mpesa_sheet.COLLECTION)).verdict is Verdict.CONFIRMED
    await asyncio.sleep(0.1)
    assert (await connector.send(second)).verdict in (Verdict.REFUSED, Verdict.UNKNOWN)


@pytest.mark.parametrize("call", [each for each in CALLS if each.is_payment], ids=str)
async def test_a_payment_goes_on_a_line_that_nobody_used_before(teller: Teller, wire: Wire, call: Call) -> None:
    """What is left on a used line would be taken for its answer."""
    call.let_in(teller)
    teller.expect(call.line, call.reply, call.reply, call.reply)
    connector = call.connect(teller.port, wire)
    for _ in range(3):
        await call.make(connector)
    lines = [each.connection for each in teller.heard]
    assert len(set(lines)) == len(lines)


# Good news in an unusual dress is good news.


@EACH
async def test_a_whole_reply_is_understood_however_it_comes(teller: Teller, wire: Wire, call: Call) -> None:
    call.let_in(teller)
    connector = call.connect(teller.port, wire)
    _, body = split(call.reply)
    bare = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    packed = gzip.compress(body)
    for reply in (
        replace(call.reply, piece=7),
        Reply(
            bare
            + b"Transfer-Encoding: chunked\r\n\r\n"
            + b"".join(b"1\r\n%c\r\n" % each for each in body)
            + b"0\r\n\r\n"
        ),
        Reply(bare + b"Connection: close\r\n\r\n" + body, After.CLOSE),
        Reply(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body, After.CLOSE),
        Reply(b"HTTP/1.1 100 Continue\r\n\r\n" + call.reply.sent),
        Reply(bare + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed),
        http("200 OK", body, media_type="text/plain; charset=ISO-8859-1"),
        http("200 OK", b"\r\n  " + body + b"\n"),
        Reply(b"HTTP/1.1 200\r\ncontent-length:%d\r\n\r\n" % len(body) + body),
    ):
        teller.expect(call.line, reply)
        call.outcome.check(await call.make(connector))


@EACH
async def test_a_line_closed_while_nobody_spoke_costs_no_payment(teller: Teller, wire: Wire, call: Call) -> None:
    call.let_in(teller)
    teller.expect(call.line, replace(call.reply, after=After.CLOSE), call.reply)
    connector = call.connect(teller.port, wire)
    await call.make(connector)
    await asyncio.sleep(0.05)
    call.outcome.check(await call.make(connector))


# Before anything was sent.


@EACH
async def test_a_refused_connection_sent_nothing(wire: Wire, call: Call) -> None:
    async with Teller.opened() as teller:
        pass  # Its port is nobody's now.
    check_nothing_sent(call, await call.make(call.connect(teller.port, wire)))


@EACH
async def test_a_name_that_nobody_has_sent_nothing(wire: Wire, call: Call) -> None:
    changes = {
        "mpesa_base_url": "http://network.invalid/sandbox",
        "airtel_money_base_url": "http://network.invalid",
    }
    connector = call.connect(9, wire, **changes)
    check_nothing_sent(call, await call.make(connector))


@EACH
async def test_a_payment_refused_at_the_door_was_not_sent(teller: Teller, wire: Wire, call: Call) -> None:
    """The session was given, and then the network went away."""

    def last_words(request: Request) -> Reply:
        teller.leave()
        head, body = split(call.entry_given)
        return Reply(head + b"\r\nConnection: close\r\n\r\n" + body, After.CLOSE)

    teller.expect(call.entry, last_words)
    check_nothing_sent(call, await call.make(call.connect(teller.port, wire)))


@EACH
async def test_a_door_that_opens_and_slams_is_an_answer_not_heard(teller: Teller, wire: Wire, call: Call) -> None:
    def last_words(request: Request) -> Reply:
        teller.slams_the_door = True
        head, body = split(call.entry_given)
        return Reply(head + b"\r\nConnection: close\r\n\r\n" + body, After.CLOSE)

    teller.expect(call.entry, last_words)
    check_lost(await call.make(call.connect(teller.port, wire)), call)


@pytest.mark.parametrize("what", BROKEN)
async def test_without_a_way_in_nothing_is_sent(teller: Teller, wire: Wire, what: str) -> None:
    for call in CALLS:
        teller.always(call.entry, BROKEN[what])
        check_nothing_sent(call, await call.make(call.connect(teller.port, wire)))
        assert teller.on(call.line) == []


async def test_silence_at_the_door_sent_nothing(wire: Wire) -> None:
    async def knock(call: Call, reply: Reply) -> tuple[str, Verdict, bool, list[Request]]:
        async with Teller.opened() as teller:
            teller.always(call.entry, reply)
            answer = await call.make(call.connect(teller.port, wire, timeout_seconds=1))
            return (call.name, answer.verdict, answer.is_fault, teller.on(call.line))

    silences = [Reply(after=After.HANG), Reply(CUT_HEAD, After.HANG)]
    answers = await asyncio.gather(*(knock(call, reply) for call in CALLS for reply in silences))
    assert answers == [
        (call.name, Verdict.UNSENT if call.is_payment else Verdict.UNKNOWN, True, [])
        for call in CALLS
        for _ in silences
    ]


@NETWORKS
async def test_a_crowd_at_a_closed_door_is_told_so_and_may_come_again(teller: Teller, wire: Wire, call: Call) -> None:
    teller.expect(call.entry, replace(http("503 Service Unavailable"), delay_seconds=0.05))
    teller.always(call.entry, http("503 Service Unavailable"))
    connector = call.connect(teller.port, wire)
    answers = await asyncio.gather(*(call.make(connector) for _ in range(20)))
    assert {(each.verdict, each.is_fault) for each in answers} == {(Verdict.UNSENT, True)}
    call.let_in(teller)
    teller.expect(call.line, call.reply)
    call.outcome.check(await call.make(connector))


async def test_a_call_takes_no_longer_than_the_connector_says(wire: Wire) -> None:
    """A worker holds a payment for that long, and no longer: each step is slow, and the last one never ends."""

    async def crawl(call: Call, ended: Reply) -> float:
        async with Teller.opened() as teller:
            teller.always(call.entry, replace(call.entry_given, delay_seconds=0.7))
            teller.expect(call.line, replace(ended, delay_seconds=0.7), Reply(after=After.HANG))
            connector = call.connect(teller.port, wire, timeout_seconds=1)
            began = asyncio.get_running_loop().time()
            await call.make(connector)
            return asyncio.get_running_loop().time() - began - connector.timeout_seconds

    over = await asyncio.gather(*(crawl(call, ENDED[call.connect]) for call in CALLS))
    assert max(over) < 0.5


@NETWORKS
async def test_a_late_word_on_the_old_session_does_not_end_the_new_one(teller: Teller, wire: Wire, call: Call) -> None:
    gate = asyncio.Event()
    teller.expect(call.entry, call.entry_given, NEXT[call.connect])
    teller.expect(call.line, ENDED[call.connect], replace(ENDED[call.connect], held_by=gate), call.reply, call.reply)
    connector = call.connect(teller.port, wire)
    first, second = asyncio.create_task(call.make(connector)), asyncio.create_task(call.make(connector))
    done, _ = await asyncio.wait((first, second), return_when=asyncio.FIRST_COMPLETED)
    gate.set()
    for task in (first, second):
        call.outcome.check(await task)
    assert len(done) == 1
    assert teller.lines.count(call.entry) == 2


# TLS.


@pytest.fixture
async def stranger(tmp_path: Path) -> AsyncIterator[Teller]:
    """A teller behind TLS, whose certificate is for the right address and by nobody in particular."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(keys.AIRTEL_MONEY_LONG.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(keys.AIRTEL_MONEY_LONG, hashes.SHA256())
    )
    path = tmp_path / "stranger.pem"
    path.write_bytes(
        keys.AIRTEL_MONEY_LONG.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    async with Teller.opened(tls=context) as teller:
        yield teller


def over_tls(port: int) -> dict[str, str]:
    return {
        "mpesa_base_url": f"https://127.0.0.1:{port}/sandbox/ipg/v2/vodacomTZN",
        "airtel_money_base_url": f"https://127.0.0.1:{port}",
    }


@EACH
async def test_a_stranger_behind_tls_is_told_nothing(stranger: Teller, wire: Wire, call: Call) -> None:
    call.let_in(stranger)
    check_nothing_sent(call, await call.make(call.connect(stranger.port, wire, **over_tls(stranger.port))))
    assert stranger.heard == []


@EACH
async def test_a_door_without_tls_is_told_nothing(wire: Wire, call: Call) -> None:
    async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speak_plainly, "127.0.0.1", 0) as server:
        port = int(server.sockets[0].getsockname()[1])
        check_nothing_sent(call, await call.make(call.connect(port, wire, **over_tls(port))))


@NETWORKS
async def test_a_knock_at_a_closed_door_is_a_fault(wire: Wire, call: Call) -> None:
    async with Teller.opened() as teller:
        pass
    assert (await call.connect(teller.port, wire).probe()).is_fault


@NETWORKS
async def test_a_knock_that_hears_of_trouble_is_a_fault(teller: Teller, wire: Wire, call: Call) -> None:
    for reply in (http("500 Internal Server Error"), Reply(after=After.RESET)):
        teller.always(call.entry, reply)
        assert (await call.connect(teller.port, wire).probe()).is_fault
