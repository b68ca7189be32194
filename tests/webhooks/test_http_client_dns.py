"""Names of receivers: looked up at registration and at sending, and never waited for for ever."""

import asyncio

import pytest

from malipo.webhooks.http_client import NoResponse
from tests.both_loops import anyio_backend as anyio_backend
from tests.conftest import free_port
from tests.networks.scripted_server import ScriptedServer, http
from tests.webhooks.dns_server import NameServer
from tests.webhooks.webhook_posts import HOOK, posting, send
from tests.webhooks.webhook_posts import names as names
from tests.webhooks.webhook_posts import server as server

# What is said at registration.


async def test_at_registration_a_name_is_looked_up(names: NameServer) -> None:
    names.says("inside.example.com", ["10.0.0.1"])
    names.says("partly.example.com", ["41.59.1.20", "fd00::1"])
    names.says("outside.example.com", ["41.59.1.20", "2606:4700:4700::1111"])
    names.says("empty.example.com", [])
    async with posting(allow_private=False, nameservers=[names.address]) as post:
        delivered = {
            name: await post.problem_with(f"https://{name}.example.com/hook")
            for name in ("inside", "partly", "outside", "empty", "missing")
        }
        assert await post.problem_with("http://outside.example.com/") == "url must start with https://."
        assert await post.problem_with("https://41.59.1.20/") is None
    only = "webhooks go to public addresses only."
    assert delivered == {
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
        await asyncio.wait({checking}, timeout=6)  # It would be asked for 7 seconds.
        assert checking.done()
        assert checking.result() is None


async def test_for_local_work_no_name_is_looked_up(names: NameServer) -> None:
    async with posting(nameservers=[names.address]) as post:
        assert await post.problem_with("http://shop.example.com:3000/") is None
    assert not names.asked


# Names.


async def test_localhost_is_found_without_a_name_server(server: ScriptedServer) -> None:
    server.expect(HOOK, http("200 OK"))
    async with posting(nameservers=[f"127.0.0.1:{free_port()}"]) as post:
        assert (await send(post, server.port, "localhost")).is_success


async def test_a_name_that_leads_nowhere_is_said_to(names: NameServer) -> None:
    names.says("empty.example.com", [])
    async with posting(nameservers=[names.address]) as post:
        for host in ("missing.example.com", "empty.example.com"):
            assert await send(post, 80, host) == NoResponse("the name does not resolve")
    async with posting(nameservers=[f"127.0.0.1:{free_port()}"]) as post:
        answer = await send(post, 80, "shop.example.com")
        assert isinstance(answer, NoResponse)
        assert answer.reason.startswith("the name does not resolve: could not contact ")


async def test_no_other_name_is_looked_up_than_was_written(names: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "inside.example.com")  # the machine's search list, as resolv.conf has it too
    monkeypatch.setenv("RES_OPTIONS", "ndots:5")
    async with posting(nameservers=[names.address]) as post:
        await send(post, 80, "missing.example.com")
    assert names.asked == {"missing.example.com": 1}


async def test_a_silent_name_server_holds_up_no_other_name(names: NameServer, server: ScriptedServer) -> None:
    server.always(HOOK, http("200 OK"))
    names.says("shop.example.com", ["127.0.0.1"])
    silent = [f"silent-{each}.example.com" for each in range(100)]
    for name in silent:
        names.says(name, None)
    async with posting(nameservers=[names.address]) as post:
        waiting = [asyncio.create_task(send(post, server.port, name)) for name in silent]
        while len(names.asked) < 100:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert (await send(post, server.port, "shop.example.com")).is_success
        assert not any(each.done() for each in waiting)
        for each in waiting:
            each.cancel()
