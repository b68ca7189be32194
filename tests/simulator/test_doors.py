"""The simulator answers only under its own name, and keeps no connection for ever."""

import http.client
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulator.processes import Process, start

SLOW_SECONDS = 0.6


@pytest.fixture
def impatient(state: Path) -> Iterator[Process]:
    running = start("--state", str(state), "--slow-seconds", str(SLOW_SECONDS), "--allowed-host", "phones.example")
    yield running
    assert running.stop() == (0, "")


def _connect(running: Process) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2])), timeout=60)


def _status(running: Process, path: str, host: str | None) -> tuple[int, str]:
    with _connect(running) as connection:
        named = "" if host is None else f"Host: {host}\r\n"
        connection.sendall(f"GET {path} HTTP/1.1\r\n{named}Connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    return int(answer.split()[1]), answer


@pytest.mark.parametrize("path", ["/api/credentials", "/", "/api/control"])
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8081", 200),
        ("localhost", 200),
        ("LOCALHOST.:8081", 200),
        ("demo.localhost", 200),
        ("[::1]:8081", 200),
        ("phones.example", 200),
        ("Phones.Example:8081", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("notlocalhost", 421),
        ("203.0.113.5", 421),
        ("", 421),
        (None, 421),
    ],
)
def test_api_and_pages_answer_only_to_their_own_names(
    impatient: Process, path: str, host: str | None, status: int
) -> None:
    got, answer = _status(impatient, path, host)
    assert got == status
    if status == 421:
        assert "--allowed-host" in answer
        assert "publicKey" not in answer


def test_a_network_is_called_by_any_name(impatient: Process) -> None:
    assert _status(impatient, "/airtel/nothing", "network.example")[0] == 401


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n",
        b"GET /api/control HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"POST /api/reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
        b"POST /airtel/auth/oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{",
        b"GET /api/control HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api/control HTTP/1.1\r\nHost:",
    ],
)
def test_a_connection_that_does_not_send_its_request_in_time_is_closed(impatient: Process, sent: bytes) -> None:
    began = time.monotonic()
    with _connect(impatient) as connection:
        connection.sendall(sent)
        while connection.recv(65536):
            pass
    assert time.monotonic() - began >= SLOW_SECONDS * 0.9


def _is_closed_while_sending(connection: socket.socket, piece: bytes) -> bool:
    try:
        for _ in range(3000):
            connection.sendall(piece)
            time.sleep(0.02)
    except ConnectionError:
        return True
    return False


def test_dripping_does_not_make_it_longer(impatient: Process) -> None:
    with _connect(impatient) as connection:
        connection.sendall(b"GET /api/control HTTP/1.1\r\nHost: localhost\r\n")
        assert _is_closed_while_sending(connection, b"X-A: b\r\n")


def test_who_does_not_read_the_answers_is_closed(impatient: Process) -> None:
    with _connect(impatient) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asking = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert _is_closed_while_sending(connection, asking * 50)


def test_a_connection_that_is_used_stays_open(impatient: Process) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(impatient.url.rpartition(":")[2]), timeout=60)
    connection.connect()
    kept = connection.sock
    for _ in range(4):
        connection.request("GET", "/api/control")
        answer = connection.getresponse()
        assert (answer.status, len(answer.read()) > 100) == (200, True)
        time.sleep(SLOW_SECONDS * 0.6)
        assert connection.sock is kept, "the same connection"
    connection.close()
