"""Every act of the grid at each door: every form of the pages, and every command, by every operator of the columns.

One server and one database serve all rows. A row is walked from the column that must change nothing to the one that
does it: so a refusal that has changed something shows in the next step.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from malipo import clock, ids
from malipo.accounts.reauthentication import WITHOUT_CODE
from malipo.app.assemble import assemble
from malipo.approvals.act_rules import Act
from malipo.cli.authority import DOES
from malipo.dashboard.operator.routes import PAGES
from malipo.db import Database
from malipo.operators import login
from malipo.operators import store as operators
from malipo.settings import Settings
from tests.approvals import command_door, page_door
from tests.approvals.door_cases import ASHA, Case, Cases
from tests.approvals.grid import (
    AGGREGATOR,
    BOTH,
    CHAINS,
    COLUMNS,
    GRID,
    LIMIT,
    OLD,
    ONE,
    RESET,
    SAVED,
    TRUSTED,
    TWICE,
    TWO,
    WORD,
    Chain,
    Door,
)
from tests.authenticator_app import AuthenticatorApp, enrolled
from tests.cheap_hash import cheap_hash
from tests.cli.test_operator_code import KEY
from tests.cli.test_operator_session import PASSWORD, Terminal
from tests.conftest import (
    NO_LIMITS,
    PATIENCE_SECONDS,
    SECRET_KEY,
    Merchant,
    Running,
    create_database,
    starting,
    until_ready,
)
from tests.dashboard.operator.operator_pages import Operator
from tests.dashboard.page_client import surfing
from tests.journeys import operator_sessions
from tests.kept_database import PlanningDatabase
from tests.networks.clickpesa_spec import GET_TOKEN, TOKEN_GIVEN
from tests.networks.clickpesa_spec import settings as clickpesa_settings
from tests.networks.scripted_server import ScriptedServer, http

NAMES = ("asha", "juma", "baraka", "rehema", "neema")  # rehema was reset yesterday; neema has logged in without a code
OPTIONAL = {"operator_second_factor": "optional", "booking_approval_amount": LIMIT}
_CHANGED = """
    SELECT (SELECT count(*) FROM audit_log WHERE action NOT LIKE 'login.%'), (SELECT count(*) FROM moves),
           (SELECT count(*) FROM proposals), (SELECT count(decided_at) FROM proposals),
           (SELECT count(*) FROM statement_files)
