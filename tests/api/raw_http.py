"""Sends HTTP requests byte for byte, without the corrections of a library."""

import socket
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True)
class RawAnswer:
    """An answer, read byte for byte."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


def exchange(url: str, *sent: bytes, is_head: bool = False, seconds: float = 10) -> RawAnswer:
    """Send these bytes as they are, and read one answer. It may come before all is sent."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        try:
            for each in sent:
                connection.sendall(each)
        except (BrokenPipeError, ConnectionResetError):
            pass  # It has heard enough; what it said is still there to be read.
        return _read(connection, is_head=is_head)


def _read(connection: socket.socket, *, is_head: bool) -> RawAnswer:
    received = b""
    while b"\r\n\r\n" not in received:
        received += (chunk := connection.recv(65536))
        assert chunk, f"the connection ended inside an answer's head: {received!r}"
    head, body = received.split(b"\r\n\r\n", 1)
    first, *lines = head.decode("ascii").split("\r\n")
    version, status, _ = first.split(" ", 2)
    assert version == "HTTP/1.1"
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    length = 0 if is_head else int(headers["content-length"])
    while len(body) < length:
        body += (chunk := connection.recv(65536))
        assert chunk, f"the connection ended inside an answer's body: {body!r}"
    if headers.get("connection") == "close":
        body += _rest(connection)
    assert len(body) == length, f"more than one answer: {body!r}"
    return RawAnswer(int(status), headers, body)


def _rest(connection: socket.socket) -> bytes:
    """What still comes before the other side hangs up, as it has said it would."""
    rest = b""
    try:
        while chunk := connection.recv(65536):
            rest += chunk
    except ConnectionResetError:
        pass  # It did not read all that we sent.
    return rest


def request(
    method: str,
    target: str | bytes,
    body: bytes | None = None,
    *,
    key: str | None = None,
    headers: tuple[bytes, ...] = (),
) -> bytes:
    """The bytes of a request, with nothing about it put right."""
    where = target.encode("ascii") if isinstance(target, str) else target
    lines = [method.encode() + b" " + where + b" HTTP/1.1", b"host: malipo"]
    if key is not None:
        lines.append(b"x-api-key: " + key.encode("ascii"))
    lines += headers
    if body is not None:
        lines.append(b"content-length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body or b""])
