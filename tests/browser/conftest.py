"""A real browser, and the demo as a newcomer starts it. One of each for all stories: each has phones of its own."""

import os
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from playwright.async_api import Browser, Page

from tests import chromium
from tests.browser.browser_window import NARROW, WIDE, Windows
from tests.conftest import NO_LIMITS, Client, free_port, starting, until_ready
from tests.journeys.operator_commands import run_in

_numbers = count(4000)


@pytest.fixture(scope="package")
async def browser() -> AsyncIterator[Browser]:
    async with chromium.launched() as browser:
        yield browser


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
async def page(browser: Browser, request: pytest.FixtureRequest) -> AsyncIterator[Page]:
    """A window as on a desk, and one as on a telephone."""
    async with Windows(browser).open(request.param) as page:
        yield page


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="package")
async def demo(folder: Path) -> AsyncIterator[dict[str, Any]]:
    """demo.json of a demo that is ready."""
    chromium.installed()  # Without it nobody would look.
    with starting(folder) as start:
        # A sender without a server: no e-mail is sent, and links for passwords are shown on the pages.
        quiet = {"mail_sender": "Duka Pay <no-reply@duka.example>"}
        await until_ready(
            start("demo", simulator_port=free_port(), unsettled_seconds=1, **quiet, **NO_LIMITS), seconds=240
        )
        found: dict[str, Any] = msgspec.json.decode((folder / "var" / "demo.json").read_bytes())
        yield found


@pytest.fixture(scope="package")
def operator(demo: dict[str, Any], folder: Path) -> tuple[str, str]:
    """The name and password of somebody who runs the demo."""
    name, password = "zuhura", "pamba la Mwanza 9"
    environment = {"PATH": os.environ["PATH"], "MALIPO_DATA_DIR": str(folder / "var")}
    for words in (["add", name], ["password", name, "--stdin"]):
        run_in(environment, "operators", *words, typed=password).check_returncode()
    return name, password


@pytest.fixture(scope="package")
async def windows(browser: Browser, demo: dict[str, Any]) -> Windows:
    """Windows in which the demo's owner is logged in."""
    return await Windows(browser).logged_in(demo["baseUrl"], demo["email"], demo["password"])


@pytest.fixture
def phone() -> str:
    """One of M-Pesa's that waits for a person."""
    return f"+25575{next(_numbers):04}100"


@pytest.fixture
async def shop(demo: dict[str, Any]) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as http:
        yield Client(http, demo["baseUrl"], demo["apiKey"])
