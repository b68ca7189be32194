"""The line of a request in the log: it is found by the transaction's id, and has no text of the client."""

import asyncio
import json

from tests.api.conftest import created
from tests.conftest import COLLECTION, PAYOUT, Client, Running


async def test_the_line_of_a_request_has_the_id_of_its_transaction(running: Running, api: Client) -> None:
    collection, payout = await created(api, COLLECTION), await created(api, PAYOUT)
    await api("GET", f"/v1/payments/{collection['reference']}")
    await api("POST", f"/v1/payments/{payout['reference']}/cancel")
    missing = await api("GET", "/v1/payments/MLP-1")
    unknown = await api("GET", "/v1/nowhere/asha@example.com")
    async with asyncio.timeout(240):
        while unknown.headers["X-Request-Id"] not in (text := running.log.read_text()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def about(id_: str) -> list[tuple[str, str]]:
        return [(each["method"], each["route"]) for each in lines if each.get("transaction") == id_]

    assert about(collection["id"]) == [("POST", "/v1/payments"), ("GET", "/v1/payments/{id}")]
    assert about(payout["id"]) == [("POST", "/v1/payments/disburse"), ("POST", "/v1/payments/{id}/cancel")]
    by_request = {each["request"]: each for each in lines if each["event"] == "request"}
    assert "transaction" not in by_request[missing.headers["X-Request-Id"]]
    assert by_request[unknown.headers["X-Request-Id"]]["route"] == "unknown"
    assert "asha@example.com" not in text


async def test_no_answer_about_money_is_kept_on_the_way(api: Client) -> None:
    """Not by a proxy, and not by the program: a status of before would be taken for that of now."""
    made = await api("POST", "/v1/payments", COLLECTION)
    read = await api("GET", f"/v1/payments/{made.body['transaction']['id']}")
    refused = await api("GET", "/v1/payments?limit=0")
    missing = await api("GET", "/v1/nowhere")
    for answer in (made, read, await api("GET", "/v1/payments"), await api("GET", "/v1/wallet"), refused, missing):
        assert answer.headers.getall("Cache-Control") == ["no-store"]
