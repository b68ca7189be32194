"""What comes to /callbacks over real HTTP, from networks and from whoever else finds the address.

The networks themselves tell nothing here: every callback is the test's own. They are asked only when a callback makes a
question due, because by itself malipo would ask in an hour.
"""

import ast
import asyncio
import base64
import hashlib
import hmac
import inspect
import itertools
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from malipo.api import callbacks
from malipo.db import Database
from malipo.networks.airtel_money import AirtelMoney
from malipo.networks.contract import Order, Type
from malipo.networks.wire import Wire
from tests.conftest import create_database, make_merchant
from tests.journeys import witness
from tests.journeys.town import Elsewhere, Town, a_worker, founded, until
from tests.journeys.wire import Fault, wire_to

BODY_SECONDS = 30
MOST_BYTES = 64 * 1024
CHANNELS = {"mpesa": "MPESA", "airtel_money": "AIRTEL_MONEY"}
PREFIXES = {"MPESA": "+255754", "AIRTEL_MONEY": "+255684"}
_numbers = itertools.count(100)


@dataclass
class Square:
    """A town, and a second API process in it."""

    town: Town
    other_url: str
    http: aiohttp.ClientSession
    slow: "Slow"
    _stuck: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.town.database

    def path(self, route: str) -> str:
        return f"/callbacks/{route}/{self.town.environment[f'MALIPO_{route.upper()}_CALLBACK_TOKEN']}"

    async def tell(
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
        address = (url or self.town.api.url) + (path or self.path(route))
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
        secret = secret or self.town.environment["MALIPO_AIRTEL_MONEY_CALLBACK_KEY"]
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
                "SELECT step, source, target, amount FROM moves WHERE cause_id = $1 ORDER BY at, ordinal, step DESC, line",
                id_,
            )
            events = await connection.fetch("SELECT event FROM events WHERE transaction_id = $1 ORDER BY id", id_)
            hearings = await connection.fetch(
                "SELECT act, verdict FROM hearings WHERE transaction_id = $1 ORDER BY id", id_
            )
        assert transaction is not None
        return {
            **dict(transaction),
            "dispatch": None if dispatch is None else dict(dispatch),
            "moves": [tuple(row.values()) for row in moves],
            "events": [row["event"] for row in events],
            "hearings": [tuple(row.values()) for row in hearings],
        }

    async def status(self, id_: str) -> str:
        return str((await self.row(id_))["status"])

    async def key(self, id_: str) -> str:
        return str((await self.row(id_))["network_key"])

    async def until_status(self, id_: str, status: str) -> None:
        async def has() -> bool:
            return await self.status(id_) == status

        await until(has, seconds=15, pause=0.05, what=f"{id_} {status}")

    async def until_idle(self, id_: str) -> None:
        """Return when nothing is left to be done about a payment."""

        async def is_idle() -> bool:
            return (await self.row(id_))["dispatch"] is None

        await until(is_idle, seconds=15, pause=0.05, what="its being done with")

    async def take(self, channel: str, type_: str, digits: str = "109") -> str:
        """A payment with a phone of its own; as it comes, it is PENDING."""
        return await self.town.take(channel, type_, f"{PREFIXES[channel]}{next(_numbers):03d}{digits}")

    async def sent(self, channel: str, type_: str, digits: str = "109") -> str:
        """One that its network has, and has not ended as far as we know."""
        id_ = await self.take(channel, type_, digits)

        async def is_sent() -> bool:
            row = await self.row(id_)
            return row["dispatch"] is not None and bool(row["dispatch"]["next_act"] == "ask")

        async with a_worker(self.town):
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

        async with a_worker(self.town):
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
                    "SELECT count(*) FROM dispatches WHERE transaction_id = ANY($1) AND next_act <> 'ask'",
                    [id_ for ids in made.values() for id_ in ids],
                )

        async with a_worker(self.town):
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
async def square(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Square]:
    url = await create_database(postgres, template)
    folder = tmp_path_factory.mktemp("square")
    async with founded(folder, url, speed=20, poll_seconds="3600") as town:
        await town.sim("PUT", "/api/callbacks", {"MPESA": None, "AIRTEL_MONEY": None})
        other = town.start("api")
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            square = Square(town, other.url, http, None)  # type: ignore[arg-type]
            square.slow = Slow(town.api.url, square.path("mpesa"))
            await until(lambda: _is_ready(http, other.url), what="the second API")
            yield square
            await witness.assert_clean(town.database)


