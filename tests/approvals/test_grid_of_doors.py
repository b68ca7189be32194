"""Every act of the table × how recently its operator has confirmed, at each door: the pages, and the command line.

A page asks for the password and the code, and so does a command: of a session of 11 minutes, and of a log-in without a
code in a trusted browser, whose confirmation counts as a day old. (Each page is opened in
`tests/dashboard/operator/test_operator_reauthentication.py`; here, each command is given.)
"""

from pathlib import Path

import pytest

from malipo import clock, ids
from malipo.access.passwords import Passwords
from malipo.access.reauthentication import WITHOUT_CODE
from malipo.approvals.acts import Act
from malipo.audit_log import store as audit_log
from malipo.cli.authority import DOES
from malipo.dashboard.operator.routes import PAGES
from malipo.db import Database
from malipo.operators import store as operators
from tests.authenticator_app import enrolled
from tests.cli.test_operator_code import KEY
from tests.cli.test_operator_session import PASSWORD, Terminal
from tests.conftest import Merchant
from tests.journeys import operator_sessions

# Which acts can be done on pages, and which by commands only, written by hand.
_MONEY = {
    *("resolve_open_collection", "resolve_open_payout", "resolve_reported", "resolve_ended", "import", "top_up"),
    *("settlement", "transfer", "book_line", "book_payout_line", "match_line", "adopt_line", "note", "undo"),
    *("undo_of_two", "withdraw_statement", "undo_statement_booking", "close_day", "close_with_difference", "release"),
    *("end_hold", "vouch", "cancel_payment"),
}
_ACCESS = {
    *("make_key", "add_person", "make_password_link", "reset_second_factor", "set_operator_password"),
    *("set_tariff", "switch_merchant"),
}

WHY = ("--reason", "The staff told us so")
EVIDENCE = ("--evidence", "The statement of Monday")
# What each command is given beside its name. None of it exists: the password is asked for before anything is looked up.
GIVEN: dict[str, tuple[str, ...]] = {
    "key create": ("Duka",),
    "key revoke": ("Duka", "key_1"),
    "merchant add-person": ("Duka", "thief@example.com"),
    "merchant password-link": ("neema@example.com",),
    "merchant reset-second-factor": ("neema@example.com",),
    "operators add": ("neema",),
    "operators password": ("juma",),
    "operators reset-second-factor": ("juma",),
    "operators vouch": ("juma", "--here"),
    "merchant activate": ("Duka",),
    "merchant deactivate": ("Duka",),
    "tariff set": ("Duka", "--type", "COLLECTION", "--band", "500:0:150:20"),
    "payments cancel": ("txn_1",),
    "wallet top-up": ("Duka", "1000", "--reference", "NMB-1"),
    "wallet settle": ("Duka", "1000", "--reference", "NMB-1"),
    "wallet approve": ("NMB-1", "--here"),
    "payments resolve": ("txn_1", "--completed", *EVIDENCE),
    "payments approve": ("txn_1", "--here"),
    "statements import": ("FILE", "--channel", "MPESA", "--new-account"),
    "statements withdraw": ("stf_1", *WHY),
    "statements undo": ("hbk_1", *WHY),
    "statements approve": ("stf_1", "--here"),
    "statements approve-import": ("stf_1", "--here"),
    "exceptions propose": ("exc_1", "note", *WHY),
    "exceptions undo": ("exc_1", *WHY),
    "exceptions approve": ("exc_1", "--here"),
    "close day": ("2026-11-02",),
    "close approve": ("2026-11-02", "--here"),
    "floats transfer": ("MPESA", "1000", "--to-bank", "--reference", "NMB-1"),
    "floats approve": ("NMB-1", "--here"),
    "hold": ("--release",),
    "restore release": EVIDENCE,
}
# It asks the network first, and none is connected here.
_ELSEWHERE = {"statements fetch"}
FILE = Path(__file__).parents[1] / "network_statements" / "files" / "mpesa-account.csv"


