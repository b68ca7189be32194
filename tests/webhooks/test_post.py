"""One POST to a stranger: where it never goes, what is made of every answer, and what of none."""

import asyncio
import gzip
import os
import random
import ssl
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


@pytest.fixture
async def hasty() -> AsyncIterator[Post]:
    async with posting(timeout_seconds=0.3) as post:
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
        assert await post.problem_with("https://shop.example.com/") is None


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
        assert answer == Unanswered("the name does not resolve: could not contact dns servers")


async def test_a_silent_name_server_holds_up_no_other_name(names: NameServer, teller: Teller) -> None:
    teller.always(HOOK, http("200 OK"))
    names.says("shop.example.com", ["127.0.0.1"])
    silent = [f"silent-{each}.example.com" for each in range(100)]
    for name in silent:
        names.says(name, None)
    async with posting(nameservers=[names.address], timeout_seconds=1) as post:
        waiting = [asyncio.create_task(send(post, teller.port, name)) for name in silent]
        while len(names.asked) < 100:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert (await send(post, teller.port, "shop.example.com")).is_success
        assert not any(each.done() for each in waiting)
        assert set(await asyncio.gather(*waiting)) == {Unanswered("no connection within 1 s")}


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


async def test_a_server_without_tls_is_said_to_have_none(hasty: Post) -> None:
    async def say_hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_hello, "127.0.0.1", 0)
    answer = await send(hasty, server.sockets[0].getsockname()[1], scheme="https")
    server.close()
    assert answer == Unanswered("no TLS connection: wrong version number")


async def test_an_old_tls_is_refused() -> None:
    tls = authority().server("shop.example.com")
    tls.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls.minimum_version = tls.maximum_version = ssl.TLSVersion.TLSv1_1
    async with shop(tls) as (teller, send_to_shop):
        answer = await send_to_shop()
        assert isinstance(answer, Unanswered)
        assert answer.reason.startswith("no TLS connection: ")
        assert teller.heard == []


async def test_an_endless_answer_is_cut_off_over_tls_too() -> None:
    async with shop(authority().server("shop.example.com")) as (teller, send_to_shop):
        teller.expect(HOOK, Reply(b"HTTP/1.1 200 OK\r\n\r\n", After.POUR))
        answer = await send_to_shop()
        assert answer.status == 200
        await until_nothing_is_poured(teller)


async def until_nothing_is_poured(teller: Teller) -> None:
    """The other side has hung up. It does not wait for a farewell: that alone may take 30 seconds."""
    for _ in range(100):
        poured = teller.poured
        await asyncio.sleep(0.05)
        if poured == teller.poured:
            break
    assert teller.poured < 20_000_000
