"""An act at the command line needs an operator with a session; an environment variable is not enough."""

import argparse
import os
import pwd
import stat
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from malipo import clock, ids
from malipo.accounts.login_attempts import LoginAttempts, TooManyAttempts
from malipo.audit_log import store as audit_log
from malipo.audit_log.store import AuditLogEntry
from malipo.cli import parser
from malipo.cli.authority import AUTHORITY, Authority
from malipo.db import Database
from malipo.operators import store as operators
from tests.cheap_hash import cheap_hash
from tests.conftest import Merchant
from tests.journeys import database_facts
from tests.journeys.operator_commands import run_in

PASSWORD = "maji ya kunde 7"


class Terminal:
    """Commands on one database, in the environment of one user."""

    def __init__(self, database_url: str, **variables: str) -> None:
        self.database_url = database_url
        self.environment = {
            "PATH": os.environ["PATH"],
            "MALIPO_DATABASE_URL": database_url,
            "MALIPO_OPERATOR_SECOND_FACTOR": "optional",
            **variables,
        }

    def __call__(self, *arguments: str, typed: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return run_in(self.environment | more, *arguments, typed=typed)


@pytest.fixture
async def two_operators(database: Database) -> None:
    """asha and juma, with the same password: only their names are two."""
    password_hash = cheap_hash()
    async with database.begin() as tx:
        for name in ("asha", "juma"):
            operator_id = ids.mint("opr_", clock.now())
            await operators.insert_operator(tx, operator_id, name, now=clock.now())
            await operators.set_password(tx, operator_id, password_hash)


async def deeds(database: Database) -> list[AuditLogEntry]:
    async with database.read() as connection:
        return await audit_log.find(connection, limit=50)


@pytest.mark.usefixtures("two_operators")
@pytest.mark.parametrize(
    ("variable", "why"),
    [("MALIPO_OPERATOR", "MALIPO_OPERATOR"), *((name, "logged in") for name in ("USER", "LOGNAME", "SUDO_USER"))],
)
async def test_one_person_is_not_two_operators_by_a_variable(
    database: Database, database_url: str, merchant: Merchant, variable: str, why: str
) -> None:
    terminal = Terminal(database_url)
    before = await database_facts.wallet(database, merchant.id)
    proposed = terminal("wallet", "top-up", merchant.id, "2500000", "--reference", "NMB-1", **{variable: "asha"})
    approved = terminal("wallet", "approve", "NMB-1", "--here", **{variable: "juma"})
    assert [(each.returncode, why in each.stderr) for each in (proposed, approved)] == [(2, True)] * 2
    assert await database_facts.wallet(database, merchant.id) == before


@pytest.mark.usefixtures("two_operators")
@pytest.mark.parametrize(
    "arguments",
    [
        ("wallet", "top-up", "Duka", "1000", "--reference", "NMB-1"),
        ("key", "create", "Duka"),
        ("merchant", "add-person", "Duka", "thief@example.com"),
        ("tariff", "set", "Duka", "--type", "COLLECTION"),
        ("operators", "add", "neema"),
        ("operators", "password", "juma", "--stdin"),
        ("hold", "--reason", "Looking into it"),
        ("hold", "--release"),
        ("restore", "fence", "--reason", "The backup of Monday"),
        ("restore", "release", "--evidence", "The statement of Monday"),
        ("restore", "release", "--evidence", "The statement of Monday", "--alone"),
        ("restore", "reject"),
    ],
    ids=" ".join,
)
async def test_where_operators_have_passwords_a_user_of_the_machine_is_not_enough(
    database: Database, database_url: str, merchant: Merchant, arguments: tuple[str, ...]
) -> None:
    before = len(await deeds(database))
    done = Terminal(database_url)(*arguments, typed=f"{PASSWORD}8\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "malipo: Only an operator who is logged in can do this: malipo operators login\n"
    assert len(await deeds(database)) == before


@pytest.mark.usefixtures("two_operators")
async def test_operators_who_share_an_account_through_sudo_have_sessions_of_their_own(
    database_url: str, tmp_path: Path
) -> None:
    asha = Terminal(database_url, XDG_STATE_HOME=str(tmp_path), SUDO_USER="asha.m")
    juma = Terminal(database_url, XDG_STATE_HOME=str(tmp_path), SUDO_USER="juma")
    elsewhere = Terminal(database_url, XDG_STATE_HOME=str(tmp_path), SUDO_USER="../../juma")
    assert asha("operators", "login", "asha", "--stdin", typed=PASSWORD).returncode == 0
    assert juma("operators", "whoami").returncode == 1, "the log-in of asha is not juma's"
    assert juma("operators", "login", "juma", "--stdin", typed=PASSWORD).returncode == 0
    assert asha("operators", "whoami").stdout.startswith("asha, until ")
    assert juma("operators", "whoami").stdout.startswith("juma, until ")
    assert elsewhere("operators", "whoami").returncode == 1
    names = {each.name for each in (tmp_path / "malipo").iterdir()}
    assert names == {"operator-session.asha.m", "operator-session.juma"}


async def test_the_systems_user_follows_from_the_uid_and_not_from_a_variable(
    database: Database, database_url: str
) -> None:
    done = Terminal(database_url, USER="asha", LOGNAME="asha", SUDO_USER="neema")("operators", "add", "asha")
    assert done.returncode == 0, done.stderr
    [deed] = await deeds(database)
    name = pwd.getpwuid(os.getuid()).pw_name
    assert deed.actor == f"user {name}"
    assert deed.os_user == f"{name} (uid {os.getuid()}), SUDO_USER neema"


class Person(Terminal):
    """A user of the machine with a home of their own."""

    def __init__(self, database_url: str, home: Path) -> None:
        super().__init__(database_url, HOME=str(home))
        self.file = home / ".local/state/malipo/operator-session"

    def log_in(self, name: str, password: str = PASSWORD) -> subprocess.CompletedProcess[str]:
        return self("operators", "login", name, "--stdin", typed=f"{password}\n")


@pytest.fixture
def asha(database_url: str, tmp_path: Path, two_operators: None) -> Person:
    return Person(database_url, tmp_path / "asha")


@pytest.fixture
def juma(database_url: str, tmp_path: Path, two_operators: None) -> Person:
    return Person(database_url, tmp_path / "juma")


async def test_two_who_are_logged_in_book_what_one_alone_cannot(
    database: Database, merchant: Merchant, asha: Person, juma: Person
) -> None:
    before, _ = await database_facts.wallet(database, merchant.id)
    assert asha.log_in("Asha ").returncode == 0
    assert asha("wallet", "top-up", "Duka", "2500000", "--reference", "NMB-1").returncode == 0
    own = asha("wallet", "approve", "NMB-1", "--here")
    assert (own.returncode, "it takes two operators" in own.stderr) == (2, True)
    assert juma.log_in("juma").returncode == 0
    pages = juma("wallet", "approve", "NMB-1")
    assert (pages.returncode, "/operator/bookings" in pages.stderr, "--here" in pages.stderr) == (2, True, True)
    assert (await database_facts.wallet(database, merchant.id))[0] == before
    assert juma("wallet", "approve", "NMB-1", "--here").returncode == 0
    assert (await database_facts.wallet(database, merchant.id))[0] == before + 2_500_000
    user = f"{pwd.getpwuid(os.getuid()).pw_name} (uid {os.getuid()})"
    assert [(deed.action, deed.actor, deed.os_user) for deed in reversed(await deeds(database))][-4:] == [
        ("operator.logged_in", "operator asha", user),
        ("wallet.top_up_proposed", "operator asha", user),
        ("operator.logged_in", "operator juma", user),
        ("wallet.top_up", "operator juma", user),
    ]


async def test_a_session_is_in_a_file_of_its_owner_and_not_in_the_database(database: Database, asha: Person) -> None:
    assert asha.log_in("asha").returncode == 0
    assert stat.S_IMODE(asha.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(asha.file.parent.stat().st_mode) == 0o700
    async with database.read() as connection:
        [row] = await connection.fetch("SELECT * FROM operator_sessions")
    assert row["expires_at"] - row["created_at"] == timedelta(hours=12)
    assert asha.file.read_text().strip() not in str(tuple(row))
    asha.file.write_text(row["id"])
    stolen = asha("hold", "--reason", "With what is in a backup")
    assert (stolen.returncode, "malipo operators login" in stolen.stderr) == (2, True)


async def test_a_session_ends_with_logout_with_a_new_login_and_with_a_new_password(
    database: Database, asha: Person, juma: Person
) -> None:
    assert asha("operators", "whoami").returncode == 1
    asha.log_in("asha")
    assert asha("operators", "whoami").stdout.startswith("asha, until ")
    kept = asha.file.read_text()
    asha.log_in("asha")
    asha.file.write_text(kept)
    assert asha("operators", "whoami").returncode == 1, "the file's earlier session has ended"
    asha.log_in("asha")
    out = asha("operators", "logout")
    assert (out.returncode, out.stdout, asha.file.exists()) == (0, "asha is logged out here.\n", False)
    asha.log_in("asha")
    juma.log_in("juma")
    assert juma("operators", "password", "asha", "--stdin", typed="maji ya kunde 8\n").returncode == 0
    assert asha("operators", "whoami").returncode == 1
    assert asha.log_in("asha").returncode == 2, "the old password"
    assert asha("operators", "logout").stdout == "Nobody was logged in here.\n"


async def test_a_wrong_password_is_no_session_and_five_of_them_are_too_many(database: Database, asha: Person) -> None:
    for number in range(5):
        wrong = asha.log_in("asha", f"not the password {number}")
        assert (wrong.returncode, wrong.stderr) == (2, "malipo: The name or the password is not right.\n")
    again = Terminal(asha.database_url, HOME=str(asha.file.parent), SSH_CONNECTION="10.9.8.7 1 10.0.0.1 22")
    many = again("operators", "login", "asha", "--stdin", typed=f"{PASSWORD}\n")
    assert (many.returncode, "Too many attempts" in many.stderr) == (2, True), "wherever they say they come from"
    assert not asha.file.exists()


async def test_strangers_who_guess_on_the_pages_lock_nobody_out_here(database: Database, asha: Person) -> None:
    pages = LoginAttempts(database, "operator")
    for number in range(50):
        await pages.note("asha", f"10.0.0.{number}", now=clock.now())
    with pytest.raises(TooManyAttempts):
        await pages.note("asha", "10.0.1.1", now=clock.now())
    assert asha.log_in("asha").returncode == 0


async def test_a_file_that_others_can_read_is_no_session(asha: Person) -> None:
    asha.log_in("asha")
    asha.file.chmod(0o640)
    refused = asha("hold", "--reason", "Counting the float")
    assert (refused.returncode, "chmod 600" in refused.stderr) == (2, True)
    asha.file.chmod(0o600)
    assert asha("hold", "--reason", "Counting the float").returncode == 0


async def test_the_first_operator_is_made_by_whoever_installs_and_makes_the_others(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    asha = Person(database_url, tmp_path)
    assert asha("operators", "add", "asha").returncode == 0
    assert asha("operators", "password", "asha", "--stdin", typed=f"{PASSWORD}\n").returncode == 0
    assert asha("operators", "add", "juma").returncode == 2
    asha.log_in("asha")
    assert asha("operators", "add", "juma").returncode == 0
    assert asha("operators", "password", "juma", "--stdin", typed=f"{PASSWORD}\n").returncode == 0
    who = [(deed.action, deed.actor) for deed in reversed(await deeds(database))]
    user = f"user {pwd.getpwuid(os.getuid()).pw_name}"
    assert who[:2] == [("operator.added", user), ("operator.password_set", user)]
    assert who[3:] == [("operator.added", "operator asha"), ("operator.password_set", "operator asha")]


# Who may give which command that changes something, written by hand.
GIVEN_BY = {
    Authority.MACHINE: {"demo", "serve", "api", "worker", "migrate", "reload", "secrets rotate", "books month"},
    Authority.INSTALLER: {
        *(f"merchant {act}" for act in ("create", "activate", "deactivate", "add-person", "password-link")),
        *("merchant reset-second-factor", "key create", "key revoke", "tariff set"),
        *("operators add", "operators password", "operators reset-second-factor", "operators role"),
    },
    Authority.OPERATOR: {
        *("wallet top-up", "wallet settle", "wallet reject"),
        *("payments resolve", "payments reject", "payments cancel"),
        *("close day", "close reject", "key reject"),
        *("floats read", "floats transfer", "floats reject"),
        *("statements import", "statements fetch", "statements match", "statements charge"),
        *("statements layout", "statements withdraw", "statements undo", "statements reject"),
        "statements reject-import",
        *("exceptions propose", "exceptions reject", "exceptions undo"),
        *("numbers block", "numbers unblock"),
        *("log begin", "log change-key", "log erase"),
        *("books book", "books release", "books take-back", "books reject"),
        *("invoices issue", "invoices fiscal-number", "invoices buyer", "invoices tax-rate"),
        *("bank add-account", "bank gather", "bank download", "bank void", "bank refuse", "bank import"),
        *("bank withdraw", "bank match", "bank decide", "bank reject"),
        *("settlements verify", "settlements reject-account", "settlements stop-account", "settlements cancel"),
        *("settlements collect", "settlements release", "settlements reject"),
        *("hold", "restore fence", "restore reject", "restore release"),
        "operators reject",
    },
    Authority.SECOND_OPERATOR: {
        *("wallet approve", "floats approve", "close approve", "payments approve", "exceptions approve"),
        *("statements approve", "statements approve-import", "operators vouch", "key approve"),
        *("merchant vouch", "operators approve", "books approve", "bank approve", "settlements approve"),
    },
}


def test_every_command_is_in_the_table_of_who_may_give_it() -> None:
    assert set(_commands(parser())) == set(AUTHORITY)
    for authority, commands in GIVEN_BY.items():
        assert {command for command, given_by in AUTHORITY.items() if given_by is authority} == commands


def _commands(command: argparse.ArgumentParser) -> Iterator[str]:
    choices = [each.choices for each in command._actions if isinstance(each, argparse._SubParsersAction)]
    if not choices:
        yield command.prog.removeprefix("malipo ")
    for parsers in choices:
        for each in parsers.values():
            yield from _commands(each)
