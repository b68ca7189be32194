"""Who gets in: keys, merchants, addresses, rate limits and permissions, checked in this order."""

import asyncio
import base64
import hashlib
import ipaddress
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.api.routes import ROUTES
from malipo.db import Database
from malipo.limits import store as windows
from malipo.limits.window import RateClass
from malipo.merchants import issue, onboard
from malipo.merchants.keys import Environment, NewKey, Permission, hash_of
from malipo.merchants.store import keys
from tests.api.conftest import FLEET_LIMITS, created, is_refused, total
from tests.api.wire import exchange, request
from tests.conftest import COLLECTION, NO_LIMITS, NOBODY, PAYOUT, Answer, Client, Merchant, Running, until_ready

# Every /v1 route with the one permission it needs, the class its requests count in, and its answer when all is well.
NEEDS: list[tuple[str, str, Permission, RateClass, int]] = [
    ("GET", "/v1/payments", Permission.PAYMENTS_READ, RateClass.LIST, 200),
    ("GET", "/v1/payments/{id}", Permission.PAYMENTS_READ, RateClass.OTHER, 200),
    ("POST", "/v1/payments", Permission.PAYMENTS_CREATE, RateClass.CREATE, 201),
    ("POST", "/v1/payments/disburse", Permission.PAYMENTS_CREATE, RateClass.OTHER, 201),
    ("POST", "/v1/payments/{id}/cancel", Permission.PAYMENTS_CREATE, RateClass.OTHER, 200),
    ("POST", "/v1/payments/quote", Permission.PAYMENTS_READ, RateClass.OTHER, 200),
    ("GET", "/v1/channels", Permission.PAYMENTS_READ, RateClass.OTHER, 200),
    ("GET", "/v1/wallet", Permission.WALLET_READ, RateClass.OTHER, 200),
    ("GET", "/v1/wallet/entries", Permission.WALLET_READ, RateClass.OTHER, 200),
    ("GET", "/v1/events", Permission.EVENTS_READ, RateClass.OTHER, 200),
]
EVERY_ROUTE = pytest.mark.parametrize(("method", "path"), [each[:2] for each in NEEDS])


async def call(api: Client, method: str, path: str, id_: str = "MLP-NOBODY", **more: Any) -> Answer:
    """Call a route as it is meant to be called."""
    quote = {"type": "COLLECTION", "amount": 1000, "channel": "MPESA"}
    bodies = {"/v1/payments": COLLECTION, "/v1/payments/disburse": PAYOUT, "/v1/payments/quote": quote}
    body = bodies.get(path) if method == "POST" else None
    return await api(method, path.format(id=id_), body, **more)


async def make_key(database: Database, merchant: Merchant, **changes: Any) -> NewKey:
    async with database.begin() as tx:
        wanted: dict[str, Any] = {
            "name": "a key",
            "permissions": tuple(Permission),
            "environment": Environment.LIVE,
            "brand": "mlp",
            "actor": NOBODY,
            "now": clock.now(),
        }
        return await issue.create_key(tx, merchant.id, **(wanted | changes))


async def deactivate(database: Database, merchant: Merchant) -> None:
    async with database.begin() as tx:
        await onboard.set_active(tx, merchant.id, is_active=False, actor=NOBODY, now=clock.now())


async def revoke(database: Database, key: NewKey) -> None:
    async with database.begin() as tx:
        await tx.execute("UPDATE api_keys SET revoked_at = $2 WHERE id = $1", key.id, clock.now())


def test_every_route_of_the_service_stands_in_this_file() -> None:
    assert {(route.method, route.path) for route in ROUTES if route.path.startswith("/v1")} <= {
        each[:2] for each in NEEDS
    }, "a new /v1 route needs a line in NEEDS: its permission, its rate class and its status"


# Keys


@EVERY_ROUTE
async def test_without_a_good_key_nobody_gets_in(
    api: Client, database: Database, merchant: Merchant, method: str, path: str
) -> None:
    good = merchant.key
    expired = await make_key(database, merchant, expires_at=clock.now() - timedelta(seconds=1))
    revoked = await make_key(database, merchant)
    await revoke(database, revoked)
    bad = [None, "", "x", "mlp_live_" + "0" * 40, good[:-1], good + "0", good.upper(), f"Bearer {good}"]

    for key in (*bad, expired.text, revoked.text):
        assert is_refused(await call(api.as_(key), method, path), 401, "invalid_api_key"), key
    assert await total(api) == 0


