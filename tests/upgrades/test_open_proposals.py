"""What operators have proposed with the released version waits after the upgrade, and is approved with this one, once.

The released version is the real one. It may run on beside: it can neither approve what was proposed nor propose more.
"""

import re
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from malipo.db import Database
from tests.cheap_hash import PASSWORD, cheap_hash
from tests.conftest import _create
from tests.journeys import database_facts
from tests.upgrades.versions import Version, commit_of, version_of

pytestmark = pytest.mark.slow

LARGE = "2500000"
_CODE = re.compile(r"name its code: --seen (\w+)")
WHY = ("--reason", "The network's staff told us so on the phone")
STATEMENT = """opening balance,0
closing balance,3000000
from,2026-11-01 00:00
to,2026-11-02 00:00
receipt,time,amount,balance
R1,2026-11-01 10:00,3000000,3000000
"""


@dataclass
class Office:
    """Two operators who give commands of either version, each with a home of their own."""

    old: Version
    new: Version
    database: Database
    logged_in: set[tuple[str, str]] = field(default_factory=set)

    def give(self, version: Version, operator: str, *command: str) -> tuple[int, str]:
        if (version.name, operator) not in self.logged_in:
            login = version.attempt("operators", "login", operator, "--stdin", home=operator, typed=f"{PASSWORD}\n")
            assert login.returncode == 0, login.stderr
            self.logged_in.add((version.name, operator))
        done = version.attempt(*command, home=operator)
        if (shown := _CODE.search(done.stderr)) is not None:  # Whoever approves names what was shown.
            done = version.attempt(*command, "--seen", shown[1], home=operator)
        return done.returncode, done.stdout + done.stderr

    def done(self, version: Version, operator: str, *command: str) -> str:
        code, said = self.give(version, operator, *command)
        assert code == 0, said
        return said


@pytest.fixture
async def office(postgres: str, tmp_path: Path) -> AsyncIterator[Office]:
    url = await _create(postgres, f"proposals_{tmp_path.name[-20:]}")
    variables = {"MALIPO_DATABASE_URL": url, "MALIPO_OPERATOR_SECOND_FACTOR": "optional"}
    with ExitStack() as stack:
        old = stack.enter_context(version_of("released", tmp_path, variables, commit=commit_of("0.2.0")))
        new = stack.enter_context(version_of("new", tmp_path, variables))
        async with Database.opened(url, size=4) as database:
            old.run("migrate")
            for name in ("asha", "juma"):
                old.run("operators", "add", name)
            async with database.begin() as tx:
                await tx.execute("UPDATE operators SET password_hash = $1", cheap_hash())
            yield Office(old, new, database)


async def test_what_the_released_version_has_proposed_is_approved_once_after_the_upgrade(office: Office) -> None:
    old, new = office.old, office.new
    merchant = old.make_merchant(wallet=1000)
    path = old.tree / "taarifa.csv"
    path.write_text(STATEMENT)
    for reference in ("NMB-1", "NMB-2", "NMB-3"):
        office.done(old, "asha", "wallet", "top-up", merchant.id, LARGE, "--reference", reference)
    office.done(old, "juma", "wallet", "approve", "NMB-2", "--here")
    office.done(old, "juma", "wallet", "reject", "NMB-3")
    office.done(old, "asha", "floats", "transfer", "MPESA", LARGE, "--from-bank", "--reference", "NMB-4")
    office.done(old, "asha", "statements", "import", str(path), "--channel", "TIGO_PESA")
    [found] = msgspec.json.decode(office.done(old, "asha", "exceptions", "list", "--json"))
    office.done(old, "asha", "exceptions", "propose", found["id"], "book", "--account", "suspense", *WHY)
    assert (await database_facts.wallet(office.database, merchant.id))[0] == 1000 + int(LARGE)

    new.run("migrate")
    waiting = msgspec.json.decode(new.run("approvals", "--json"))
    assert sorted(each["about"] for each in waiting) == sorted(["NMB-1", "NMB-4", found["id"]])

    # The released version still runs. It does nothing that takes two.
    for command in (
        ("wallet", "approve", "NMB-1", "--here"),
        ("floats", "approve", "NMB-4", "--here"),
        ("exceptions", "approve", found["id"], "--here"),
        ("wallet", "top-up", merchant.id, LARGE, "--reference", "NMB-5"),
    ):
        code, said = office.give(old, "juma", *command)
        assert code != 0, said
    assert (await database_facts.wallet(office.database, merchant.id))[0] == 1000 + int(LARGE)

    approve = {
        "NMB-1": ("wallet", "approve", "NMB-1", "--here"),
        "NMB-4": ("floats", "approve", "NMB-4", "--here"),
        "line": ("exceptions", "approve", found["id"], "--here"),
    }
    for command in approve.values():
        assert office.give(new, "asha", *command)[0] == 2, "not by who proposed it"
        office.done(new, "juma", *command)
        assert office.give(new, "juma", *command)[0] == 2, "and once"
    for reference in ("NMB-2", "NMB-3"):
        code, said = office.give(new, "juma", "wallet", "approve", reference, "--here")
        assert (code, "already" in said) == (2, True), said
    assert (await database_facts.wallet(office.database, merchant.id))[0] == 1000 + 2 * int(LARGE)
    assert msgspec.json.decode(new.run("approvals", "--json")) == []
    assert "The book is clean" in new.run("ledger", "check")
