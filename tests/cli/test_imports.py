"""A command imports what it needs: the start of a process of malipo is mostly imports. What a worker leaves out is
checked with the import layers (`pyproject.toml`)."""

import argparse
import subprocess
import sys

import pytest

from malipo.cli import overview, parser

# What most commands do not need, and takes long: servers and pages, passwords, and what a second operator is shown.
HEAVY = {
    "aiohttp", "babel", "jinja2", "jwt", "starlette", "uvicorn", "yaml", "zxcvbn",
    "malipo.dashboard", "malipo.service", "malipo.payments", "malipo.reconciliation",
}  # fmt: skip
LIGHT_COMMANDS = ("hold", "key", "merchant", "migrate", "reload", "serve")


def test_commands_import_nothing_heavy_that_they_do_not_need() -> None:
    imported = _imported_by(f"[parser(each) for each in {LIGHT_COMMANDS}]")
    assert "malipo.cli.merchants" in imported
    assert imported & HEAVY == set()


def test_help_imports_no_command() -> None:
    imported = _imported_by("run(['--help'])")
    assert {each for each in imported if each.startswith("malipo.cli.")} == {"malipo.cli.command_table"}
    assert imported & HEAVY == set()


def _imported_by(call: str) -> set[str]:
    code = f"import sys; from malipo.cli import parser, run; {call}; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    return set(done.stderr.split())


def test_help_names_every_command_as_its_module_does() -> None:
    assert overview().format_help() == parser().format_help()


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["--frobnicate"]])
def test_an_unknown_command_is_refused_in_the_same_words(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def refusal_of(each: argparse.ArgumentParser) -> str:
        with pytest.raises(SystemExit):
            each.parse_args(arguments)
        return capsys.readouterr().err

    assert refusal_of(overview()) == refusal_of(parser())
