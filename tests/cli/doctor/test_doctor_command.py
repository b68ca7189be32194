"""malipo doctor on a real database, processes and folders."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg

from malipo.clock import now
from tests.cli.database_roles import url_of_role
from tests.conftest import SECRET_KEY, Running, free_port, until_ready
from tests.journeys.operator_commands import malipo


async def levels(**settings: Any) -> tuple[int, dict[str, list[tuple[str, str]]]]:
    """The exit code, and what was printed of each check."""
    backups = settings.pop("backups", None)
    said = await malipo("doctor", "--json", *(("--backups", str(backups)) if backups else ()), **settings)
    found: dict[str, list[tuple[str, str]]] = {}
    assert said.out, said.err
    for each in json.loads(said.out):
        found.setdefault(each["check"], []).append((each["level"], each["sentence"]))
    return said.code, found


async def test_doctor_prints_what_is_right_and_what_is_wrong_and_changes_nothing(
    start: Callable[..., Running], database_url: str, tmp_path: Path
) -> None:
    reader = await url_of_role(database_url, "reader", read_only=True)
    running = await until_ready(start("api", database_url=database_url))
    backup = tmp_path / "backups" / "base-1"
    backup.mkdir(parents=True)
    (tmp_path / "backups" / "last-good").write_text(f"{int(now().timestamp())} {backup}\n")
    given = {
        "database_url": reader,
        "secret_key": SECRET_KEY,
        "port": running.url.rpartition(":")[2],
        "data_dir": tmp_path / "none",
        "mpesa_base_url": f"http://127.0.0.1:{free_port()}",
        "allow_http_networks": "true",
        "backups": tmp_path / "backups",
    }
    before = await dump(database_url), sorted(os.walk(tmp_path))

    code, found = await levels(**given)

    assert code == 1
    assert (await dump(database_url), sorted(os.walk(tmp_path))) == before, "it changes nothing"
    assert [level for level, _ in found["backups"]] == ["ok"]
    assert [level for level, _ in found["clock"]] == ["ok"]
    assert [level for level, _ in found["processes"]] == ["ok"]
    assert found["database"] == [
        ("problem", "The database is read-only: it is a standby, or set so. Name the primary.")
    ]
    assert "0 operators have a password" in found["second factors"][0][1]
    assert found["networks"][0][0] == "problem", "nobody listens there"
    assert found["archive"][0][1].startswith("archive_mode is off")
    assert found["metrics"] == [
        ("warning", "MALIPO_WORKER_METRICS_PORT is not set: Prometheus cannot ask the workers.")
    ], "every metric of the API was found"


async def test_without_a_database_it_says_so_and_looks_at_the_rest(tmp_path: Path) -> None:
    code, found = await levels(data_dir=tmp_path / "var", port=free_port())
    assert code == 1
    assert any("The database cannot be asked: MALIPO_DATABASE_URL is not set" in each for _, each in found["database"])
    assert found["roles"] == [("warning", "Not looked at: the database cannot be asked.")]
    assert found["processes"] == [("problem", "The API of this machine does not answer at MALIPO_PORT.")]
    assert not (tmp_path / "var").exists()


async def test_for_people_it_is_a_line_each_with_a_sum(tmp_path: Path) -> None:
    said = await malipo("doctor", data_dir=tmp_path / "var", port=free_port())
    lines = said.out.splitlines()
    assert said.code == 1
    assert any(line.startswith("PROBLEM  settings: MALIPO_SECRET_KEY is not set") for line in lines)
    assert lines[-1].endswith("problems.")


async def dump(url: str) -> list[tuple[str, int]]:
    """How many rows each table has, and had."""
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        quiet = [row[0] for row in tables]
        return [(each, await connection.fetchval(f"SELECT count(*) FROM {each}")) for each in quiet]
    finally:
        await connection.close()
