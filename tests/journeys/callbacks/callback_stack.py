"""A service whose networks send no callback by themselves: every callback is the test's own, over real HTTP.

The networks are asked only when a callback makes a question due, because by itself malipo would ask in an hour.
"""

import base64
import hashlib
import hmac
import itertools
import json
import socket
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from malipo.db import Database
from tests.conftest import create_database
from tests.db.lock_waits import are_waiting
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until

BODY_SECONDS = 30
MOST_BYTES = 64 * 1024
CHANNELS = {"mpesa": "MPESA", "airtel_money": "AIRTEL_MONEY"}
PREFIXES = {"MPESA": "+255754", "AIRTEL_MONEY": "+255684"}
numbers = itertools.count(100)


@dataclass
class CallbackStack:
    """A town, and a second API process in it."""

    full_stack: FullStack
    other_url: str
    http: aiohttp.ClientSession
    _stuck: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.full_stack.database

    def path(self, route: str) -> str:
        return f"/callbacks/{route}/{self.full_stack.environment[f'MALIPO_{route.upper()}_CALLBACK_TOKEN']}"

    async def send_callback(
        self,
        route: str,
        body: bytes,
        *,
        url: str | None = None,
        path: str | None = None,
        method: str = "POST",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any, Any]:
        """What is answered: status, body and headers."""
        address = (url or self.full_stack.api.url) + (path or self.path(route))
        async with self.http.request(method, address, data=body, headers=headers) as answer:
            text = await answer.read()
            assert answer.content_type == "application/json"
            return answer.status, json.loads(text) if text else None, answer.headers

    def airtel(self, key: str, status: str = "TS", *, signed: bool = True, **more: Any) -> bytes:
        """What Airtel Money would send, with its hash over the raw bytes."""
        about = {"id": key, "message": "Paid", "status_code": status, "airtel_money_id": "MP1.A"} | more
        raw = json.dumps(about, separators=(",", ":")).encode()
        return self.sign(raw) if signed else b'{"transaction":%b}' % raw

    def sign(self, raw: bytes, secret: str | None = None) -> bytes:
        secret = secret or self.full_stack.environment["MALIPO_AIRTEL_MONEY_CALLBACK_KEY"]
        body = b'{"transaction":%b}' % raw
        digest = base64.b64encode(hmac.new(secret.encode(), body, hashlib.sha256).digest()).decode()
        return b'{"transaction":%b,"hash":"%b"}' % (raw, digest.encode())

    async def row(self, id_: str) -> dict[str, Any]:
        """Everything that a callback could change about a payment."""
        async with self.database.read() as connection:
            transaction = await connection.fetchrow("SELECT * FROM transactions WHERE id = $1", id_)
            dispatch = await connection.fetchrow(
                "SELECT *, due_at <= now() AS is_due FROM dispatches WHERE transaction_id = $1", id_
            )
            moves = await connection.fetch(
                "SELECT step, source, target, amount FROM moves WHERE cause_id = $1 ORDER BY created_at, ordinal, step DESC, move_number",
                id_,
            )
            events = await connection.fetch("SELECT event FROM events WHERE transaction_id = $1 ORDER BY id", id_)
            network_answers = await connection.fetch(
                "SELECT source, verdict FROM network_answers WHERE transaction_id = $1 ORDER BY id", id_
            )
        assert transaction is not None
        return {
            **dict(transaction),
            "dispatch": None if dispatch is None else dict(dispatch),
            "moves": [tuple(row.values()) for row in moves],
            "events": [row["event"] for row in events],
            "network_answers": [tuple(row.values()) for row in network_answers],
        }

    async def status(self, id_: str) -> str:
        return str((await self.row(id_))["status"])

    async def key(self, id_: str) -> str:
        return str((await self.row(id_))["network_key"])

    async def until_status(self, id_: str, status: str) -> None:
        async def has() -> bool:
            return await self.status(id_) == status

        await until(has, pause=0.05, what=f"{id_} {status}")

    async def until_idle(self, id_: str) -> None:
        """Return when nothing is left to be done about a payment."""

        async def is_idle() -> bool:
            return (await self.row(id_))["dispatch"] is None

        await until(is_idle, pause=0.05, what="its being done with")

    async def take(self, channel: str, type_: str, digits: str = "109") -> str:
        """A payment with a phone of its own; as it comes, it is PENDING."""
        return await self.full_stack.take(channel, type_, f"{PREFIXES[channel]}{next(numbers):03d}{digits}")

    async def sent(self, channel: str, type_: str, digits: str = "109") -> str:
        """One that its network has, and has not ended as far as we know."""
        id_ = await self.take(channel, type_, digits)

        async def is_sent() -> bool:
            row = await self.row(id_)
            return row["dispatch"] is not None and bool(row["dispatch"]["next_action"] == "ask")

        async with a_worker(self.full_stack):
            await until(is_sent, pause=0.05, what="the network's taking it")
        return id_

    async def stuck(self, channel: str, type_: str) -> str:
        """One that the network will never end by itself. They are made many at once, because a worker takes a while."""
        waiting = self._stuck.setdefault((channel, type_), [])
        if not waiting:
            await self._make_stuck()
        return waiting.pop()

    async def ask_what_is_due(self) -> None:
        """Leave nothing behind for the worker of another test: five faults in a row, and it would stop asking."""

        async def is_all_asked() -> bool:
            async with self.database.read() as connection:
                # Neither due nor just being asked: what was answered is asked again in an hour.
                return not await connection.fetchval(
                    "SELECT count(*) FROM dispatches WHERE due_at <= now() + interval '30 minutes'"
                )

        async with a_worker(self.full_stack):
            await until(is_all_asked, pause=0.05, what="all questions")

    async def _make_stuck(self, number: int = 8) -> None:
        made = {
            (channel, type_): [await self.take(channel, type_) for _ in range(number)]
            for channel in PREFIXES
            for type_ in ("COLLECTION", "DISBURSEMENT")
        }

        async def are_sent() -> bool:
            async with self.database.read() as connection:
                return not await connection.fetchval(
                    "SELECT count(*) FROM dispatches WHERE transaction_id = ANY($1) AND next_action <> 'ask'",
                    [id_ for ids in made.values() for id_ in ids],
                )

        async with a_worker(self.full_stack):
            await until(are_sent, pause=0.05, what="the network's taking them")
        for kind, ids in made.items():
            self._stuck.setdefault(kind, []).extend(ids)


