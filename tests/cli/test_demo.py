"""The demo: what a newcomer finds."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp

from tests.conftest import COLLECTION, Client, Running, until_ready


async def test_a_newcomer_finds_a_merchant_with_money_and_a_key_and_finds_them_again(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    first = await until_ready(start("demo"))
    demo_file = tmp_path / "var/demo.json"
    demo = json.loads(demo_file.read_text())
    assert demo["baseUrl"] == first.url
    assert demo_file.stat().st_mode & 0o777 == 0o600
    async with aiohttp.ClientSession() as http:
        client = Client(http, demo["baseUrl"], demo["apiKey"])
        assert (await client("GET", "/v1/wallet")).body["wallet"]["available"] == 5_000_000
        assert (await client("GET", "/v1/payments")).body["transactions"] == []
        assert (await client("POST", "/v1/payments", COLLECTION)).status == 201
    assert demo["apiKey"] in first.log.read_text(), "the welcome shows the key"

    first.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert first.process.wait(20) == 0
    print(f"Ctrl-C took {time.monotonic() - began:.2f} s")

    second = await until_ready(start("demo"))
    again = json.loads(demo_file.read_text())
    assert again["apiKey"] == demo["apiKey"]
    async with aiohttp.ClientSession() as http:
        client = Client(http, second.url, demo["apiKey"])
        assert (await client("GET", "/v1/wallet")).body["wallet"]["available"] == 5_000_000, "topped up once"
        assert (await client("GET", "/v1/payments")).body["pagination"]["total"] == 1
    assert "754000001" not in (tmp_path / "var/malipo.log").read_text(), "no phone number in the log"
