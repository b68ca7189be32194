"""Redocly CLI and Spectral find nothing to say about the contract that is published."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.api.published_contract import PUBLISHED

LINT = Path(__file__).parent / "lint"
# They send nothing anywhere, and look for no newer version of themselves.
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "REDOCLY_TELEMETRY": "off",
    "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true",
}

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The contract as it is served, beside what each tool is told."""
    for each in ("redocly.yaml", ".redocly.lint-ignore.yaml", "spectral.yaml"):
        shutil.copy(LINT / each, tmp_path)
    write(tmp_path, PUBLISHED)
    return tmp_path


def write(folder: Path, contract: Any) -> None:
    (folder / "openapi.json").write_text(json.dumps(contract, indent=1))


def run(folder: Path, *command: str) -> Any:
    program = LINT / "node_modules" / ".bin" / command[0]
    assert program.exists(), "scripts/contract-linters installs it"
    env = ENVIRONMENT | {"HOME": str(folder)}
    done = subprocess.run((program, *command[1:]), cwd=folder, capture_output=True, text=True, env=env, timeout=110)
    assert done.stdout.strip(), done.stderr
    return json.loads(done.stdout)


def by_redocly(folder: Path) -> set[str]:
    found = run(folder, "redocly", "lint", "openapi.json", "--format=json", "--max-problems=1000")
    return {f"{each['ruleId']}: {each['message']}" for each in found["problems"] if not each.get("ignored")}


def by_spectral(folder: Path) -> set[str]:
    found = run(folder, "spectral", "lint", "openapi.json", "--ruleset=spectral.yaml", "--format=json", "--quiet")
    return {f"{each['code']}: {each['message']} {'.'.join(map(str, each['path']))}" for each in found}


def test_redocly_has_nothing_to_say(folder: Path) -> None:
    assert by_redocly(folder) == set()


def test_spectral_has_nothing_to_say(folder: Path) -> None:
    assert by_spectral(folder) == set()


def test_they_do_find_what_is_wrong(folder: Path) -> None:
    """An example that does not fit, an operation without a summary, a component that nobody uses."""
    contract = json.loads(json.dumps(PUBLISHED))
    operation = contract["paths"]["/v1/wallet"]["get"]
    del operation["summary"], operation["description"]
    operation["responses"]["200"]["content"]["application/json"]["example"]["wallet"]["available"] = "much"
    contract["components"]["schemas"]["Nobody"] = {"type": "string"}
    write(folder, contract)
    redocly, spectral = " ".join(by_redocly(folder)), " ".join(by_spectral(folder))
    for rule in ("operation-summary", "no-invalid-media-type-examples", "no-unused-components"):
        assert rule in redocly
    for rule in ("operation-description", "oas3-valid-media-example", "oas3-unused-component"):
        assert rule in spectral
