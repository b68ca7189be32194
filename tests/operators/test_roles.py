"""Three roles of operators: what each may open and do at both doors, and who gives a role."""

from datetime import timedelta

import pytest

from malipo import clock
from malipo.approvals import role_approval
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.cli.actor import find_actor
from malipo.cli.authority import AUTHORITY, Authority, right_of
from malipo.dashboard.operator.routes import PAGES
from malipo.db import Database
from malipo.errors import Conflict, Forbidden, Invalid
from malipo.messages.kinds import MessageKind
from malipo.messages.store import recipients
from malipo.operators import login
from malipo.operators import store as operators
from malipo.operators.roles import RIGHTS, Right, Role, RoleInsufficient
from malipo.settings import Settings
from tests.conftest import Merchant
from tests.journeys import operator_sessions
from tests.operators.booking_steps import ASHA, JUMA, LARGE, NEEMA, Desk, hire
from tests.operators.role_grid import COMMANDS, MANAGERS, rows_of
from tests.operators.role_steps import approve, give, request, role_of

FOR_ALL = [(role, page) for role in Role for page in PAGES if not page.is_for_everybody]
ROUTES = [f"{role}, {page.method} {page.path}" for role, page in FOR_ALL]


def test_each_right_is_of_these_roles() -> None:
    assert {right: {role for role in Role if right in RIGHTS[role]} for right in Right} == {
        Right.OWN: set(Role),
        Right.READ_PAYMENTS: set(Role),
        Right.READ: {Role.MANAGER, Role.AUDITOR},
        Right.RESEND: {Role.MANAGER, Role.SUPPORT},
        Right.ACT: {Role.MANAGER},
    }


@pytest.mark.parametrize(("role", "page"), FOR_ALL, ids=ROUTES)
def test_every_route_of_the_pages_needs_what_the_grid_says(role: Role, page: object) -> None:
    assert isinstance(page, type(PAGES[0]))
    [area] = rows_of(page.path)
    allowed = area.looks if page.method == "GET" else area.sends
    assert (page.right in RIGHTS[role]) is (role in allowed)


async def test_at_the_terminal_each_role_may_give_the_commands_of_the_grid(
    database: Database, database_url: str
) -> None:
    changing = {name: who for name, who in AUTHORITY.items() if who not in (Authority.NOBODY, Authority.MACHINE)}
    await hire(database, "asha")
    for role in Role:
        await give(database, "asha", role)
        settings = Settings(operator_session=operator_sessions.session_of(database_url, "asha"))
        for command, authority in changing.items():
            allowed = role in COMMANDS.get(command, MANAGERS)
            async with database.begin() as tx:
                try:
                    await find_actor(tx, settings, authority, now=clock.now(), right=right_of(command))
                    is_let_in = True
                except RoleInsufficient:
                    is_let_in = False
            assert is_let_in is allowed, (role, command)


async def test_who_reads_only_sets_their_own_password_and_no_other(database: Database) -> None:
    await hire(database, "asha", "juma", "neema")
    await give(database, "asha", Role.AUDITOR)
    async with database.begin() as tx:
        assert await login.set_password(tx, "asha", "x", actor=ASHA, now=clock.now()) is False
        with pytest.raises(RoleInsufficient):
            await login.set_password(tx, "juma", "x", actor=ASHA, now=clock.now())


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.SUPPORT])
async def test_a_page_that_forgets_the_right_still_moves_nothing(
    database: Database, merchant: Merchant, role: Role
) -> None:
    """The commit asks too: for an amount alone, a proposal, an approval and a rejection."""
    await hire(database, "asha", "juma")
    desk = Desk(database, merchant)
    await give(database, "juma", role)
    with pytest.raises(RoleInsufficient):
        await desk.request(actor=JUMA, limit=LARGE * 2)
    with pytest.raises(RoleInsufficient):
        await desk.request(actor=JUMA, limit=0)
    await desk.request(actor=ASHA, limit=0)
    for decide in (desk.approve, desk.reject):
        with pytest.raises(RoleInsufficient):
            await decide(actor=JUMA)


@pytest.fixture
async def three(database: Database) -> Database:
    await hire(database, "asha", "juma", "neema")
    return database