async def _is_ready(http: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with http.get(f"{url}/readyz") as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


# Who is let in.


def _assert_is_refusal(answer: tuple[int, Any, Any], status: int, code: str) -> None:
    assert (answer[0], answer[2]["X-Error-Code"]) == (status, code)
    assert list(answer[1]) == ["error"]
    assert answer[2]["X-Request-Id"].startswith("req_")


@pytest.mark.parametrize(
    "path",
    [
        "/callbacks/mpesa/wrong",
        "/callbacks/mpesa/{airtel_money}",
        "/callbacks/airtel_money/{mpesa}",
        "/callbacks/mpesa/{mpesa}x",
        "/callbacks/mpesa/{mpesa}/",
        "/callbacks/mpesa/{mpesa}%0A",
        "/callbacks/mpesa/%C3%A9%F0%9F%92%A9",
        "/callbacks/mpesa/%FF%00",
        "/callbacks/MPESA/{mpesa}",
        "/callbacks/nowhere/{mpesa}",
        "/callbacks/halopesa/{mpesa}",
        "/callbacks/mpesa",
        "/callbacks/",
    ],
)
async def test_who_does_not_know_the_address_finds_nothing_there(square: Square, path: str) -> None:
    id_ = await square.stuck("MPESA", "COLLECTION")
    before = await square.row(id_)
    tokens = {route: square.path(route).rpartition("/")[2] for route in CHANNELS}

    answer = await square.tell("mpesa", mpesa(before["network_key"]), path=path.format(**tokens))

    _assert_is_refusal(answer, 404, "not_found")
    assert answer[1] == {"error": "There is nothing at this address."}, "and cannot tell a wrong token from no route"
    assert _same(await square.row(id_), before)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
async def test_callbacks_are_posted(square: Square, method: str) -> None:
    answer = await square.tell("mpesa", b"", method=method)

    _assert_is_refusal(answer, 405, "method_not_allowed")


def test_the_token_is_compared_in_constant_time() -> None:
    """No clock would tell in a test. So the source has to: the token is compared by `compare_digest`, and by nothing else."""
    tree = ast.parse(inspect.getsource(callbacks))
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and "compare_digest" in ast.unparse(node.func)
    ]
    compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare) and "token" in ast.unparse(node)]
    assert len([call for call in calls if "token" in ast.unparse(call)]) == 1
    assert compared == []


@pytest.fixture(scope="module")
async def guarded(square: Square) -> str:
    """An API that takes M-Pesa's callbacks only from some addresses, and believes only one proxy."""
    running = square.town.start(
        "api", mpesa_callback_networks="127.0.0.3/32,10.0.0.0/8", trusted_proxies="127.0.0.2/32"
    )
    await until(lambda: _is_ready(square.http, running.url), what="the guarded API")
    return running.url


@pytest.mark.parametrize(
    ("source", "forwarded", "status"),
    [
        ("127.0.0.1", None, 403),
        ("127.0.0.3", None, 200),
        ("127.0.0.1", "10.1.2.3", 403),  # anybody can say that
        ("127.0.0.3", "8.8.8.8", 200),
        ("127.0.0.2", None, 403),  # the proxy itself is not the network
        ("127.0.0.2", "10.1.2.3", 200),
        ("127.0.0.2", "8.8.8.8", 403),
        ("127.0.0.2", "10.1.2.3, 8.8.8.8", 403),  # what the proxy saw is the last
        ("127.0.0.2", "8.8.8.8, 10.1.2.3", 200),
        ("127.0.0.2", "nonsense", 403),
    ],
)
async def test_only_the_networks_own_addresses_are_let_in(
    square: Square, guarded: str, source: str, forwarded: str | None, status: int
) -> None:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    connector = aiohttp.TCPConnector(local_addr=(source, 0))
    async with aiohttp.ClientSession(connector=connector) as http:
        async with http.post(guarded + square.path("mpesa"), data=mpesa("NOSUCHKEY"), headers=headers) as answer:
            assert answer.status == status
            if status == 403:
                assert answer.headers["X-Error-Code"] == "address_not_allowed"
                assert list(await answer.json()) == ["error"]
        # Where no addresses are named, any may come; and who has no token learns nothing of addresses.
        async with http.post(guarded + square.path("airtel_money"), data=square.airtel("NOSUCHKEY")) as answer:
            assert answer.status == 200
        async with http.post(guarded + "/callbacks/mpesa/wrong", data=b"{}") as answer:
            assert answer.status == 404


# What is only a hint.


@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
@pytest.mark.parametrize("code", ["INS-0", "0", "INS-5", "INS-6", "INS-2006", "INS-9999"])
async def test_an_unsigned_callback_ends_nothing_and_makes_a_question_due(
    square: Square, type_: str, code: str
) -> None:
    id_ = await square.stuck("MPESA", type_)
    before = await square.row(id_)
    assert not before["dispatch"]["is_due"]

    status, body, _ = await square.tell("mpesa", mpesa(before["network_key"], code))

    assert status == 200
    assert body == {
        "output_OriginalConversationID": "c0ffee",
        "output_ResponseCode": "0",
        "output_ResponseDesc": "Successfully Accepted Result",
        "output_ThirdPartyConversationID": before["network_key"],
    }
    after = await square.row(id_)
    assert (after["status"], after["moves"], after["events"]) == ("PROCESSING", before["moves"], before["events"])
    assert (after["dispatch"]["next_act"], after["dispatch"]["is_due"]) == ("ask", True)


