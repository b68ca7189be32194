"""A service on a real socket with prepared answers: right, wrong, late, or none."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

TRANSACTION = {"id": "txn_1", "reference": "MLP-1", "amount": 1000, "fee": 0, "netAmount": 1000, "channel": "MPESA"}
TRANSACTION |= {"status": "PENDING", "createdAt": "2026-11-15T08:30:00.123Z", "description": ""}
NOTHING = b""  # The connection is closed without a word.


def answer(status: int = 200, body: Any = None, **headers: str) -> bytes:
    text = json.dumps(body if body is not None else {"success": True, "transaction": TRANSACTION}).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(text)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + text


def error(status: int, code: str = "", **headers: str) -> bytes:
    named = {"X_Error_Code": code, **headers} if code else headers
    return answer(status, {"error": "Not now.", "details": {"amount": ["Too much."]}}, X_Request_Id="req_1", **named)


@dataclass(frozen=True)
class Received:
    connection: int
    line: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]


@dataclass
class MisbehavingService:
    """`answers` are given one for each request, in order; then all is well. One that is short ends the connection."""

    url: str = ""
    answers: list[bytes] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    echoes: bool = False
    delay_seconds: float = 0.0
    tls: ssl.SSLContext | None = None
    _connections: list[socket.socket] = field(default_factory=list)

    def hang_up(self) -> None:
        """Close every connection that is open, as a service does that is restarted."""
        while self._connections:
            with suppress(OSError):
                self._connections.pop().shutdown(socket.SHUT_RDWR)

    def until_received(self, count: int) -> None:
        while len(self.received) < count:
            time.sleep(0.01)

    def serve(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                self._connections.append(connection)
                threading.Thread(target=self._talk, args=[connection], daemon=True).start()

    def _talk(self, plain: socket.socket) -> None:
        number = plain.fileno()
        with suppress(OSError, EOFError), plain, self._secured(plain) as connection, connection.makefile("rb") as file:
            while True:
                received = _read(number, file)
                self.received.append(received)
                given = self.answers.pop(0) if self.answers else self._usual(received)
                time.sleep(self.delay_seconds)
                connection.sendall(given)
                if b"Connection: close" in given or not _is_whole(given):
                    return

    def _secured(self, connection: socket.socket) -> socket.socket:
        return connection if self.tls is None else self.tls.wrap_socket(connection, server_side=True)

    def _usual(self, received: Received) -> bytes:
        if not self.echoes:
            return answer()
        return answer(200, {"transaction": {**TRANSACTION, "id": received.line.split("/")[3].split(" ")[0]}})


def _read(number: int, file: Any) -> Received:
    lines = list(iter(lambda: file.readline().decode().strip(), ""))
    if not lines:
        raise EOFError
    line, *headers = lines
    named = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in headers)}
    return Received(number, line, named, file.read(int(named.get("content-length", "0"))))


def _is_whole(given: bytes) -> bool:
    head, _, body = given.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
    length = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    return b"chunked" in head or length == [len(body)]


@contextmanager
def misbehaving(tls: ssl.SSLContext | None = None) -> Iterator[MisbehavingService]:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        scheme, port = "https" if tls else "http", listening.getsockname()[1]
        service = MisbehavingService(f"{scheme}://127.0.0.1:{port}", tls=tls)
        threading.Thread(target=service.serve, args=[listening], daemon=True).start()
        try:
            yield service
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            service.hang_up()
