"""At the command line one operator's file credits nobody: a second one sees the list, and approves or rejects it."""

from pathlib import Path

import msgspec
import pytest

from malipo import clock
from malipo.db import Database
from malipo.operators import store as operators
from malipo.payments.transaction import Status, Transaction, Type
from tests.journeys import database_facts
from tests.journeys.operator_commands import run_command
from tests.payments.payment_steps import PaymentSteps
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.statement_days import Statements, line_of

MILLIONS = 8_000_000


@pytest.fixture
async def at_desk(database: Database, database_url: str) -> dict[str, str]:
    async with database.begin() as tx:
        for name in ("asha", "juma"):
            await operators.insert_operator(tx, f"opr_{name}", name, now=clock.now())
    return {"database_url": database_url}


async def invented(steps: PaymentSteps, folder: Path) -> tuple[Transaction, Path]:
    """A declined payment, and a file of one line that says that it was paid."""
    declined = await steps.ended(Type.COLLECTION, Status.FAILED, MILLIONS)
    return declined, Statements(steps, folder).write(line_of(declined))


async def test_an_invented_file_credits_nobody(steps: PaymentSteps, tmp_path: Path, at_desk: dict[str, str]) -> None:
    declined, path = await invented(steps, tmp_path)
    before = await database_facts.wallet(steps.database, steps.merchant_id)
    arguments = ("statements", "import", str(path), "--channel", "MPESA", "--profile", "generic", "--new-account")
    imported = run_command(*arguments, operator="asha", **at_desk)
    assert imported.returncode == 0, imported.stderr
    assert "wait for a second operator: 1." in imported.stdout
    [listed] = msgspec.json.decode(run_command("statements", "waiting", "--json", **at_desk).stdout)
    assert (listed["payment"], listed["amount"], listed["by"]) == (declined.reference, MILLIONS, "operator asha")
    assert "Total: TZS 8,000,000" in run_command("statements", "waiting", listed["file"], **at_desk).stdout

    approve = ("statements", "approve-import", listed["file"])
    for refused in (
        run_command(*approve, "--here", operator="asha", **at_desk),
        run_command(*approve, "--alone", operator="asha", **at_desk),
        run_command(*approve, operator="juma", **at_desk),
        run_command(*approve, "--here", **at_desk),
    ):
        assert (refused.returncode, refused.stdout) == (2, "")
    assert run_command("statements", "match", operator="asha", **at_desk).returncode == 0
    assert await database_facts.wallet(steps.database, steps.merchant_id) == before

    approved = run_command(*approve, "--here", operator="juma", **at_desk)
    assert (approved.returncode, "TZS 8,000,000" in approved.stdout) == (0, True), approved.stderr
    assert (await database_facts.wallet(steps.database, steps.merchant_id))[0] == before[0] + MILLIONS
    assert run_command("statements", "waiting", **at_desk).stdout == "Nothing waits for a second operator.\n"


async def test_a_rejected_line_credits_nobody_and_is_an_exception(
    steps: PaymentSteps, tmp_path: Path, at_desk: dict[str, str]
) -> None:
    _, path = await invented(steps, tmp_path)
    before = await database_facts.wallet(steps.database, steps.merchant_id)
    arguments = ("statements", "import", str(path), "--channel", "MPESA", "--profile", "generic", "--new-account")
    file_id = msgspec.json.decode(run_command(*arguments, "--json", operator="asha", **at_desk).stdout)["id"]
    rejected = run_command("statements", "reject-import", file_id, operator="juma", **at_desk)
    assert rejected.returncode == 0, rejected.stderr
    assert run_command("statements", "match", operator="asha", **at_desk).returncode == 0
    assert await database_facts.wallet(steps.database, steps.merchant_id) == before
    [exception] = msgspec.json.decode(run_command("exceptions", "list", "--json", **at_desk).stdout)
    assert exception["kind"] == "theirs_only"
    again = run_command("statements", "approve-import", file_id, "--here", operator="juma", **at_desk)
    assert (again.returncode, "Nothing of this file waits" in again.stderr) == (2, True)
