"""A process that is stopped under load answers every request that it has received."""

import asyncio
from collections.abc import Callable

import pytest

from tests.api.raw_http import request
from tests.conftest import NO_LIMITS, Merchant, Running, until_ready

LINES = 64


class _Caller:
    """Sends one request after the other on one connection, until it is told that an answer is the last."""

    def __init__(self, url: str, sent: bytes) -> None:
        self._host, _, port = url.removeprefix("http://").partition(":")
        self._port = int(port)
        self._sent = sent
        self.answers = 0
        self.is_unanswered = False

    async def run(self) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            while True:
                writer.write(self._sent)
                self.is_unanswered = True
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                await reader.readexactly(length)
                self.is_unanswered = False
                self.answers += 1
                if b"connection: close" in head:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.mark.parametrize("number", [1, 2])
async def test_nothing_that_was_sent_before_a_stop_is_left_without_an_answer(
    start: Callable[..., Running], database_url: str, merchant: Merchant, number: int
) -> None:
    running = await until_ready(start("api", database_url=database_url, **NO_LIMITS))
    callers = [_Caller(running.url, request("GET", "/v1/wallet", key=merchant.key)) for _ in range(LINES)]
    tasks = [asyncio.create_task(each.run()) for each in callers]
    async with asyncio.timeout(240):
        while min(each.answers for each in callers) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        running.process.terminate()
        await asyncio.gather(*tasks)

    assert [each.is_unanswered for each in callers].count(True) == 0
    assert await asyncio.to_thread(running.stop) == 0


async def test_a_request_without_its_body_does_not_hold_a_stop(
    start: Callable[..., Running], database_url: str, merchant: Merchant
) -> None:
    running = await until_ready(start("api", database_url=database_url, **NO_LIMITS))
    host, _, port = running.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request("POST", "/v1/payments", b"{}", key=merchant.key)[:-2])
    other, other_writer = await asyncio.open_connection(host, int(port))
    other_writer.write(request("GET", "/v1/wallet", key=merchant.key))
    await other.readuntil(b"\r\n\r\n")  # By now the first was read too.
    running.process.terminate()

    said = await reader.read()
    assert said.startswith(b"HTTP/1.1 503 ")
    assert b"x-error-code: unavailable\r\n" in said.lower()
    assert await asyncio.to_thread(running.stop) == 0
    for each in (writer, other_writer):
        each.close()
