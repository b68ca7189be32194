"""The malipo command, run as a person runs it."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from malipo.cli import parser
from malipo.db.embedded import server
from malipo.merchants.api_keys import Permission
from tests.conftest import SECRET_KEY
from tests.journeys.operator_commands import run_in


def environment(settings: dict[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], **{f"MALIPO_{name.upper()}": value for name, value in settings.items()}}


def malipo(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return run_in(environment(settings), *arguments)


def started_whole(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """As a shell starts it."""
    return subprocess.run(
        [sys.executable, "-m", "malipo", *arguments],
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_a_merchant_and_a_key_are_made_on_the_embedded_database_that_runs_and_on_no_other(tmp_path: Path) -> None:
    where = {"data_dir": str(tmp_path / "var")}

    with server(tmp_path / "var"):
        too_soon = malipo("merchant", "create", "Duka la Mama", **where)
        assert (too_soon.returncode, too_soon.stdout) == (1, "")
        assert too_soon.stderr == "malipo: The database has no schema yet: run malipo migrate.\n"
        assert malipo("migrate", **where).returncode == 0
        created = started_whole("merchant", "create", "Duka la Mama", "--json", **where)
        assert (created.returncode, created.stderr) == (0, "")
        assert json.loads(created.stdout)["id"].startswith("mer_")

        permissions = ("--environment", "test", "--permissions", "payments.read")
        key = malipo("key", "create", "Duka la Mama", *permissions, **where)
        assert key.returncode == 0
        assert key.stdout.startswith("mlp_test_")
        assert "only time" in key.stdout

        check = malipo("ledger", "check", **where)
        assert check.returncode == 0
        assert "clean" in check.stdout
    stopped = started_whole("ledger", "check", **where)
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert "no malipo with an embedded PostgreSQL runs" in stopped.stderr
    assert not (tmp_path / "var/postgres/data/postmaster.pid").exists()


async def test_the_key_itself_is_stored_nowhere(database_url: str) -> None:
    merchant = json.loads(malipo("merchant", "create", "Duka", "--json", database_url=database_url).stdout)
    key = json.loads(malipo("key", "create", merchant["id"], "--json", database_url=database_url).stdout)
    assert set(key["permissions"]) == set(Permission) - {
        "payments.collect",
        "payments.disburse",
        "payouts.approve",
        "settlements.create",
    }, "payments.create is the first two, and a key approves or settles only if that was named"

    connection = await asyncpg.connect(database_url)
    stored = str([tuple(row) for row in await connection.fetch("SELECT * FROM api_keys")])
    await connection.close()
    assert key["last4"] in stored
    assert key["key"] not in stored
    assert key["key"][len(key["prefix"]) :] not in stored


MISTAKES = [
    ([], {}, "COMMAND"),
    (["frobnicate"], {}, "frobnicate"),
    (["serve"], {"prot": "1"}, "MALIPO_PROT"),
    (["serve"], {"port": "none"}, "MALIPO_PORT"),
    (["serve"], {}, "MALIPO_SECRET_KEY"),
    (["api"], {}, "MALIPO_SECRET_KEY"),
    (["serve"], {"secret_key": "short"}, "at least 32"),
    (["merchant", "list"], {"operator": "asha"}, "malipo operators login"),
    (["wallet", "approve", "NMB-1"], {}, "/operator/bookings"),
    (["payments", "approve", "MLP-1"], {}, "/operator/cases/MLP-1"),
    (["hold", "--reason", "Counting"], {"operator_session": "/nowhere/x/y"}, "malipo operators login"),
    (["hold", "--reason", "Counting"], {"operator_session": "/dev/null"}, "nobody else can read"),
    (["merchant", "activate", "Nobody"], {}, "no merchant"),
    (["merchant", "password-link", "nobody@example.com"], {}, "nobody@example.com"),
    (["tariff", "set", "Duka", "--type", "COLLECTION", "--band", "500:500:0"], {}, "less than the amount"),
    (["tariff", "set", "Duka", "--type", "COLLECTION", "--band", "500"], {}, "FROM:FIXED"),
    (["wallet", "top-up", "Nobody", "1000", "--reference", "R"], {}, "malipo operators login"),
    (["wallet", "show", "Nobody"], {}, "no merchant"),
    (["wallet", "top-up", "Nobody", "ten", "--reference", "R"], {}, "whole number"),
    (["wallet", "top-up", "Nobody", "1000"], {}, "--reference"),
    (["key", "create", "Duka", "--expires", "soon"], {}, "--expires"),
    (["key", "create", "Duka", "--ip", "10.0.0.1/8"], {}, "--ip"),
    (["operators", "add", "two words"], {}, "without spaces"),
    (["audit", "--limit", "0"], {}, "--limit"),
    (["key", "create", "Nobody"], {}, "no merchant 'Nobody'"),
    (["key", "create", "Duka", "--permissions", "payments.steal"], {}, "payments.steal"),
    (["merchant", "create", ""], {}, "1 to 100"),
]


@pytest.mark.parametrize(("arguments", "settings", "output"), MISTAKES)
async def test_a_mistake_is_one_clear_sentence_and_exit_code_2(
    arguments: list[str], settings: dict[str, str], output: str, database_url: str
) -> None:
    done = run_in(environment(settings | {"database_url": database_url}), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert output in done.stderr


def test_a_database_that_is_not_there_is_one_clear_sentence(tmp_path: Path) -> None:
    done = malipo("ledger", "check", database_url=f"postgresql://malipo@/malipo?host={tmp_path}")
    assert done.returncode == 1
    assert done.stderr.startswith("malipo: The database does not answer")
    assert done.stderr.count("\n") == 1


async def test_a_port_that_is_taken_is_one_clear_sentence(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = started_whole("serve", database_url=database_url, port=str(port), secret_key=SECRET_KEY)
    assert done.returncode == 1
    assert f"port {port}" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_every_command_explains_itself() -> None:
    assert "demo" in parser().format_help()