async def test_an_unsigned_callback_ends_nothing_while_the_network_cannot_be_asked(square: Square) -> None:
    id_ = await square.stuck("MPESA", "DISBURSEMENT")
    await square.ask_what_is_due()
    await square.town.sim.control(channels={"MPESA": {"isDown": True}})
    try:
        async with a_worker(square.town):
            for code in ("INS-0", "INS-6"):
                asked = (await square.row(id_))["hearings"].count(("ask", "unknown"))
                await square.tell("mpesa", mpesa(await square.key(id_), code))

                async def is_asked(asked: int = asked) -> bool:
                    return bool((await square.row(id_))["hearings"].count(("ask", "unknown")) > asked)

                await until(is_asked, pause=0.05, what="an attempt to ask")
    finally:
        await square.town.sim.control(channels={"MPESA": {"isDown": False}})

    row = await square.row(id_)
    assert (row["status"], [step for step, *_ in row["moves"]]) == ("PROCESSING", ["open"])


@pytest.mark.parametrize(
    ("type_", "digits", "hint", "end", "failure"),
    [
        ("COLLECTION", "001", "INS-0", "COMPLETED", None),
        ("COLLECTION", "001", "INS-6", "COMPLETED", None),  # a lie, or a mistake
        ("COLLECTION", "101", "INS-0", "FAILED", "declined"),
        ("COLLECTION", "102", "INS-2006", "FAILED", "insufficient_funds"),  # the query only says Failed
        ("DISBURSEMENT", "001", "INS-6", "COMPLETED", None),
    ],
)
async def test_a_hint_has_the_network_asked_at_once_and_its_word_counts(
    square: Square, type_: str, digits: str, hint: str, end: str, failure: str | None
) -> None:
    id_ = await square.sent("MPESA", type_, digits)
    key = await square.key(id_)

    async def is_decided() -> bool:
        return bool((await square.town.sim("GET", f"/api/transactions/MPESA/{key}"))["state"] != "pending")

    await until(is_decided, what="the customer's answer")

    async with a_worker(square.town):
        await square.tell("mpesa", mpesa(key, hint))
        await square.until_status(id_, end)

    row = await square.row(id_)
    assert row["failure_code"] == failure
    assert row["provider_reference"] != "RECEIPT1", "what a hint says of receipts is not believed"


async def test_a_hint_that_overtakes_the_reply_is_not_forgotten(square: Square) -> None:
    """The reply only says that the network has it: asked in an hour, the payment would hang until then."""
    await square.town.sim("PUT", "/api/callbacks", {"MPESA": square.town.api.url + square.path("mpesa")})
    try:
        async with a_worker(square.town):
            ids = [await square.take("MPESA", "DISBURSEMENT", "001") for _ in range(10)]
            ids += [await square.take("MPESA", "COLLECTION", "107") for _ in range(10)]
            await asyncio.gather(*(square.until_status(id_, "COMPLETED") for id_ in ids))
    finally:
        await square.town.sim("PUT", "/api/callbacks", {"MPESA": None})


# What is signed.


def _forms(square: Square, key: str) -> dict[str, tuple[bytes, dict[str, str]]]:
    raw = square.airtel(key, signed=False)[len(b'{"transaction":') : -1]
    secret = square.town.environment["MALIPO_AIRTEL_MONEY_CALLBACK_KEY"].encode()

    def hashed(data: bytes) -> str:
        return base64.b64encode(hmac.new(secret, data, hashlib.sha256).digest()).decode()

    wrapped = b'{"transaction":%b}' % raw
    return {
        "over the wrapped object": (square.sign(raw), {}),
        "over the object": (b'{"transaction":%b,"hash":"%b"}' % (raw, hashed(raw).encode()), {}),
        "before it": (b'{"hash":"%b","transaction":%b}' % (hashed(wrapped).encode(), raw), {}),
        "in a header": (wrapped, {"hash": hashed(wrapped)}),
    }


