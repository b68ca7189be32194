"""Each safeguard that the simulation takes out is in the service, and its loss is noticed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from malipo.db import Database
from malipo.payments.network_answer import trust
from malipo.payments.transaction import Cause, Status, Type, next_status
from simulation.safeguard_list import remove_safeguard
from simulation.safeguard_list.remove_safeguard import InFunction, Safeguard
from simulation.safeguards import SAFEGUARDS, watch_all

ROOT = Path(__file__).parent.parent.parent


def _in_a_fork(act: Callable[[], None]) -> bool:
    """Whether it went well. What it changes in the service ends with its process."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except BaseException as error:
            os.write(2, f"{error}\n".encode())
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("safeguard", SAFEGUARDS.values(), ids=list(SAFEGUARDS))
def test_what_is_taken_out_stands_in_the_service(safeguard: Safeguard) -> None:
    assert safeguard.words.endswith(".")
    assert safeguard.changes or safeguard.sql
    assert _in_a_fork(safeguard.take_out)


async def test_what_is_taken_out_of_the_database_is_in_it(database: Database) -> None:
    statements = [each for safeguard in SAFEGUARDS.values() for each in safeguard.sql]
    assert statements
    for statement in dict.fromkeys(statements):
        async with database.begin() as tx:
            await tx.execute(statement)


def test_a_text_that_is_no_longer_there_is_an_error() -> None:
    gone = InFunction(trust.is_believed, "a text that was there last year", "")
    assert not _in_a_fork(gone)


def test_whoever_has_imported_a_function_gets_the_one_without_the_safeguard() -> None:
    def take_out() -> None:
        assert next_status(Type.DISBURSEMENT, Status.PROCESSING, Cause.WITHDRAWN) is None
        SAFEGUARDS["cancel-before-claim"].take_out()
        assert next_status(Type.DISBURSEMENT, Status.PROCESSING, Cause.WITHDRAWN) is Status.CANCELLED
        InFunction(next_status, "return TRANSITIONS.get((status, cause))", "return Status.FAILED")()
        assert next_status(Type.DISBURSEMENT, Status.PENDING, Cause.SUBMITTED) is Status.FAILED

    assert _in_a_fork(take_out)
    assert next_status(Type.DISBURSEMENT, Status.PROCESSING, Cause.WITHDRAWN) is None


def test_a_watched_safeguard_is_reached_where_it_would_matter() -> None:
    def watch() -> None:
        of_condition = InFunction(_halved, "if number % 2:", "if False:")
        of_value = InFunction(_halved, "return number // 2", "return min(number // 2, 10)")
        of_text = InFunction(_halved, "odd", "even")
        for each in (of_condition, of_value):
            each.watch()
        assert _halved(4) == 2
        assert remove_safeguard.reached == set()
        assert _halved(40) == 20
        assert remove_safeguard.reached == {of_value.mark}
        with pytest.raises(ValueError, match="odd"):
            _halved(5)
        assert remove_safeguard.reached == {of_value.mark, of_condition.mark}
        of_text.watch()
        assert _halved(4) == 2
        assert of_text.mark in remove_safeguard.reached, "in a text, any call of the function counts"

    assert _in_a_fork(watch)


def _halved(number: int) -> int:
    """An example."""
    if number % 2:
        raise ValueError("odd")
    return number // 2


def test_all_safeguards_in_functions_can_be_watched_at_once() -> None:
    assert _in_a_fork(watch_all)


def test_what_is_in_sql_or_in_a_table_may_always_matter() -> None:
    assert SAFEGUARDS["network-key-unique"].is_reached([])
    assert not SAFEGUARDS["step-unique"].is_reached([])
    assert SAFEGUARDS["step-unique"].is_reached(["moves_pkey"])
    assert SAFEGUARDS["cancel-before-claim"].is_reached([])
    assert not SAFEGUARDS["overtaken"].is_reached([])
    [change] = SAFEGUARDS["overtaken"].changes
    assert isinstance(change, InFunction)
    assert SAFEGUARDS["overtaken"].is_reached([change.mark])


@pytest.mark.slow
def test_a_failure_is_found_shrunk_printed_and_can_be_shown_again() -> None:
    found = _simulate("--seed", "1", "--runs", "1", "--orders", "0,4", "--without", "contradiction-recorded")
    assert found.returncode == 1, found.stdout + found.stderr
    assert "FOUND  unaccounted: " in found.stdout
    assert "1 payments" in found.stdout, "the other one is not needed"
    for line in ("merchant   COLLECTION 1004 order-4: 201", "malipo     txn_", "BOOK       +255660004110 CHARGED 1004"):
        assert line in found.stdout
    assert "./run simulate --explain 1 --orders 4 --without contradiction-recorded" in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "finding"), [("contradiction-recorded", "unaccounted"), ("balance-checked", "broke"), ("claim-marked", "")]
)
def test_what_is_taken_out_is_missed(name: str, finding: str) -> None:
    found = _simulate("--seed", "0", "--runs", "60", "--no-shrink", "--without", name)
    assert found.returncode == 1, found.stdout + found.stderr
    assert f"FOUND  {finding}" in found.stdout


@pytest.mark.slow
def test_the_table_has_a_row_for_a_safeguard_of_the_database() -> None:
    shown = _simulate("--safeguards", "--runs", "1", "--without", "wallet-never-negative")
    assert shown.returncode == 0, shown.stderr
    assert "| wallet-never-negative | 0 |" in shown.stdout


def _simulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simulation", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
