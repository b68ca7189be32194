"""malipo merchant reset-second-factor: for the last owner, who has lost the app and the recovery codes."""

from malipo import clock
from malipo.accounts.store import second_factors
from malipo.audit_log import store as audit_log
from malipo.db import Database
from malipo.merchants import manage_people
from malipo.merchants.roles import Role
from tests.authenticator_app import enrolled
from tests.conftest import NOBODY, Merchant
from tests.journeys.operator_commands import malipo


async def test_a_persons_second_factor_is_reset_and_it_is_noted(
    database: Database, database_url: str, merchant: Merchant
) -> None:
    async with database.begin() as tx:
        person = await manage_people.add_person(
            tx, merchant.id, email="asha@example.com", name="", role=Role.OWNER, actor=NOBODY, now=clock.now()
        )
    await enrolled(database, person.id)

    async def reset(email: str) -> int:
        return (await malipo("merchant", "reset-second-factor", email, database_url=database_url)).code

    assert await reset("nobody@example.com") == 2
    assert await reset("Asha@example.com") == 0
    assert await reset("asha@example.com") == 2, "there is none any more"
    async with database.read() as connection:
        assert await second_factors.find(connection, person.id) is None
        noted = [each for each in await audit_log.find(connection, limit=10) if each.action == "second_factor.reset"]
    assert [(each.merchant_id, each.details) for each in noted] == [(merchant.id, {"account": "asha@example.com"})]
