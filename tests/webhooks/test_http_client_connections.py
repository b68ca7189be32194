"""Connections to receivers: used again, tried a second time, and none left behind."""

import asyncio
import os

import pytest

from malipo.webhooks.http_client import NoResponse, WebhookClient
from tests.both_loops import anyio_backend as anyio_backend
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.webhooks.dns_server import NameServer
from tests.webhooks.webhook_posts import HALF, HOOK, connections, posting, send, status
from tests.webhooks.webhook_posts import names as names
from tests.webhooks.webhook_posts import post as post
from tests.webhooks.webhook_posts import server as server

# Lines that are used again.


async def test_a_line_is_used_again(post: WebhookClient, server: ScriptedServer) -> None:
    server.always(HOOK, http("200 OK"))
    for _ in range(3):
        assert await status(post, server.port) == 200
    assert connections(server) == [1, 1, 1]


GOODBYES = {
    "hangs up": Reply(after=After.CLOSE),
    "resets": Reply(after=After.RESET),
    "says 408 and hangs up": Reply(http("408 Request Timeout", "", "Connection: close").sent, After.CLOSE),
}


@pytest.mark.parametrize("goodbye", GOODBYES.values(), ids=GOODBYES.keys())
async def test_a_line_that_was_being_closed_costs_no_attempt(
    post: WebhookClient, server: ScriptedServer, goodbye: Reply
) -> None:
    server.expect(HOOK, http("200 OK"), goodbye, http("201 Created"))
    assert [await status(post, server.port) for _ in range(2)] == [200, 201]
    assert connections(server) == [1, 1, 2]
    assert len({each.raw for each in server.requests}) == 1


async def test_the_second_try_goes_by_a_fresh_line_and_is_the_last(post: WebhookClient, server: ScriptedServer) -> None:
    let_go = asyncio.Event()
    server.expect(HOOK, *[Reply(http("200 OK").sent, held_by=let_go)] * 3)
    sending = [asyncio.create_task(send(post, server.port)) for _ in range(3)]
    while len(server.requests) < 3:  # noqa: ASYNC110
        await asyncio.sleep(0.002)
    let_go.set()
    await asyncio.gather(*sending)

    server.expect(HOOK, Reply(after=After.CLOSE), Reply(after=After.CLOSE))
    assert await send(post, server.port) == NoResponse("the connection was closed without an answer")
    assert connections(server)[3] in (1, 2, 3), "first by one of the three lines"
    assert connections(server)[4:] == [4]


@pytest.mark.parametrize("after", [After.CLOSE, After.RESET])
@pytest.mark.parametrize("said", [HALF[:1], HALF[:25], HALF])
async def test_after_one_byte_of_an_answer_there_is_no_second_try(
    post: WebhookClient, server: ScriptedServer, after: After, said: bytes
) -> None:
    # A reset may overtake what was said before it, so that is given time to arrive.
    server.expect(HOOK, http("200 OK"), Reply(said, after, pause_seconds=0.1))
    assert await status(post, server.port) == 200
    assert isinstance(await send(post, server.port), NoResponse)
    assert connections(server) == [1, 1]


async def test_both_tries_share_one_time_limit(server: ScriptedServer) -> None:
    # Long enough for the first post on a busy machine, and shorter than two late answers.
    late = Reply(after=After.CLOSE, delay_seconds=2)
    server.expect(HOOK, http("200 OK"), late, Reply(http("200 OK").sent, delay_seconds=2))
    async with posting(timeout_seconds=3) as post:
        assert await status(post, server.port) == 200
        answer = await send(post, server.port)
        assert isinstance(answer, NoResponse)
        assert answer.reason.endswith(" within 3 s")


async def test_bytes_that_follow_a_response_are_not_taken_for_the_next_one(
    post: WebhookClient, server: ScriptedServer
) -> None:
    refusal, lie = http("503 Oh no").sent, http("200 It is").sent
    assert len(refusal) == len(lie)
    server.expect(HOOK, Reply(refusal + lie, piece=len(refusal), pause_seconds=0.1), http("500 Oh"))
    assert await status(post, server.port) == 503
    while server.said < 1:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.05)
    assert await status(post, server.port) == 500
    assert connections(server) == [1, 2]


# Many at once, and the end.


async def test_receivers_that_hang_keep_no_other_waiting(post: WebhookClient, server: ScriptedServer) -> None:
    let_go = asyncio.Event()
    server.expect(HOOK, *[Reply(http("200 OK").sent, held_by=let_go)] * 120)
    waiting = [asyncio.create_task(send(post, server.port)) for _ in range(120)]
    while len(server.requests) < 120:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    async with ScriptedServer.opened() as other:
        for each in (other, server):
            each.expect(HOOK, http("201 Created"))
            assert await status(post, each.port) == 201
    assert not any(each.done() for each in waiting)
    let_go.set()
    assert all(each.is_success for each in await asyncio.gather(*waiting))


async def test_a_request_that_is_cancelled_closes_its_connection(post: WebhookClient, server: ScriptedServer) -> None:
    server.expect(HOOK, Reply(after=After.HANG), http("200 OK"))
    sending = asyncio.create_task(send(post, server.port))
    await server.was_called.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert await status(post, server.port) == 200
    assert connections(server) == [1, 2]


async def test_closing_answers_everyone_who_waits(names: NameServer, server: ScriptedServer) -> None:
    names.says("silent.example.com", None)
    server.expect(HOOK, Reply(after=After.HANG))
    async with posting(nameservers=[names.address]) as post:
        hosts = ["127.0.0.1", "silent.example.com", "silent.example.com"]
        waiting = [asyncio.create_task(send(post, server.port, host)) for host in hosts]
        await server.was_called.wait()
        while not names.asked:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        await post.close()
        stopped = NoResponse("malipo was stopped before an answer came")
        assert await asyncio.gather(*waiting) == [stopped] * 3
        assert await send(post, server.port) == stopped


def _belongings() -> tuple[int, int]:
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


async def test_a_closed_client_leaves_no_files_threads_or_tasks(names: NameServer, server: ScriptedServer) -> None:
    names.says("shop.example.com", ["127.0.0.1"])
    names.says("silent.example.com", None)
    server.always(HOOK, http("200 OK"))

    async def once() -> None:
        async with posting(nameservers=[names.address], timeout_seconds=0.1) as post:
            hosts = ("127.0.0.1", "shop.example.com", "silent.example.com", "missing.example.com")
            await asyncio.gather(*(send(post, server.port, host) for host in hosts))

    await once()  # pycares keeps one thread for good
    await asyncio.sleep(0.2)
    before = _belongings()
    for _ in range(5):
        await once()
    for _ in range(1200):
        after = _belongings()
        if after[0] <= before[0] and after[1] <= before[1]:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"threads and files: {before} before, {after} after")


async def test_a_client_that_was_never_used_has_nothing_to_close() -> None:
    post = WebhookClient(allow_private=False, ports=(443,), timeout_seconds=1)
    await post.close()
    await post.close()
