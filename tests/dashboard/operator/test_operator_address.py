"""From where the pages for operators can be reached: only some addresses, and a port of their own, if the settings say so."""

from collections.abc import Callable

import aiohttp
import pytest

from tests.conftest import NO_LIMITS, Running, free_port, until_ready

PAGES = ["/operator", "/operator/", "/operator/login", "/operator/bookings", "/operator/nowhere"]


async def _status(url: str, path: str, *, forwarded: str | None = None, method: str = "GET") -> int:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    async with (
        aiohttp.ClientSession() as http,
        http.request(method, url + path, headers=headers, allow_redirects=False) as answer,
    ):
        return answer.status


async def test_only_allowed_addresses_find_the_pages_for_operators(
    start: Callable[..., Running], database_url: str
) -> None:
    running = await until_ready(
        start(
            "api",
            database_url=database_url,
            operator_allowed_addresses="10.1.0.0/16, 2001:db8::/32",
            trusted_proxies="127.0.0.1/32",
            **NO_LIMITS,
        )
    )
    for address in ("10.1.2.3", "2001:db8::7", "192.0.2.1, 10.1.2.3"):
        assert await _status(running.url, "/operator/login", forwarded=address) == 200, address
    for other in (None, "10.2.0.1", "10.1.2.3, 192.0.2.1", "10.1.2.3, nonsense"):
        for path in PAGES:
            assert await _status(running.url, path, forwarded=other) == 404, (other, path)
        assert await _status(running.url, "/operator/login", forwarded=other, method="POST") == 404, other
    assert await _status(running.url, "/dashboard/login") == 200, "merchants come from everywhere"


async def test_a_port_of_their_own_has_the_pages_for_operators_and_nothing_else(
    start: Callable[..., Running], database_url: str
) -> None:
    port = free_port()
    running = await until_ready(start("api", database_url=database_url, operator_port=port, **NO_LIMITS))
    own = f"http://127.0.0.1:{port}"
    assert await _status(own, "/operator/login") == 200
    assert await _status(own, "/dashboard/static/style.css") == 200, "what the pages need"
    for path in ("/v1/payments", "/dashboard", "/dashboard/login", "/docs", "/metrics", "/readyz", "/"):
        assert await _status(own, path) == 404, path
    for path in PAGES:
        assert await _status(running.url, path) == 404, path
    assert await _status(running.url, "/dashboard/login") == 200


async def test_a_port_of_their_own_has_nothing_for_other_addresses(
    start: Callable[..., Running], database_url: str
) -> None:
    port = free_port()
    more = {"operator_port": port, "operator_allowed_addresses": "10.1.0.0/16"}
    await until_ready(start("api", database_url=database_url, **more, **NO_LIMITS))
    for path in (*PAGES, "/v1/payments", "/dashboard/login", "/dashboard/static/style.css", "/readyz"):
        assert await _status(f"http://127.0.0.1:{port}", path) == 404, path


@pytest.mark.parametrize("is_hidden", [True, False])
async def test_what_is_hidden_is_answered_as_what_never_was(
    start: Callable[..., Running], database_url: str, *, is_hidden: bool
) -> None:
    more = {"operator_allowed_addresses": "10.1.0.0/16"} if is_hidden else {"operator_port": free_port()}
    running = await until_ready(start("api", database_url=database_url, **more, **NO_LIMITS))
    said = []
    async with aiohttp.ClientSession() as http:
        for path in ("/operator/login", "/never/was"):
            async with http.get(running.url + path) as answer:
                names = sorted(name for name in answer.headers if name.lower() != "x-request-id")
                said.append((answer.status, names, {**await answer.json(), "requestId": None}))
    assert said[0] == said[1]