def test_every_act_has_a_door() -> None:
    assert {act.value for page in PAGES for act in page.does} == _MONEY
    assert {act.value for acts in DOES.values() for act in acts} == _MONEY | _ACCESS
    assert {act.value for act in Act} == _MONEY | _ACCESS


def test_every_such_command_is_given() -> None:
    assert set(GIVEN) | _ELSEWHERE == set(DOES)


class Asha(Terminal):
    """An operator with a second factor, whose session is in a file: her own, or a copy."""

    def __init__(self, database_url: str, id_: str) -> None:
        file = operator_sessions.session_of(database_url, "asha")
        super().__init__(database_url, MALIPO_OPERATOR_SESSION=str(file), MALIPO_SECRET_KEY=KEY)
        self.id = id_


@pytest.fixture
async def asha(database: Database, database_url: str, merchant: Merchant) -> Asha:
    password_hash, id_ = await Passwords().hash(PASSWORD), ids.mint("opr_", clock.now())
    async with database.begin() as tx:
        await operators.insert_operator(tx, id_, "asha", now=clock.now())
        await operators.insert_operator(tx, "opr_juma", "juma", now=clock.now())
        await operators.set_password(tx, id_, password_hash)
    return Asha(database_url, id_)


async def confirmed(database: Database, asha: Asha, *, seconds_ago: float) -> None:
    async with database.begin() as tx:
        sql = "UPDATE operator_sessions SET confirmed_at = now() - make_interval(secs => $2) WHERE operator_id = $1"
        await tx.execute(sql, asha.id, seconds_ago)


def words_of(command: str) -> list[str]:
    return [*command.split(), *(str(FILE) if each == "FILE" else each for each in GIVEN[command])]


@pytest.mark.parametrize("command", GIVEN)
async def test_a_copied_session_is_worth_nothing(database: Database, asha: Asha, command: str) -> None:
    typed = "a fine new passphrase 7\na fine new passphrase 7\n" if command == "operators password" else ""
    more = ["--stdin"] if typed else []
    for seconds_ago in (11 * 60, WITHOUT_CODE.total_seconds()):
        await confirmed(database, asha, seconds_ago=seconds_ago)
        refused = asha(*words_of(command), *more, typed=typed)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "password" in refused.stderr
    async with database.read() as connection:
        done = [each.action for each in await audit_log.find(connection, limit=10) if each.actor == "operator asha"]
    assert set(done) <= {"login.failed"}, "a wrong password counts as an attempt to log in"

    await confirmed(database, asha, seconds_ago=9 * 60)
    assert "password of asha" not in asha(*words_of(command), *more, typed=typed).stderr


async def test_the_password_and_the_code_are_asked_for_and_then_it_is_done(database: Database, asha: Asha) -> None:
    app = await enrolled(database, asha.id, secret_key=KEY)
    await confirmed(database, asha, seconds_ago=11 * 60)
    create = ("key", "create", "Duka", "--stdin")
    for typed in ("", f"{PASSWORD}\n", f"{PASSWORD}\n{app.wrong_code()}\n", f"not it at all\n{app.code()}\n"):
        assert asha(*create, typed=typed).returncode == 2
    assert asha(*create, typed=f"{PASSWORD}\n{app.code()}\n").returncode == 0
    assert asha("key", "create", "Duka").returncode == 0, "and for ten minutes it is not asked for again"


async def test_whoever_stops_the_sending_is_not_asked(database: Database, asha: Asha) -> None:
    await confirmed(database, asha, seconds_ago=11 * 60)
    assert asha("hold", "--reason", "Counting the float").returncode == 0
    assert "password of asha" in asha("hold", "--release").stderr


async def test_who_installs_is_not_asked(database_url: str, merchant: Merchant) -> None:
    assert Terminal(database_url)("key", "create", "Duka").returncode == 0