async def test_a_key_is_good_until_the_moment_it_expires(api: Client, database: Database, merchant: Merchant) -> None:
    soon = await make_key(database, merchant, expires_at=clock.now() + timedelta(seconds=1.5))
    client = api.as_(soon.text)

    before = await client("GET", "/v1/wallet")
    await asyncio.sleep(1.6)
    after = await client("GET", "/v1/wallet")

    assert before.status == 200
    assert is_refused(after, 401, "invalid_api_key")


async def test_a_key_is_revoked_at_once(api: Client, database: Database, merchant: Merchant) -> None:
    key = await make_key(database, merchant)
    client = api.as_(key.text)
    assert (await client("GET", "/v1/wallet")).status == 200

    await revoke(database, key)

    assert is_refused(await client("GET", "/v1/wallet"), 401, "invalid_api_key")


@pytest.mark.parametrize("environment", list(Environment))
async def test_live_and_test_keys_both_move_real_money(
    api: Client, database: Database, merchant: Merchant, environment: Environment
) -> None:
    key = await make_key(database, merchant, environment=environment)

    assert key.text.startswith(f"mlp_{environment}_")
    assert (await created(api.as_(key.text), PAYOUT))["amount"] == 1000
    assert await total(api) == 1


@pytest.mark.parametrize("how", ["authorization: Bearer {}", "authorization: {}", "cookie: x-api-key={}"])
async def test_a_key_opens_only_from_its_own_header(running: Running, merchant: Merchant, how: str) -> None:
    header = how.format(merchant.key).encode()

    in_header = exchange(running.url, request("GET", "/v1/wallet", headers=(header,)))
    in_query = exchange(running.url, request("GET", f"/v1/wallet?x-api-key={merchant.key}", headers=(header,)))

    assert in_header.status == in_query.status == 401


async def test_the_text_of_a_key_stands_in_no_table_and_no_log(
    api: Client, running: Running, database: Database, merchant: Merchant
) -> None:
    await created(api, COLLECTION)
    await api("GET", f"/v1/payments/{merchant.key}")
    await api("GET", f"/nowhere/{merchant.key}?x-api-key={merchant.key}")
    secret = merchant.key.encode()
    forms = [merchant.key, merchant.key[-40:], secret.hex(), base64.b64encode(secret).decode()]

    async with database.read() as connection:
        tables = [
            row["tablename"] for row in await connection.fetch("SELECT * FROM pg_tables WHERE schemaname = 'public'")
        ]
        for table in tables:
            for form in forms:
                query = f'SELECT count(*) FROM "{table}" AS each WHERE strpos(each::text, $1) > 0'
                assert await connection.fetchval(query, form) == 0, table
        hashed = await connection.fetchval("SELECT hash FROM api_keys WHERE merchant_id = $1", merchant.id)

    assert "api_keys" in tables
    assert hashed == hashlib.sha256(secret).digest()
    log = running.log.read_text()
    assert '"event":"request"' in log
    assert merchant.key[-40:] not in log


async def test_the_use_of_a_key_is_noted(api: Client, database: Database, merchant: Merchant) -> None:
    before = clock.now()

    await api("GET", "/v1/wallet")

    async with database.read() as connection:
        noted = await connection.fetchval("SELECT last_used_at FROM api_keys WHERE merchant_id = $1", merchant.id)
    assert before <= noted <= clock.now()


# Merchants


@EVERY_ROUTE
async def test_an_inactive_merchant_is_not_let_in(
    api: Client, database: Database, merchant: Merchant, method: str, path: str
) -> None:
    transaction = await created(api, COLLECTION)
    await deactivate(database, merchant)

    assert is_refused(await call(api, method, path, transaction["id"]), 403, "merchant_inactive")


# Addresses


def networks(*texts: str) -> tuple[Any, ...]:
    return tuple(map(ipaddress.ip_network, texts))


