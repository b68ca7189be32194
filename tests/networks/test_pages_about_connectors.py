"""The Python of the pages about adding a network runs: they are followed by people who cannot know what was renamed."""

import ast
import re
import textwrap
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from malipo.networks import connector as connector_names
from malipo.networks import routing
from malipo.networks.http.client import HttpClient
from malipo.settings import networks as network_settings
from tests.networks import scripted_server
from tests.networks.scripted_server import ScriptedServer

DOCS = Path(__file__).parents[2] / "docs"
# What the pages let the reader write. Here it is in the names that a block begins with.
WRITTEN_BY_READER = {
    "malipo.networks.pesa_rahisi",
    "malipo.networks.pesa_rahisi.connector",
    "malipo.settings",
    "malipo.settings.networks",
    "tests.networks.toy",
}


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def run(block: str, **names: Any) -> dict[str, Any]:
    """Run a block as a module that has these names. Its fixtures stay plain functions."""
    module = ast.parse(block)
    module.body = [
        each for each in module.body if not (isinstance(each, ast.ImportFrom) and each.module in WRITTEN_BY_READER)
    ]
    for each in module.body:
        if isinstance(each, ast.AsyncFunctionDef):
            each.decorator_list = []
    found = {"__name__": __name__, **names}
    exec(compile(module, "page", "exec"), found)  # noqa: S102 - our own page
    return found


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """What a reader has who has followed "Adding a network"."""
    settings, codes, connector, kind = blocks("adding-a-network.md")
    made = run(settings, **vars(network_settings))["PesaRahisiSettings"]
    tables = run(codes)
    found = run(connector, PesaRahisiSettings=made, codes=SimpleNamespace(**tables))
    kinds = run(f"kinds = {{{textwrap.dedent(kind)}}}", **vars(routing), PesaRahisi=found["PesaRahisi"])["kinds"]
    assert list(kinds) == ["pesa_rahisi"]
    return {"PesaRahisi": found["PesaRahisi"], "Settings": made}


async def test_the_tests_of_the_page_pass_on_the_connector_of_the_page(written: dict[str, Any]) -> None:
    toy, tests, _ = blocks("testing-a-connector.md")
    page = run(tests, Toy=run(toy)["Toy"], **written)
    named = [name for name in page if name.startswith("test_")]
    assert len(named) == 2
    for name in named:
        async with asynccontextmanager(page["toy"])() as served:
            await page[name](served)


async def test_the_test_of_failures_passes_too(
    written: dict[str, Any], server: ScriptedServer, http_client: HttpClient
) -> None:
    *_, failures = blocks("testing-a-connector.md")
    connector = {name: getattr(connector_names, name) for name in ("PaymentInstruction", "Type", "Verdict")}
    page = run(failures, **vars(scripted_server), HttpClient=HttpClient, **connector, **written)
    [name] = [name for name in page if name.startswith("test_")]
    await page[name](server, http_client)
