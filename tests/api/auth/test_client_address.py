"""A key may be limited to some addresses, and an X-Forwarded-For counts only from our own proxies."""

from collections.abc import Callable

import aiohttp
import pytest

from malipo.db import Database
from tests.api.auth.routes import EVERY_ROUTE, call, make_key
from tests.api.conftest import is_refused
from tests.api.raw_http import exchange, request
from tests.conftest import NO_LIMITS, Client, Merchant, Running, until_ready


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
    key = await make_key(database, merchant, ip_allowlist=tuple(allowed))

    answer = await api.as_(key.text)("GET", "/v1/wallet")

    assert answer.status == 200 if is_in else is_refused(answer, 403, "address_not_allowed")


@EVERY_ROUTE
async def test_an_address_that_is_not_allowed_is_turned_away(
    api: Client, database: Database, merchant: Merchant, method: str, path: str
) -> None:
    key = await make_key(database, merchant, ip_allowlist=("203.0.113.0/24",))

    assert is_refused(await call(api.as_(key.text), method, path), 403, "address_not_allowed")


@pytest.mark.parametrize("forwarded", ["203.0.113.7", "203.0.113.7, 127.0.0.1", "127.0.0.1, 203.0.113.7"])
async def test_a_forwarded_address_is_ignored_unless_the_proxy_is_ours(
    api: Client, database: Database, merchant: Merchant, forwarded: str
) -> None:
    headers = {"X-Forwarded-For": forwarded, "X-Real-IP": "203.0.113.7", "Forwarded": "for=203.0.113.7"}
    there = await make_key(database, merchant, ip_allowlist=("203.0.113.0/24",))
    here = await make_key(database, merchant, ip_allowlist=("127.0.0.1/32",))

    assert is_refused(await api.as_(there.text)("GET", "/v1/wallet", headers=headers), 403, "address_not_allowed")
    assert (await api.as_(here.text)("GET", "/v1/wallet", headers=headers)).status == 200
    (warning,) = (await api("GET", "/readyz")).body["warnings"]
    assert "MALIPO_TRUSTED_PROXIES" in warning


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
    key = await make_key(database, merchant, ip_allowlist=("203.0.113.0/24", "2001:db8::/32"))

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