@pytest.mark.parametrize(
    ("allowed", "is_in"),
    [
        ((), True),
        (("127.0.0.1/32",), True),
        (("127.0.0.0/8",), True),
        (("0.0.0.0/0",), True),
        (("203.0.113.0/24", "127.0.0.1/32"), True),
        (("203.0.113.0/24",), False),
        (("127.0.0.2/32",), False),
        (("::1/128",), False),
        (("::/0",), False),
    ],
)
async def test_a_key_with_an_allow_list_opens_only_from_there(
    api: Client, database: Database, merchant: Merchant, allowed: tuple[str, ...], is_in: bool
) -> None:
    key = await make_key(database, merchant, ip_allowlist=networks(*allowed))

    answer = await api.as_(key.text)("GET", "/v1/wallet")

    assert answer.status == 200 if is_in else is_refused(answer, 403, "address_not_allowed")


@EVERY_ROUTE
async def test_an_address_that_is_not_allowed_is_turned_away(
    api: Client, database: Database, merchant: Merchant, method: str, path: str
) -> None:
    key = await make_key(database, merchant, ip_allowlist=networks("203.0.113.0/24"))

    assert is_refused(await call(api.as_(key.text), method, path), 403, "address_not_allowed")


@pytest.mark.parametrize("forwarded", ["203.0.113.7", "203.0.113.7, 127.0.0.1", "127.0.0.1, 203.0.113.7"])
async def test_a_forwarded_address_is_ignored_unless_the_proxy_is_ours(
    api: Client, database: Database, merchant: Merchant, forwarded: str
) -> None:
    headers = {"X-Forwarded-For": forwarded, "X-Real-IP": "203.0.113.7", "Forwarded": "for=203.0.113.7"}
    there = await make_key(database, merchant, ip_allowlist=networks("203.0.113.0/24"))
    here = await make_key(database, merchant, ip_allowlist=networks("127.0.0.1/32"))

    assert is_refused(await api.as_(there.text)("GET", "/v1/wallet", headers=headers), 403, "address_not_allowed")
    assert (await api.as_(here.text)("GET", "/v1/wallet", headers=headers)).status == 200


async def test_behind_our_proxies_the_rightmost_address_that_is_not_ours_counts(
    http: aiohttp.ClientSession,
    start: Callable[..., Running],
    database_url: str,
    database: Database,
    merchant: Merchant,
) -> None:
    proxied = await until_ready(
        start("api", database_url=database_url, trusted_proxies="127.0.0.0/8, 10.0.0.0/8, fd00::/8", **NO_LIMITS)
    )
    key = await make_key(database, merchant, ip_allowlist=networks("203.0.113.0/24", "2001:db8::/32"))

    def status(*lines: str) -> int:
        headers = tuple(f"X-Forwarded-For: {line}".encode() for line in lines)
        return exchange(proxied.url, request("GET", "/v1/wallet", key=key.text, headers=headers)).status

    assert status("203.0.113.7") == 200
    assert status("203.0.113.7, 10.1.2.3") == 200
    assert status("203.0.113.7,10.1.2.3 ,127.0.0.1") == 200
    assert status("203.0.113.7", "10.1.2.3") == 200
    assert status("2001:db8::1, fd00::1") == 200
    assert status("::ffff:203.0.113.7") == 200
    assert status("198.51.100.1, 203.0.113.7") == 200
    # What stands left of the first stranger is what the stranger says.
    assert status("203.0.113.7, 198.51.100.1") == 403
    assert status("203.0.113.7, 198.51.100.1, 10.1.2.3") == 403
    assert status("203.0.113.7", "198.51.100.1") == 403
    assert status("203.0.113.7, garbage") == 403
    assert status("203.0.113.7, ") == 403
    assert status("garbage") == 403
    assert status("") == 403
    assert status() == 403


# Permissions


@pytest.mark.parametrize("permission", list(Permission))
@pytest.mark.parametrize(("method", "path", "needed", "rate_class", "status"), NEEDS)
async def test_each_route_opens_to_its_permission_and_to_no_other(
    api: Client,
    database: Database,
    merchant: Merchant,
    method: str,
    path: str,
    needed: Permission,
    rate_class: RateClass,
    status: int,
    permission: Permission,
) -> None:
    transaction = await created(api, COLLECTION)
    only = await make_key(database, merchant, permissions=(permission,))
    all_but = await make_key(database, merchant, permissions=tuple(set(Permission) - {permission}))

    with_it = await call(api.as_(only.text), method, path, transaction["id"])
    without_it = await call(api.as_(all_but.text), method, path, transaction["id"])

    refused, taken = (without_it, with_it) if permission is needed else (with_it, without_it)
    assert is_refused(refused, 403, "permission_missing")
    assert needed in refused.body["error"]
    assert taken.status == status


