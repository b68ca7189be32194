"""A hostile request gets one JSON answer in the shape of the contract, and changes nothing. The bytes go over a bare
socket, because a library would correct them."""

import asyncio
import re
import socket
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from malipo import clock, ids
from malipo.accounts.bearer_tokens import Tokens
from malipo.db import Database
from malipo.encryption import Encryption
from malipo.merchants import manage_people
from malipo.merchants.roles import Role
from malipo.merchants.store import sessions
from malipo.outbox.event import Event
from malipo.webhooks import manage_endpoints
from tests.api.conftest import created, total, wallet
from tests.api.hostile.case import CREATE, DISBURSE, ENDPOINT, KEY, TOKEN, Case, encoded, spliced
from tests.api.hostile.grid import GRID, ODD_BUT_RIGHT
from tests.api.hostile_webhook_requests import HOOK_GRID, ODD_HOOKS
from tests.api.raw_http import RawAnswer, exchange, request
from tests.conftest import COLLECTION, NOBODY, PAYOUT, Client, Merchant, Running, make_merchant
from tests.journeys.webhook_stack import SECRET_KEY

Papers = dict[str, str]

EVERY_CASE = GRID | HOOK_GRID
EVERY_ODD_CASE = ODD_BUT_RIGHT | ODD_HOOKS


@pytest.fixture(scope="module")
async def victim(database: Database) -> Merchant:
    """The merchant in whose name all of this is sent."""
    return await make_merchant(database, wallet=1_000_000, name="Victim")


@pytest.fixture(scope="module")
async def papers(database: Database, victim: Merchant) -> Papers:
    return await papers_of(database, victim)


async def papers_of(database: Database, merchant: Merchant) -> Papers:
    """What stands for the merchant in a request: a key, somebody's token, and the id of an endpoint."""
    now = clock.now()
    session_id, email = ids.mint("ses_", now), f"{merchant.id}@example.com"
    async with database.begin() as tx:
        person = await manage_people.add_person(
            tx, merchant.id, email=email, name="", role=Role.OWNER, actor=NOBODY, now=now
        )
        until = now + timedelta(hours=1)
        await sessions.insert(
            tx, session_id, person.id, now=now, confirmed_at=now, expires_at=until, address="", user_agent=""
        )
        endpoint, _ = await manage_endpoints.register(
            tx,
            merchant.id,
            url="https://41.59.1.20/hook",
            events=list(Event),
            encryption=Encryption(SECRET_KEY),
            actor=NOBODY,
            now=now,
        )
    return {KEY: merchant.key, TOKEN: Tokens(SECRET_KEY).make(session_id, now=now), ENDPOINT: endpoint.id}


@pytest.fixture
def api(running: Running, http: aiohttp.ClientSession, victim: Merchant) -> Client:
    return Client(http, running.url, victim.key)


async def traces(database: Database, merchant: Merchant) -> tuple[Any, ...]:
    """Everything that a request could have left behind."""
    async with database.read() as connection:
        row = await connection.fetchrow(
            """
            SELECT (SELECT count(*) FROM transactions WHERE merchant_id = $1) AS transactions,
                   (SELECT count(*) FROM idempotency_keys WHERE merchant_id = $1) AS keys,
                   (SELECT count(*) FROM moves WHERE merchant_id = $1) AS moves,
                   (SELECT count(*) FROM events WHERE merchant_id = $1) AS events,
                   (SELECT string_agg(e::text, ' ') FROM webhook_endpoints e WHERE merchant_id = $1) AS endpoints,
                   (SELECT count(*) FROM webhook_deliveries WHERE merchant_id = $1) AS deliveries,
                   (SELECT count(*) FROM audit_log WHERE merchant_id = $1) AS deeds,
                   (SELECT wallets::text FROM wallets WHERE merchant_id = $1) AS wallet
            """,
            merchant.id,
        )
    assert row is not None
    return tuple(row)


