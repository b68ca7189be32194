"""The example shops, with the clients, against the real service: an order is paid once, ended by a webhook, and refunded."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from malipo_client import Malipo

from tests.conftest import free_port
from tests.examples.example_receivers import EXAMPLES
from tests.journeys.full_stack import a_worker, full_stack_started, until

CLIENTS = EXAMPLES.parent / "clients"
# How each is started, and what it needs beside its settings.
SHOPS: dict[str, tuple[list[str], dict[str, str]]] = {
    "python": (
        [sys.executable, str(EXAMPLES / "python" / "shop.py")],
        {"PYTHONPATH": str(CLIENTS / "python" / "src")},
    ),
}
PHONE = "+255684000001"
UNSENT = "7" * 32
ORDER = {"amount": 5000, "phone": PHONE, "channel": "AIRTEL_MONEY"}


def ask(method: str, url: str, body: Any = None) -> tuple[int, Any]:
    data = json.dumps(body or {}).encode() if method == "POST" else None
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=30) as answer:  # noqa: S310 - ours
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@contextmanager
def opened(name: str, folder: Path, port: int, **settings: str) -> Iterator[str]:
    """The shop, as a process of its own; its address."""
    command, needed = SHOPS[name]
    environment = {"PATH": os.environ["PATH"], "PORT": str(port), "DB": str(folder / "shop.db"), **needed, **settings}
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        assert "open" in process.stdout.readline()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(60)
        process.stdout.close()


@pytest.mark.parametrize("name", SHOPS)
async def test_an_order_is_paid_ended_by_a_webhook_and_refunded(name: str, tmp_path: Path, database_url: str) -> None:
    async with full_stack_started(tmp_path, database_url, webhook_allow_private="true") as stack, a_worker(stack):
        await asyncio.to_thread(_sell, asyncio.get_running_loop(), name, tmp_path, stack.merchant.key, stack.api.url)


def _sell(loop: asyncio.AbstractEventLoop, name: str, folder: Path, key: str, url: str) -> None:
    port, malipo = free_port(), Malipo(key, url)
    endpoint = malipo.webhooks.create(url=f"http://127.0.0.1:{port}/webhooks", events=["*"])
    where = {"MALIPO_API_KEY": key, "MALIPO_URL": url, "WEBHOOK_SECRET": endpoint.secret or ""}

    def become(shop: str, order: str, status: str) -> None:
        def is_so() -> Awaitable[bool]:
            return asyncio.to_thread(lambda: ask("GET", f"{shop}/orders/{order}")[1]["status"] == status)

        _wait(loop, is_so, f"order {order} {status}")

    with opened(name, folder, port, **where) as shop:
        status, order = ask("POST", f"{shop}/orders", ORDER)
        assert (status, order["amount"]) == (200, 5000)
        become(shop, order["id"], "COMPLETED")
        assert ask("POST", f"{shop}/orders/{order['id']}/refund")[0] == 200
        assert ask("POST", f"{shop}/orders/{order['id']}/refund")[0] == 200, "the same refund again"
        become(shop, order["id"], "REFUNDED")
        status, refused = ask("POST", f"{shop}/orders", {**ORDER, "amount": 1})
        assert (status, "at least 500" in refused["error"]) == (400, True)
        assert ask("POST", f"{shop}/webhooks", {"event": "payment.completed", "transaction": {}})[0] == 400
        assert ask("GET", f"{shop}/orders/{UNSENT}")[0] == 404
    with closing(sqlite3.connect(folder / "shop.db")) as db, db:
        # It dies when the order is stored and before malipo has heard of it.
        stored = "INSERT INTO orders (id, amount, phone, channel) VALUES (?, 5000, ?, 'AIRTEL_MONEY')"
        db.execute(stored, [UNSENT, PHONE])
    for _ in range(2):
        with opened(name, folder, port, **where) as shop:
            become(shop, UNSENT, "COMPLETED")
    paid = {each.order_reference: each.refunded_amount for each in malipo.payments.list(type="COLLECTION")}
    assert paid == {order["id"]: 5000, UNSENT: None}
    assert len(list(malipo.payments.list())) == 3, "two collections and one refund"
    (folder / "shop.db").unlink()
    with opened(name, folder, port, **where) as shop:  # A shop that begins anew asks for new payments.
        status, another = ask("POST", f"{shop}/orders", ORDER)
        assert (status, another["payment"] in (None, order["payment"])) == (200, False)
    malipo.close()


def _wait(loop: asyncio.AbstractEventLoop, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
    asyncio.run_coroutine_threadsafe(until(is_so, what=what, pause=0.05), loop).result(60)
