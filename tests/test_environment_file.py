"""An environment file is read as systemd reads it, whatever a shell would make of it.

The table was compared with systemd 252's own reader, as were random files.
"""

import subprocess
from pathlib import Path

import pytest

from malipo.settings.environment_file import parse
from tests.conftest import SECRET_KEY
from tests.journeys.operator_commands import run_in

URL = "postgresql://m:a$b`c@db/malipo?sslmode=verify-full&sslrootcert=/etc/malipo/ca.pem"
VALUES = [
    (f"A={URL}", URL),
    ("A=", ""),
    ("  A =  one two \t", "one two"),
    ("A=one # two ; three", "one # two ; three"),
    ("A=$HOME ${HOME} $(id)", "$HOME ${HOME} $(id)"),
    ('A="one # two"', "one # two"),
    ('A="a\\"b\\\\c\\$d\\`e\\n"', 'a"b\\c$d`e\\n'),
    ("A='a\\\"b $c'", 'a\\"b $c'),
    ("A='one' \"two\"three", "onetwothree"),
    ('A=it\'s "so"', 'it\'s "so"'),
    ("A='one\ntwo'", "one\ntwo"),
    ("A=one\\\ntwo", "onetwo"),
    ("A=one\\ two\\ ", "one two "),
    ('A="one\\\ntwo"', "onetwo"),
    ("A=one\r\n", "one"),
    ("A=one\nA=two", "two"),
    ("A=a=b", "a=b"),
    ("#A=one\n; A=two\n\nA=three", "three"),
    ("no assignment\nA=one", "one"),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_a_value_is_what_systemd_makes_of_it(text: str, value: str) -> None:
    assert parse(text).variables == {"A": value}
    assert parse(text + "\nB=1\n").variables == {"A": value, "B": "1"}


def test_a_name_that_no_variable_can_have_is_ignored_and_reported() -> None:
    found = parse("export A=1\n=2\n1B=3\nC=4")
    assert (found.variables, found.ignored) == ({"C": "4"}, ["export A", "1B"])


def malipo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_in({"PATH": "/usr/bin:/bin", **environment}, *arguments)


@pytest.fixture
def file(tmp_path: Path, database_url: str) -> Path:
    """With an address that a shell would cut at its `&`, and lines that it would not take."""
    joined = "&" if "?" in database_url else "?"
    file = tmp_path / "environment"
    file.write_text(
        f"# of the service\nMALIPO_DATABASE_URL={database_url}{joined}sslmode=prefer&application_name=a\n"
        f"MALIPO_SECRET_KEY='{SECRET_KEY}'\nNAME=Duka & Sons; $1\nexport MALIPO_PORT=1\n"
    )
    return file


async def test_a_command_reads_the_file_of_the_service(file: Path, tmp_path: Path) -> None:
    for given in (("--environment-file", str(file)), (f"--environment-file={file}",)):
        done = malipo(*given, "merchant", "list")
        assert (done.returncode, done.stdout) == (0, "There are no merchants yet.\n"), done.stderr
        assert "'export MALIPO_PORT' is no name of a variable" in done.stderr
    named = malipo("merchant", "list", MALIPO_ENVIRONMENT_FILE=str(file))
    assert named.returncode == 0, named.stderr
    by_hand = malipo(
        "--environment-file", str(file), "merchant", "list", MALIPO_DATABASE_URL="postgresql://nobody@127.0.0.1:1/x"
    )
    assert (by_hand.returncode, "does not answer" in by_hand.stderr) == (1, True), by_hand.stderr
    missing = malipo("--environment-file", str(tmp_path / "none"), "merchant", "list")
    assert missing.returncode == 2
    assert (
        missing.stderr
        == f"malipo: The environment file {tmp_path / 'none'} cannot be read: No such file or directory.\n"
    )


@pytest.mark.parametrize(
    "command", [("hold", "--reason", "a test"), ("merchant", "list"), ("migrate",), ("migrate", "--status")]
)
def test_a_command_without_settings_starts_no_database_and_says_what_is_missing(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    folder = tmp_path / "var"
    done = malipo(*command, MALIPO_DATA_DIR=str(folder))
    assert done.returncode == 1
    assert f"MALIPO_DATABASE_URL is not set, and no malipo with an embedded PostgreSQL runs in {folder}" in done.stderr
    assert "--environment-file /etc/malipo/environment" in done.stderr
    assert not folder.exists()
