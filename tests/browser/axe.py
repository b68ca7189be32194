"""axe-core: what a page keeps from people who see, hear or move differently."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from tests.browser.browser_window import NARROW, WIDE

_FOLDER = Path(__file__).parent / "node_modules"
_SCRIPT = _FOLDER / "axe-core" / "axe.min.js"
_RUN = """async (options) => (await axe.run(document, options)).violations.flatMap((each) => each.nodes
  .filter((node) => ["serious", "critical"].includes(node.impact))
  .map((node) => `${each.id}: ${node.target} ${node.failureSummary.replaceAll("\\n", " ")}`))"""
_ALL: dict[str, Any] = {"resultTypes": ["violations"], "preload": False, "iframes": False}
_COLOURS = _ALL | {"runOnly": ["color-contrast"]}
# What depends on where things stand; the rest is the same at every width, and colours cost the most to look at.
_PLACES = _ALL | {"runOnly": ["target-size", "scrollable-region-focusable", "link-in-text-block", "nested-interactive"]}


async def prepare(page: Page) -> None:
    """It comes with every page from now on, by the browser's own way in: our pages let nobody put scripts into them."""
    if not (_FOLDER / ".installed-from").exists():
        assert not os.environ.get("CI"), "in CI nothing is skipped"
        pytest.skip("axe-core is not installed: run scripts/test-needs")
    await page.add_init_script(path=_SCRIPT)


async def faults(page: Page, *, is_dark_too: bool = True) -> list[str]:
    """Everything serious: wide and narrow, light and dark. The page is told so, and not loaded again."""
    found = await _look(page, "wide", _ALL)
    if is_dark_too:
        await page.emulate_media(color_scheme="dark")
        found += await _look(page, "dark", _COLOURS)
        await page.emulate_media(color_scheme="light")
    await page.set_viewport_size(NARROW)
    found += await _look(page, "narrow", _PLACES)
    if not await page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        found.append("narrow: it has to be pushed sideways")
    await page.set_viewport_size(WIDE)
    return found


async def _look(page: Page, how: str, options: dict[str, Any]) -> list[str]:
    return [f"{how}: {each}" for each in await page.evaluate(_RUN, options)]
