"""One POST to a stranger never goes inside: to no private address, however a name leads there."""

import pytest

from malipo.webhooks.http_client import NoResponse
from tests.both_loops import anyio_backend as anyio_backend
from tests.conftest import free_port
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.webhooks.certificates import authority
from tests.webhooks.dns_server import NameServer, Trap
from tests.webhooks.webhook_posts import BODY, HOOK, SENT, at_home, connections, posting, send
from tests.webhooks.webhook_posts import names as names

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
            assert isinstance(answer, NoResponse)
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
        ScriptedServer.opened(tls=trusted.server("shop.example.com")) as server,
        Trap.opened("127.0.0.2", "::1", port=server.port) as trap,
        posting(
            allow_private=False, why_not=at_home, nameservers=[names.address], ssl_context=trusted.trusted()
        ) as post,
    ):
        server.always(HOOK, http("200 OK", "", "Connection: close"))
        for _ in range(4):  # aiohttp begins with another one each time
            answer = await send(post, server.port, "shop.example.com", "https")
            assert answer.is_success, answer
        assert connections(server) == [1, 2, 3, 4]
        assert await trap.visitors() == 0

        server.leave()
        answer = await send(post, server.port, "shop.example.com", "https")
        assert isinstance(answer, NoResponse)
        assert answer.reason == "connection refused" or answer.reason.startswith("the address ")
        assert await trap.visitors() == 0


async def test_a_name_that_moves_inside_after_it_was_checked_is_not_followed(names: NameServer) -> None:
    names.says("shop.example.com", ["127.0.0.1"], ["127.0.0.2"])
    async with (
        Trap.opened("127.0.0.2") as trap,
        posting(allow_private=False, why_not=at_home, nameservers=[names.address]) as post,
    ):
        assert await post.problem_with(f"https://shop.example.com:{trap.port}/hook") is None
        assert await send(post, trap.port, "shop.example.com", "https") == NoResponse(
            "the address 127.0.0.2 is loopback, and webhooks go to public addresses only"
        )
        assert await trap.visitors() == 0


async def test_a_second_try_looks_at_the_address_again(names: NameServer) -> None:
    names.says("shop.example.com", ["127.0.0.1"])
    trusted = authority()
    allowed = [True]
    async with (
        ScriptedServer.opened(tls=trusted.server("shop.example.com")) as server,
        posting(
            allow_private=False,
            why_not=lambda _: None if allowed[0] else "private",
            nameservers=[names.address],
            ssl_context=trusted.trusted(),
        ) as post,
    ):
        server.expect(HOOK, http("200 OK"), Reply(after=After.CLOSE))
        assert (await send(post, server.port, "shop.example.com", "https")).is_success
        allowed[0] = False
        assert await send(post, server.port, "shop.example.com", "https") == NoResponse(
            "the address 127.0.0.1 is private, and webhooks go to public addresses only"
        )
        assert connections(server) == [1, 1]


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
        assert answer == NoResponse(f"the address {host.strip('[]')} is ours, and webhooks go to public addresses only")


async def test_a_name_of_many_addresses_is_not_tried_for_ever(names: NameServer) -> None:
    names.says("shop.example.com", [f"127.0.0.{each}" for each in range(1, 25)])
    tried: set[str] = set()
    async with posting(
        allow_private=False, why_not=lambda each: tried.add(str(each)), nameservers=[names.address]
    ) as post:
        assert await send(post, free_port(), "shop.example.com", "https") == NoResponse("connection refused")
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
        assert isinstance(answer, NoResponse)
        assert answer.reason.startswith("url must ")
        assert await trap.visitors() == 0


async def test_a_port_that_is_not_allowed_any_more_is_not_posted_to() -> None:
    async with Trap.opened("127.0.0.1") as trap, posting(ports=(443,)) as post:
        assert await send(post, trap.port) == NoResponse(f"url must use port 443; it uses {trap.port}.")
        assert await trap.visitors() == 0
