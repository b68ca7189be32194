"""The ASGI application: routes requests to gateways, JSON API and pages, and injects the faults.

The gateways' part is plain ASGI, because a benchmark depends on its speed.
"""

import asyncio
import sys
import traceback
from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from malipo_simulator.gateways.gateway import HTML_500, Gateway, Reply, Request, lost
from malipo_simulator.network import Network
from malipo_simulator.request_log import RequestLog, RequestLogEntry
from malipo_simulator.transaction import GatewayName

TRANSPORT = "malipo_simulator.transport"
_MOST_BODY_BYTES = 256 * 1024


class _TooLarge(Exception):  # noqa: N818
    pass


class _HungUp(Exception):  # noqa: N818
    pass


class App:
    def __init__(
        self, network: Network, gateways: Mapping[GatewayName, Gateway], seen: RequestLog, others: ASGIApp
    ) -> None:
        self._network = network
        self._seen = seen
        self._others = others
        self._by_root = {gateway.root[1:]: gateway for gateway in gateways.values()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gateway = self._by_root.get(scope["path"].partition("/")[2].partition("/")[0])
        if gateway is None:
            await self._others(scope, receive, send)
            return
        try:
            await self._serve(gateway, scope, receive, send)
        except _HungUp:
            pass
        except _TooLarge:
            await _send(send, Reply(413, b"{}"))

    async def _serve(self, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        request = Request(
            scope["method"],
            path[len(gateway.root) :],
            scope["query_string"],
            dict(scope["headers"]),
            await _read(receive),
        )
        query = f"?{request.query.decode('latin-1')}" if request.query else ""
        entry = RequestLogEntry(
            self._network.now(), gateway.name, "in", request.method, path + query, request.headers, request.body
        )
        self._seen.add(entry)
        reply = await self._answer(gateway, request, entry)
        if about := reply.about:
            entry.phone, entry.reference = about.phone, about.reference
        else:
            entry.phone = reply.phone
        entry.answered(None if reply.is_lost else reply.status, reply.body, self._network.now())
        if reply.is_lost:
            entry.verdict = entry.verdict or "the reply is lost"
            await _cut(scope, receive)
        else:
            await _send(send, reply)

    async def _answer(self, gateway: Gateway, request: Request, entry: RequestLogEntry) -> Reply:
        control = self._network.control
        switches = control.switches[gateway.name]
        if switches.is_calm:
            return await _guarded(gateway, request)
        if switches.is_down or control.happens(switches.lost_request_rate):
            entry.verdict = "cut before anything was done"
            return lost()
        if control.happens(switches.error_rate):
            return HTML_500
        if switches.latency_seconds:
            await asyncio.sleep(switches.latency_seconds / control.speed)
        reply = await _guarded(gateway, request)
        return lost(reply.about) if control.happens(switches.lost_reply_rate) else reply


async def _guarded(gateway: Gateway, request: Request) -> Reply:
    try:
        return await gateway.answer(request)
    except Exception:
        # A bug of the simulator: it is printed, because from outside it looks like a network that fails.
        traceback.print_exc(file=sys.stderr)
        return HTML_500


async def _read(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _HungUp
        body += message["body"]
        if len(body) > _MOST_BODY_BYTES:
            raise _TooLarge
        if not message["more_body"]:
            return body


async def _send(send: Send, reply: Reply) -> None:
    headers = [(b"content-type", reply.content_type), (b"content-length", b"%d" % len(reply.body))]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def _cut(scope: Scope, receive: Receive) -> None:
    """Close the connection without an answer."""
    scope[TRANSPORT].close()
    # The server must have noticed before we return, or it would write an answer of its own.
    while (await receive())["type"] != "http.disconnect":
        pass
