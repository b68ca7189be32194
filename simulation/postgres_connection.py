"""The driver's socket to PostgreSQL, simulated: it collects written bytes until a request is complete."""

import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulation import postgres_messages as protocol
from simulation.transport import SimulatedTransport

if TYPE_CHECKING:
    from simulation.postgres_gate import PostgresGate

_LENGTH = struct.Struct("!i").unpack_from
# So long a read waits before somebody looks whether the backend waits for a lock.
_PATIENCE = struct.pack("ll", 0, 2000)
_FOR_EVER = struct.pack("ll", 0, 0)
_BIND, _FLUSH, _PARSE, _QUERY, _SYNC, _TERMINATE, _COPIED, _COPY_FAILED = b"BHPQSXcf"


@dataclass(eq=False, slots=True)
class PostgresExchange:
    """One request and its answer."""

    connection: "PostgresConnection"
    request: bytes
    sql: str
    is_flush: bool = False
    is_startup: bool = False
    is_cancel: bool = False
    answer: bytes = b""
    is_clock_set: bool = False  # by `SET sim.now`, whose answer comes first
    is_stopped: bool = False  # its backend is held by SIGSTOP
    is_answer_lost: bool = False


class PostgresConnection(SimulatedTransport):
    def __init__(self, gate: "PostgresGate", driver: Any, path: str, process: str, number: int) -> None:
        super().__init__()
        self.process = process
        self.number = number
        self.pid: int | None = None
        self.is_in_transaction = False
        self.is_listening = False
        self.clock: float | None = None  # what `sim.now` was set to last
        self.under_way: PostgresExchange | None = None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _PATIENCE)
        self._gate = gate
        self.protocol = driver
        self._is_begun = False
        self._written = bytearray()
        self._statements: dict[bytes, str] = {}
        self._sql = ""
        self._inbox: list[bytes] = []

    def write(self, data: Any) -> None:
        """A Query, a Sync, a Flush or the end of a COPY ends a request. The driver may write a part of one."""
        if self.is_closed:
            return
        self._written += data
        begin = at = 0
        written = self._written
        while not self.is_closed:
            head = 1 if self._is_begun else 0
            if len(written) - at < head + 4:
                break
            end: int = at + head + _LENGTH(written, at + head)[0]
            if len(written) < end:
                break
            if not self._is_begun:
                code = _LENGTH(written, at + 4)[0]
                self._is_begun = code == protocol.STARTUP
                self._ask(
                    bytes(written[begin:end]),
                    "startup",
                    is_startup=self._is_begun,
                    is_cancel=code == protocol.CANCEL_REQUEST,
                )
                begin = end
            elif self._is_end_of_request(written, at, end):
                self._ask(bytes(written[begin:end]), self._sql, is_flush=written[at] == _FLUSH)
                begin = end
            at = end
        del written[:begin]

    def _is_end_of_request(self, data: bytearray, at: int, end: int) -> bool:
        """Whether a request ends with this message. Its statement is noted."""
        kind = data[at]
        if kind in (_SYNC, _FLUSH, _COPIED, _COPY_FAILED):
            return True
        if kind == _BIND:
            begin = data.index(0, at + 5) + 1
            self._sql = self._statements.get(bytes(data[begin : data.index(0, begin)]), "?")
        elif kind == _PARSE:
            name, sql = bytes(data[at + 5 : end]).split(b"\0", 2)[:2]
            self._sql = self._statements[name] = sql.decode()
        elif kind == _QUERY:
            self._sql = data[at + 5 : end - 1].decode()
            return not self._sql.startswith("COPY ")  # Its rows follow, and the driver waits for one answer to both.
        elif kind == _TERMINATE:
            self.lose(None)
        return False

    def _ask(self, request: bytes, sql: str, **how: Any) -> None:
        self._gate.ask(PostgresExchange(self, request, sql, **how))

    def deliver(self, data: bytes) -> None:
        self._inbox.append(data)
        self._gate.loop.call_soon(self._hand_over, context=self._gate.loop.context_of(self.process))

    def _hand_over(self) -> None:
        if self._inbox and not self.is_closed:
            self.protocol.data_received(self._inbox.pop(0))

    def wait_for_end(self) -> None:
        """Until the server has closed it, however long that takes."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _FOR_EVER)
        while self.socket.recv(100):
            pass

    def lose(self, error: Exception | None) -> None:
        """The connection ends, as its process sees it."""
        if not self.is_closed:
            self.is_closed = True
            self._gate.forget(self)
            loop = self._gate.loop
            loop.call_soon(self.protocol.connection_lost, error, context=loop.context_of(self.process))

    def close(self) -> None:
        self.lose(None)

    def abort(self) -> None:
        self.lose(None)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.socket if name == "socket" else default
