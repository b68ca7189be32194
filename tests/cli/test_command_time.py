"""A command uses the database's time, because its user can set the clock of the process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from malipo import clock
from malipo.approvals import operator_limits
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.settings import Settings
from tests.cli.test_operator_session import PASSWORD
from tests.cli.test_operator_session import two_operators as two_operators
from tests.conftest import Merchant
from tests.journeys import database_facts
from tests.operators.booking_steps import LIMIT

# What `faketime` does: the process reads another time than it is.
_COMMAND = """
import sys, time
from malipo import clock
from malipo.cli import run
ahead = int(sys.argv.pop(1)) * 3600 * 10**9
clock.read_from(nanoseconds=lambda: time.time_ns() + ahead, monotonic=time.monotonic)
sys.exit(run(sys.argv[1:]))
"""


class LyingClock:
    """A terminal whose processes are so many hours ahead."""

    def __init__(self, database_url: str, folder: Path, hours: int) -> None:
        self._hours = hours
        self._environment = {
            "PATH": os.environ["PATH"],
            "MALIPO_DATABASE_URL": database_url,
            "MALIPO_OPERATOR_SECOND_FACTOR": "optional",
            "XDG_STATE_HOME": str(folder / str(hours)),
        }

    def __call__(self, *arguments: str, typed: str = f"{PASSWORD}\n") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", _COMMAND, str(self._hours), *arguments, "--stdin"],
            env=self._environment,
            input=typed,
            text=True,
            capture_output=True,
            check=False,
        )


@pytest.mark.usefixtures("two_operators")
async def test_a_day_that_only_the_process_sees_gives_nobody_another_amount(
    database: Database, database_url: str, merchant: Merchant, tmp_path: Path
) -> None:
    async with database.begin() as tx:
        settings = Settings(operator_second_factor="optional")
        await operator_limits.note(tx, settings, actor=Actor("malipo", "service"), now=clock.now())
    before = (await database_facts.wallet(database, merchant.id))[0]
    for hours in (0, 25, -25):
        terminal = LyingClock(database_url, tmp_path, hours)
        assert terminal("operators", "login", "asha").returncode == 0
        done = terminal("wallet", "top-up", merchant.id, str(LIMIT), "--reference", f"NMB {hours}")
        assert done.returncode == 0, done.stderr
    assert (await database_facts.wallet(database, merchant.id))[0] - before == LIMIT
    async with database.read() as connection:
        ahead = await connection.fetchval("SELECT max(created_at) - clock_timestamp() FROM audit_log")
    assert ahead.total_seconds() <= 0, "and the audit log has the time that it was"


@pytest.mark.usefixtures("two_operators")
async def test_an_old_confirmation_is_not_made_new_by_the_clock_of_a_process(
    database: Database, database_url: str, merchant: Merchant, tmp_path: Path
) -> None:
    terminal = LyingClock(database_url, tmp_path, -1)
    assert terminal("operators", "login", "asha").returncode == 0
    async with database.begin() as tx:
        await tx.execute("UPDATE operator_sessions SET confirmed_at = now() - interval '11 minutes'")
    top_up = ("wallet", "top-up", merchant.id, "5", "--reference", "NMB 1")
    unasked = terminal(*top_up, typed="")
    assert (unasked.returncode, "password" in unasked.stderr) == (2, True)
