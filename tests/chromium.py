"""The browser of the tests: Debian's Chromium, its headless shell if that is installed. The shell is the same browser
without what a person's windows need, and takes less than half of the processor time."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright

_NAMES = ("chromium-headless-shell", "chromium")
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def installed() -> str:
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        assert not os.environ.get("CI"), "in CI nothing is skipped"
        pytest.skip("there is no chromium here")
    return found


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=installed(), args=_QUIET)
        yield browser
        await browser.close()
