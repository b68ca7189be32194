"""The log line of a page, and the headers of its transport. No text of a client is logged. No text of a client is
logged."""

import asyncio
import json
from typing import Any

import pytest

from tests.api.raw_http import exchange, request
from tests.conftest import Running
from tests.dashboard.merchant.transactions.transaction_pages import PATH, TransactionPages
from tests.dashboard.merchant.transactions.transaction_pages import shop as shop
from tests.dashboard.merchant.transactions.transaction_pages import surfer as surfer

LINK = "mlp_live_0123456789abcdef"


async def _lines(running: Running) -> list[dict[str, Any]]:
    """The log, when all that was asked before is in it."""
    last = await asyncio.to_thread(exchange, running.url, request("GET", "/healthz"))
    async with asyncio.timeout(240):
        while last.headers["x-request-id"] not in (text := running.log.read_text()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.mark.parametrize(
    "path",
    [
        f"/dashboard/{LINK}",
        f"/dashboard/transactions/{LINK}",
        f"/dashboard/static/{LINK}",
        f"/operator/{LINK}",
        f"/{LINK}",
        f"/v1/payments/{LINK}/x",
        f"/v1/payments/{LINK}",
        f"/callbacks/mpesa/{LINK}",
        f"/dashboard/password?token={LINK}",
        f"/dashboard/stop?token={LINK}",
    ],
)
async def test_no_text_of_a_path_is_logged(running: Running, path: str) -> None:
    before = len(running.log.read_text())
    await asyncio.to_thread(exchange, running.url, request("GET", path))
    await _lines(running)

    assert LINK not in running.log.read_text()[before:]


async def test_the_line_of_a_page_has_its_route_and_its_transaction(running: Running, shop: TransactionPages) -> None:
    made = await shop.make()
    path = f"{PATH}/{made.reference}"
    await shop.surfer.get(path)
    await shop.surfer.get(f"{path}/cancel")
    await shop.surfer.post(f"{path}/cancel")
    await shop.surfer.get("/dashboard/nowhere")
    lines = await _lines(running)

    about = [(each["method"], each["route"]) for each in lines if each.get("transaction") == made.id]
    assert ("GET", "/dashboard/transactions/{id}") in about
    assert ("GET", "/dashboard/transactions/{id}/cancel") in about
    assert ("POST", "/dashboard/transactions/{id}/cancel") in about
    assert any(each.get("event") == "page" and each["route"] == "unknown" for each in lines)


@pytest.mark.parametrize("path", ["/dashboard/login", "/operator/login", "/dashboard/", "/healthz", "/nowhere"])
async def test_what_came_over_tls_says_that_browsers_must_stay_with_it(running: Running, path: str) -> None:
    plain = await asyncio.to_thread(exchange, running.url, request("GET", path))
    over_tls = request("GET", path, headers=(b"x-forwarded-proto: https",))
    secure = await asyncio.to_thread(exchange, running.url, over_tls)

    assert "strict-transport-security" not in plain.headers
    assert secure.headers["strict-transport-security"] == "max-age=31536000"
