"""Wakes workers by NOTIFY and LISTEN: sent after a commit, and never relied on.

NOTIFY inside a commit would make all commits of the fleet queue for one lock while they flush. So it is sent on its
own, after the commit, and once for all topics of a moment. If a notification is lost, the worker finds the work at its
next poll.
"""

import asyncio
from collections.abc import Callable

import asyncpg

from malipo import log
from malipo.clock import loop_time
from malipo.db import ConnectionLost, Contention, Database
from malipo.db.pace import Pace

_CHANNEL = "malipo"
_PACE = Pace(least_seconds=0.05, most_seconds=0.1, enough=8)
_AGAIN_SECONDS = 1.0
_CONNECT_SECONDS = 5.0


class Notifier:
    """Sends the notifications of one process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._topics: dict[str, None] = {}  # in the order in which they came
        self._waiting = 0  # the number of notifications since the last NOTIFY
        self._sending: asyncio.Task[None] | None = None

    def notify(self, topic: str) -> None:
        self._topics[topic] = None
        self._waiting += 1
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._notify())

    async def finish(self) -> None:
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=1)

    async def _notify(self) -> None:
        while self._topics:
            topics, self._topics, self._waiting = list(self._topics), {}, 0
            began = loop_time()
            try:
                async with asyncio.timeout(_CONNECT_SECONDS), self._database.read() as connection:
                    await connection.execute(
                        "SELECT pg_notify($1, topic) FROM unnest($2::text[]) topic", _CHANNEL, topics
                    )
            except (ConnectionLost, Contention, TimeoutError) as error:
                log.debug("notify.not_sent", reason=str(error))
                return
            await _PACE.rest(began, lambda: self._waiting)


async def listen(url: str, on_topic: Callable[[str], None]) -> None:
    """Call `on_topic` with each topic, until cancelled; with an empty one when notifications may have been missed."""
    while True:
        try:
            connection = await asyncpg.connect(
                url, timeout=_CONNECT_SECONDS, server_settings={"application_name": "malipo listener"}
            )
            try:
                await _listen_on(connection, on_topic)
            finally:
                connection.terminate()
        except Exception as error:
            # Any error that the driver raises when the server goes away: the listener must not end.
            log.debug("notify.listener_away", reason=str(error))
        await asyncio.sleep(_AGAIN_SECONDS)


async def _listen_on(connection: asyncpg.Connection, on_topic: Callable[[str], None]) -> None:
    gone = asyncio.Event()
    connection.add_termination_listener(lambda _: gone.set())
    await connection.add_listener(_CHANNEL, lambda _connection, _pid, _channel, topic: on_topic(str(topic)))
    on_topic("")
    await gone.wait()
