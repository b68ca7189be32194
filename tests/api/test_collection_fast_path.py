"""POST /v1/payments by the short way (an API key that the process knows, an Idempotency-Key, a right body) and the long one."""

import json
import re
from itertools import count
from typing import Any

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.http.body_limit import MOST_BODY_BYTES
from malipo.networks.connector import Channel
from malipo.payments.transaction import Status
from tests.api.conftest import bring, live
from tests.api.raw_http import RawAnswer, exchange, request
from tests.conftest import COLLECTION, SECRET_KEY, Client, Merchant, Running, make_merchant

BODY = COLLECTION | {"description": "Sukari", "metadata": {"order": "A-1", "n": 5}, "orderReference": "Oda 7"}
# A null is read field by field, so this is the same payment by the long way.
LONG = BODY | {"currency": None}
_numbers = count()


def _post(
    running: Running, merchant: Merchant, body: dict[str, Any], *, key: str | None = None, more: str = ""
) -> RawAnswer:
    headers = (b"content-type: application/json", f"Idempotency-Key: {key or f'order-{next(_numbers)}'}".encode())
    raw = (json.dumps(body) + more).encode()
    return exchange(running.url, request("POST", "/v1/payments", raw, key=merchant.key, headers=headers))


def _authentications(running: Running) -> float:
    """How many requests were authenticated before anything was done: by the short way none is."""
    answer = exchange(running.url, request("GET", "/metrics"))
    [found] = re.findall(r'malipo_batch_size_sum\{group="authenticate"\} (.+)', answer.body.decode())
    return float(found)


def _without_ids(text: str) -> str:
    text = re.sub(r"(txn|req|evt)_[0-9a-z]{26}", r"\1_", text)
    text = re.sub(r"(?i)mlp-[0-9a-z]{16}", "MLP-", text)
    return re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "T", text)


@pytest.fixture
async def known(running: Running, merchant: Merchant) -> Merchant:
    """A merchant whose API key and tariff the process has read."""
    assert _post(running, merchant, LONG).status == 201
    return merchant


async def test_both_ways_give_the_same_answer_and_write_the_same_rows(
    running: Running, database: Database, known: Merchant
) -> None:
    before = _authentications(running)
    short = _post(running, known, BODY)
    assert _authentications(running) == before
    long = _post(running, known, LONG)
    assert _authentications(running) == before + 1

    assert short.status == long.status == 201
    assert [*short.headers] == [*long.headers]
    differing = {"date", "x-request-id"}
    assert {name: value for name, value in short.headers.items() if name not in differing} == {
        name: value for name, value in long.headers.items() if name not in differing
    }
    assert _without_ids(short.body.decode()) == _without_ids(long.body.decode())
    rows = [await _rows(database, each.json["transaction"]["id"]) for each in (short, long)]
    assert rows[0] == rows[1]


async def test_a_body_over_the_limit_is_refused_both_ways(running: Running, known: Merchant) -> None:
    blanks = " " * MOST_BODY_BYTES
    assert [_post(running, known, each, more=blanks).status for each in (BODY, LONG)] == [413, 413]


async def _rows(database: Database, id_: str) -> list[dict[str, Any]]:
    """What was written of a payment, without ids, times and what is derived from its idempotency key."""
    found = []
    async with database.read() as connection:
        for table, column in [
            ("transactions", "id"),
            ("dispatches", "transaction_id"),
            ("events", "transaction_id"),
            ("idempotency_keys", "transaction_id"),
        ]:
            [row] = await connection.fetch(f"SELECT to_jsonb(t) FROM {table} t WHERE {column} = $1", id_)
            whole = json.loads(row[0])
            for name in ("network_key", "key", "due_at", "queued_at", "created_at", "feed_number"):
                whole.pop(name, None)
            found.append(json.loads(_without_ids(json.dumps(whole))))
    return found


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ("UPDATE api_keys SET revoked_at = now() WHERE merchant_id = $1", 401, "invalid_api_key"),
        ("UPDATE api_keys SET expires_at = now() WHERE merchant_id = $1", 401, "invalid_api_key"),
        ("UPDATE api_keys SET permissions = '{payments.read}' WHERE merchant_id = $1", 403, "permission_missing"),
        ("UPDATE api_keys SET ip_allowlist = '{10.0.0.0/8}' WHERE merchant_id = $1", 403, "address_not_allowed"),
        ("UPDATE merchants SET is_active = false WHERE id = $1", 403, "merchant_inactive"),
        ("UPDATE api_keys SET ip_allowlist = '{127.0.0.0/8}' WHERE merchant_id = $1", 201, None),
    ],
)
async def test_a_key_that_is_not_good_any_more_is_refused_at_once(
    running: Running, database: Database, known: Merchant, change: str, status: int, code: str | None
) -> None:
    async with database.begin() as tx:
        await tx.execute(change, known.id)

    answer = _post(running, known, BODY)

    assert (answer.status, answer.headers.get("x-error-code")) == (status, code)
    async with database.read() as connection:
        written = await connection.fetchval("SELECT count(*) FROM idempotency_keys WHERE merchant_id = $1", known.id)
    assert written == (2 if status == 201 else 1)


