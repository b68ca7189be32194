"""Faults before a payment was sent: a refused connection, no session, a wrong TLS certificate. Nothing was sent.
Nothing was sent."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from malipo.networks.connector import Verdict
from malipo.networks.http.client import HttpClient
from tests.networks import rsa_keys
from tests.networks.faults.broken_replies import (
    BROKEN,
    CALLS_WITH_A_TOKEN,
    CUT_HEAD,
    EACH,
    EACH_WITH_A_TOKEN,
    check_lost,
    check_nothing_sent,
    split,
)
from tests.networks.payment_calls import PAYMENTS, Call, at
from tests.networks.scripted_server import After, Reply, Request, ScriptedServer, http

EACH_NETWORK = pytest.mark.parametrize("call", PAYMENTS.values(), ids=str)

# Before anything was sent.


@EACH
async def test_a_refused_connection_sent_nothing(http_client: HttpClient, call: Call) -> None:
    async with ScriptedServer.opened() as server:
        pass  # Its port is nobody's now.
    check_nothing_sent(call, await call.make(call.connect(server.port, http_client)))


@EACH
async def test_a_name_that_nobody_has_sent_nothing(http_client: HttpClient, call: Call) -> None:
    connector = call.connect(9, http_client, **at("http://network.invalid"))
    check_nothing_sent(call, await call.make(connector))


@EACH_WITH_A_TOKEN
async def test_a_payment_refused_at_the_door_was_not_sent(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    """The session was given, and then the network went away."""

    def last_words(request: Request) -> Reply:
        server.leave()
        head, body = split(call.entry.given)
        return Reply(head + b"\r\nConnection: close\r\n\r\n" + body, After.CLOSE)

    server.expect(call.entry.line, last_words)
    check_nothing_sent(call, await call.make(call.connect(server.port, http_client)))


@EACH_WITH_A_TOKEN
async def test_a_door_that_opens_and_slams_is_an_answer_not_heard(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    def last_words(request: Request) -> Reply:
        server.slams_the_door = True
        head, body = split(call.entry.given)
        return Reply(head + b"\r\nConnection: close\r\n\r\n" + body, After.CLOSE)

    server.expect(call.entry.line, last_words)
    check_lost(await call.make(call.connect(server.port, http_client)), call)


@pytest.mark.parametrize("what", BROKEN)
async def test_without_a_way_in_nothing_is_sent(server: ScriptedServer, http_client: HttpClient, what: str) -> None:
    for call in CALLS_WITH_A_TOKEN:
        server.always(call.entry.line, BROKEN[what])
        check_nothing_sent(call, await call.make(call.connect(server.port, http_client)))
        assert server.on(call.line) == []


async def test_silence_at_the_door_sent_nothing(http_client: HttpClient) -> None:
    async def knock(call: Call, reply: Reply) -> tuple[str, Verdict, bool, list[Request]]:
        async with ScriptedServer.opened() as server:
            server.always(call.entry.line, reply)
            answer = await call.make(call.connect(server.port, http_client, timeout_seconds=1))
            return (call.name, answer.verdict, answer.is_fault, server.on(call.line))

    silences = [Reply(after=After.HANG), Reply(CUT_HEAD, After.HANG)]
    answers = await asyncio.gather(*(knock(call, reply) for call in CALLS_WITH_A_TOKEN for reply in silences))
    assert answers == [
        (call.name, Verdict.UNSENT if call.is_payment else Verdict.UNKNOWN, True, [])
        for call in CALLS_WITH_A_TOKEN
        for _ in silences
    ]


@EACH_NETWORK
async def test_a_crowd_at_a_closed_door_is_told_so_and_may_come_again(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    server.expect(call.entry.line, replace(http("503 Service Unavailable"), delay_seconds=0.05))
    server.always(call.entry.line, http("503 Service Unavailable"))
    connector = call.connect(server.port, http_client)
    answers = await asyncio.gather(*(call.make(connector) for _ in range(20)))
    assert {(each.verdict, each.is_fault) for each in answers} == {(Verdict.UNSENT, True)}
    call.let_in(server)
    server.expect(call.line, call.reply)
    call.outcome.check(await call.make(connector))


async def test_a_call_takes_no_longer_than_the_connector_says(http_client: HttpClient) -> None:
    """A worker holds a payment for that long, and no longer: the steps are slow, and the last one never ends.

    If each step had its own time, the first row would take six seconds more, and the second nearly four.
    """

    async def crawl(call: Call, token_seconds: float, reply_seconds: float) -> float:
        async with ScriptedServer.opened() as server:
            server.always(call.entry.line, replace(call.entry.given, delay_seconds=token_seconds))
            server.expect(call.line, replace(call.entry.ended, delay_seconds=reply_seconds), Reply(after=After.HANG))
            connector = call.connect(server.port, http_client, timeout_seconds=4)
            began = asyncio.get_running_loop().time()
            await call.make(connector)
            return asyncio.get_running_loop().time() - began - connector.timeout_seconds

    rows = [(2.8, 2.8), (1.8, 0.0)]
    over = await asyncio.gather(*(crawl(call, *row) for call in CALLS_WITH_A_TOKEN for row in rows))
    assert max(over) < 3


@EACH_NETWORK
async def test_a_late_word_on_the_old_session_does_not_end_the_new_one(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    gate = asyncio.Event()
    server.expect(call.entry.line, call.entry.given, call.entry.next_given)
    server.expect(call.line, call.entry.ended, replace(call.entry.ended, held_by=gate), call.reply, call.reply)
    connector = call.connect(server.port, http_client)
    first, second = asyncio.create_task(call.make(connector)), asyncio.create_task(call.make(connector))
    done, _ = await asyncio.wait((first, second), return_when=asyncio.FIRST_COMPLETED)
    gate.set()
    for task in (first, second):
        call.outcome.check(await task)
    assert len(done) == 1
    assert server.lines.count(call.entry.line) == 2


# TLS.


@pytest.fixture
async def stranger(tmp_path: Path) -> AsyncIterator[ScriptedServer]:
    """A teller behind TLS, whose certificate is for the right address and by nobody in particular."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(rsa_keys.AIRTEL_MONEY_LONG.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(rsa_keys.AIRTEL_MONEY_LONG, hashes.SHA256())
    )
    path = tmp_path / "stranger.pem"
    path.write_bytes(
        rsa_keys.AIRTEL_MONEY_LONG.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    async with ScriptedServer.opened(tls=context) as server:
        yield server


@EACH
async def test_a_stranger_behind_tls_is_told_nothing(
    stranger: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    call.let_in(stranger)
    check_nothing_sent(
        call, await call.make(call.connect(stranger.port, http_client, **at(f"https://127.0.0.1:{stranger.port}")))
    )
    assert stranger.requests == []


@EACH
async def test_a_door_without_tls_is_told_nothing(http_client: HttpClient, call: Call) -> None:
    async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speak_plainly, "127.0.0.1", 0) as server:
        port = int(server.sockets[0].getsockname()[1])
        check_nothing_sent(call, await call.make(call.connect(port, http_client, **at(f"https://127.0.0.1:{port}"))))
