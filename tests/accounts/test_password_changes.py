"""A password that was changed while it was being checked is a wrong one: what it would have begun does not begin.

Checking takes a while, and longer when many log in. Whoever knows the old password could begin a session in that time
which the change does not end.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from malipo import clock, ids
from malipo.accounts.known_browsers import Browser
from malipo.accounts.passwords import Passwords
from malipo.accounts.reauthentication import Proof, WrongPassword
from malipo.accounts.second_factor.check_code import CodeChecker
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.encryption import Encryption
from malipo.merchants import manage_people
from malipo.merchants.login import Login, WrongCredentials, WrongCurrentPassword
from malipo.merchants.password_links import LinkNotGood, make_link
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import people, sessions
from malipo.operators import login as operators
from malipo.operators import store as operator_store
from tests.conftest import NOBODY, Merchant
from tests.journeys.webhook_stack import SECRET_KEY

OLD, NEW, OTHER = "ndizi mlima 42 saba", "twiga jangwa 55 nane", "korosho saba mezani"
ADDRESS = "10.1.2.3"


class HeldPasswords(Passwords):
    """Holds whoever has had a password checked, until it is told to let them go."""

    def __init__(self) -> None:
        super().__init__()
        self.is_checked = asyncio.Event()
        self.may_go = asyncio.Event()

    async def is_right(self, password: str, password_hash: str | None, *, is_first: bool = False) -> bool:
        is_right = await super().is_right(password, password_hash, is_first=is_first)
        self.is_checked.set()
        await self.may_go.wait()
        return is_right

    async def hash(self, password: str) -> str:
        """Of a new one: whoever uses a link has had the link checked."""
        self.is_checked.set()
        await self.may_go.wait()
        return await super().hash(password)


async def _around(held: HeldPasswords, waiting: Awaitable[Any], change: Awaitable[None]) -> None:
    """The change is committed between the check of the password and what follows it."""
    task = asyncio.ensure_future(waiting)
    await asyncio.wait_for(held.is_checked.wait(), 60)
    await change
    held.may_go.set()
    await task


@pytest.fixture
async def person(database: Database, merchant: Merchant) -> Person:
    async with database.begin() as tx:
        person = await manage_people.add_person(
            tx, merchant.id, email=f"{merchant.id}@example.com", name="", role=Role.OWNER, actor=NOBODY, now=clock.now()
        )
        await people.set_password(tx, person.id, await Passwords().hash(OLD))
        found = await people.find(tx, person.id)
    assert found is not None
    return found


@pytest.fixture
def held() -> HeldPasswords:
    return HeldPasswords()


@pytest.fixture
def login(service: Service, database: Database, held: HeldPasswords) -> Login:
    return Login(database, service.accounts.sessions, held, CodeChecker(database, Encryption(SECRET_KEY)))


async def _change(service: Service, person: Person) -> None:
    await service.accounts.login.change_password(person, OLD, NEW, address=ADDRESS, now=clock.now())


async def _sessions(database: Database, person: Person) -> int:
    async with database.read() as connection:
        sql = "SELECT count(*) FROM sessions WHERE person_id = $1 AND ended_at IS NULL"
        return int(await connection.fetchval(sql, person.id))


async def test_a_log_in_with_a_password_that_has_changed_meanwhile_makes_no_session(
    service: Service, database: Database, login: Login, held: HeldPasswords, person: Person
) -> None:
    waiting = login.begin(person.email, OLD, address=ADDRESS, browser=Browser(), now=clock.now())
    with pytest.raises(WrongCredentials):
        await _around(held, waiting, _change(service, person))

    assert await _sessions(database, person) == 0


async def test_a_log_in_of_somebody_who_was_removed_meanwhile_makes_no_session(
    database: Database, login: Login, held: HeldPasswords, person: Person
) -> None:
    async def remove() -> None:
        async with database.begin() as tx:
            await people.delete(tx, person.id)

    waiting = login.begin(person.email, OLD, address=ADDRESS, browser=Browser(), now=clock.now())
    with pytest.raises(WrongCredentials):
        await _around(held, waiting, remove())


async def test_a_password_that_has_changed_meanwhile_confirms_nothing(
    service: Service, database: Database, login: Login, held: HeldPasswords, person: Person
) -> None:
    begun = await service.accounts.login.begin(person.email, OLD, address=ADDRESS, browser=Browser(), now=clock.now())
    assert begun.session_id is not None
    async with database.read() as connection:
        session = await sessions.get_live(connection, begun.session_id, now=clock.now())
    assert session is not None
    with pytest.raises(WrongPassword):
        await _around(
            held, login.confirm(session, Proof(OLD), address=ADDRESS, now=clock.now()), _change(service, person)
        )


async def test_of_two_changes_of_a_password_at_once_one_counts(
    service: Service, login: Login, held: HeldPasswords, person: Person
) -> None:
    waiting = login.change_password(person, OLD, OTHER, address=ADDRESS, now=clock.now())
    with pytest.raises(WrongCurrentPassword):
        await _around(held, waiting, _change(service, person))

    begun = await service.accounts.login.begin(person.email, NEW, address=ADDRESS, browser=Browser(), now=clock.now())
    assert begun.session_id is not None


async def test_a_link_that_has_died_meanwhile_chooses_no_password(
    service: Service, database: Database, login: Login, held: HeldPasswords, person: Person
) -> None:
    async with database.begin() as tx:
        link = await make_link(tx, person, actor=NOBODY, now=clock.now())
    waiting = login.use_link(link, OTHER, address=ADDRESS, now=clock.now())
    with pytest.raises(LinkNotGood):
        await _around(held, waiting, _change(service, person))

    begun = await service.accounts.login.begin(person.email, NEW, address=ADDRESS, browser=Browser(), now=clock.now())
    assert begun.session_id is not None


async def test_an_operator_s_log_in_with_a_password_that_was_reset_meanwhile_makes_no_session(
    service: Service, database: Database, held: HeldPasswords
) -> None:
    now = clock.now()
    operator_id = ids.mint("opr_", now)
    async with database.begin() as tx:
        await operator_store.insert_operator(tx, operator_id, operator_id, now=now)
        await operator_store.set_password(tx, operator_id, await Passwords().hash(OLD))

    async def reset() -> None:
        password_hash = await Passwords().hash(NEW)
        async with database.begin() as tx:
            await operators.set_password(tx, operator_id, password_hash, actor=NOBODY, now=now)

    login = operators.OperatorLogin(database, held, CodeChecker(database, Encryption(SECRET_KEY)))
    with pytest.raises(operators.WrongName):
        await _around(held, login.begin(operator_id, OLD, address=ADDRESS, browser=Browser(), now=now), reset())

    async with database.read() as connection:
        assert await operator_store.find_sessions(connection, operator_id, now=now, most=9) == []