"""


def test_every_act_has_a_row_and_every_row_every_column() -> None:
    assert set(GRID) == {act.value for act in Act}
    assert {tuple(row.cells) for row in GRID.values()} == {COLUMNS}


def _in_grid(door: str) -> dict[str, set[str]]:
    """Which acts each form or command does, by the grid."""
    found: dict[str, set[str]] = {}
    for act, row in GRID.items():
        for each in (getattr(row, door).begins, getattr(row, door).approves):
            for form in each:
                found.setdefault(form, set()).add(act)
    return found


def test_every_form_of_a_page_and_every_command_that_does_an_act_is_in_the_grid() -> None:
    forms = {page.path: {act.value for act in page.does} for page in PAGES if page.does}
    commands = {command: {act.value for act in acts} for command, acts in DOES.items()}
    for declared, tried in ((forms, _in_grid("pages")), (commands, _in_grid("commands"))):
        assert set(tried) == set(declared)
        assert [form for form, acts in tried.items() if not acts <= declared[form]] == []
        reached = {act for form, acts in declared.items() for act in acts}
        assert {act for acts in tried.values() for act in acts} == reached, "each act at each door that has it"


@dataclass
class Desk:
    """Four operators, each with a browser and a terminal, before one service."""

    cases: Cases
    url: str
    database: Database
    database_url: str
    stack: AsyncExitStack
    network: ScriptedServer
    browsers: dict[str, Operator] = field(default_factory=dict)
    sessions: dict[str, Path] = field(default_factory=dict)
    app: AuthenticatorApp | None = None  # neema's

    async def hire(self) -> None:
        now = clock.now()
        async with self.database.begin() as tx:
            for name in NAMES:
                await operators.insert_operator(tx, f"opr_{name}", name, now=now)
                await operators.set_password(tx, f"opr_{name}", cheap_hash())
            await login.set_password(tx, "rehema", cheap_hash(), actor=ASHA, now=now - timedelta(days=1))
        self.app = await enrolled(self.database, "opr_neema")
        for number, name in enumerate(NAMES):
            surfer = await self.stack.enter_async_context(surfing(self.url, seen_from=f"10.7.0.{number + 1}"))
            self.browsers[name] = Operator(name, "", surfer)
        await self.log_in()

    async def log_in(self) -> None:
        async with self.database.begin() as tx:
            await tx.execute("DELETE FROM login_attempts")
        await self._trust(self.browsers["neema"])
        for name, browser in self.browsers.items():
            assert (await browser.log_in()).to == "/operator", "neema too: with the password alone"
            self.sessions[name] = operator_sessions.session_of(self.database_url, name)
        await self.confirmed("neema", WITHOUT_CODE)

    async def log_in_again(self) -> None:
        """If a fence has ended all sessions."""
        async with self.database.read() as connection:
            is_trusted = await connection.fetchval(
                "SELECT EXISTS (SELECT FROM known_browsers WHERE trusted_until IS NOT NULL)"
            )
        if not is_trusted:
            await self.log_in()

    async def _trust(self, browser: Operator) -> None:
        """Once with a code, and from then on without."""
        assert self.app is not None
        await self.app.wait()
        await browser.log_in()
        trusted = await browser.surfer.post("/operator/login/code", {"code": self.app.code(), "trust": "yes"})
        assert trusted.to == "/operator", trusted.words
        await browser.surfer.get("/operator/networks")
        await browser.surfer.post("/operator/logout")

    async def confirmed(self, name: str, ago: timedelta = timedelta()) -> None:
        async with self.database.begin() as tx:
            sql = "UPDATE operator_sessions SET confirmed_at = $2 WHERE operator_id = $1"
            await tx.execute(sql, f"opr_{name}", clock.now() - ago)

    async def begin(self, act: Act, form: str) -> Case:
        async with self.database.begin() as tx:
            await tx.execute("DELETE FROM moved_alone")
            await tx.execute("DELETE FROM login_attempts")
            await tx.execute("DELETE FROM proposals WHERE decided_at IS NULL")  # of a row that has failed
            # The worker of another row looks no more, and without one nothing leaves for the bank.
            await tx.execute("DELETE FROM worker_send_counts")
        case = await self.cases.of(act, form)
        await self.log_in_again()
        for name in ("asha", "juma", "baraka", "rehema"):
            await self.confirmed(name)
        if form == "statements fetch":
            self._script(case)
        return case

    def _script(self, case: Case) -> None:
        """The aggregator's statement of yesterday has the payment."""
        assert case.payment is not None
        amount, day = case.payment.amount, clock.day_of(clock.now()) - timedelta(days=1)
        listed = {"id": "LCP1", "orderReference": case.payment.network_key, "collectedAmount": str(amount)}
        line = {"id": "LCP1", "date": f"{day}T09:00:00Z", "entry": "Credit", "amount": amount}
        said: dict[str, Any] = {
            "payments/all": {"totalCount": 1, "data": [listed]},
            "payouts/all": {"totalCount": 0, "data": []},
            "account/statement": {"transactions": [line]},
        }
        self.network.always(GET_TOKEN, TOKEN_GIVEN)
        for path, body in said.items():
            self.network.always(f"GET /third-parties/{path}", http("200 OK", msgspec.json.encode(body)))

    async def state(self) -> tuple[int, ...]:
        async with self.database.read() as connection:
            [row] = await connection.fetch(_CHANGED)
        return tuple(row)

    async def at_page(self, form: str, case: Case, name: str, *, looks: str) -> str:
        seen = await page_door.send(form, case, self.browsers[name], looks=self.browsers[looks])
        return page_door.outcome_of(seen)

    async def at_command(self, command: str, case: Case, name: str) -> str:
        # neema types the password, and no code.
        settings: dict[str, Any] = {"database_url": self.database_url, "secret_key": SECRET_KEY} | OPTIONAL
        if command == "statements fetch":
            settings |= clickpesa_settings(self.network.port) | {"clickpesa_timeout_seconds": 30}
            settings |= {"route_mpesa_collection": "clickpesa", "allow_http_networks": "true"}
        typed = f"{PASSWORD}\n" if name == "neema" else None
        said = await command_door.give(command, case, settings=settings, session=self.sessions[name], typed=typed)
        return command_door.outcome_of(said, name)

    async def do(self, form: str, case: Case, name: str, *, looks: str = "asha") -> str:
        """What came of it. What was not accepted has changed nothing."""
        before = await self.state()
        is_page = form.startswith("/")
        came = await (self.at_page(form, case, name, looks=looks) if is_page else self.at_command(form, case, name))
        if came != "accepted":
            assert await self.state() == before, f"{form}: {name} was {came}, and something has changed"
            return came
        async with self.database.read() as connection:
            sql = "SELECT count(*) FROM proposals WHERE decided_at IS NULL"
            is_waiting = await connection.fetchval(sql)
            if case.act is Act.IMPORT and not case.file_id and form.endswith(("import", "fetch")):
                sql = "SELECT id FROM statement_files ORDER BY imported_at DESC LIMIT 1"
                case.file_id = await connection.fetchval(sql)
            if case.bank is not None and is_waiting and not case.bank.subject:
                case.bank.subject = await connection.fetchval("SELECT subject FROM proposals WHERE decided_at IS NULL")
        return "waits" if is_waiting else "done"


