"""Names and addresses of one exchange: which is tried, which is not, and when nothing was sent."""

import asyncio
import contextlib
import socket
from typing import Any

import pytest

from malipo.networks.http.connection import ConnectionBroken, HttpResponse
from malipo.networks.http.dns import DnsCache
from malipo.networks.http.transport import NotSent, Transport
from tests.both_loops import anyio_backend as anyio_backend
from tests.conftest import free_port
from tests.networks.http.transports import NAME, PAY, listening, opened, pay
from tests.networks.http.transports import exchanges as exchanges
from tests.networks.scripted_server import ScriptedServer, http
from tests.webhooks.certificates import authority


async def test_a_name_that_leads_nowhere_is_said_so() -> None:
    exchanges = Transport(authority().trusted())
    with pytest.raises(NotSent, match=r"^no connection: .*[Nn]ame") as caught:
        await pay(exchanges, 80, at="http://nobody.invalid")
    assert "invalid" not in str(caught.value)
    with pytest.raises(NotSent):
        await pay(exchanges, 80, at="http://what..ever")


async def test_a_real_name_is_found(server: ScriptedServer) -> None:
    exchanges = Transport(authority().trusted())
    server.expect(PAY, http("200 OK", "{}"))
    assert await pay(exchanges, server.port, at="http://localhost") == (200, b"{}")
    assert server.requests[0].header("host") == f"localhost:{server.port}"


async def test_the_sixth_version_is_spoken(exchanges: Transport) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = head.split(b"\r\n")[1]
        writer.write(http("200 OK", body).sent)

    try:
        async with listening(serve, "::1") as port:
            assert await pay(exchanges, port, at="http://[::1]") == (200, b"Host: [::1]:%d" % port)
    except OSError:
        pytest.skip("this machine does not speak it")


async def test_the_next_address_is_tried_if_the_first_lets_nobody_in(server: ScriptedServer) -> None:
    async with opened("127.0.0.2", "127.0.0.3", "127.0.0.1") as exchanges:
        server.expect(PAY, http("200 OK", "{}"))
        assert await pay(exchanges, server.port, at=f"http://{NAME}") == (200, b"{}")
        server.leave()
        with pytest.raises(NotSent, match=r"^no connection: Connection refused$"):
            await pay(exchanges, server.port, at=f"http://{NAME}")


async def test_the_next_address_is_not_tried_once_there_was_a_connection(server: ScriptedServer) -> None:
    async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with opened("127.0.0.2", "127.0.0.1") as exchanges, listening(slam, "127.0.0.2", port=server.port) as port:
        with pytest.raises(ConnectionBroken):
            await pay(exchanges, port, at=f"http://{NAME}")
    assert server.requests == []


@contextlib.contextmanager
def deaf(host: str, port: int) -> Any:
    """Nobody is let in, and nobody is told."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind((host, port))
        full.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((host, full.getsockname()[1]))
        yield full.getsockname()[1]


async def test_an_address_that_is_silent_leaves_time_for_the_next_and_comes_last_from_then_on(
    server: ScriptedServer,
) -> None:
    server.always(PAY, http("200 OK", "{}"))
    with deaf("127.0.0.2", server.port):
        await asyncio.sleep(0.05)
        async with opened("127.0.0.2", "127.0.0.1") as exchanges:
            assert await pay(exchanges, server.port, at=f"http://{NAME}", seconds=4) == (200, b"{}")
            async with asyncio.timeout(4):
                assert await pay(exchanges, server.port, at=f"http://{NAME}", seconds=20) == (200, b"{}")


async def test_a_name_is_looked_up_once_for_everybody_and_again_if_it_failed(server: ScriptedServer) -> None:
    asked: list[str] = []

    async def look_up(host: str) -> list[str]:
        asked.append(host)
        await asyncio.sleep(0.01)
        if len(asked) == 1:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return ["127.0.0.1"] if len(asked) == 3 else []

    server.always(PAY, http("200 OK", "{}"))
    exchanges = Transport(authority().trusted(), DnsCache(look_up))
    with pytest.raises(NotSent, match=r"^no connection: Temporary failure in name resolution$"):
        await pay(exchanges, server.port, at=f"http://{NAME}")
    with pytest.raises(NotSent, match=r"^no connection: "):
        await pay(exchanges, server.port, at=f"http://{NAME}")
    many = await asyncio.gather(*(pay(exchanges, server.port, at=f"http://{NAME}") for _ in range(10)))
    assert set(many) == {HttpResponse(200, b"{}")}
    assert await pay(exchanges, server.port, at=f"http://{NAME}") == (200, b"{}")
    assert asked == [NAME] * 3


async def test_a_lookup_that_takes_too_long_sent_nothing(server: ScriptedServer) -> None:
    async def look_up(host: str) -> list[str]:
        await asyncio.sleep(60)
        return ["127.0.0.1"]

    exchanges = Transport(authority().trusted(), DnsCache(look_up))
    with pytest.raises(NotSent, match=r"^no answer in time$"):
        await pay(exchanges, server.port, at=f"http://{NAME}", seconds=0.2)


async def test_nobody_listens() -> None:
    async with opened("127.0.0.1", "127.0.0.1") as exchanges:
        with pytest.raises(NotSent, match=r"^no connection: Connection refused$"):
            await pay(exchanges, free_port(), at=f"http://{NAME}")
