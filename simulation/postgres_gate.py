"""The gate to PostgreSQL: one exchange at a time, in the order that the seed chooses.

A statement that waits for another's lock is set aside, and its backend is held by SIGSTOP. When a commit frees several
of them, they would race in the server; held, they go on one by one, in the order of the seed.
"""

import os
import re
import select
import signal
import struct
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from simulation import postgres_backends
from simulation import postgres_messages as protocol
from simulation.blocking_connection import LockMonitor
from simulation.postgres_connection import PostgresConnection, PostgresExchange
from simulation.safeguard_list.remove_safeguard import reached

if TYPE_CHECKING:
    from simulation.event_loop import SimulatedLoop

EPOCH = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)  # when every run begins

_NOTIFIED = re.compile(rb"SELECT (\d+)\x00")
_CHANNEL = b"malipo\x00"
_VIOLATED = b"C23"  # the code of an error: a row would break a constraint
_LONG_SECONDS = 1.0  # After that it is looked who waits for whom, also if nobody seems to have a lock.


class PostgresGate:
    loop: "SimulatedLoop"

    def __init__(self, monitor: LockMonitor) -> None:
        self._monitor = monitor
        self._number = 0
        self._connections: dict[int, PostgresConnection] = {}
        self._asked: list[PostgresExchange] = []
        self._blocked: list[PostgresExchange] = []
        self._released: list[PostgresExchange] = []
        self.is_up = True
        self.exchanges = 0
        self.blocks = 0
        # Decides what befalls an exchange: None, or "before" or "after" the server has done it, the connection is lost.
        self.fate: Callable[[PostgresExchange], str | None] = lambda exchange: None
        self.latency: Callable[[], float] = lambda: 0.0

    def join(self, loop: "SimulatedLoop") -> None:
        self.loop = loop

    def connect(self, protocol_factory: Any, path: str, process: str) -> Any:
        if not self.is_up:
            raise ConnectionRefusedError(111, "Connection refused")
        self._number += 1
        driver = protocol_factory()
        connection = PostgresConnection(self, driver, path, process, self._number)
        self._connections[self._number] = connection
        driver.connection_made(connection)
        return connection, driver

    def ask(self, exchange: PostgresExchange) -> None:
        self._asked.append(exchange)

    def waiting(self) -> int:
        return len(self._asked) + len(self._released)

    def go(self, at: int) -> None:
        """The exchange at this place goes on."""
        if at < len(self._asked):
            self._send(self._asked.pop(at))
            return
        exchange = self._released.pop(at - len(self._asked))
        self._note("resume", exchange.connection.number)
        if exchange.is_stopped:
            self._signal(exchange, signal.SIGCONT)
        self._read(exchange)

    def describe(self) -> str:
        return f"{len(self._asked)} exchanges wait, {len(self._blocked)} are blocked"

    def _note(self, *words: object, data: bytes = b"") -> None:
        self.loop.history.note(self.loop.time(), *words, data=data)

    # An exchange.

    def _send(self, exchange: PostgresExchange) -> None:
        connection = exchange.connection
        if connection.is_closed:
            return
        self.exchanges += 1
        # A startup names its database and a cancel a backend: both differ from run to run.
        is_named = exchange.is_startup or exchange.is_cancel
        request = b"" if is_named else exchange.request
        self._note("ask", connection.process, connection.number, _short(exchange.sql), data=request)
        if exchange.is_cancel:
            self._cancel(exchange)
            return
        fate = self.fate(exchange)
        if fate == "before":
            connection.lose(ConnectionResetError("lost before the server had it"))
            return
        exchange.is_answer_lost = fate == "after"
        connection.under_way = exchange
        connection.socket.sendall(self._set_clock(exchange) + exchange.request)
        self._read(exchange)

    def _set_clock(self, exchange: PostgresExchange) -> bytes:
        """The server's `now()` is the loop's time. It is set outside of transactions: in one, `now()` stands still."""
        connection = exchange.connection
        if exchange.is_startup or connection.is_in_transaction:
            return b""
        now = self.loop.time()
        if connection.clock == now:
            return b""
        # The server's own timeouts run in real time, which is not the run's.
        timeout = "SET idle_in_transaction_session_timeout = 0;" if connection.clock is None else ""
        connection.clock = now
        exchange.is_clock_set = True
        return protocol.query(f"{timeout}SET sim.now = '{(EPOCH + timedelta(seconds=now)).isoformat()}'")

    def _read(self, exchange: PostgresExchange) -> None:
        """Until its answer is whole, or it waits for somebody else."""
        connection = exchange.connection
        if connection.is_closed:
            self._bury(exchange)
            return
        patience_ms, ends_at = 2, 0.0
        while True:
            try:
                data = connection.socket.recv(1 << 20)
            except BlockingIOError:  # Nothing came in the first moment. It is quick, or it waits for somebody.
                ends_at = ends_at or time.monotonic() + postgres_backends.MOST_REAL_SECONDS
                left = ends_at - time.monotonic()
                is_long = left < postgres_backends.MOST_REAL_SECONDS - _LONG_SECONDS
                if (is_long or self._may_wait(connection)) and self._monitor.is_waiting(connection.pid):
                    self._set_aside(exchange)
                    return
                if left < 0:
                    raise postgres_backends.BackendStuck(f"no answer to {_short(exchange.sql)}") from None
                patience_ms = min(patience_ms * 2, 20)
                select.select([connection.socket], [], [], patience_ms / 1000)
                continue
            if not data:
                self._server_closed(exchange)
                break
            exchange.answer = exchange.answer + data if exchange.answer else data
            if self._is_whole(exchange):
                self._done(exchange)
                break
        if self._blocked:
            self._look_who_is_free()

    def _may_wait(self, connection: PostgresConnection) -> bool:
        """Whether anybody else has a lock: all of them end with a transaction."""
        others = (each for each in self._connections.values() if each is not connection)
        return bool(self._blocked or self._released) or any(each.is_in_transaction for each in others)

    def _is_whole(self, exchange: PostgresExchange) -> bool:
        if exchange.is_clock_set:
            end = protocol.end_of_answer(exchange.answer, is_flush=False)
            if end is None:
                return False
            exchange.answer = exchange.answer[end:]
            exchange.is_clock_set = False
        return protocol.end_of_answer(exchange.answer, is_flush=exchange.is_flush) is not None

    def _done(self, exchange: PostgresExchange) -> None:
        connection = exchange.connection
        connection.under_way = None
        answer = exchange.answer
        if exchange.is_startup:
            connection.pid = protocol.backend_pid(answer)
            postgres_backends.share_core(connection.pid)
        else:
            said = protocol.without_tables(answer) if exchange.is_flush else protocol.without_numbers(answer)
            self._note("got", connection.number, data=said)
        if _VIOLATED in answer and (name := protocol.constraint_in(answer)) is not None:
            reached.add(name)
        if answer[-6:-5] == protocol.READY:
            connection.is_in_transaction = answer[-1:] != b"I"
        if b"LISTEN\x00" in answer:  # Done, and not only prepared.
            connection.is_listening = True
        if exchange.is_answer_lost:
            connection.lose(ConnectionResetError("lost after the server had it"))
        else:
            delay = self.latency()
            if delay:
                self.loop.call_later(
                    delay, connection.deliver, answer, context=self.loop.context_of(connection.process)
                )
            else:
                connection.deliver(answer)
        if "pg_notify" in exchange.sql and not exchange.is_flush and (sent := _NOTIFIED.search(answer)):
            self._pass_on_notifications(int(sent[1]))

    def _server_closed(self, exchange: PostgresExchange) -> None:
        connection = exchange.connection
        connection.under_way = None
        self._note("closed by the server", connection.number)
        connection.lose(ConnectionResetError("closed by the server"))

    def _pass_on_notifications(self, sent: int) -> None:
        """Exactly as many as were sent, or two runs would part."""
        for connection in list(self._connections.values()):
            if not connection.is_listening or connection.is_closed:
                continue
            data = b""
            while data.count(_CHANNEL) < sent:
                if not select.select([connection.socket], [], [], 2)[0]:
                    raise postgres_backends.BackendStuck("a notification that was sent did not arrive")
                data += connection.socket.recv(1 << 16)
            self._note("notified", connection.number, sent)
            connection.deliver(_without_pids(data))

    # Locks.

    def _set_aside(self, exchange: PostgresExchange) -> None:
        self.blocks += 1
        self._note("blocked", exchange.connection.number)
        for _ in range(20):
            self._signal(exchange, signal.SIGSTOP)
            postgres_backends.wait_until_stopped(exchange.connection.pid)
            try:
                self._monitor.blocked(seconds=0.2)
                break
            except TimeoutError:  # It was stopped with its hands on the lock table.
                self._signal(exchange, signal.SIGCONT)
                self._monitor.finish()
                time.sleep(0.01)
        self._blocked.append(exchange)
        self._look_who_is_free()  # On its way it may have let go of what another waits for.

    def _look_who_is_free(self) -> None:
        if not self._blocked:
            return
        blocked = self._monitor.blocked()
        for exchange in [each for each in self._blocked if each.connection.pid not in blocked]:
            self._blocked.remove(exchange)
            self._note("free", exchange.connection.number)
            self._released.append(exchange)

    def _signal(self, exchange: PostgresExchange, which: signal.Signals) -> None:
        assert exchange.connection.pid is not None
        os.kill(exchange.connection.pid, which)
        exchange.is_stopped = which is signal.SIGSTOP

    def _cancel(self, exchange: PostgresExchange) -> None:
        """The driver asks the server, on a connection of its own, to give up a statement."""
        connection = exchange.connection
        pid = struct.unpack_from("!i", exchange.request, 8)[0]
        connection.socket.sendall(exchange.request)
        connection.wait_for_end()
        for each in [*self._blocked, *self._released]:
            if each.connection.pid == pid:
                if each.is_stopped:
                    self._signal(each, signal.SIGCONT)
                (self._blocked if each in self._blocked else self._released).remove(each)
                self._released.append(each)
        connection.lose(None)

    # The ends of connections.

    def forget(self, connection: PostgresConnection) -> None:
        """Its process has closed it. A backend at rest is waited for; one that waits for a lock stays in the queue."""
        self._connections.pop(connection.number, None)
        self._asked = [each for each in self._asked if each.connection is not connection]
        connection.socket.close()
        if connection.pid is None or any(each.connection is connection for each in [*self._blocked, *self._released]):
            return
        postgres_backends.wait_until_gone(connection.pid)
        self._look_who_is_free()

    def abandon(self, process: str) -> None:
        """A process died: the system closes its connections."""
        for connection in [each for each in self._connections.values() if each.process == process]:
            connection.is_closed = True
            self.forget(connection)

    def cut_all(self) -> None:
        """The server went away: every connection is lost, and every transaction under way with it."""
        for exchange in [*self._blocked, *self._released]:
            if exchange.is_stopped:
                self._signal(exchange, signal.SIGCONT)
        pids = [each.pid for each in self._connections.values() if each.pid is not None]
        pids += [e.connection.pid for e in [*self._blocked, *self._released] if e.connection.pid is not None]
        for pid in dict.fromkeys(pids):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                continue
        for pid in dict.fromkeys(pids):
            postgres_backends.wait_until_gone(pid)
        self._blocked, self._released, self._asked = [], [], []
        for connection in list(self._connections.values()):
            connection.lose(ConnectionResetError("the server went away"))

    def _bury(self, exchange: PostgresExchange) -> None:
        """Nobody waits for its answer. It does what it was told and ends; or it is blocked again."""
        pid, ends_at = exchange.connection.pid, time.monotonic() + postgres_backends.MOST_REAL_SECONDS
        assert pid is not None
        looks = 0
        while postgres_backends.is_there(pid):
            time.sleep(0.001)
            looks += 1
            if looks > 2 and self._monitor.is_waiting(pid):
                self._set_aside(exchange)
                return
            if time.monotonic() > ends_at:
                raise postgres_backends.BackendStuck("a backend without a client does not end")
        self._note("ended", exchange.connection.number)
        self._look_who_is_free()

    def close(self) -> None:
        for exchange in [*self._blocked, *self._released]:
            if exchange.is_stopped:
                self._signal(exchange, signal.SIGCONT)
        for connection in list(self._connections.values()):
            connection.socket.close()


@lru_cache(maxsize=2048)
def _short(sql: str) -> str:
    return " ".join(sql.split())[:80]


def _without_pids(data: bytes) -> bytes:
    """A notification names the backend that sent it, which differs from run to run."""
    whole = bytearray(data)
    for kind, begin, _ in protocol.messages(data):
        if kind == b"A":
            struct.pack_into("!i", whole, begin, 0)
    return bytes(whole)