async def test_a_key_without_any_permission_opens_nothing(api: Client, database: Database, merchant: Merchant) -> None:
    key = await make_key(database, merchant, permissions=())

    for method, path, *_ in NEEDS:
        assert is_refused(await call(api.as_(key.text), method, path), 403, "permission_missing")
    assert await total(api) == 0


# Order


async def test_the_checks_come_in_their_order(
    http: aiohttp.ClientSession, fleet: list[Running], database: Database, merchant: Merchant
) -> None:
    """One request with everything wrong, put right from the front: each answer names the first thing wrong."""
    limited = Client(http, fleet[0].url, None)
    allowed = networks("203.0.113.0/24")
    key = await make_key(database, merchant, permissions=(Permission.PAYMENTS_READ,), ip_allowlist=allowed)
    await deactivate(database, merchant)

    async def ask(client: Client) -> tuple[int, str | None]:
        answer = await client("POST", "/v1/payments", raw=b"{")
        return answer.status, answer.code

    async def change(statement: str, *values: Any) -> None:
        async with database.begin() as tx:
            await tx.execute(statement, *values)

    assert await ask(limited.as_("wrong")) == (401, "invalid_api_key")
    client = limited.as_(key.text)
    assert await ask(client) == (403, "merchant_inactive")
    await change("UPDATE merchants SET is_active = true WHERE id = $1", merchant.id)
    assert await ask(client) == (403, "address_not_allowed")
    await change("UPDATE api_keys SET ip_allowlist = '{}' WHERE id = $1", key.id)
    for _ in range(FLEET_LIMITS["rate_limit_create"]):
        # The refusals before this one have used nothing of the limit up.
        assert await ask(client) == (403, "permission_missing")
    assert await ask(client) == (429, "rate_limited")
    await change("UPDATE rate_windows SET admitted = '' WHERE key_id = $1", key.id)
    assert await ask(client) == (403, "permission_missing")
    await change("UPDATE api_keys SET permissions = '{payments.create}' WHERE id = $1", key.id)
    assert await ask(client) == (400, "json_invalid")
    await change("UPDATE api_keys SET revoked_at = now() WHERE id = $1", key.id)
    assert await ask(client) == (401, "invalid_api_key")


# Rate limits


LIMITS = {
    RateClass.CREATE: FLEET_LIMITS["rate_limit_create"],
    RateClass.LIST: FLEET_LIMITS["rate_limit_list"],
    RateClass.OTHER: FLEET_LIMITS["rate_limit_other"],
}
STANDING = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


@pytest.fixture
def limited(http: aiohttp.ClientSession, fleet: list[Running], merchant: Merchant) -> Client:
    """The service with small limits, called by the merchant."""
    return Client(http, fleet[0].url, merchant.key)


@pytest.mark.parametrize(("method", "path", "rate_class", "status"), [(each[0], each[1], *each[3:]) for each in NEEDS])
async def test_a_class_lets_exactly_its_limit_through(
    limited: Client, api: Client, method: str, path: str, rate_class: RateClass, status: int
) -> None:
    transaction = await created(api, COLLECTION)
    limit = LIMITS[rate_class]

    answers = [await call(limited, method, path, transaction["id"]) for _ in range(limit)]
    refused = await call(limited, method, path, transaction["id"])

    assert [answer.status for answer in answers] == [status] * limit
    assert [int(answer.headers["RateLimit-Limit"]) for answer in answers] == [limit] * limit
    assert [int(answer.headers["RateLimit-Remaining"]) for answer in answers] == list(range(limit - 1, -1, -1))
    assert all(0 < int(answer.headers["RateLimit-Reset"]) <= 60 for answer in answers)
    assert is_refused(refused, 429, "rate_limited")
    assert [refused.headers[name] for name in STANDING[:2]] == [str(limit), "0"]
    assert refused.headers["Retry-After"] == refused.headers["RateLimit-Reset"]
    assert 0 < int(refused.headers["Retry-After"]) <= 60