@pytest.mark.parametrize("form", ["over the wrapped object", "over the object", "before it", "in a header"])
@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_signed_success_ends_a_payment_by_itself(square: Square, type_: str, form: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", type_)
    body, headers = _forms(square, await square.key(id_))[form]

    status, _, _ = await square.tell("airtel_money", body, headers=headers)

    row = await square.row(id_)
    assert (status, row["status"], row["provider_reference"]) == (200, "COMPLETED", "MP1.A")
    assert row["dispatch"] is None
    assert [step for step, *_ in row["moves"]] == (["end"] if type_ == "COLLECTION" else ["open", "end"])


@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_signed_failure_ends_a_payment_by_itself(square: Square, type_: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", type_)

    body = square.airtel(
        await square.key(id_), "TF", code="DP00800001007" if type_ == "COLLECTION" else "DP00900001009"
    )
    status, _, _ = await square.tell("airtel_money", body)

    row = await square.row(id_)
    failure = "insufficient_funds" if type_ == "COLLECTION" else "invalid_recipient"
    assert (status, row["status"], row["failure_code"]) == (200, "FAILED", failure)


@pytest.mark.parametrize("letters", ["TIP", "TA", "", "TS ", "SUCCESS", "ts?"])
async def test_signed_letters_that_say_nothing_end_nothing(square: Square, letters: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", "DISBURSEMENT")

    await square.tell("airtel_money", square.airtel(await square.key(id_), letters))

    assert await square.status(id_) == ("COMPLETED" if letters.strip() == "TS" else "PROCESSING")


def _forged(square: Square, key: str) -> dict[str, bytes]:
    good = square.airtel(key)
    raw = square.airtel(key, signed=False)[len(b'{"transaction":') : -1]
    other = square.airtel(key, "TF", signed=False)[len(b'{"transaction":') : -1]
    return {
        "another secret": square.sign(raw, "not the secret"),
        "no secret": square.sign(raw, "x" * 16),
        "another body": good.replace(b"TS", b"TF"),
        "another hash": square.sign(other).replace(other, raw),
        "a hash that is no text": b'{"transaction":%b,"hash":1}' % raw,
        "a hash in another alphabet": b'{"transaction":%b,"hash":"%b"}' % (raw, "é".encode()),
    }


@pytest.mark.parametrize(
    "forgery",
    [
        "another secret",
        "no secret",
        "another body",
        "another hash",
        "a hash that is no text",
        "a hash in another alphabet",
    ],
)
async def test_a_wrong_hash_changes_nothing(square: Square, forgery: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", "COLLECTION")
    before = await square.row(id_)

    status, _, _ = await square.tell("airtel_money", _forged(square, before["network_key"])[forgery])

    assert 400 <= status < 500
    assert _same(await square.row(id_), before)


@pytest.mark.parametrize("form", ["plain", "wrapped", "null hash", "empty hash"])
async def test_without_a_hash_even_airtel_only_hints(square: Square, form: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", "DISBURSEMENT")
    plain = square.airtel(await square.key(id_), signed=False)
    body = {
        "plain": plain,
        "wrapped": b'{"country":"TZ","mno":"AIRTEL","payload":%b}' % plain,
        "null hash": plain[:-1] + b',"hash":null}',
        "empty hash": plain[:-1] + b',"hash":""}',
    }[form]

    status, _, _ = await square.tell("airtel_money", body)

    row = await square.row(id_)
    assert (status, row["status"], row["dispatch"]["is_due"]) == (200, "PROCESSING", True)


# Again and again, in any order, everywhere at once.


async def test_a_callback_replayed_by_many_to_two_processes_moves_money_once(square: Square) -> None:
    ids = [await square.stuck("AIRTEL_MONEY", type_) for type_ in ("COLLECTION", "DISBURSEMENT")]
    bodies = [square.airtel(await square.key(id_)) for id_ in ids]

    answers = await asyncio.gather(
        *(
            square.tell("airtel_money", body, url=url)
            for _ in range(25)
            for url in (square.town.api.url, square.other_url)
            for body in bodies
        )
    )
    for _ in range(25):
        answers += [await square.tell("airtel_money", body) for body in bodies]

    assert {status for status, _, _ in answers} == {200}
    for id_ in ids:
        row = await square.row(id_)
        assert (row["status"], row["dispatch"]) == ("COMPLETED", None)
        assert [step for step, *_ in row["moves"]].count("end") == 1
        assert len(row["events"]) == (2 if row["type"] == "COLLECTION" else 1)


async def test_a_signed_failure_after_success_is_asked_about_and_changes_nothing(square: Square) -> None:
    id_ = await square.sent("AIRTEL_MONEY", "COLLECTION", "001")
    key = await square.key(id_)
    await _until_moved(square, key)
    await square.tell("airtel_money", square.airtel(key, "TS"))
    before = await square.row(id_)

    await square.tell("airtel_money", square.airtel(key, "TF"))
    assert (await square.row(id_))["dispatch"]["is_due"]
    async with a_worker(square.town):
        await square.until_idle(id_)

    after = await square.row(id_)
    assert (after["status"], after["moves"], after["events"]) == ("COMPLETED", before["moves"], before["events"])
    assert after["hearings"][-1] == ("ask", "confirmed")


async def _until_moved(square: Square, key: str) -> None:
    async def has() -> bool:
        found = await square.town.sim("GET", f"/api/transactions/AIRTEL_MONEY/{key}")
        return bool(found["state"] == "success")

    await until(has, what="the network's moving the money")


@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_success_after_failure_goes_to_suspense_once_however_often_it_is_told(
    square: Square, type_: str
) -> None:
    # A payout that is told later: at once, its reply would have ended it.
    id_ = await square.sent("AIRTEL_MONEY", type_, "001" if type_ == "COLLECTION" else "100")
    key = await square.key(id_)
    await square.tell("airtel_money", square.airtel(key, "TF"))
    await _until_moved(square, key)
    assert await square.status(id_) == "FAILED"

    async with a_worker(square.town), a_worker(square.town):
        for _ in range(3):
            told = [
                square.tell("airtel_money", square.airtel(key, "TS"), url=url)
                for url in [square.town.api.url, square.other_url] * 5
            ]
            assert {status for status, _, _ in await asyncio.gather(*told)} == {200}
            await square.until_idle(id_)

    row = await square.row(id_)
    assert row["status"] == "FAILED"
    way = ("float", "suspense") if type_ == "COLLECTION" else ("suspense", "float")
    assert [move for move in row["moves"] if move[0] == "contradiction"] == [("contradiction", *way, 1000)]
    assert len(row["events"]) == (3 if type_ == "COLLECTION" else 2), "the merchant is told of the correction, once"


async def test_failure_and_success_told_to_two_processes_at_one_moment_are_both_heard(square: Square) -> None:
    """The second waits for the lock of the first, and must then see what the first has left."""
    id_ = await square.sent("AIRTEL_MONEY", "COLLECTION", "001")
    key = await square.key(id_)
    await _until_moved(square, key)
    async with square.database.begin() as tx:
        await tx.execute("SELECT FROM transactions WHERE id = $1 FOR UPDATE", id_)
        first = asyncio.create_task(square.tell("airtel_money", square.airtel(key, "TF")))
        await until(lambda: _are_waiting(square, 1), pause=0.02, what="the first")
        second = asyncio.create_task(square.tell("airtel_money", square.airtel(key, "TS"), url=square.other_url))
        await until(lambda: _are_waiting(square, 2), pause=0.02, what="the second")
    assert [(await task)[0] for task in (first, second)] == [200, 200]
    assert await square.status(id_) == "FAILED"

    async with a_worker(square.town):
        await square.until_idle(id_)

    moves = [move for move in (await square.row(id_))["moves"] if move[0] == "contradiction"]
    assert moves == [("contradiction", "float", "suspense", 1000)]


async def _are_waiting(square: Square, number: int) -> bool:
    async with square.database.read() as connection:
        waiting = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
    return bool(waiting == number)


async def test_a_hint_that_comes_while_a_payout_is_claimed_again_does_not_undo_the_claim(square: Square) -> None:
    """Else the second sending would count as the first, and its refusal would be believed."""
    async with wire_to(square.town.database_url) as (wire, via):
        id_ = await square.take("MPESA", "DISBURSEMENT", "108")
        async with square.database.begin() as tx:
            # As if it had been sent, and the network knew nothing of it: it is about to be sent again.
            await tx.execute("UPDATE transactions SET status = 'PROCESSING', processing_at = now() WHERE id = $1", id_)
            await tx.execute(
                """
                UPDATE dispatches SET route = 'mpesa', next_act = 'send', sends = 1, sent_at = now(), due_at = now()
                WHERE transaction_id = $1
                """,
                id_,
            )
        trap = wire.trap(Fault.HOLD, after="claim = $4, next_act = 'sending'")
        async with a_worker(Elsewhere(via, square.town.settings)):
            await asyncio.wait_for(trap.sprung.wait(), 10)
            hint = asyncio.create_task(square.tell("mpesa", mpesa(await square.key(id_), "INS-6")))
            await until(lambda: _are_waiting(square, 1), pause=0.02, what="the hint's waiting for the claim")
            trap.may_pass.set()
            assert (await hint)[0] == 200
            await until(lambda: _has_asked(square, id_), what="the question")

        dispatch = (await square.row(id_))["dispatch"]
        assert (dispatch["sends"], dispatch["next_act"]) == (2, "ask")


async def _has_asked(square: Square, id_: str) -> bool:
    return ("ask", "not_indexed") in (await square.row(id_))["hearings"]


# Whose payment it is, and in which state.


async def test_a_callback_for_one_merchant_leaves_every_other_alone(square: Square) -> None:
    mine = await square.stuck("AIRTEL_MONEY", "COLLECTION")
    before = await square.row(mine)
    stranger = await make_merchant(square.database, wallet=10_000, name="Another")
    answer = await square.town.api.as_(stranger.key)(
        "POST", "/v1/payments/disburse", {"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": "+255684999109"}
    )
    theirs = answer.body["transaction"]["id"]
    async with a_worker(square.town):
        await square.until_status(theirs, "PROCESSING")
        await until(lambda: _is_sent(square, theirs), pause=0.05, what="its reply")

    await square.tell("airtel_money", square.airtel(await square.key(theirs)))

    assert await square.status(theirs) == "COMPLETED"
    assert await witness.wallet(square.database, stranger.id) == (9_000, 0)
    assert _same(await square.row(mine), before)


async def _is_sent(square: Square, id_: str) -> bool:
    dispatch = (await square.row(id_))["dispatch"]
    return dispatch is not None and bool(dispatch["next_act"] == "ask")


async def test_a_network_speaks_only_of_its_own_payments(square: Square) -> None:
    theirs = await square.stuck("MPESA", "DISBURSEMENT")
    before = await square.row(theirs)

    status, _, _ = await square.tell("airtel_money", square.airtel(before["network_key"]))

    assert status == 200
    assert _same(await square.row(theirs), before)


@pytest.mark.parametrize("key", ["0000000000000000", "A", "NOSUCHKEY", "Z" * 20])
async def test_a_payment_that_nobody_knows_is_acknowledged_and_harms_nobody(square: Square, key: str) -> None:
    before = await _everything(square)

    for code in ("INS-0", "INS-6"):
        status, body, _ = await square.tell("mpesa", mpesa(key, code))
        assert (status, body["output_ResponseCode"], body["output_ThirdPartyConversationID"]) == (200, "0", key)
    for letters in ("TS", "TF"):
        assert (await square.tell("airtel_money", square.airtel(key, letters)))[0] == 200

    assert await _everything(square) == before


async def _everything(square: Square) -> dict[str, int]:
    """How much there is of whatever a callback could add to, and a sum over what it could change."""
    async with square.database.snapshot() as connection:
        counts = {
            table: int(await connection.fetchval(f"SELECT count(*) FROM {table}"))
            for table in ("transactions", "dispatches", "hearings", "moves", "events", "audit")
        }
        changed = await connection.fetchval("SELECT count(*) FROM dispatches WHERE is_hinted OR hint IS NOT NULL")
        open_ = await connection.fetchval("SELECT count(*) FROM transactions WHERE status = 'PROCESSING'")
    return counts | {"hinted": int(changed), "open": int(open_)}


@pytest.mark.parametrize("word", ["success", "failure"])
@pytest.mark.parametrize("channel", ["MPESA", "AIRTEL_MONEY"])
async def test_a_callback_for_a_payment_that_was_never_sent_does_not_end_it(
    square: Square, channel: str, word: str
) -> None:
    """A lie, or we have lost our memory: the network is asked, and only if it has nothing, a payout is sent, once.

    Whoever said that it was paid keeps it from being sent, and from failing: only a person can say more.
    """
    ids = {type_: await square.take(channel, type_, "001") for type_ in ("COLLECTION", "DISBURSEMENT")}

    for id_ in ids.values():
        key = await square.key(id_)
        if channel == "MPESA":
            told = mpesa(key, "INS-0" if word == "success" else "INS-6")
        else:
            told = square.airtel(key, "TS" if word == "success" else "TF")
        assert (await square.tell(channel.lower(), told))[0] == 200
        row = await square.row(id_)
        assert (row["dispatch"]["next_act"], row["dispatch"]["attention"]) == ("ask", "unsent")
        assert row["status"] in ("PENDING", "PROCESSING")
    hasty = replace(square.town.settings, poll_seconds=(0, 0, 0, 1), not_found_seconds=1, not_indexed_seconds=1)
    async with a_worker(Elsewhere(square.town.database_url, hasty)):
        if word == "success":
            for id_ in ids.values():
                await until(lambda id_=id_: _is_asked(square, id_, times=6), what="the questions")  # type: ignore[misc]
        else:
            await square.until_status(ids["COLLECTION"], "FAILED")
            await square.until_status(ids["DISBURSEMENT"], "COMPLETED")

    is_sent = word == "failure"
    assert await _movements(square, await square.key(ids["COLLECTION"])) == []
    assert await _movements(square, await square.key(ids["DISBURSEMENT"])) == ([("paid", 1000)] if is_sent else [])
    assert (await square.row(ids["COLLECTION"]))["failure_code"] == ("not_received" if is_sent else None)
    for id_ in ids.values():
        row = await square.row(id_)
        assert row["hearings"][0][0] == "callback"
        not_found = "not_indexed" if channel == "MPESA" else "missing"
        assert row["hearings"][1] == ("ask", not_found), "asked before anything was sent"
        if not is_sent:
            assert (row["status"], row["dispatch"]["sends"]) == ("PROCESSING", 1)


async def _movements(square: Square, key: str) -> list[tuple[str, int]]:
    book = await square.town.sim("GET", "/api/book")
    return [(each["kind"], each["amount"]) for each in book["movements"] if each["reference"] == key]


@pytest.mark.parametrize("end", ["COMPLETED", "FAILED", "CANCELLED"])
@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_callback_after_the_end_changes_nothing_that_the_merchant_saw(
    square: Square, type_: str, end: str
) -> None:
    if end == "CANCELLED":
        id_ = await square.take("AIRTEL_MONEY", type_)
        assert (await square.town.api("POST", f"/v1/payments/{id_}/cancel")).status == 200
    else:
        id_ = await square.stuck("AIRTEL_MONEY", type_)
        await square.tell("airtel_money", square.airtel(await square.key(id_), "TS" if end == "COMPLETED" else "TF"))
    before, shown = await square.row(id_), await square.town.shown(id_)
    assert before["status"] == end

    # A signed success after a failure is one, whatever the query says, and the merchant is told of the correction.
    for letters in ("TS", "TF"):
        for signed in (True, False):
            body = square.airtel(before["network_key"], letters, signed=signed, airtel_money_id="OTHER")
            assert (await square.tell("airtel_money", body))[0] == 200
    async with a_worker(square.town):
        await until(lambda: _is_asked(square, id_), what="the question")

    after, now_shown = await square.row(id_), await square.town.shown(id_)
    is_corrected = "correction" in now_shown
    assert {name: value for name, value in now_shown.items() if name != "correction"} == shown
    assert is_corrected == (end != "COMPLETED")
    assert [move for move in after["moves"] if move in before["moves"]] == before["moves"]
    assert bool(set(after["moves"]) - set(before["moves"])) == is_corrected
    assert len(after["events"]) > len(before["events"]) if is_corrected else after["events"] == before["events"]


async def _is_asked(square: Square, id_: str, times: int = 1) -> bool:
    return [act for act, _ in (await square.row(id_))["hearings"]].count("ask") >= times


async def test_a_callback_for_a_cancelled_payment_whose_network_was_paid_goes_to_suspense(square: Square) -> None:
    """It cannot be: what is cancelled was never sent. If the network has been paid all the same, it must be seen."""
    id_ = await square.take("AIRTEL_MONEY", "COLLECTION", "001")
    await square.town.api("POST", f"/v1/payments/{id_}/cancel")
    key = await square.key(id_)
    await _charge_behind_our_back(square, key)
    await _until_moved(square, key)

    await square.tell("airtel_money", square.airtel(key))
    async with a_worker(square.town):
        await square.until_idle(id_)

    row = await square.row(id_)
    assert row["status"] == "CANCELLED"
    assert row["moves"] == [
        ("contradiction", "float", "suspense", 1000),
        ("resolution", "suspense", "wallet", 1000),
    ], "the customer has paid, so the merchant gets it"


async def _charge_behind_our_back(square: Square, key: str) -> None:
    """As another program that uses the same contract, and has the same key, would do it."""
    async with Wire.opened() as wire:
        order = Order(key=key, type=Type.COLLECTION, phone="+255684998001", amount=1000, note="Payment")
        assert (await AirtelMoney(square.town.settings, wire).send(order)).verdict == "waiting"


# What is not a callback at all.

_DEEP = b"[" * 30_000 + b"]" * 30_000
MALFORMED = {
    "nothing": b"",
    "a blank": b" ",
    "half an object": b'{"input_ResultCode": "INS-0"',
    "a list": b"[]",
    "null": b"null",
    "a number": b"1e999",
    "not a number": b'{"transaction": NaN}',
    "text": b'"TS"',
    "an empty object": b"{}",
    "deep lists": _DEEP,
    "deep objects": b'{"transaction":' * 4_000 + b"1" + b"}" * 4_000,
    "deep payloads": b'{"payload":' * 4_000 + b"{}" + b"}" * 4_000,
    "bytes": bytes(range(256)) * 16,
    "not UTF-8": b'{"input_ThirdPartyConversationID":"\xff\xfe","input_ResultCode":"INS-0"}',
    "half a pair": b'{"transaction":{"id":"\\ud800","status_code":"TS"}}',
    "a form": b"input_ResultCode=INS-0&id=1",
    "XML": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]><x>&y;</x>',
    "no id": b'{"transaction":{"status_code":"TS"},"input_ResultCode":"INS-0"}',
    "an id that is an object": b'{"transaction":{"id":{},"status_code":"TS"},"input_ThirdPartyConversationID":{}}',
    "an id that is a number": b'{"transaction":{"id":1,"status_code":"TS"},"input_ThirdPartyConversationID":1,"input_ResultCode":0}',
    "an id with SQL": b'{"transaction":{"id":"\' OR 1=1 --","status_code":"TS"},"input_ThirdPartyConversationID":"\' OR 1=1 --","input_ResultCode":"0"}',
    "an id with NUL": b'{"transaction":{"id":"A\\u0000","status_code":"TS"},"input_ThirdPartyConversationID":"A\\u0000","input_ResultCode":"0"}',
    "an id of sixty thousand letters": b'{"transaction":{"id":"%b","status_code":"TS"}}' % (b"A" * 60_000),
    "a transaction that is text": b'{"transaction":"TS"}',
}


@pytest.mark.parametrize("route", list(CHANNELS))
@pytest.mark.parametrize("what", list(MALFORMED))
async def test_what_is_no_callback_is_refused_and_changes_nothing(square: Square, route: str, what: str) -> None:
    before = await _everything(square)

    status, body, headers = await square.tell(route, MALFORMED[what], headers={"Content-Type": "application/json"})

    assert status == 400
    assert isinstance(body, dict)
    assert headers["X-Request-Id"].startswith("req_")
    assert await _everything(square) == before


@pytest.mark.parametrize("letters", ["\0", "\ud800", "é" * 5000, "‮", "x" * 20_000, "'; DROP TABLE moves; --"])
async def test_odd_words_in_a_callback_are_kept_as_far_as_they_can_be_and_break_nothing(
    square: Square, letters: str
) -> None:
    """They go into the hearing, and a receipt into the payment itself; a column takes no NUL."""
    hinted, ended = await square.stuck("MPESA", "COLLECTION"), await square.stuck("AIRTEL_MONEY", "COLLECTION")

    told = mpesa(await square.key(hinted), "INS-6", input_ResultDesc=letters, input_TransactionID=letters)
    status, _, _ = await square.tell("mpesa", told)
    signed = square.airtel(await square.key(ended), message=letters[:9000], airtel_money_id=letters[:9000])
    signed_status, _, _ = await square.tell("airtel_money", signed)

    # Half of a pair of surrogates is no text at all: that body is not JSON.
    is_text = letters != "\ud800"
    assert (status, signed_status) == ((200, 200) if is_text else (400, 400))
    assert await square.status(hinted) == "PROCESSING"
    assert await square.status(ended) == ("COMPLETED" if is_text else "PROCESSING")
    assert (await square.town.api("GET", f"/v1/payments/{ended}")).status == 200


@pytest.mark.parametrize("route", list(CHANNELS))
@pytest.mark.parametrize("is_announced", [True, False], ids=["announced", "in chunks"])
async def test_a_body_that_is_too_large_is_refused(square: Square, route: str, is_announced: bool) -> None:
    body = b'{"x":"' + b"x" * MOST_BYTES + b'"}'
    before = await _everything(square)

    async def chunks() -> AsyncIterator[bytes]:
        for begin in range(0, len(body), 8192):
            yield body[begin : begin + 8192]

    sent: Any = body if is_announced else chunks()
    answer = await square.tell(route, sent)

    _assert_is_refusal(answer, 413, "body_too_large")
    assert await _everything(square) == before


# When the database is away, and when its word is not heard.


@asynccontextmanager
async def _at_the_end_of_a_wire(square: Square) -> AsyncIterator[tuple[Any, str]]:
    async with wire_to(square.town.database_url) as (wire, via):
        running = square.town.start("api", database_url=via, database_patience_seconds=1)
        await until(lambda: _is_ready(square.http, running.url), what="the API at the end of the wire")
        try:
            yield wire, running.url
        finally:
            wire.come_back()
            await asyncio.to_thread(running.stop)


async def test_a_callback_that_cannot_be_written_down_is_not_acknowledged(square: Square) -> None:
    """So that the network tells it again."""
    ended, hinted = await square.stuck("AIRTEL_MONEY", "DISBURSEMENT"), await square.stuck("MPESA", "DISBURSEMENT")
    doubtful = await square.stuck("AIRTEL_MONEY", "DISBURSEMENT")
    told = [
        ("airtel_money", square.airtel(await square.key(ended))),
        ("mpesa", mpesa(await square.key(hinted))),
    ]
    async with _at_the_end_of_a_wire(square) as (wire, url):
        wire.go_away()
        away = [await square.tell(route, body, url=url) for route, body in told]
        assert [await square.status(id_) for id_ in (ended, hinted)] == ["PROCESSING", "PROCESSING"]
        wire.come_back()
        back = [await _tell_again(square, route, body, url) for route, body in told]
        # And where the database did it, and could not say so:
        trap = wire.trap(Fault.CUT_AFTER, after="INSERT INTO hearings", stays_away=True)
        in_doubt = await square.tell("airtel_money", square.airtel(await square.key(doubtful)), url=url)
        wire.come_back()
        again = await _tell_again(square, "airtel_money", square.airtel(await square.key(doubtful)), url)

    assert trap.sprung.is_set()
    for answer, code in [*((each, "unavailable") for each in away), (in_doubt, "outcome_unknown")]:
        _assert_is_refusal(answer, 503, code)
        assert int(answer[2]["Retry-After"]) >= 1
    assert [*back, again] == [200, 200, 200]
    assert await square.status(ended) == "COMPLETED"
    assert (await square.row(hinted))["dispatch"]["is_due"]
    row = await square.row(doubtful)
    assert (row["status"], [step for step, *_ in row["moves"]]) == ("COMPLETED", ["open", "end"])


async def _tell_again(square: Square, route: str, body: bytes, url: str) -> int:
    """As a network does that was not acknowledged: until it is, or refused for good."""

    async def status() -> int | None:
        answered = (await square.tell(route, body, url=url))[0]
        return answered if answered < 500 else None

    return int(await until(status, seconds=15, what="an acknowledgement"))


def _same(after: dict[str, Any], before: dict[str, Any]) -> bool:
    """Nothing has changed but the time."""
    for row in (after, before):
        if row["dispatch"] is not None:
            row["dispatch"].pop("is_due", None)
    return after == before


async def test_a_body_that_does_not_come_is_not_waited_for_for_ever(square: Square) -> None:
    """It has been coming since the first test of this file."""
    await asyncio.to_thread(square.slow.thread.join, BODY_SECONDS + 10)

    head, _, body = square.slow.answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"body_too_slow" in head
    assert list(json.loads(body)) == ["error"]
