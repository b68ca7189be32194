"""A worker keeps the log, and the API gives out receipts and the log's files."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from malipo.payments.transaction import Status, Type
from malipo.receipts.checkpoint import open_checkpoint
from malipo.receipts.merkle_tree import hash_leaf, root_of
from malipo.receipts.signed_note import parse_verifier_key
from tests.conftest import NO_LIMITS, Client, Merchant, Running, make_merchant, until_ready
from tests.journeys.full_stack import until
from tests.payments.payment_steps import PaymentSteps
from tests.receipts.log_stack import verifier

Start = Callable[..., Running]
NAME = "pay.example.com/log"


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def receipt_of(api: Client, payment: str) -> Any:
    answer = await api("GET", f"/v1/payments/{payment}/receipt")
    assert answer.status == 200, answer.body
    return answer.body["receipt"]


async def test_a_receipt_is_proven_by_what_anybody_can_read(
    start: Start,
    http: aiohttp.ClientSession,
    database_url: str,
    steps: PaymentSteps,
    merchant: Merchant,
    tmp_path: Path,
) -> None:
    settings = {"database_url": database_url, **NO_LIMITS, "state_dir": tmp_path / "state", "receipt_log_name": NAME}
    running = await until_ready(start("api", **settings, receipt_log="public"))
    private = await until_ready(start("api", **settings, receipt_log="private"))
    off = await until_ready(start("api", **settings))
    api = Client(http, running.url, merchant.key)
    paid = [await steps.ended(Type.COLLECTION, Status.COMPLETED) for _ in range(3)]
    failed = await steps.ended(Type.COLLECTION, Status.FAILED)

    # There is a receipt at once, and the proof later.
    assert (await receipt_of(api, paid[0].id))["facts"] == []
    refused = await api("GET", f"/v1/payments/{failed.id}/receipt")
    assert (refused.status, refused.code) == (404, "receipt_not_found")
    assert (await api("GET", "/v1/payments/txn_unknown/receipt")).code == "transaction_not_found"
    assert (await api("GET", "/log/checkpoint")).status == 404

    start("worker", **settings, receipt_log="public")

    async def is_proven() -> bool:
        shown = [(await receipt_of(api, each.reference))["facts"] for each in paid]
        return all(facts and facts[0]["proof"] for facts in shown)

    await until(is_proven, seconds=120, pause=0.2, what="the first checkpoint")
    keys = (await api("GET", "/log/keys")).body
    tool = verifier()
    trusted = tool.follow({tool.key_of(each): None for each in keys["keys"]}, keys["handovers"])
    for each in paid:
        shown = await receipt_of(api, each.id)
        [(fact, _, _)] = tool.verify_receipt(shown, trusted)
        assert (fact["payment"], fact["amount"], fact["merchantName"]) == (each.id, 1000, "Duka")
        assert shown["url"].startswith(f"{running.url}/receipt/{each.reference}-")
        assert "+255754" not in str(shown)

    note = await text_of(http, f"{running.url}/log/checkpoint")
    opened = open_checkpoint(note, map(parse_verifier_key, keys["keys"]))
    size, number = opened.head.size, opened.head.origin.rpartition("/")[2]
    assert (size, opened.head.origin) == (4, f"{NAME}/{number}")
    for base in (f"{running.url}/log", f"{running.url}/log/{number}"):
        assert await text_of(http, f"{base}/checkpoint") == note
        entries = split(await bytes_of(http, f"{base}/tile/entries/000.p/{size}"))
        assert root_of([hash_leaf(each) for each in entries]) == opened.head.root
        assert await bytes_of(http, f"{base}/tile/0/000.p/{size}") == b"".join(map(hash_leaf, entries))
        for missing in ("tile/0/000", "tile/0/000.p/5", "tile/1/000", "tile/0/001", "tile/x", "tile/entries/000.p/0"):
            async with http.get(f"{base}/{missing}") as answer:
                assert answer.status == 404, missing
    for path in (f"/log/{int(number) + 1}/checkpoint", "/log/x/checkpoint", "/log/99999999999999999999/checkpoint"):
        assert (await api("GET", path)).status == 404
    async with http.get(f"{running.url}/log/tile/entries/000.p/{size}") as answer:
        assert answer.headers["Cache-Control"] == "public, max-age=10", "after a restore it is another log's"
    # A private log: its receipts are proven, and nobody reads it.
    assert (await receipt_of(api.at(private.url), paid[0].id))["facts"][0]["proof"]
    assert (await api.at(private.url)("GET", "/log/keys")).body == keys
    assert (await api.at(private.url)("GET", "/log/checkpoint")).status == 404
    assert (await api.at(private.url)("GET", f"/log/{number}/tile/entries/000.p/{size}")).status == 404
    assert (await api.at(off.url)("GET", "/log/keys")).status == 404


async def text_of(http: aiohttp.ClientSession, url: str) -> str:
    return (await bytes_of(http, url)).decode()


async def bytes_of(http: aiohttp.ClientSession, url: str) -> bytes:
    async with http.get(url) as answer:
        assert answer.status == 200, url
        assert answer.headers["Cache-Control"].startswith("public, max-age=")
        return await answer.read()


def split(bundle: bytes) -> list[bytes]:
    entries = []
    while bundle:
        length = int.from_bytes(bundle[:2], "big")
        entries.append(bundle[2 : 2 + length])
        bundle = bundle[2 + length :]
    return entries


async def test_another_merchants_receipt_is_not_found(
    start: Start, http: aiohttp.ClientSession, database_url: str, steps: PaymentSteps, merchant: Merchant
) -> None:
    running = await until_ready(start("api", database_url=database_url, **NO_LIMITS))
    paid = await steps.ended(Type.COLLECTION, Status.COMPLETED)
    other = await make_merchant(steps.database)
    answer = await Client(http, running.url, other.key)("GET", f"/v1/payments/{paid.id}/receipt")
    assert (answer.status, answer.code) == (404, "transaction_not_found")
