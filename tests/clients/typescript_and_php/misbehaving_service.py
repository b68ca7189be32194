"""A real server in place of malipo, with prepared answers; it keeps the requests."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAYMENT = {"id": "txn_1", "reference": "MLP-1", "status": "PENDING", "amount": 1000}
Behaviour = Callable[["Handler"], None]


@dataclass(frozen=True)
class Got:
    method: str
    path: str
    headers: dict[str, str]  # by their names in small letters
    body: Any


@dataclass
class Service:
    url: str
    turns: list[Behaviour] = field(default_factory=list)  # the last one for ever
    got: list[Got] = field(default_factory=list)

    def behave(self, *turns: Behaviour) -> "Service":
        self.turns[:] = turns
        self.got.clear()
        return self


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        turns = self.service.turns
        behaviour = turns.pop(0) if len(turns) > 1 else turns[0]
        self.service.got.append(Got(self.command, self.path, headers, json.loads(body) if body else None))
        behaviour(self)

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 (as the library calls them)

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(2)

    def log_message(self, *_: Any) -> None:
        pass


def says(status: int, body: Any = None, **headers: str) -> Behaviour:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    raw = body if isinstance(body, bytes) else json.dumps(body or {"error": "No."}).encode()
    return lambda handler: handler.answer(status, raw, named)


def code(status: int, name: str, **headers: str) -> Behaviour:
    """An error of malipo's. It need not be waited for, so that the tests are quick."""
    return says(status, {"error": "No."}, X_Error_Code=name, **{"Retry_After": "0", **headers})


def hangs_up(handler: Handler) -> None:
    handler.hang_up()


def hangs_up_halfway(handler: Handler) -> None:
    handler.answer(201, b'{"success": true, "transac', {"Content-Length": "200"})
    handler.hang_up()


def takes_long(handler: Handler) -> None:
    time.sleep(1.5)
    handler.hang_up()


good = says(201, {"success": True, "transaction": PAYMENT})
a_page = says(200, b"<html>Welcome to the hotel</html>", Content_Type="text/html")


@contextmanager
def misbehaving() -> Iterator[Service]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service = Service(f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = type("Handling", (Handler,), {"service": service})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
