"""Graceful shutdown: at SIGTERM or SIGINT, long polls are answered at once, and requests under way get time to end."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from malipo import __version__, log, process_tuning
from malipo.app.long_polls import LongPolls
from malipo.build import build_id


class Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, long_polls: LongPolls, on_ready: Callable[[], None], url: str) -> None:
        super().__init__(config)
        self._url = url
        self._long_polls = long_polls
        self._on_ready = on_ready

    def stop(self) -> None:
        # Long polls are answered first; otherwise the shutdown would wait for them.
        self._long_polls.release()
        self.should_exit = True

    async def stop_at(self, event: asyncio.Event) -> None:
        await event.wait()
        self.stop()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """We handle the signals ourselves: uvicorn would raise them again at the end and so kill the process."""
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        process_tuning.collect_rarely()
        log.info("api.started", url=self._url, version=__version__, build=build_id())
        self._on_ready()