def ask(running: Running, papers: Papers, case: Case) -> RawAnswer:
    sent = case.sent
    for placeholder, real in papers.items():
        sent = sent.replace(placeholder.encode(), real.encode())
    return exchange(running.url, sent, is_head=case.is_head)


def check_shape(answer: RawAnswer, *, is_head: bool = False) -> None:
    """`{error, details?}` and nothing else, with a code and a request id."""
    assert 400 <= answer.status < 500, answer
    assert answer.headers["content-type"] == "application/json"
    assert re.fullmatch(r"[a-z][a-z0-9_]*", answer.headers["x-error-code"])
    assert re.fullmatch(r"req_[0-9a-z]+", answer.headers["x-request-id"])
    if is_head:
        return
    body = answer.json
    assert isinstance(body, dict)
    assert "error" in body
    assert set(body) <= {"error", "details"}
    assert isinstance(body["error"], str)
    assert body["error"]
    for field, messages in body.get("details", {"": ["x"]}).items():
        assert isinstance(field, str)
        assert messages
        assert all(isinstance(message, str) and message for message in messages)


@pytest.mark.parametrize("name", EVERY_CASE)
async def test_a_hostile_request_gets_an_answer_in_shape_and_leaves_no_trace(
    running: Running, database: Database, victim: Merchant, papers: Papers, name: str
) -> None:
    case = EVERY_CASE[name]
    before = await traces(database, victim)

    answer = ask(running, papers, case)

    check_shape(answer, is_head=case.is_head)
    assert answer.status == case.status
    if case.code:
        assert answer.headers["x-error-code"] == case.code
    if not case.is_head:
        assert tuple(sorted(answer.json.get("details", ()))) == tuple(sorted(case.fields or ()))
    assert await traces(database, victim) == before


async def test_after_all_that_the_service_still_takes_a_payment(
    api: Client, running: Running, victim: Merchant
) -> None:
    assert await wallet(api) == (1_000_000, 0)
    assert await total(api) == 0

    transaction = await created(api, PAYOUT)

    assert transaction["status"] == "PENDING"
    assert await wallet(api) == (999_000, 1_000)
    assert await total(api) == 1
    assert running.process.poll() is None
    assert '"level":"error"' not in running.log.read_text()


@pytest.mark.parametrize("name", EVERY_ODD_CASE)
async def test_an_odd_request_that_is_right_is_done(
    running: Running, database: Database, merchant: Merchant, name: str
) -> None:
    sent, status = EVERY_ODD_CASE[name]

    answer = ask(running, await papers_of(database, merchant), Case(sent, status))

    assert answer.status == status
    assert answer.json["success"] is True
    assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(
    "text",
    ["'; DROP TABLE transactions; --", "%s%n{0}$1", "<script>alert(1)</script>", "\t\r\n", "\u202egnp.exe",
     "\u0085\u200b\ufeff", "👩‍👩‍👧‍👦",
     "\\u0000", "null", "NaN", "\\", '"', "a" * 100],
)  # fmt: skip
async def test_texts_come_back_as_they_were_sent_whatever_they_look_like(
    running: Running, http: aiohttp.ClientSession, merchant: Merchant, text: str
) -> None:
    client = Client(http, running.url, merchant.key)
    metadata = {text[:40]: text, "other": 1}

    transaction = await created(client, COLLECTION | {"buyerName": text, "description": text, "metadata": metadata})
    answer = await client("GET", f"/v1/payments/{transaction['id']}")

    later = answer.body["transaction"]
    assert (later["buyerName"], later["description"], later["metadata"]) == (text, text, metadata)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("route", "body"), [(CREATE, COLLECTION), (DISBURSE, PAYOUT)])
