"""A simulator process of our own, and somebody who listens for callbacks."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import aiohttp
import msgspec
from aiohttp import web

from tests import fork_server

ROOT = Path(__file__).parents[2]


@dataclass
class Process:
    process: fork_server.Child
    url: str
    _words: IO[str]
    _complaints: IO[str]
    _end: tuple[int, str] | None = None

    def stop(self) -> tuple[int, str]:
        """The exit code, and whatever it complained of in its life."""
        self.process.terminate()
        return self._ended()

    def kill(self) -> None:
        self.process.kill()
        self._ended()

    def _ended(self) -> tuple[int, str]:
        if self._end is None:
            code = self.process.wait(240)
            with self._words, self._complaints:
                self._complaints.seek(0)
                self._end = code, self._complaints.read()
        return self._end


def launch(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "malipo_simulator", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start(*arguments: str) -> Process:
    """One that is ready. It comes out of the nursery: how a whole one starts, `launch` shows."""
    hears, says = os.pipe()
    words, complaints = os.fdopen(hears), TemporaryFile("w+")  # noqa: SIM115 (closed at its end)
    command = ("malipo_simulator", "--port", "0", *arguments)
    child = fork_server.run_module(*command, env={"PATH": os.environ["PATH"]}, stdout=says, stderr=complaints)
    os.close(says)
    line = words.readline()
    assert line.startswith("simulator ready on http://127.0.0.1:"), line + complaints.read()
    return Process(child, line.split()[-1], words, complaints)


@dataclass
class Call:
    """A callback as it came."""

    at: float
    raw: bytes
    headers: Any

    @property
    def body(self) -> Any:
        return msgspec.json.decode(self.raw)


Answering = Callable[[Call], Awaitable[tuple[int, Any]]]


async def _fine(call: Call) -> tuple[int, Any]:
    return 200, {}


@dataclass
class Listener:
    """A merchant's address, which answers as it is told to."""

    url: str
    calls: list[Call] = field(default_factory=list)
    answering: Answering = _fine

    async def take(self, request: web.Request) -> web.Response:
        call = Call(time.monotonic(), await request.read(), request.headers)
        self.calls.append(call)
        status, body = await self.answering(call)
        if 300 <= status < 400:
            return web.Response(status=status, headers={"Location": body})
        if isinstance(body, bytes):
            return web.Response(status=status, body=body)
        return web.json_response(body, status=status)


@dataclass
class Sim:
    """The simulator, as a script speaks to it."""

    http: aiohttp.ClientSession
    url: str
    credentials: dict[str, Any]

    async def __call__(self, method: str, path: str, body: Any = None, *, status: int | None = 200) -> Any:
        async with self.http.request(method, self.url + path, json=body) as answer:
            text = await answer.read()
            assert status is None or answer.status == status, text
            return msgspec.json.decode(text)

    async def control(self, **switches: Any) -> None:
        await self("PATCH", "/api/control", switches)

    async def charged(self, phone: str) -> list[tuple[str, int]]:
        """What really moved at this phone."""
        found = await self("GET", f"/api/phones/{phone}")
        return [(each["kind"], each["amount"]) for each in found["movements"]]


async def until(is_so: Callable[[], bool], *, seconds: float = 240) -> None:
    """Return when it is so; fail if it never is."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "It never came to be."
        await asyncio.sleep(0.005)
