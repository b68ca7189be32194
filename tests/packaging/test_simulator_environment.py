"""deploy/simulator/environment: a staging service is connected to a simulator by the lines that it prints."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from malipo.cli import simulator_setup
from malipo.networks.connector import Channel
from malipo.settings.environment import read, variable
from malipo.settings.environment_file import parse
from tests.simulator.processes import Process, start

SCRIPT = Path(__file__).parents[2] / "deploy/simulator/environment"
PAGE = SCRIPT.parents[2] / "docs/simulator.md"
MALIPO = "http://127.0.0.1:8080"


@pytest.fixture
def simulator() -> Iterator[Process]:
    started = start()
    yield started
    started.stop()


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    # As it is installed: the script lies in another folder than malipo.
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        env={"PYTHONPATH": str(SCRIPT.parents[2])},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


async def test_every_network_is_connected_and_sends_its_callbacks_to_malipo(simulator: Process) -> None:
    done = _run(simulator.url, f"{MALIPO}/")
    assert done.returncode == 0, done.stderr
    settings = read(parse(done.stdout).variables)
    assert settings.simulated
    assert settings.mpesa_base_url is not None
    assert settings.mpesa_base_url.startswith(simulator.url)
    async with aiohttp.ClientSession() as http, http.get(f"{simulator.url}/api/callbacks") as answer:
        reported = await answer.json()
    for channel in Channel:
        token = getattr(settings, f"{channel.lower()}_callback_token")
        assert reported[channel] == f"{MALIPO}/callbacks/{channel.lower()}/{token}"


def test_the_page_names_what_each_credential_becomes() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| (`\w+` → .*) \|$", PAGE.read_text(), re.MULTILINE)
    reported = {
        channel: {name: theirs for theirs, name in re.findall(r"`(\w+)` → `(MALIPO_\w+)`", cell)}
        for channel, cell in rows
    }
    known = simulator_setup._SETTINGS
    assert reported == {
        channel: {variable(name): theirs for name, theirs in names.items()} for channel, names in known.items()
    }


def test_it_says_what_is_missing() -> None:
    assert _run().returncode == 2
    assert _run("127.0.0.1:8082", MALIPO).returncode == 2