async def test_a_key_that_is_not_good_any_more_reads_nothing_by_a_repeat(
    running: Running, database: Database, known: Merchant
) -> None:
    first = _post(running, known, BODY, key="k")
    async with database.begin() as tx:
        await tx.execute("UPDATE api_keys SET revoked_at = now() WHERE merchant_id = $1", known.id)

    again = _post(running, known, BODY, key="k")

    assert (first.status, again.status, again.headers["x-error-code"]) == (201, 401, "invalid_api_key")
    assert first.json["transaction"]["id"] not in again.body.decode()


@pytest.mark.parametrize("key", ["a b", "x" * 256])
async def test_a_wrong_idempotency_key_is_refused_both_ways(running: Running, known: Merchant, key: str) -> None:
    answers = [_post(running, known, body, key=key) for body in (BODY, LONG)]
    assert [(each.status, each.headers["x-error-code"]) for each in answers] == [(400, "idempotency_key_invalid")] * 2


async def test_two_idempotency_keys_are_read_alike_both_ways(
    running: Running, database: Database, known: Merchant
) -> None:
    def post(body: dict[str, Any], *keys: str) -> str:
        headers = (b"content-type: application/json", *(f"Idempotency-Key: {key}".encode() for key in keys))
        raw = json.dumps(body).encode()
        return str(exchange(running.url, request("POST", "/v1/payments", raw, key=known.key, headers=headers)).body)

    assert post(BODY, "one", "other") == post(LONG, "one", "other")


async def test_the_fee_is_that_of_the_tariff_as_it_is_now(
    running: Running, database: Database, known: Merchant
) -> None:
    fees = []
    for fixed_fee in (70, 80, None):
        async with database.begin() as tx:
            await tx.execute("DELETE FROM tariffs WHERE merchant_id = $1", known.id)
            if fixed_fee is not None:
                await tx.execute(
                    """
                    INSERT INTO tariffs (merchant_id, type, channel, from_amount, fixed_fee, basis_points, min_fee, max_fee)
                    VALUES ($1, 'COLLECTION', $2, 0, $3, 0, 0, 90), ($1, 'COLLECTION', $2, 900, $3, 0, 0, NULL)
                    """,
                    known.id,
                    Channel.MPESA,
                    fixed_fee,
                )
        fees.append([_post(running, known, BODY).json["transaction"]["fee"] for _ in range(2)])
    assert fees == [[70, 70], [80, 80], [0, 0]]


async def test_a_tariff_that_was_read_is_used_without_reading_it_again(
    running: Running, database: Database, known: Merchant
) -> None:
    async with database.begin() as tx:
        await tx.execute(
            """
            INSERT INTO tariffs (merchant_id, type, channel, from_amount, fixed_fee, basis_points, min_fee, max_fee)
            VALUES ($1, 'COLLECTION', 'MPESA', 900, 1, 150, 2, NULL), ($1, 'COLLECTION', 'MPESA', 0, 0, 100, 1, 900)
            """,
            known.id,
        )
    assert _post(running, known, BODY).json["transaction"]["fee"] == 16  # by the long way in the end: it has changed
    before = _authentications(running)
    assert _post(running, known, BODY).json["transaction"]["fee"] == 16
    assert _authentications(running) == before


async def test_a_used_key_is_answered_as_ever(running: Running, known: Merchant) -> None:
    first, again = _post(running, known, BODY, key="k"), _post(running, known, BODY, key="k")
    other = _post(running, known, BODY | {"amount": 1001}, key="k")

    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["idempotency-replayed-status"] == "PENDING"
    assert (other.status, other.headers["x-error-code"]) == (409, "idempotency_key_reused")


async def test_a_repeat_whose_idempotency_key_was_lost_finds_its_payment_both_ways(
    running: Running, database: Database, known: Merchant
) -> None:
    """As after a restore, when operators have adopted the payment: its network key follows from the idempotency key."""
    first = _post(running, known, BODY, key="k")
    for body in (BODY, LONG):
        async with database.begin() as tx:
            await tx.execute("DELETE FROM idempotency_keys WHERE merchant_id = $1 AND key = 'k'", known.id)
        again = _post(running, known, body, key="k")
        assert (again.status, again.body, again.headers["idempotency-replayed"]) == (201, first.body, "true")


