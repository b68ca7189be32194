"""The build id: the commit, and whether something was changed beside it, wherever a version is named."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from malipo import __version__
from malipo.build import build_id, of_checkout, of_file, of_status
from malipo.cli import run
from malipo.metrics.process_metrics import Metrics
from tests.conftest import Running, until_ready

COMMIT = "4f1c09d2a7be00112233445566778899aabbccdd"
HEAD = f"# branch.oid {COMMIT}\n# branch.head main\n"


@pytest.mark.parametrize(
    ("reported", "build"),
    [
        (HEAD, "4f1c09d2a7be"),
        (HEAD + "# branch.upstream origin/main\n# branch.ab +1 -0\n", "4f1c09d2a7be"),
        (HEAD + "1 .M N... 100644 100644 100644 aa bb malipo/build.py\n", "4f1c09d2a7be-dirty"),
        (HEAD + "? malipo/new.py\n", "4f1c09d2a7be-dirty"),
        ("# branch.oid (initial)\n# branch.head main\n", None),
        ("", None),
    ],
)
def test_what_git_tells_of_a_checkout(reported: str, build: str | None) -> None:
    assert of_status(reported) == build


def test_a_checkout_is_named_by_its_commit_until_something_is_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert of_checkout(tmp_path) is None, "no repository"
    git("init", "--quiet")
    assert of_checkout(tmp_path) is None, "no commit"
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "--quiet", "-m", "one")
    commit = git("rev-parse", "HEAD")[:12]
    assert of_checkout(tmp_path) == commit
    (tmp_path / "file").write_text("2")
    assert of_checkout(tmp_path) == f"{commit}-dirty"
    inside = tmp_path / "inside"
    inside.mkdir()
    assert of_checkout(inside) is None, "the repository of a folder above is another one"


def test_a_wheel_is_named_by_its_file(tmp_path: Path) -> None:
    assert of_file(tmp_path) is None
    (tmp_path / "malipo").mkdir()
    (tmp_path / "malipo" / "_build.txt").write_text("4f1c09d2a7be\n")
    assert of_file(tmp_path) == "4f1c09d2a7be"


def test_the_version_names_the_build(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"malipo {__version__} (build {build_id()})\n"


def test_the_metric_names_version_and_build() -> None:
    sample = f'malipo_build_info{{build="{build_id()}",version="{__version__}"}} 1.0'
    assert sample in Metrics().exposition().decode().splitlines()


async def test_an_api_process_names_its_build_for_the_operator_who_confirms_an_upgrade(
    start: Callable[..., Running], database_url: str
) -> None:
    running = await until_ready(start("api", database_url=database_url))
    async with aiohttp.ClientSession() as http, http.get(f"{running.url}/healthz") as answer:
        health = await answer.json()
    assert (health["version"], health["build"]) == (__version__, build_id())
    started = [line for line in running.log.read_text().splitlines() if '"api.started"' in line]
    assert f'"version":"{__version__}","build":"{build_id()}"' in started[0]
