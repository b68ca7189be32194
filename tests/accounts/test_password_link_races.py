"""A link for a password and a change of the password at once: one after the other, and neither waits for the other."""

import asyncio
from collections.abc import Awaitable
from datetime import datetime
from typing import Any

from malipo import clock
from malipo.accounts.tokens import hash_of
from malipo.app.assemble import Service
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.merchants import manage_people, password_links
from malipo.merchants.login import WrongCurrentPassword
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import password_links as store
from tests.accounts.test_password_changes import ADDRESS, NEW, OLD, OTHER
from tests.accounts.test_password_changes import person as person
from tests.conftest import NOBODY, Merchant
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until

INSTALLER = Actor("user root", "till")


async def _behind(database: Database, link: str, *acts: Awaitable[Any]) -> list[Any]:
    """What comes of acts of which each begins when the one before it waits. The link is held until they all do."""
    async with database.begin() as tx:
        await tx.execute("SELECT FROM password_links WHERE hash = $1 FOR UPDATE", hash_of(link))
        begun: list[asyncio.Future[Any]] = []
        for act in acts:
            begun.append(asyncio.ensure_future(act))
            await until(lambda: are_waiting(database, len(begun)), what=f"{len(begun)} wait")
    return await asyncio.gather(*begun, return_exceptions=True)


async def _link(database: Database, person: Person) -> str:
    async with database.begin() as tx:
        return await password_links.make_link(tx, person, actor=INSTALLER, now=clock.now())


async def test_a_link_that_is_used_while_the_password_is_changed(
    service: Service, database: Database, person: Person
) -> None:
    link = await _link(database, person)
    used, changed = await _behind(
        database,
        link,
        service.accounts.login.use_link(link, OTHER, address=ADDRESS, now=clock.now()),
        service.accounts.login.change_password(person, OLD, NEW, address=ADDRESS, now=clock.now()),
    )
    assert (used, type(changed)) == (None, WrongCurrentPassword)


async def test_a_link_that_is_made_while_the_role_is_changed(database: Database, merchant: Merchant) -> None:
    async def change_role(now: datetime) -> None:
        async with database.begin() as tx:
            await manage_people.change_role(tx, viewer, Role.STAFF, actor=NOBODY, now=now)

    async with database.begin() as tx:
        viewer = await manage_people.add_person(
            tx,
            merchant.id,
            email=f"{merchant.id}@example.com",
            name="",
            role=Role.VIEWER,
            actor=NOBODY,
            now=clock.now(),
        )
    link = await _link(database, viewer)
    made, changed = await _behind(database, link, _link(database, viewer), change_role(clock.now()))
    assert (type(made), changed) == (str, None)
    async with database.read() as connection:
        assert await store.find(connection, hash_of(made), now=clock.now()) is None, "it ends with the change"
