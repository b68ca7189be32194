"""What the driver takes for a socket to PostgreSQL. It collects what is written until a request is whole."""

import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulation import postgres_messages as protocol
from simulation.transport import SimulatedTransport

if TYPE_CHECKING:
    from simulation.postgres_gate import PostgresGate


@dataclass(eq=False)
class Exchange:
    """One request and its answer."""

    connection: "PostgresConnection"
    request: bytes
    sql: str
    is_flush: bool = False
    is_startup: bool = False
    is_cancel: bool = False
    answer: bytes = b""
    clock_answers: int = 0  # answers to `SET sim.now` that come first
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
        self.clock: str | None = None  # what `sim.now` was set to last
        self.under_way: Exchange | None = None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self._gate = gate
        self.protocol = driver
        self._is_begun = False
        self._written = bytearray()
        self._unsent = bytearray()
        self._statements: dict[bytes, str] = {}
        self._sql = ""
        self._inbox: list[bytes] = []

    def write(self, data: Any) -> None:
        if self.is_closed:
            return
        self._written += data
        while not self.is_closed and self._take_message():
            pass

    def _take_message(self) -> bool:
        head = 1 if self._is_begun else 0
        if len(self._written) < head + 4:
            return False
        length: int = head + struct.unpack_from("!i", self._written, head)[0]
        if len(self._written) < length:
            return False
        message = bytes(self._written[:length])
        del self._written[:length]
        self._unsent += message
        if self._is_begun:
            self._read(message)
        else:
            code = struct.unpack_from("!i", message, 4)[0]
            self._is_begun = code == protocol.STARTUP
            self._ask("startup", is_startup=self._is_begun, is_cancel=code == protocol.CANCEL_REQUEST)
        return True

    def _read(self, message: bytes) -> None:
        kind, body = message[:1], message[5:]
        if kind == b"P":
            name, sql = body.split(b"\0")[:2]
            self._sql = self._statements[name] = sql.decode()
        elif kind == b"B":
            self._sql = self._statements.get(body.split(b"\0")[1], "?")
        elif kind == b"Q":
            self._sql = body[:-1].decode()
        if kind in (b"Q", b"S"):
            self._ask(self._sql)
        elif kind == b"H":
            self._ask(self._sql, is_flush=True)
        elif kind == b"X":
            self.lose(None)

    def _ask(self, sql: str, **how: Any) -> None:
        request, self._unsent = bytes(self._unsent), bytearray()
        self._gate.ask(Exchange(self, request, sql, **how))

    def deliver(self, data: bytes) -> None:
        self._inbox.append(data)
        self._gate.loop.call_soon(self._hand_over, context=self._gate.loop.context_of(self.process))

    def _hand_over(self) -> None:
        if self._inbox and not self.is_closed:
            self.protocol.data_received(self._inbox.pop(0))

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
