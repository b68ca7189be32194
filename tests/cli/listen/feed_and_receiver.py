"""The two sides of `malipo listen`: a service with a feed, and a developer's receiver."""

import asyncio
import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from standardwebhooks import Webhook

from tests.conftest import Running
from tests.journeys.full_stack import until

KEY = "mlp_live_" + "5ec7e7" * 6
Start = Callable[..., Running]


@asynccontextmanager
async def serving(handler: Callable[[web.Request], Awaitable[web.StreamResponse]], port: int = 0) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@dataclass
class Feed:
    """A service that keeps the contract of GET /v1/events, and can be set to misbehave as services do."""

    bodies: list[bytes] = field(default_factory=list)
    pruned: int = 0
    troubles: list[web.Response] = field(default_factory=list)  # each is the answer to one request
    asked_at: list[float] = field(default_factory=list)
    url: str = ""

    def add_events(
        self, count: int = 1, event: str = "payment.completed", about: str = "transaction", **more: Any
    ) -> None:
        for number in range(len(self.bodies) + 1, len(self.bodies) + count + 1):
            # Not as our own encoder writes it: the bytes must be left alone.
            subject = (
                f'{{"reference": "MLP-{number:04}", "amount":1000, "name":"\\u00c4sha é", "x":1.0e2{_json(more)}}}'
            )
            self.bodies.append(f'{{"event":"{event}","{about}":{subject}}}'.encode())

    def add_one_of_each_kind(self) -> None:
        """An event of each kind of subject. A listener asks for all of them."""
        self.add_events()
        self.add_events(event="batch.completed", about="batch")
        self.add_events(event="link.paid", about="link")
        self.add_events(event="settlement.completed", about="settlement")

    async def take(self, request: web.Request) -> web.StreamResponse:
        self.asked_at.append(asyncio.get_running_loop().time())
        if self.troubles:
            return self.troubles.pop(0)
        if request.headers.get("x-api-key") != KEY:
            return web.json_response({"error": "The API key is missing or not valid."}, status=401)
        after = request.query.get("after", str(self.pruned))
        place = len(self.bodies) if after == "latest" else int(after)
        if place < self.pruned:
            return web.json_response({"error": "…"}, status=400, headers={"X-Error-Code": "cursor_expired"})
        for _ in range(int(request.query["wait"]) * 50):
            if len(self.bodies) > place:
                break
            await asyncio.sleep(0.02)
        found = range(place, min(place + int(request.query["limit"]), len(self.bodies)))
        entries = ",".join(
            f'{{"id":"evt_{number}","createdAt":"…",{self.bodies[number][1:].decode()}' for number in found
        )
        last = found[-1] + 1 if found else place
        return web.Response(body=f'{{"success":true,"events":[{entries}],"next":"{last}"}}'.encode())


def _json(more: dict[str, Any]) -> str:
    return "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in more.items())


@dataclass
class Arrival:
    body: bytes
    headers: dict[str, str]

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Receiver:
    """A developer's receiver, which answers as the test says."""

    answers: Callable[[Arrival], web.Response | None] = lambda _: web.Response(text="ok")
    arrivals: list[Arrival] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    url: str = ""

    async def take(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.arrivals.append(Arrival(await request.read(), headers))
        answer = self.answers(self.arrivals[-1])
        if answer is None:
            await asyncio.sleep(20)
            return web.Response()
        if answer.status < 300:
            self.taken.append(self.arrivals[-1].id)
        return answer

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.arrivals]

    async def until(self, is_so: Callable[[], bool] | int) -> None:
        """Until so many have come, or until something is so."""

        async def look() -> bool:
            return len(self.arrivals) >= is_so if isinstance(is_so, int) else is_so()

        await until(look, pause=0.01)


def options(feed: Feed, receiver: Receiver, *more: str) -> list[str]:
    return ["listen", "--api-key", KEY, "--base-url", feed.url, "--forward-to", receiver.url, *more]


async def until_said(running: Running, words: str, *, times: int = 1) -> str:
    async def said() -> str | None:
        text = running.log.read_text()
        return text if text.count(words) >= times else None

    return str(await until(said, pause=0.01, what=words))


def secret_in(text: str) -> str:
    [secret] = re.findall(r"whsec_[A-Za-z0-9+/]{43}=", text)
    return str(secret)


def assert_signed(arrival: Arrival, secret: str) -> None:
    Webhook(secret).verify(arrival.body, arrival.headers)
    made = hmac.new(secret.encode(), arrival.body, hashlib.sha256).hexdigest()
    assert arrival.headers["x-service-signature"] == made
    assert arrival.headers["x-service-event"] == json.loads(arrival.body)["event"]
    assert arrival.headers["content-type"] == "application/json"