async def test_whoever_hangs_up_inside_a_request_has_asked_for_nothing(
    running: Running, database: Database, merchant: Merchant, route: str, body: dict[str, Any], part: float
) -> None:
    sent = request("POST", route, encoded(body), key=merchant.key)
    before = await traces(database, merchant)
    host, port = running.url.removeprefix("http://").split(":")

    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(sent[: int(len(sent) * part)])
    await asyncio.sleep(0.1)

    assert await traces(database, merchant) == before


async def test_two_requests_on_one_line_get_two_answers_in_order(running: Running, merchant: Merchant) -> None:
    one = request("GET", "/v1/wallet", key=merchant.key)
    two = request("GET", "/v1/payments/MLP-NOBODY", key=merchant.key, headers=(b"connection: close",))
    host, port = running.url.removeprefix("http://").split(":")

    received = b""
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(one + two)
        while chunk := connection.recv(65536):
            received += chunk

    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"404"]


# Found by this file, not yet fixed


async def test_no_depth_of_nesting_is_a_fault_of_ours(running: Running, merchant: Merchant) -> None:
    statuses = set()
    for depth in range(900, 1_000):
        body = spliced('"metadata": ' + "[" * depth + "1" + "]" * depth)
        sent = request("POST", CREATE, body, key=merchant.key, headers=(b"idempotency-key: deep",))
        statuses.add(exchange(running.url, sent).status)

    assert statuses == {400}


@pytest.mark.parametrize("target", ["/v1/wallet%0A", "/v1/payments%0A", "/healthz%0A"])
async def test_an_address_with_a_line_feed_behind_it_is_another_address(
    running: Running, merchant: Merchant, target: str
) -> None:
    assert exchange(running.url, request("GET", target, key=merchant.key)).status == 404


TRAILED = b"transfer-encoding: chunked"


async def test_what_follows_a_body_is_no_header(running: Running, merchant: Merchant) -> None:
    head = request("GET", "/v1/wallet", headers=(TRAILED,))

    answer = exchange(running.url, head + b"0\r\nx-api-key: " + merchant.key.encode() + b"\r\n\r\n")

    assert answer.status in (400, 401)


async def test_what_follows_a_body_is_not_kept_without_end(running: Running) -> None:
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request("GET", "/v1/wallet", headers=(TRAILED,)) + b"0\r\n")
        try:
            connection.sendall((b"x-a: " + b"a" * 1_000 + b"\r\n") * 5_000)
            while connection.recv(65536):
                pass
            has_hung_up = True
        except TimeoutError:
            has_hung_up = False
        except OSError:
            has_hung_up = True

    assert has_hung_up


async def test_garbage_behind_a_payment_does_not_make_it_look_refused(
    running: Running, database: Database, merchant: Merchant
) -> None:
    """The payment waits for its wallet while the garbage arrives, so that the order is certain."""
    host, port = running.url.removeprefix("http://").split(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        async with database.begin() as tx:
            await tx.execute("SELECT FROM wallets WHERE merchant_id = $1 FOR UPDATE", merchant.id)
            connection.sendall(request("POST", DISBURSE, encoded(PAYOUT), key=merchant.key))
            await asyncio.sleep(0.3)
            connection.sendall(b"\0 garbage \r\n\r\n")
            await asyncio.sleep(0.3)
        while chunk := connection.recv(65536):
            received += chunk
        await asyncio.sleep(0.5)  # Long enough for the payment to be made, if it is.

    async with database.read() as connection_:
        made = await connection_.fetchval("SELECT count(*) FROM transactions WHERE merchant_id = $1", merchant.id)
    assert made == 0 or received.startswith(b"HTTP/1.1 201")


@pytest.mark.parametrize("spaces", [b" ", b"\t", b"  "])
async def test_spaces_behind_a_headers_value_are_no_part_of_it(
    running: Running, merchant: Merchant, spaces: bytes
) -> None:
    key = merchant.key.encode()
    sent = request(
        "POST", CREATE, encoded(COLLECTION), headers=(b"x-api-key: " + key + spaces, b"idempotency-key: a" + spaces)
    )

    assert exchange(running.url, sent).status == 201