async def test_a_role_is_given_when_a_second_operator_agrees_and_every_session_ends(three: Database) -> None:
    now = clock.now()
    async with three.begin() as tx:
        await operators.insert(
            tx, "ops_1", "opr_neema", now=now, confirmed_at=now, expires_at=now + timedelta(hours=1), address="test"
        )
    assert await request(three, "neema", Role.AUDITOR, by=ASHA) is not None
    assert await role_of(three, "neema") is Role.MANAGER
    assert await approve(three, "neema", by=JUMA) is Role.AUDITOR
    assert await role_of(three, "neema") is Role.AUDITOR
    async with three.read() as connection:
        assert await operators.get_live(connection, "ops_1", now=now) is None
        [given, *_] = await audit_log.find(connection, limit=5)
    assert (given.action, given.actor) == ("operator.role_given", JUMA.name)
    assert {"role": "auditor", "role_before": "manager", "proposed_by": ASHA.name}.items() <= given.details.items()


async def test_nobody_gives_themselves_a_role_nor_decides_about_their_own(three: Database) -> None:
    with pytest.raises(Forbidden, match="role_own"):
        await request(three, "asha", Role.AUDITOR, by=ASHA)
    await request(three, "juma", Role.SUPPORT, by=ASHA)
    for decide in (role_approval.approve, role_approval.reject):
        with pytest.raises(Forbidden, match="role_own"):
            async with three.begin() as tx:
                await decide(tx, "juma", actor=JUMA, now=clock.now())
    with pytest.raises(Forbidden, match="operators_same"):
        await approve(three, "juma", by=ASHA)
    assert await approve(three, "juma", by=NEEMA) is Role.SUPPORT
    with pytest.raises(RoleInsufficient):
        await request(three, "neema", Role.AUDITOR, by=JUMA)


async def test_no_operator_becomes_the_only_one_by_lowering_the_other(database: Database) -> None:
    """With two managers nobody is lowered: whoever would agree is the one who is lowered."""
    await hire(database, "asha", "juma")
    with pytest.raises(Forbidden, match="operators_not_alone"):
        await request(database, "juma", Role.AUDITOR, by=ASHA, alone=True)
    await request(database, "juma", Role.AUDITOR, by=ASHA)
    with pytest.raises(Forbidden):
        await approve(database, "juma", by=JUMA)
    with pytest.raises(Forbidden):
        await approve(database, "juma", by=ASHA)


async def test_auditors_do_not_count_where_one_operator_is_alone(database: Database) -> None:
    await hire(database, "asha", "juma")
    await give(database, "juma", Role.AUDITOR)
    assert await request(database, "juma", Role.SUPPORT, by=ASHA, alone=True) is None
    assert await role_of(database, "juma") is Role.SUPPORT
    async with database.read() as connection:
        [given, *_] = await audit_log.find(connection, limit=1)
    assert given.details["alone"] is True


async def test_a_role_is_proposed_once_with_a_reason_and_never_the_same(three: Database) -> None:
    await request(three, "neema", Role.AUDITOR, by=ASHA)
    with pytest.raises(Conflict, match="already_proposed"):
        await request(three, "neema", Role.SUPPORT, by=JUMA)
    with pytest.raises(Conflict, match="role_same"):
        await request(three, "juma", Role.MANAGER, by=ASHA)
    async with three.begin() as tx:
        with pytest.raises(Invalid, match="role_reason"):
            await role_approval.request(tx, "juma", Role.SUPPORT, "", actor=ASHA, now=clock.now())
    async with three.begin() as tx:
        await role_approval.reject(tx, "neema", actor=JUMA, now=clock.now())
    assert await role_of(three, "neema") is Role.MANAGER


async def test_who_installs_gives_roles_before_anybody_has_a_password(three: Database) -> None:
    assert await request(three, "neema", Role.AUDITOR, by=Actor("user root", "test")) is None
    assert await role_of(three, "neema") is Role.AUDITOR


async def test_only_people_who_can_decide_are_shown_that_something_waits(three: Database) -> None:
    async with three.begin() as tx:
        for name in ("asha", "juma"):
            await operators.set_address(tx, f"opr_{name}", f"{name}@example.com")
        await operators.set_role(tx, "opr_juma", Role.AUDITOR)
        found = await recipients.find_operators(tx, MessageKind.PROPOSAL_WAITING, except_name=None)
    assert [each.name for each in found] == ["asha"]
