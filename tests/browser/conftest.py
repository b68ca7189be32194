"""A real browser, and the demo as a newcomer starts it."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests.conftest import NO_LIMITS, free_port, starting, until_ready

_CHROMIUM = Path("/usr/bin/chromium")
_QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium() -> Path:
    if not _CHROMIUM.exists():
        assert not os.environ.get("CI"), "in CI nothing is skipped"
        pytest.skip("there is no chromium here")
    return _CHROMIUM


@pytest.fixture
async def browser(chromium: Path) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=_QUIET)
        yield browser
        await browser.close()


@pytest.fixture(params=[(1280, 900), (390, 844)], ids=["wide", "narrow"])
async def page(browser: Browser, request: pytest.FixtureRequest) -> AsyncIterator[Page]:
    """A window as on a desk, and one as on a telephone. Whatever a page complains about fails the test."""
    width, height = request.param
    context = await browser.new_context(viewport={"width": width, "height": height})
    page = await context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    yield page
    await context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """demo.json of a demo that is ready. One for all stories: each has phones of its own."""
    folder = tmp_path_factory.mktemp("demo")
    with starting(folder) as start:
        running = start("demo", simulator_port=free_port(), **NO_LIMITS)
        asyncio.run(until_ready(running, seconds=60))
        found: dict[str, Any] = msgspec.json.decode((folder / "var" / "demo.json").read_bytes())
        yield found
