"""GET /v1/payments, asked for pages, for references, and for what is wrong with a query."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conftest import Client

DAY = datetime(2026, 3, 14, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


async def page(api: Client, query: str = "") -> dict[str, Any]:
    answer = await api("GET", f"/v1/payments?{query}")
    assert answer.status == 200, answer
    assert list(answer.body) == ["success", "transactions", "pagination"]
    assert list(answer.body["pagination"]) == ["total", "page", "limit", "pages"]
    body: dict[str, Any] = answer.body
    return body


async def found(api: Client, query: str = "") -> list[str]:
    """The ids that a query finds, all on one page; the total says the same."""
    body = await page(api, query)
    assert body["pagination"]["total"] == len(body["transactions"])
    return [each["id"] for each in body["transactions"]]


async def is_found(api: Client, query: str) -> bool:
    """Whether a query finds the merchant's only transaction."""
    return len(await found(api, query)) == 1


async def wrong(api: Client, query: str) -> dict[str, list[str]]:
    answer = await api("GET", f"/v1/payments?{query}")
    assert answer.status == 400, answer
    assert set(answer.body) == {"error", "details"}
    details: dict[str, list[str]] = answer.body["details"]
    return details
