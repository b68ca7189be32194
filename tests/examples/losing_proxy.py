"""A proxy before malipo that loses answers, and then refuses in malipo's name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web


@dataclass
class LosingProxy:
    target: str
    http: aiohttp.ClientSession
    url: str = ""
    arrives: bool = True  # whether the POST whose answer is lost comes to malipo
    loses: int = 0  # of how many POSTs from now the answer is lost
    lost: list[Any] = field(default_factory=list)  # the bodies of those
    refuses: tuple[str, ...] = ()  # the methods that are answered with 401

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        loses = request.method == "POST" and self.loses > 0
        if loses:
            self.loses -= 1
            self.lost.append(await request.json())
        elif request.method in self.refuses:
            return web.json_response({"error": "No."}, status=401, headers={"X-Error-Code": "invalid_api_key"})
        if not loses or self.arrives:
            kept = {name: value for name, value in request.headers.items() if name.lower() != "host"}
            async with self.http.request(
                request.method, self.target + request.path_qs, data=body, headers=kept
            ) as answer:
                result = web.Response(status=answer.status, body=await answer.read(), content_type=answer.content_type)
                result.headers.update({name: answer.headers[name] for name in answer.headers if name.startswith("X-")})
        if loses:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        return result


@asynccontextmanager
async def losing_proxy(target: str) -> AsyncIterator[LosingProxy]:
    async with aiohttp.ClientSession() as http:
        proxy = LosingProxy(target, http)
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(application)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield proxy
        finally:
            await runner.cleanup()