@pytest.fixture(scope="module")
async def desk(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    url, folder = await create_database(postgres, template), tmp_path_factory.mktemp("grid")
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(
            PlanningDatabase.opened(url, size=10, connect_seconds=PATIENCE_SECONDS)
        )
        service = assemble(Settings(**NO_LIMITS, booking_approval_amount=LIMIT), database)
        stack.push_async_callback(service.finish)
        start = stack.enter_context(starting(folder))
        running: Running = await until_ready(
            start("api", database_url=url, trusted_proxies="127.0.0.1", **NO_LIMITS, **OPTIONAL)
        )
        network = await stack.enter_async_context(ScriptedServer.opened())
        desk = Desk(Cases(service, folder), running.url, database, url, stack, network)
        await desk.hire()
        yield desk


def _walks() -> list[tuple[str, str, str]]:
    """Act, door, and where it begins: where a page has no form for that, by the command."""
    found = []
    for act, row in GRID.items():
        for door, where in (("pages", row.pages), ("commands", row.commands)):
            begins = where.begins or (row.commands.begins[:1] if where.approves else ())
            found += [(act, door, each) for each in begins]
    return found


WALKS = _walks()
# Where a second operator must have confirmed who they are, and counts as one, is a matter of the form or the command
# that approves, whatever the act: each is tried once. What each act asks of two is in `test_grid_of_operators.py`.
FIRST: dict[str, tuple[str, str]] = {}  # by what approves: the act, and where it begins
for _act, _door, _begins in WALKS:
    for _form in getattr(GRID[_act], _door).approves:
        if ("exceptions" in _form) == ("exceptions" in _begins):
            FIRST.setdefault(_form, (_act, _begins))


@pytest.mark.parametrize(("act", "door", "begins"), WALKS, ids=[", ".join(each) for each in WALKS])
async def test_the_grid_at_its_doors(desk: Desk, act: str, door: str, begins: str) -> None:
    row = GRID[act]
    walk = _walk_of_two if row.cells is TWO else _walk_of_one
    seen = await walk(desk, Act(act), getattr(row, door), begins)
    assert seen == {column: row.cells[column] for column in seen}
    assert seen.keys() >= {ONE, TWICE, BOTH}


async def _walk_of_two(desk: Desk, act: Act, door: Door, begins: str) -> dict[str, str]:
    case = await desk.begin(act, begins)
    seen: dict[str, set[str]] = {column: set() for column in COLUMNS}
    try:
        await desk.confirmed("asha", timedelta(minutes=11))
        if begins in door.begins:
            seen[OLD].add(await desk.do(begins, case, "asha"))
            seen[TRUSTED].add(await desk.do(begins, case, "neema"))
        await desk.confirmed("asha")
        before = await _proposed(desk)
        seen[ONE].add(await desk.do(begins, case, "asha"))
        approves = [each for each in door.approves if ("exceptions" in each) == bool(case.exception_id)]
        for each in approves:
            seen[TWICE].add(await desk.do(each, case, "asha", looks="juma"))
            if FIRST[each] != (act.value, begins):
                continue
            seen[RESET].add(await desk.do(each, case, "rehema", looks="juma"))
            seen[TRUSTED].add(await desk.do(each, case, "neema", looks="juma"))
            await desk.confirmed("juma", timedelta(minutes=11))
            seen[OLD].add(await desk.do(each, case, "juma", looks="juma"))
            await desk.confirmed("juma")
        seen[BOTH].add(await desk.do(approves[0], case, "juma", looks="juma"))
        made = [each for each in await _proposed(desk) if each not in before]
        assert {each[1:] for each in made} == {("operator asha", "operator juma", True)}, "all that waits is one table"
    finally:
        await desk.cases.end(case)
    return {column: " or ".join(sorted(found)) for column, found in seen.items() if found}


async def _walk_of_one(desk: Desk, act: Act, door: Door, begins: str) -> dict[str, str]:
    case = await desk.begin(act, begins)
    seen = dict.fromkeys(COLUMNS, "nothing left")
    await desk.confirmed("asha", timedelta(minutes=11))
    seen[OLD] = await desk.do(begins, case, "asha")
    seen[TRUSTED] = await desk.do(begins, case, "neema")
    await desk.confirmed("asha")
    before = await _proposed(desk)
    seen[ONE] = await desk.do(begins, case, "asha")
    other = await desk.begin(act, begins)
    before += [each for each in await _proposed(desk) if each[0] not in {id_ for id_, *_ in before}]
    seen[RESET] = await desk.do(begins, other, "rehema")
    after = await _proposed(desk)
    assert {each[0] for each in after} <= {each[0] for each in before}, "nothing new is left for a second one"
    assert [each for each in after if each[2] is None] == []
    await desk.cases.end(case)
    return seen


LAYOUT, WORDS = GRID["save_layout"].pages.begins
[IMPORT_PAGE], [APPROVE_PAGE] = GRID["import"].pages.begins, GRID["import"].pages.approves
DOORS = {"pages": (WORDS, IMPORT_PAGE, APPROVE_PAGE), "commands": ("statements layout", "statements import", "")}
CHAINS_AT_DOORS = [(door, each) for each in CHAINS for door in ("pages", "commands")]


@pytest.mark.parametrize(
    ("door", "chain"),
    CHAINS_AT_DOORS,
    ids=[f"{door}, {c.says} {c.said}, {c.imports} imports, {c.approves} approves" for door, c in CHAINS_AT_DOORS],
)
async def test_who_says_how_a_file_is_read_is_no_second_operator_about_it(desk: Desk, door: str, chain: Chain) -> None:
    """Columns are saved on a page, and an aggregator is named by the command, whatever the door of the rest is."""
    await desk.begin(Act.SET_TARIFF, "")
    case = await desk.cases.read_by_word(is_unknown=chain.said != WORD)
    says, imports, approves = DOORS[door]
    assert case.payment is not None
    if chain.said == AGGREGATOR:  # The importer's own layout, of another network: nothing of it is known there.
        case.channel = "AIRTEL_MONEY"
        assert await desk.do(LAYOUT, case, chain.imports) == "done"
    else:
        assert await desk.do(LAYOUT if chain.said == SAVED else says, case, chain.says) == "done"
    imported = await desk.do(imports, case, chain.imports)
    if chain.said == AGGREGATOR:
        assert imported == "done"
        assert await desk.do("statements layout", case, chain.says) == "done"
        imported = await desk.do("statements match", case, chain.imports)
    assert imported == "waits"
    assert await desk.do(approves or "statements approve-import", case, chain.approves, looks="neema") == chain.outcome


async def _proposed(desk: Desk) -> list[tuple[str, str, str | None, bool | None]]:
    async with desk.database.read() as connection:
        rows = await connection.fetch("SELECT id, requested_by, decided_by, is_approved FROM proposals ORDER BY id")
    return [(row["id"], row["requested_by"], row["decided_by"], row["is_approved"]) for row in rows]


class Asha(Terminal):
    """An operator with a second factor, whose session is in a file: her own, or a copy."""

    def __init__(self, database_url: str, id_: str) -> None:
        file = operator_sessions.session_of(database_url, "asha")
        super().__init__(database_url, MALIPO_OPERATOR_SESSION=str(file), MALIPO_SECRET_KEY=KEY)
        self.id = id_


@pytest.fixture
async def asha(database: Database, database_url: str, merchant: Merchant) -> Asha:
    id_ = ids.mint("opr_", clock.now())
    async with database.begin() as tx:
        await operators.insert_operator(tx, id_, "asha", now=clock.now())
        await operators.insert_operator(tx, "opr_juma", "juma", now=clock.now())
        await operators.set_password(tx, id_, cheap_hash())
    return Asha(database_url, id_)


async def confirmed(database: Database, asha: Asha, *, seconds_ago: float) -> None:
    async with database.begin() as tx:
        sql = "UPDATE operator_sessions SET confirmed_at = now() - make_interval(secs => $2) WHERE operator_id = $1"
        await tx.execute(sql, asha.id, seconds_ago)


async def test_the_password_and_the_code_are_asked_for_and_then_it_is_done(database: Database, asha: Asha) -> None:
    app = await enrolled(database, asha.id, secret_key=KEY)
    await confirmed(database, asha, seconds_ago=11 * 60)
    create = ("key", "create", "Duka", "--permissions", "payments.read")
    for typed in ("", f"{PASSWORD}\n", f"{PASSWORD}\n{app.wrong_code()}\n", f"not it at all\n{app.code()}\n"):
        assert asha(*create, "--stdin", typed=typed).returncode == 2
    assert asha(*create, "--stdin", typed=f"{PASSWORD}\n{app.code()}\n").returncode == 0
    assert asha(*create).returncode == 0, "and for ten minutes it is not asked for again"


async def test_whoever_stops_the_sending_is_not_asked(database: Database, asha: Asha) -> None:
    await confirmed(database, asha, seconds_ago=11 * 60)
    assert asha("hold", "--reason", "Counting the float").returncode == 0
    assert "password of asha" in asha("hold", "--release").stderr


async def test_who_installs_is_not_asked(database_url: str, merchant: Merchant) -> None:
    assert Terminal(database_url)("key", "create", "Duka").returncode == 0