def mpesa(key: str, code: str = "INS-0", **more: Any) -> bytes:
    return json.dumps(
        {
            "input_OriginalConversationID": "c0ffee",
            "input_TransactionID": "RECEIPT1" if code in ("INS-0", "0") else "N/A",
            "input_ResultCode": code,
            "input_ResultDesc": "as you like it",
            "input_ThirdPartyConversationID": key,
        }
        | more
    ).encode()


class Slow:
    """Somebody who sends half a body and then nothing, while the other tests run."""

    def __init__(self, url: str, path: str) -> None:
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        )
        self._address = (urlsplit(url).hostname, urlsplit(url).port)
        self.answer = b""
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with socket.create_connection(self._address) as line:
            line.settimeout(BODY_SECONDS + 15)
            line.sendall(self._head.encode())
            while chunk := line.recv(65536):
                self.answer += chunk
                if b"}" in chunk:
                    return


@pytest.fixture(scope="module")
async def callback_stack(
    postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CallbackStack]:
    url = await create_database(postgres, template)
    folder = tmp_path_factory.mktemp("square")
    async with full_stack_started(folder, url, speed=20, poll_seconds="3600") as full_stack:
        await full_stack.sim("PUT", "/api/callbacks", {"MPESA": None, "AIRTEL_MONEY": None})
        other = full_stack.start("api")
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            callback_stack = CallbackStack(full_stack, other.url, http)
            await until(lambda: is_ready(http, other.url), what="the second API")
            yield callback_stack
            await database_facts.assert_clean(full_stack.database)


async def is_ready(http: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with http.get(f"{url}/readyz") as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


def assert_is_refusal(answer: tuple[int, Any, Any], status: int, code: str) -> None:
    assert (answer[0], answer[2]["X-Error-Code"]) == (status, code)
    assert list(answer[1]) == ["error"]
    assert answer[2]["X-Request-Id"].startswith("req_")


async def until_moved(callback_stack: CallbackStack, key: str) -> None:
    async def has() -> bool:
        found = await callback_stack.full_stack.sim("GET", f"/api/transactions/AIRTEL_MONEY/{key}")
        return bool(found["state"] == "success")

    await until(has, what="the network's moving the money")


async def wait_for_payment(callback_stack: CallbackStack, number: int) -> bool:
    """So many wait for a payment. A worker that wants to be seen may wait as well."""
    return await are_waiting(callback_stack.database, number, but_not_of="worker_send_counts")


async def everything_in(callback_stack: CallbackStack) -> dict[str, int]:
    """How much there is of whatever a callback could add to, and a sum over what it could change."""
    async with callback_stack.database.snapshot() as connection:
        counts = {
            table: int(await connection.fetchval(f"SELECT count(*) FROM {table}"))
            for table in ("transactions", "dispatches", "network_answers", "moves", "events", "audit_log")
        }
        changed = await connection.fetchval(
            "SELECT count(*) FROM dispatches WHERE is_hinted OR hinted_failure IS NOT NULL"
        )
        open_ = await connection.fetchval("SELECT count(*) FROM transactions WHERE status = 'PROCESSING'")
    return counts | {"hinted": int(changed), "open": int(open_)}


async def is_asked_about(callback_stack: CallbackStack, id_: str, times: int = 1) -> bool:
    return [act for act, _ in (await callback_stack.row(id_))["network_answers"]].count("ask") >= times


def same_rows(after: dict[str, Any], before: dict[str, Any]) -> bool:
    """Nothing has changed but the time."""
    for row in (after, before):
        if row["dispatch"] is not None:
            row["dispatch"].pop("is_due", None)
    return after == before