async def test_a_repeat_is_answered_with_the_current_status(
    running: Running, service: Service, known: Merchant
) -> None:
    made = _post(running, known, BODY, key="k").json["transaction"]
    await bring(service, known, made["id"], Status.FAILED)

    again = _post(running, known, BODY, key="k")

    assert again.json["transaction"] == made
    assert again.headers["idempotency-replayed-status"] == "FAILED"


async def test_the_last_use_of_a_key_is_noted_to_the_minute(
    running: Running, database: Database, known: Merchant
) -> None:
    async with database.begin() as tx:
        await tx.execute(
            "UPDATE api_keys SET last_used_at = now() - interval '61 seconds' WHERE merchant_id = $1", known.id
        )
    assert _post(running, known, BODY).status == 201
    async with database.read() as connection:
        is_noted = await connection.fetchval(
            "SELECT last_used_at > now() - interval '50 seconds' FROM api_keys WHERE merchant_id = $1", known.id
        )
    assert is_noted


async def test_a_key_of_one_merchant_never_pays_for_another(
    running: Running, database: Database, known: Merchant
) -> None:
    other = await make_merchant(database)
    for each in (other, known, other):
        id_ = _post(running, each, BODY).json["transaction"]["id"]
        async with database.read() as connection:
            assert await connection.fetchval("SELECT merchant_id FROM transactions WHERE id = $1", id_) == each.id


async def test_nothing_is_taken_while_operators_hold_the_installation(
    running: Running, database: Database, known: Merchant
) -> None:
    held = "UPDATE installation SET held_at = {}, held_by = {}, hold_reason = {}"
    async with database.begin() as tx:
        await tx.execute(held.format("now()", "'op@example.com'", "'test'"))
    try:
        answer = _post(running, known, BODY)
    finally:
        async with database.begin() as tx:
            await tx.execute(held.format("NULL", "NULL", "NULL"))
    assert answer.status == 503
    assert _post(running, known, BODY).status == 201


async def test_requests_are_counted_by_the_short_way_as_by_the_long_one(
    database: Database, service: Service, database_url: str, tmp_path: Any
) -> None:
    async with live(tmp_path, database_url, secret_key=SECRET_KEY, rate_limit_create=4) as limited:
        merchant, reader, adopted = [await make_merchant(database) for _ in range(3)]
        answers = [_post(limited, merchant, body) for body in (LONG, BODY, LONG, BODY, BODY, LONG)]
        assert _post(limited, reader, LONG).status == 201
        made = _post(limited, reader, BODY, key="k").json["transaction"]
        await bring(service, reader, made["id"], Status.FAILED)
        again = _post(limited, reader, BODY, key="k")
        assert _post(limited, adopted, LONG).status == 201
        first = _post(limited, adopted, BODY, key="k")
        async with database.begin() as tx:
            await tx.execute("DELETE FROM idempotency_keys WHERE merchant_id = $1 AND key = 'k'", adopted.id)
        found = _post(limited, adopted, BODY, key="k")
        async with database.begin() as tx:
            await tx.execute("UPDATE api_keys SET permissions = '{payments.read}' WHERE merchant_id = $1", reader.id)
        refused = _post(limited, reader, BODY)

    assert (again.json["transaction"], again.headers["idempotency-replayed-status"]) == (made, "FAILED")
    assert refused.headers["x-error-code"] == "permission_missing"
    assert (found.status, found.body) == (201, first.body), "by its network key, as after a restore"
    assert [each.status for each in answers] == [201, 201, 201, 201, 429, 429]
    assert [each.headers["ratelimit-remaining"] for each in answers] == ["3", "2", "1", "0", "0", "0"]
    assert [*answers[1].headers] == [*answers[2].headers]
    assert [*answers[4].headers] == [*answers[5].headers]


async def test_the_line_in_the_log_is_the_same(running: Running, known: Merchant, api: Client) -> None:
    answers = [_post(running, known, body) for body in (BODY, LONG)]
    last = await api("GET", "/v1/nowhere")
    while last.headers["X-Request-Id"] not in (text := running.log.read_text()):
        pass
    lines = {each["request"]: each for each in map(json.loads, text.splitlines()) if each.get("event") == "request"}
    short, long = (lines[each.headers["x-request-id"]] for each in answers)
    assert [*short] == [*long]
    differing = ("at", "request", "transaction", "ms")
    assert {name: short[name] for name in short if name not in differing} == {
        name: long[name] for name in long if name not in differing
    }
    assert [each["transaction"] for each in (short, long)] == [each.json["transaction"]["id"] for each in answers]
