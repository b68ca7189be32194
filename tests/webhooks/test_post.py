"""One POST to a stranger: where it never goes, what is made of every answer, and what of none."""

import asyncio
import contextlib
import gzip
import os
import random
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import msgspec
import pytest

from malipo.webhooks.address import why_not
from malipo.webhooks.post import Answered, Post, Unanswered
from tests.conftest import free_port
from tests.networks.teller import After, Reply, Teller, http
from tests.webhooks.names import NameServer, Trap
from tests.webhooks.papers import authority

HOOK = "POST /hook"
SENT = {"Content-Type": "application/json", "X-Service-Event": "payment.completed"}
BODY = b'{"event":"payment.completed"}'
PLENTY = 20.0  # seconds, where the time limit is not what is tested


@pytest.fixture(scope="module", params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """uvloop is what runs in production; it does not break in the same places."""
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture
async def teller() -> AsyncIterator[Teller]:
    async with Teller.opened() as teller:
        yield teller
    assert teller.unexpected == []
    assert teller.unsaid == []


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with NameServer.opened() as server:
        yield server


@asynccontextmanager
async def posting(**changes: Any) -> AsyncIterator[Post]:
    given: dict[str, Any] = {"allow_private": True, "ports": (), "timeout_seconds": PLENTY}
    post = Post(**given | changes)
    try:
        yield post
    finally:
        await post.close()


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    async with posting() as post:
        yield post


async def send(post: Post, port: int, host: str = "127.0.0.1", scheme: str = "http") -> Answered | Unanswered:
    return await post(f"{scheme}://{host}:{port}/hook", headers=SENT, body=BODY)


async def status(post: Post, port: int) -> int:
    answer = await send(post, port)
    assert isinstance(answer, Answered), answer
    return answer.status


def connections(teller: Teller) -> list[int]:
    return [each.connection for each in teller.heard]


# Where it never goes.


def at_home(address: IPv4Address | IPv6Address) -> str | None:
    """For want of a public server, 127.0.0.1 is one here, and all else is what it is."""
    return None if str(address) == "127.0.0.1" else why_not(address)


NOWHERE = "0.0.0.0"  # noqa: S104 (Linux takes it for itself, which is the point)
INSIDE = [
    *[["127.0.0.1"], ["::1"], ["::1", "127.0.0.1"], ["::ffff:127.0.0.1"], [NOWHERE]],
    *[["127.0.0.1", "10.0.0.1", "169.254.169.254"], ["127.0.0.1"] * 3],
]


@pytest.mark.parametrize("found", INSIDE)
async def test_a_name_that_leads_inside_is_not_followed(names: NameServer, found: list[str]) -> None:
    names.says("shop.example.com", found)
    async with Trap.opened("127.0.0.1", "::1") as trap:
        async with posting(allow_private=False, nameservers=[names.address]) as post:
            answer = await send(post, trap.port, "shop.example.com", "https")
            assert isinstance(answer, Unanswered)
            assert answer.reason.startswith("the address ")
            assert answer.reason.endswith(", and webhooks go to public addresses only")
            assert await trap.visitors() == 0

        async with posting(nameservers=[names.address]) as reckless:
            await send(reckless, trap.port, "shop.example.com", "https")
            assert await trap.visitors() > 0, "the trap would have caught it"


@pytest.mark.parametrize(
    "found", [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"], ["::1", "127.0.0.2", "127.0.0.1", NOWHERE]]
)
async def test_of_many_addresses_only_the_public_one_is_connected_to(names: NameServer, found: list[str]) -> None:
    names.says("shop.example.com", found)
    trusted = authority()
    async with (
        Teller.opened(tls=trusted.server("shop.example.com")) as teller,
        Trap.opened("127.0.0.2", "::1", port=teller.port) as trap,
        posting(
            allow_private=False, why_not=at_home, nameservers=[names.address], ssl_context=trusted.trusted()
        ) as post,
    ):
        teller.always(HOOK, http("200 OK", "", "Connection: close"))
        for _ in range(4):  # aiohttp begins with another one each time
            answer = await send(post, teller.port, "shop.example.com", "https")
            assert answer.is_success, answer
        assert connections(teller) == [1, 2, 3, 4]
        assert await trap.visitors() == 0

        teller.leave()
        answer = await send(post, teller.port, "shop.example.com", "https")
        assert isinstance(answer, Unanswered)
        assert answer.reason == "connection refused" or answer.reason.startswith("the address ")
        assert await trap.visitors() == 0


async def test_a_name_that_moves_inside_after_it_was_checked_is_not_followed(names: NameServer) -> None:
    names.says("shop.example.com", ["127.0.0.1"], ["127.0.0.2"])
    async with (
        Trap.opened("127.0.0.2") as trap,
        posting(allow_private=False, why_not=at_home, nameservers=[names.address]) as post,
    ):
        assert await post.problem_with(f"https://shop.example.com:{trap.port}/hook") is None
        assert await send(post, trap.port, "shop.example.com", "https") == Unanswered(
            "the address 127.0.0.2 is loopback, and webhooks go to public addresses only"
        )
        assert await trap.visitors() == 0


async def test_a_second_try_looks_at_the_address_again(names: NameServer) -> None:
    names.says("shop.example.com", ["127.0.0.1"])
    trusted = authority()
    allowed = [True]
    async with (
        Teller.opened(tls=trusted.server("shop.example.com")) as teller,
        posting(
            allow_private=False,
            why_not=lambda _: None if allowed[0] else "private",
            nameservers=[names.address],
            ssl_context=trusted.trusted(),
        ) as post,
    ):
        teller.expect(HOOK, http("200 OK"), Reply(after=After.CLOSE))
        assert (await send(post, teller.port, "shop.example.com", "https")).is_success
        allowed[0] = False
        assert await send(post, teller.port, "shop.example.com", "https") == Unanswered(
            "the address 127.0.0.1 is private, and webhooks go to public addresses only"
        )
        assert connections(teller) == [1, 1]


async def test_a_remembered_name_is_decided_on_each_time_it_is_connected_to(names: NameServer) -> None:
    names.says("shop.example.com", ["127.0.0.1"])
    looked_at: list[str] = []
    async with (
        Trap.opened("127.0.0.1") as trap,
        posting(
            allow_private=False, why_not=lambda each: looked_at.append(str(each)), nameservers=[names.address]
        ) as post,
    ):
        for _ in range(3):
            await send(post, trap.port, "shop.example.com", "https")
        assert looked_at == ["127.0.0.1"] * 3
        assert names.asked == {"shop.example.com": 1}


@pytest.mark.parametrize("host", ["41.59.1.20", "[2606:4700:4700::1111]"])
async def test_an_address_without_a_name_is_decided_on_too(host: str) -> None:
    async with posting(allow_private=False, why_not=lambda _: "ours") as post:
        answer = await send(post, 443, host, "https")
        assert answer == Unanswered(f"the address {host.strip('[]')} is ours, and webhooks go to public addresses only")


async def test_a_name_of_many_addresses_is_not_tried_for_ever(names: NameServer) -> None:
    names.says("shop.example.com", [f"127.0.0.{each}" for each in range(1, 25)])
    tried: set[str] = set()
    async with posting(
        allow_private=False, why_not=lambda each: tried.add(str(each)), nameservers=[names.address]
    ) as post:
        assert await send(post, free_port(), "shop.example.com", "https") == Unanswered("connection refused")
        assert len(tried) == 8


@pytest.mark.parametrize(
    "url",
    ["https://127.0.0.1:{}/", "http://shop.example.com:{}/", "https://2130706433:{}/", "https://localhost:{}/", "x"],
)
async def test_a_url_that_is_not_allowed_any_more_is_not_posted_to(names: NameServer, url: str) -> None:
    names.says("shop.example.com", ["127.0.0.1"])
    async with (
        Trap.opened("127.0.0.1") as trap,
        posting(allow_private=False, why_not=at_home, nameservers=[names.address]) as post,
    ):
        answer = await post(url.format(trap.port), headers=SENT, body=BODY)
        assert isinstance(answer, Unanswered)
        assert answer.reason.startswith("url must ")
        assert await trap.visitors() == 0


async def test_a_port_that_is_not_allowed_any_more_is_not_posted_to() -> None:
    async with Trap.opened("127.0.0.1") as trap, posting(ports=(443,)) as post:
        assert await send(post, trap.port) == Unanswered(f"url must use port 443; it uses {trap.port}.")
        assert await trap.visitors() == 0


# What is said at registration.


async def test_at_registration_a_name_is_looked_up(names: NameServer) -> None:
    names.says("inside.example.com", ["10.0.0.1"])
    names.says("partly.example.com", ["41.59.1.20", "fd00::1"])
    names.says("outside.example.com", ["41.59.1.20", "2606:4700:4700::1111"])
    names.says("empty.example.com", [])
    async with posting(allow_private=False, nameservers=[names.address]) as post:
        told = {
            name: await post.problem_with(f"https://{name}.example.com/hook")
            for name in ("inside", "partly", "outside", "empty", "missing")
        }
        assert await post.problem_with("http://outside.example.com/") == "url must start with https://."
        assert await post.problem_with("https://41.59.1.20/") is None
    only = "webhooks go to public addresses only."
    assert told == {
        "inside": f"url must not lead to 10.0.0.1, as inside.example.com does: it is private, and {only}",
        "partly": f"url must not lead to fd00::1, as partly.example.com does: it is unique local, and {only}",
        "outside": None,
        "empty": None,
        "missing": None,
    }


async def test_at_registration_a_silent_name_server_is_not_waited_for_for_ever(names: NameServer) -> None:
    names.says("shop.example.com", None)
    async with posting(allow_private=False, nameservers=[names.address], timeout_seconds=0.2) as post:
        checking = asyncio.create_task(post.problem_with("https://shop.example.com/"))
        await asyncio.wait({checking}, timeout=3)  # It would be asked for 7 seconds.
        assert checking.done()
        assert checking.result() is None


async def test_for_local_work_no_name_is_looked_up(names: NameServer) -> None:
    async with posting(nameservers=[names.address]) as post:
        assert await post.problem_with("http://shop.example.com:3000/") is None
    assert not names.asked


# Names.


async def test_localhost_is_found_without_a_name_server(teller: Teller) -> None:
    teller.expect(HOOK, http("200 OK"))
    async with posting(nameservers=[f"127.0.0.1:{free_port()}"]) as post:
        assert (await send(post, teller.port, "localhost")).is_success


async def test_a_name_that_leads_nowhere_is_said_to(names: NameServer) -> None:
    names.says("empty.example.com", [])
    async with posting(nameservers=[names.address]) as post:
        for host in ("missing.example.com", "empty.example.com"):
            assert await send(post, 80, host) == Unanswered("the name does not resolve")
    async with posting(nameservers=[f"127.0.0.1:{free_port()}"]) as post:
        answer = await send(post, 80, "shop.example.com")
        assert isinstance(answer, Unanswered)
        assert answer.reason.startswith("the name does not resolve: could not contact ")


async def test_no_other_name_is_looked_up_than_was_written(names: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "inside.example.com")  # the machine's search list, as resolv.conf has it too
    monkeypatch.setenv("RES_OPTIONS", "ndots:5")
    async with posting(nameservers=[names.address]) as post:
        await send(post, 80, "missing.example.com")
    assert names.asked == {"missing.example.com": 1}


async def test_a_silent_name_server_holds_up_no_other_name(names: NameServer, teller: Teller) -> None:
    teller.always(HOOK, http("200 OK"))
    names.says("shop.example.com", ["127.0.0.1"])
    silent = [f"silent-{each}.example.com" for each in range(100)]
    for name in silent:
        names.says(name, None)
    async with posting(nameservers=[names.address]) as post:
        waiting = [asyncio.create_task(send(post, teller.port, name)) for name in silent]
        while len(names.asked) < 100:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert (await send(post, teller.port, "shop.example.com")).is_success
        assert not any(each.done() for each in waiting)
        for each in waiting:
            each.cancel()


# TLS.


@asynccontextmanager
async def shop(tls: ssl.SSLContext) -> AsyncIterator[tuple[Teller, Callable[[], Any]]]:
    """A server of this certificate, and how to send to it by name."""
    async with NameServer.opened() as names, Teller.opened(tls=tls) as teller:
        names.says("shop.example.com", ["127.0.0.1"])
        async with posting(nameservers=[names.address], ssl_context=authority().trusted()) as post:
            yield teller, lambda: send(post, teller.port, "shop.example.com", "https")


async def test_a_trusted_certificate_is_asked_for_by_name_and_accepted() -> None:
    tls = authority().server("shop.example.com")
    asked_for: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    async with shop(tls) as (teller, send_to_shop):
        teller.always(HOOK, http("200 OK", "thanks"))
        for _ in range(2):
            answer = await send_to_shop()
            assert (answer.status, answer.body) == (200, b"thanks")
        assert connections(teller) == [1, 1]
    assert asked_for == ["shop.example.com"]


@pytest.mark.parametrize(
    ("tls", "why"),
    [
        (lambda: authority().server("other.example.com"), "Hostname mismatch, certificate is not valid for 'shop.ex"),
        (lambda: authority().server("shop.example.com", days=-1), "certificate has expired"),
        (lambda: authority("A stranger").server("shop.example.com"), "unable to get local issuer certificate"),
        (lambda: authority("shop.example.com").itself(), "self-signed certificate"),
    ],
    ids=["another name", "expired", "unknown authority", "self-signed"],
)
async def test_a_wrong_certificate_is_refused_before_a_word_is_said(tls: Callable[[], Any], why: str) -> None:
    async with shop(tls()) as (teller, send_to_shop):
        answer = await send_to_shop()
        assert isinstance(answer, Unanswered)
        assert answer.reason.startswith(f"the certificate is not trusted: {why}")
        assert teller.heard == []


async def test_a_server_without_tls_is_said_to_have_none(post: Post) -> None:
    async def say_hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_hello, "127.0.0.1", 0)
    answer = await send(post, server.sockets[0].getsockname()[1], scheme="https")
    server.close()
    assert isinstance(answer, Unanswered)
    assert answer.reason.startswith("no TLS connection: ")


def versions_offered(hello: bytes) -> list[int]:
    """What a ClientHello says in its extension 43, supported_versions."""
    place = 4 + 2 + 32  # behind the handshake's header, the version that is always 1.2, and the random bytes
    place += 1 + hello[place]  # the session's id
    place += 2 + int.from_bytes(hello[place : place + 2], "big")  # the ciphers
    place += 1 + hello[place] + 2  # the compressions, and the length of what follows
    while place < len(hello):
        kind, length = struct.unpack_from("!HH", hello, place)
        if kind == 43:
            return list(struct.unpack_from(f"!{hello[place + 4] // 2}H", hello, place + 5))
        place += 4 + length
    return []


# A ServerHello that chooses TLS 1.1: no session, ECDHE-RSA-AES128-GCM-SHA256, no compression, safe renegotiation.
_CHOSEN = bytes.fromhex("0302" + 32 * "00" + "00" + "c02f" + "00" + "0005ff01000100")
_HELLO = b"\x02" + len(_CHOSEN).to_bytes(3, "big") + _CHOSEN
_TLS_1_1 = b"\x16\x03\x02" + len(_HELLO).to_bytes(2, "big") + _HELLO


async def test_an_old_tls_is_refused(post: Post) -> None:
    """By malipo, whatever this machine's libraries would still agree to. So the server's half is written by hand."""
    offered: list[int] = []
    said = asyncio.get_running_loop().create_future()

    async def choose_tls_1_1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readexactly(5)
        offered.extend(versions_offered(await reader.readexactly(int.from_bytes(head[3:], "big"))))
        writer.write(_TLS_1_1)
        said.set_result(await reader.read())
        writer.close()

    server = await asyncio.start_server(choose_tls_1_1, "127.0.0.1", 0)
    answer = await send(post, server.sockets[0].getsockname()[1], scheme="https")
    server.close()
    assert isinstance(answer, Unanswered)
    assert answer.reason.startswith("no TLS connection: ")
    assert 0x0303 in offered
    assert min(offered) == 0x0303, "nothing older than TLS 1.2 is offered"
    last = await asyncio.wait_for(said, 5)
    # asyncio hangs up without a word.
    assert last == b"" or (len(last) == 7 and last[0] == 21 and last[5] == 2), "at most one fatal alert"


async def test_an_endless_answer_is_cut_off_over_tls_too() -> None:
    """TLS has a farewell, for which asyncio waits half a minute, reading all the while. This one never says it."""
    tls = authority().server("127.0.0.1")

    def pour(listener: socket.socket) -> None:
        accepted, _ = listener.accept()
        with contextlib.suppress(OSError), tls.wrap_socket(accepted, server_side=True) as line:
            line.settimeout(10)
            line.recv(65536)
            line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                line.sendall(b" " * 65536)

    async with posting(ssl_context=authority().trusted()) as post:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            pouring = asyncio.create_task(asyncio.to_thread(pour, listener))
            answer = await send(post, listener.getsockname()[1], scheme="https")
            assert answer.is_success, answer
            await asyncio.wait({pouring}, timeout=10)
            assert pouring.done()


async def until_nothing_is_poured(teller: Teller) -> None:
    """The other side has hung up. It does not wait for a farewell: that alone may take 30 seconds."""
    for _ in range(100):
        poured = teller.poured
        await asyncio.sleep(0.05)
        if poured == teller.poured:
            break
    assert teller.poured < 20_000_000


# What is sent, and what is made of an answer.


@pytest.mark.parametrize("line", ["200 OK", "201 Created", "204 No Content", "299 Odd"])
async def test_two_hundred_and_something_is_success(post: Post, teller: Teller, line: str) -> None:
    teller.expect(HOOK, http(line))
    answer = await send(post, teller.port)
    assert isinstance(answer, Answered)
    assert (answer.status, answer.is_success) == (int(line[:3]), True)
    assert answer.seconds > 0


@pytest.mark.parametrize(
    "line", ["199 Odd", "300 Many", "304 Same", "400 Bad", "404 No", "408 Late", "410 Gone", "500 Oh"]
)
async def test_any_other_status_is_an_answer_and_no_success(post: Post, teller: Teller, line: str) -> None:
    final = http("500 Oh") if line == "199 Odd" else Reply()  # which is no answer yet
    teller.expect(HOOK, Reply(http(line).sent + final.sent))
    answer = await send(post, teller.port)
    assert isinstance(answer, Answered)
    assert (answer.status, answer.is_success) == (500 if final.sent else int(line[:3]), False)
    assert len(teller.heard) == 1


async def test_it_is_sent_as_it_was_given_and_with_little_else(post: Post, teller: Teller) -> None:
    teller.expect(HOOK, http("200 OK"))
    await send(post, teller.port)
    [request] = teller.heard
    assert request.body == BODY
    assert dict(request.headers) == {
        "Host": f"127.0.0.1:{teller.port}",
        "User-Agent": "malipo",
        "Accept": "*/*",
        "Content-Length": str(len(BODY)),
        **SENT,
    }


async def test_an_answer_is_kept_in_part(post: Post, teller: Teller) -> None:
    many = [f"X-{each}: {each}" for each in range(60)]
    teller.expect(HOOK, http("200 OK", b"x" * 3000, *many))
    answer = await send(post, teller.port)
    assert isinstance(answer, Answered)
    assert answer.body == b"x" * 2048
    assert answer.headers[:3] == [("Content-Type", "application/json"), ("Content-Length", "3000"), ("X-0", "0")]
    assert len(answer.headers) == 50

    teller.expect(HOOK, http("200 OK", "", *[f"X-{each}: {'x' * 1000}" for each in range(5)]))
    answer = await send(post, teller.port)
    assert isinstance(answer, Answered)
    assert [name for name, _ in answer.headers] == ["Content-Type", "Content-Length", "X-0", "X-1", "X-2", "X-3"]


async def test_any_bytes_of_a_header_become_text_that_can_be_stored(post: Post, teller: Teller) -> None:
    odd = bytes(each for each in range(0x80, 0x100))
    teller.expect(HOOK, Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \xed\xa0\x80 " + odd + b"\r\n\r\n"))
    answer = await send(post, teller.port)
    assert isinstance(answer, Answered)
    assert answer.headers[1] == ("X", "\xed\xa0\x80 " + odd.decode("latin-1"))
    assert msgspec.json.decode(msgspec.json.encode(answer.headers), type=list[tuple[str, str]]) == answer.headers


async def test_a_packed_answer_stays_packed(post: Post, teller: Teller) -> None:
    bomb = gzip.compress(b"x" * 1_000_000)
    teller.expect(HOOK, http("200 OK", bomb, "Content-Encoding: gzip"))
    answer = await send(post, teller.port)
    assert isinstance(answer, Answered)
    assert answer.body == bomb[:2048]


async def test_a_long_answer_counts_and_ends_the_line(post: Post, teller: Teller) -> None:
    allowed = Reply(http("200 OK", b"x" * 65_536).sent, piece=65_300, pause_seconds=0.05)
    too_long = Reply(http("200 OK", b"x" * 66_100).sent, piece=65_900, pause_seconds=0.3)
    teller.expect(HOOK, allowed, too_long, http("200 OK"))
    assert [await status(post, teller.port) for _ in range(3)] == [200] * 3
    assert connections(teller) == [1, 1, 2]


WHOLE = {
    "a body without an end": Reply(b"HTTP/1.1 200 OK\r\n\r\n", After.POUR),
    "a body that is far too long": Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", After.POUR),
    "one huge chunk": Reply(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n", After.POUR),
    "HTTP/1.0, ended by hanging up": Reply(b"HTTP/1.0 200 OK\r\n\r\nthanks", After.CLOSE),
    "100 Continue before it": Reply(b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + http("200 OK").sent),
    "103 Early Hints before it": Reply(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + http("200 OK").sent),
    "in pieces of one byte": Reply(http("200 OK", "thanks").sent, piece=1),
    "in chunks": Reply(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    "100 headers": http("200 OK", "", *[f"X-{each}: y" for each in range(100)]),
}


@pytest.mark.parametrize("said", WHOLE.values(), ids=WHOLE.keys())
async def test_what_can_be_understood_is_an_answer(post: Post, teller: Teller, said: Reply) -> None:
    teller.expect(HOOK, said)
    assert await status(post, teller.port) == 200
    await until_nothing_is_poured(teller)


async def test_an_upgrade_is_an_answer_and_the_line_is_not_used_again(post: Post, teller: Teller) -> None:
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    teller.expect(HOOK, Reply(upgrade + b"\x81\x05hello"), http("200 OK"))
    assert [await status(post, teller.port) for _ in range(2)] == [101, 200]
    assert connections(teller) == [1, 2]


HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"thank":'
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
NOT_HTTP = "the answer is not valid HTTP, or its headers are too long"
BROKE_OFF = "the answer broke off"
BROKEN = {
    "hangs up": (Reply(after=After.CLOSE), "the connection was closed without an answer"),
    "resets": (Reply(after=After.RESET), "connection reset by peer"),
    "half of the head, and hangs up": (Reply(HALF[:25], After.CLOSE), BROKE_OFF),
    "half of the head, and resets": (Reply(HALF[:25], After.RESET), "connection reset by peer"),
    "half of the body, and hangs up": (Reply(HALF, After.CLOSE), BROKE_OFF),
    "half of the body, and resets": (Reply(HALF, After.RESET), BROKE_OFF),
    "half a chunk": (Reply(CHUNKED + b"ff\r\n{}", After.CLOSE), BROKE_OFF),
    "no last chunk": (Reply(CHUNKED + b"2\r\n{}\r\n", After.CLOSE), BROKE_OFF),
    "a chunk of nonsense": (Reply(CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n", After.HANG), NOT_HTTP),
    "two lengths": (Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), NOT_HTTP),
    "a length below zero": (Reply(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), NOT_HTTP),
    "both a length and chunks": (Reply(CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n0\r\n\r\n"), NOT_HTTP),
    "NUL in a header": (Reply(b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n"), NOT_HTTP),
    "a header without end": (Reply(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, After.HANG), NOT_HTTP),
    "a header of spaces without end": (Reply(b"HTTP/1.1 200 OK\r\nX: ", After.POUR), NOT_HTTP),
    "headers without end": (http("200 OK", "", *[f"X-{each}: y" for each in range(1000)]), NOT_HTTP),
    "interim answers without end": (Reply(b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000, After.HANG), NOT_HTTP),
    "a status of four digits": (http("2000 OK"), NOT_HTTP),
    "HTTP/2": (Reply(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80", After.HANG), NOT_HTTP),
    "HTTP/0.9": (Reply(b"thanks", After.CLOSE), NOT_HTTP),
    "mail": (Reply(b"220 smtp.example.com ESMTP\r\n", After.HANG), NOT_HTTP),
    "every byte there is": (Reply(bytes(range(256)) * 20, After.HANG), NOT_HTTP),
}


@pytest.mark.parametrize(("said", "reason"), BROKEN.values(), ids=BROKEN.keys())
async def test_what_cannot_be_understood_is_none(post: Post, teller: Teller, said: Reply, reason: str) -> None:
    teller.expect(HOOK, said)
    assert await send(post, teller.port) == Unanswered(reason)
    assert len(teller.heard) == 1, "on a fresh line it is sent once"
    await until_nothing_is_poured(teller)


async def test_what_takes_too_long_is_none(names: NameServer, teller: Teller) -> None:
    slow = {
        "nothing": (Reply(after=After.HANG), "no answer within 1 s"),
        "half of the head": (Reply(HALF[:25], After.HANG), "no answer within 1 s"),
        "half of the body": (Reply(HALF, After.HANG), "the answer did not end within 1 s"),
        "a head that drips": (Reply(http("200 OK").sent, piece=1, pause_seconds=0.05), "no answer within 1 s"),
        "a body that drips": (
            Reply(http("200 OK", b"x" * 9999).sent, piece=100, pause_seconds=0.05),
            "the answer did not end within 1 s",
        ),
    }
    for name, (said, _) in slow.items():
        teller.expect(f"POST /{name.replace(' ', '-')}", said)
    names.says("silent.example.com", None)
    async with posting(timeout_seconds=1, nameservers=[names.address]) as post:
        urls = [f"http://127.0.0.1:{teller.port}/{name.replace(' ', '-')}" for name in slow]
        urls.append("http://silent.example.com/")
        *answers, last = await asyncio.gather(*(post(url, headers=SENT, body=BODY) for url in urls))
    assert last == Unanswered("no connection within 1 s")
    assert dict(zip(slow, answers, strict=True)) == {name: Unanswered(reason) for name, (_, reason) in slow.items()}


async def test_no_bytes_at_all_break_it(post: Post, teller: Teller) -> None:
    chance = random.Random(20261115)
    start = [b"", b"HTTP/1.1 200 OK\r\n", HALF, CHUNKED, b"HTTP/1.1 2"]
    for _ in range(60):
        said = chance.choice(start) + chance.randbytes(chance.randrange(200))
        teller.expect(HOOK, Reply(said, After.CLOSE))
        assert isinstance(await send(post, teller.port), Answered | Unanswered)


async def test_a_closed_port_is_said_to_refuse(post: Post) -> None:
    assert await send(post, free_port()) == Unanswered("connection refused")
    assert await send(post, free_port(), "localhost") == Unanswered("connection refused")


@pytest.mark.parametrize("line", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_redirection_is_not_followed(post: Post, teller: Teller, line: str) -> None:
    teller.expect(HOOK, http(line, "", f"Location: http://127.0.0.1:{teller.port}/elsewhere"))
    assert await status(post, teller.port) == int(line[:3])
    assert teller.lines == [HOOK]


async def test_nothing_is_taken_from_the_environment(
    post: Post, teller: Teller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login asha password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    teller.expect(HOOK, http("200 OK"))
    assert await status(post, teller.port) == 200
    assert "authorization" not in teller.heard[0].header_names


async def test_a_cookie_is_not_kept(post: Post, teller: Teller) -> None:
    teller.always(HOOK, http("200 OK", "", "Set-Cookie: session=1; Path=/"))
    for _ in range(2):
        await send(post, teller.port)
    assert all("cookie" not in each.header_names for each in teller.heard)


# Lines that are used again.


async def test_a_line_is_used_again(post: Post, teller: Teller) -> None:
    teller.always(HOOK, http("200 OK"))
    for _ in range(3):
        assert await status(post, teller.port) == 200
    assert connections(teller) == [1, 1, 1]


GOODBYES = {
    "hangs up": Reply(after=After.CLOSE),
    "resets": Reply(after=After.RESET),
    "says 408 and hangs up": Reply(http("408 Request Timeout", "", "Connection: close").sent, After.CLOSE),
}


@pytest.mark.parametrize("goodbye", GOODBYES.values(), ids=GOODBYES.keys())
async def test_a_line_that_was_being_closed_costs_no_attempt(post: Post, teller: Teller, goodbye: Reply) -> None:
    teller.expect(HOOK, http("200 OK"), goodbye, http("201 Created"))
    assert [await status(post, teller.port) for _ in range(2)] == [200, 201]
    assert connections(teller) == [1, 1, 2]
    assert len({each.raw for each in teller.heard}) == 1


async def test_the_second_try_goes_by_a_fresh_line_and_is_the_last(post: Post, teller: Teller) -> None:
    let_go = asyncio.Event()
    teller.expect(HOOK, *[Reply(http("200 OK").sent, held_by=let_go)] * 3)
    sending = [asyncio.create_task(send(post, teller.port)) for _ in range(3)]
    while len(teller.heard) < 3:  # noqa: ASYNC110
        await asyncio.sleep(0.002)
    let_go.set()
    await asyncio.gather(*sending)

    teller.expect(HOOK, Reply(after=After.CLOSE), Reply(after=After.CLOSE))
    assert await send(post, teller.port) == Unanswered("the connection was closed without an answer")
    assert connections(teller)[3] in (1, 2, 3), "first by one of the three lines"
    assert connections(teller)[4:] == [4]


@pytest.mark.parametrize("after", [After.CLOSE, After.RESET])
@pytest.mark.parametrize("said", [HALF[:1], HALF[:25], HALF])
async def test_after_one_byte_of_an_answer_there_is_no_second_try(
    post: Post, teller: Teller, after: After, said: bytes
) -> None:
    # A reset may overtake what was said before it, so that is given time to arrive.
    teller.expect(HOOK, http("200 OK"), Reply(said, after, pause_seconds=0.1))
    assert await status(post, teller.port) == 200
    assert isinstance(await send(post, teller.port), Unanswered)
    assert connections(teller) == [1, 1]


async def test_both_tries_share_one_time_limit(teller: Teller) -> None:
    late = Reply(after=After.CLOSE, delay_seconds=0.4)
    teller.expect(HOOK, http("200 OK"), late, Reply(http("200 OK").sent, delay_seconds=0.4))
    async with posting(timeout_seconds=0.6) as post:
        assert await status(post, teller.port) == 200
        answer = await send(post, teller.port)
        assert isinstance(answer, Unanswered)
        assert answer.reason.endswith(" within 0.6 s")


async def test_what_was_said_unasked_is_not_taken_for_an_answer(post: Post, teller: Teller) -> None:
    refusal, lie = http("503 Oh no").sent, http("200 It is").sent
    assert len(refusal) == len(lie)
    teller.expect(HOOK, Reply(refusal + lie, piece=len(refusal), pause_seconds=0.1), http("500 Oh"))
    assert await status(post, teller.port) == 503
    await asyncio.sleep(0.3)
    assert await status(post, teller.port) == 500
    assert connections(teller) == [1, 2]


# Many at once, and the end.


async def test_receivers_that_hang_keep_no_other_waiting(post: Post, teller: Teller) -> None:
    let_go = asyncio.Event()
    teller.expect(HOOK, *[Reply(http("200 OK").sent, held_by=let_go)] * 120)
    waiting = [asyncio.create_task(send(post, teller.port)) for _ in range(120)]
    while len(teller.heard) < 120:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    async with Teller.opened() as other:
        for each in (other, teller):
            each.expect(HOOK, http("201 Created"))
            assert await status(post, each.port) == 201
    assert not any(each.done() for each in waiting)
    let_go.set()
    assert all(each.is_success for each in await asyncio.gather(*waiting))


async def test_whoever_is_given_up_hangs_up(post: Post, teller: Teller) -> None:
    teller.expect(HOOK, Reply(after=After.HANG), http("200 OK"))
    sending = asyncio.create_task(send(post, teller.port))
    await teller.was_called.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert await status(post, teller.port) == 200
    assert connections(teller) == [1, 2]


async def test_closing_answers_everyone_who_waits(names: NameServer, teller: Teller) -> None:
    names.says("silent.example.com", None)
    teller.expect(HOOK, Reply(after=After.HANG))
    async with posting(nameservers=[names.address]) as post:
        hosts = ["127.0.0.1", "silent.example.com", "silent.example.com"]
        waiting = [asyncio.create_task(send(post, teller.port, host)) for host in hosts]
        await teller.was_called.wait()
        while not names.asked:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        await post.close()
        stopped = Unanswered("malipo was stopped before an answer came")
        assert await asyncio.gather(*waiting) == [stopped] * 3
        assert await send(post, teller.port) == stopped


def _belongings() -> tuple[int, int]:
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


async def test_nothing_is_left_behind(names: NameServer, teller: Teller) -> None:
    names.says("shop.example.com", ["127.0.0.1"])
    names.says("silent.example.com", None)
    teller.always(HOOK, http("200 OK"))

    async def once() -> None:
        async with posting(nameservers=[names.address], timeout_seconds=0.1) as post:
            hosts = ("127.0.0.1", "shop.example.com", "silent.example.com", "missing.example.com")
            await asyncio.gather(*(send(post, teller.port, host) for host in hosts))

    await once()  # pycares keeps one thread for good
    await asyncio.sleep(0.2)
    before = _belongings()
    for _ in range(5):
        await once()
    for _ in range(100):
        after = _belongings()
        if after[0] <= before[0] and after[1] <= before[1]:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"threads and files: {before} before, {after} after")


async def test_one_that_was_never_used_has_nothing_to_close() -> None:
    post = Post(allow_private=False, ports=(443,), timeout_seconds=1)
    await post.close()
    await post.close()
