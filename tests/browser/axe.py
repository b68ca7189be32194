"""axe-core: what a page keeps from people who see, hear or move differently."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

_FOLDER = Path(__file__).parent / "node_modules"
_SCRIPT = _FOLDER / "axe-core" / "axe.min.js"
_RUN = """async (options) => (await axe.run(document, options)).violations.flatMap((each) => each.nodes
  .filter((node) => ["serious", "critical"].includes(node.impact))
  .map((node) => `${each.id}: ${node.target} ${node.failureSummary.replaceAll("\\n", " ")}`))"""
_ALL: dict[str, Any] = {"resultTypes": ["violations"], "preload": False, "iframes": False}
_COLOURS = _ALL | {"runOnly": ["color-contrast"]}


async def prepare(page: Page) -> None:
    """It comes with every page from now on, by the browser's own way in: our pages let nobody put scripts into them."""
    if not (_FOLDER / ".installed-from").exists():
        assert not os.environ.get("CI"), "in CI nothing is skipped"
        pytest.skip("axe-core is not installed: run scripts/test-needs")
    await page.add_init_script(path=_SCRIPT)


async def faults(page: Page) -> list[str]:
    """Everything serious."""
    found: list[str] = await page.evaluate(_RUN, _ALL)
    return found


async def faults_of_colour(page: Page) -> list[str]:
    """What is hard to read."""
    found: list[str] = await page.evaluate(_RUN, _COLOURS)
    return found
