"""Python can be started without assertions. malipo does not run then: some of them guard money."""

import os
import subprocess
import sys

import pytest

SENTENCE = "malipo: malipo does not run under python -O: unset PYTHONOPTIMIZE, or leave out -O.\n"


@pytest.mark.parametrize(
    ("flags", "variables", "command"),
    [(["-O"], {}, "serve"), ([], {"PYTHONOPTIMIZE": "1"}, "worker"), ([], {"PYTHONOPTIMIZE": "2"}, "--version")],
)
def test_no_command_runs_where_assertions_are_left_out(
    flags: list[str], variables: dict[str, str], command: str
) -> None:
    done = subprocess.run(
        [sys.executable, *flags, "-m", "malipo", command],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", SENTENCE)
