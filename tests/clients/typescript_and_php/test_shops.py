"""The example shops with the clients, at the real service: an order is paid, told by webhook, and refunded once."""

import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.clients.typescript_and_php.programs import PHP, TYPESCRIPT, built_typescript, here
from tests.conftest import create_database, free_port
from tests.examples.signed_webhooks import STRANGE, event, signed
from tests.journeys.full_stack import FullStack, full_stack_started, until

EXAMPLES = Path(__file__).parents[3] / "examples"
PAYS, DECLINES = "+255684001001", "+255684001101"


@pytest.fixture(scope="module")
async def full_stack(
    postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FullStack]:
    url = await create_database(postgres, template)
    folder: Path = tmp_path_factory.mktemp("town")
    async with full_stack_started(folder, url, webhook_allow_private="true") as full_stack:
        full_stack.start("worker")
        yield full_stack


@dataclass
class Shop:
    folder: Path
    command: list[str]
    environment: dict[str, str]
    url: str
    http: aiohttp.ClientSession
    process: subprocess.Popen[bytes] | None = None

    async def open(self) -> "Shop":
        environment = {"PATH": os.environ["PATH"], **self.environment}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: ASYNC220
                self.command, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        await until(self._answers, what="the shop's opening")
        return self

    async def _answers(self) -> bool:
        try:
            return (await self("GET", "/orders/0"))[0] == 404
        except aiohttp.ClientError:
            return False

    def close(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(60)

    async def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        async with self.http.request(method, self.url + path, json=body, **more) as answer:
            return answer.status, await answer.json()

    async def order(self, phone: str) -> Any:
        status, order = await self("POST", "/orders", {"amount": 1000, "phone": phone, "channel": "AIRTEL_MONEY"})
        assert status == 200, order
        return order

    async def ended(self, number: Any) -> Any:
        async def has_ended() -> Any:
            _, found = await self("GET", f"/orders/{number}")
            return found if found["status"] in ("COMPLETED", "FAILED") else None

        return await until(has_ended, what="the webhook")


@pytest.fixture(params=["node", "php"])
async def shop(request: pytest.FixtureRequest, full_stack: FullStack, tmp_path: Path) -> AsyncIterator[Shop]:
    """As a developer would put it together, with an endpoint of its own."""
    port = free_port()
    if request.param == "node":
        shutil.copy(EXAMPLES / "node" / "shop.mjs", tmp_path)
        (tmp_path / "node_modules").mkdir()
        assert built_typescript().parent == TYPESCRIPT
        (tmp_path / "node_modules" / "malipo-client").symlink_to(TYPESCRIPT)
        command = [here("node"), "shop.mjs"]
    else:
        shutil.copy(EXAMPLES / "php" / "shop.php", tmp_path)
        shutil.copy(PHP / "Malipo.php", tmp_path)
        command = [here("php"), "-S", f"127.0.0.1:{port}", "shop.php"]
    url = f"http://127.0.0.1:{port}"
    endpoint = await full_stack.api("POST", "/v1/webhooks", {"url": f"{url}/webhooks", "events": ["*"]})
    environment = {
        "MALIPO_API_KEY": full_stack.merchant.key,
        "MALIPO_URL": full_stack.api.url,
        "WEBHOOK_SECRET": endpoint.body["endpoint"]["secret"],
        "PORT": str(port),
    }
    async with aiohttp.ClientSession() as http:
        shop = Shop(tmp_path, command, environment, url, http)
        try:
            yield await shop.open()
        finally:
            shop.close()
            await full_stack.api("DELETE", f"/v1/webhooks/{endpoint.body['endpoint']['id']}")


async def test_an_order_is_paid_and_its_money_goes_back_once(shop: Shop, full_stack: FullStack) -> None:
    paid, declined = [await shop.order(phone) for phone in (PAYS, DECLINES)]
    paid, declined = [await shop.ended(each["id"]) for each in (paid, declined)]
    assert (paid["status"], declined["status"]) == ("COMPLETED", "FAILED")

    shop.close()
    await shop.open()
    refunds = [await shop("POST", f"/orders/{paid['id']}/refund") for _ in range(2)]
    assert [status for status, _ in refunds] == [200, 200]
    assert refunds[0][1]["refund"] == refunds[1][1]["refund"]
    assert (await full_stack.shown(paid["payment"]))["refunds"] == [refunds[0][1]["refund"]]
    status, told = await shop("POST", f"/orders/{declined['id']}/refund")
    assert (status, "error" in told) == (409, True)


async def test_a_strangers_word_changes_nothing(shop: Shop, full_stack: FullStack) -> None:
    status, _ = await shop("POST", "/orders", {"amount": 1, "phone": "0754", "channel": "MPESA"})
    assert status == 400, "malipo has refused it"
    order = await shop.order(PAYS)
    body = event(None, orderReference=order["id"], status="FAILED")
    async with shop.http.post(f"{shop.url}/webhooks", data=body, headers=signed(body, STRANGE)) as answer:
        assert answer.status == 401
    assert (await shop.ended(order["id"]))["status"] == "COMPLETED"
    again = await shop("POST", f"/orders/{order['id']}/pay")
    assert again == (200, await shop.ended(order["id"]))
    made = await full_stack.api("GET", f"/v1/payments?orderReference={order['id']}")
    assert made.body["pagination"]["total"] == 1, "the same key is the same payment"
    assert (await shop("GET", "/orders/constructor"))[0] == 404