async def test_the_other_routes_share_one_class_and_the_classes_share_nothing(limited: Client) -> None:
    others = [each for each in NEEDS if each[3] is RateClass.OTHER]
    for n in range(LIMITS[RateClass.OTHER]):
        method, path, *_ = others[n % len(others)]
        assert (await call(limited, method, path)).status != 429

    for method, path, _, rate_class, status in NEEDS:
        answer = await call(limited, method, path)
        assert answer.status == (429 if rate_class is RateClass.OTHER else status)


async def test_every_key_has_its_own_count(limited: Client, database: Database, merchant: Merchant) -> None:
    other = limited.as_((await make_key(database, merchant)).text)
    for _ in range(LIMITS[RateClass.LIST]):
        assert (await limited("GET", "/v1/payments")).status == 200

    assert (await limited("GET", "/v1/payments")).status == 429
    assert (await other("GET", "/v1/payments")).headers["RateLimit-Remaining"] == str(LIMITS[RateClass.LIST] - 1)


async def test_refused_requests_do_not_count_and_retry_after_is_true(
    limited: Client, database: Database, merchant: Merchant
) -> None:
    """Time passes here by making the memory of the window older: a minute in a moment."""
    limit = LIMITS[RateClass.LIST]

    async def age(seconds: int) -> None:
        async with database.begin() as tx:
            want = (hash_of(merchant.key.encode()), RateClass.LIST)
            found = (await keys.find_by_hashes(tx, [want]))[want]
            older = replace(found.window, start_ms=found.window.start_ms - seconds * 1000)
            await windows.save(tx, RateClass.LIST, {found.key.id: (found.version, older)})

    for _ in range(limit):
        assert (await limited("GET", "/v1/payments")).status == 200
    refused = [await limited("GET", "/v1/payments") for _ in range(20)]
    assert {answer.status for answer in refused} == {429}
    retry_after = int(refused[-1].headers["Retry-After"])

    await age(retry_after - 2)
    assert (await limited("GET", "/v1/payments")).status == 429
    await age(2)
    answer = await limited("GET", "/v1/payments")

    assert answer.status == 200


async def test_every_answer_after_the_door_tells_the_standing(limited: Client) -> None:
    answers = {
        200: await limited("GET", "/v1/wallet"),
        201: await limited("POST", "/v1/payments", COLLECTION),
        400: await limited("GET", "/v1/payments?page=0"),
        404: await limited("GET", "/v1/payments/MLP-NOBODY"),
        409: await _conflict(limited),
    }

    for status, answer in answers.items():
        assert answer.status == status
        assert all(answer.headers[name].isdigit() for name in STANDING), status


async def _conflict(limited: Client) -> Answer:
    headers = {"Idempotency-Key": "one"}
    await limited("POST", "/v1/payments/disburse", PAYOUT, headers=headers)
    return await limited("POST", "/v1/payments/disburse", PAYOUT | {"amount": 2000}, headers=headers)


async def test_whoever_is_not_let_in_is_told_no_standing(limited: Client) -> None:
    answer = await limited.as_("wrong")("GET", "/v1/wallet")

    assert answer.status == 401
    assert not any(name in answer.headers for name in STANDING)


async def test_a_fleet_shares_the_limit_to_the_last_request(
    http: aiohttp.ClientSession, fleet: list[Running], database: Database, merchant: Merchant
) -> None:
    """All wait at one door until it opens, so that both processes count a crowd at the same moment."""
    clients = [Client(http, each.url, merchant.key) for each in fleet]
    async with database.begin() as tx:
        await tx.execute(
            "SELECT FROM rate_windows WHERE key_id = (SELECT id FROM api_keys WHERE merchant_id = $1) FOR UPDATE",
            merchant.id,
        )
        asked = asyncio.gather(*(clients[n % 2]("GET", "/v1/wallet") for n in range(200)))
        await asyncio.sleep(0.5)
        assert not asked.done()
    answers = await asked

    statuses = [answer.status for answer in answers]
    assert statuses.count(200) == LIMITS[RateClass.OTHER] == 50
    assert statuses.count(429) == 150
    assert all("Retry-After" in answer.headers for answer in answers if answer.status == 429)


async def test_without_limits_nothing_is_counted(api: Client) -> None:
    answer = await api("GET", "/v1/wallet")

    assert answer.status == 200
    assert not any(name in answer.headers for name in STANDING)
