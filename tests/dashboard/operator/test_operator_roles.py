"""The operators' pages admit or refuse each role as the grid says, and approve a change of role."""

import re

from malipo.audit_log.actor import operator_at
from malipo.dashboard.operator.routes import PAGES
from malipo.db import Database
from malipo.operators.roles import Role
from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.operators.role_grid import rows_of
from tests.operators.role_steps import REASON, give, request, role_of


async def test_at_the_door_each_role_is_let_in_or_refused_as_the_grid_says(operator_pages: OperatorPages) -> None:
    database = operator_pages.service.queries.database
    for role in (Role.SUPPORT, Role.AUDITOR):
        operator = await operator_pages.operator(str(role))
        await give(database, operator.name, role)
        before = await _changes(database)
        for page in PAGES:
            if page.is_for_everybody or page.path in ("/operator/logout", "/operator/confirm"):
                continue
            path = re.sub(r"\{\w+\}", "some_1", page.path)
            seen = await (operator.surfer.get(path) if page.method == "GET" else operator.surfer.post(path))
            [area] = rows_of(page.path)
            is_refused = seen.status == 403 and "Your role does not allow this" in seen.words
            assert is_refused is (role not in (area.looks if page.method == "GET" else area.sends)), (role, path)
        assert await _changes(database) == before


async def _changes(database: Database) -> tuple[object, ...]:
    """What is not of somebody's own account."""
    async with database.read() as connection:
        row = await connection.fetchrow(
            """
            SELECT (SELECT count(*) FROM proposals), (SELECT count(*) FROM moves), (SELECT count(*) FROM blocked_numbers),
                   (SELECT array_agg(action) FROM audit_log WHERE actor LIKE 'operator %' AND action <> ALL('{ledger.checked,login.failed,books.downloaded}')
                                                              AND action NOT LIKE 'operator.logged%')
            """
        )
    return tuple(row or ())


async def test_the_page_of_operators_shows_roles_and_a_second_operator_approves_there(
    operator_pages: OperatorPages,
) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    neema = await operator_pages.operator("neema")
    database = operator_pages.service.queries.database
    await request(database, neema.name, Role.AUDITOR, by=operator_at(asha.name, "test"))
    path = "/operator/operators"
    own = await neema.surfer.get(path)
    assert "Two other operators decide about your role." in own.words
    shown = await juma.surfer.get(path)
    assert all(each in shown.words for each in (neema.name, "Auditor", "until now: Manager", REASON))
    # Roles that other tests have proposed wait on the same page.
    [row] = [each for each in re.findall(r"<tr>.*?</tr>", shown.text, re.DOTALL) if f'value="{neema.name}"' in each]
    [seen] = re.findall(r'name="seen" value="(\w+)"', row)
    stale = await juma.surfer.post(f"{path}/approve", {"name": neema.name, "seen": "another"})
    assert stale.status == 409
    assert (await juma.surfer.post(f"{path}/approve", {"name": neema.name, "seen": seen})).to == path
    assert await role_of(database, neema.name) is Role.AUDITOR
    assert (await neema.surfer.get(path)).to.startswith("/operator/login"), "their sessions have ended"
    assert (await neema.log_in()).status == 303
    reads = await neema.surfer.get("/operator")
    assert "Operators: auditor, reads only" in reads.words
    assert 'class=" reads"' in reads.text
