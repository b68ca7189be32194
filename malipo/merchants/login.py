"""Log in, and choose a password.

An attempt is committed before the refusal is raised.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from malipo import ids
from malipo.access.login_attempts import LoginAttempts
from malipo.access.password_login import PasswordLogin
from malipo.access.passwords import Passwords, problem_with_password
from malipo.access.tokens import LINK_LIFE, SESSION_LIFE, hash_of, make_secret
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.errors import Forbidden, Invalid, Unauthorized
from malipo.merchants.people import Person, email_of
from malipo.merchants.sessions import Granted, Sessions
from malipo.merchants.store import merchants, people, sessions


class WrongCredentials(Unauthorized):
    code = "invalid_credentials"
    scheme = "Bearer"

    def __init__(self) -> None:
        super().__init__("The email or the password is not right.")


class LinkNotGood(Invalid):
    code = "link_invalid"

    def __init__(self) -> None:
        super().__init__("This link was used already, or is too old. Ask for a new one.")


class Login:
    def __init__(self, database: Database, sessions: Sessions, passwords: Passwords) -> None:
        self._database = database
        self._sessions = sessions
        self._passwords = passwords
        self._attempts = LoginAttempts(database, "email")
        self._by_password = PasswordLogin(
            database, passwords, self._attempts, people.find_by_email, wrong=WrongCredentials
        )

    async def log_in(self, email: str, password: str, *, address: str, user_agent: str, now: datetime) -> Granted:
        """For a program: a token for an hour, and one to get the next with."""
        session_id = await self.begin(email, password, address=address, user_agent=user_agent, now=now)
        async with self._database.begin() as tx:
            return await self._sessions.grant(tx, session_id, now)

    async def begin(self, email: str, password: str, *, address: str, user_agent: str, now: datetime) -> str:
        """A new session for whoever has the right password."""

        async def insert_session(tx: Tx, person: Person) -> str:
            if not await merchants.is_active(tx, person.merchant_id):
                raise Forbidden("This merchant is not active.", code="merchant_inactive")
            session_id = ids.mint("ses_", now)
            await sessions.insert(
                tx,
                session_id,
                person.id,
                now=now,
                expires_at=now + SESSION_LIFE,
                address=address,
                user_agent=user_agent[:200],
            )
            await audit_log.append(
                tx, Actor(person.email, address), "session.begun", now=now, merchant_id=person.merchant_id
            )
            return session_id

        known = email_of(email) or ""
        return await self._by_password.begin(known, password, insert_session, address=address, now=now)

    async def change_password(self, person: Person, current: str, new: str, *, address: str, now: datetime) -> None:
        """A person who is logged in changes the password; every session of theirs ends, this one too."""
        await self._attempts.note(person.email, address, now=now)
        if not await self._passwords.is_right(current, person.password_hash):
            raise Invalid(
                "The request has invalid fields.",
                code="password_wrong",
                details={"currentPassword": ["currentPassword is not right."]},
            )
        await self._set(person, new, "newPassword", address=address, now=now)

    async def use_link(self, link: str, password: str, *, address: str, now: datetime) -> None:
        """A person with a one-time link chooses a password."""
        async with self._database.read() as connection:
            person = await people.find_link(connection, hash_of(link), now=now)
        if person is None:
            raise LinkNotGood

        async def use(tx: Tx) -> None:
            if not await people.use_link(tx, hash_of(link), now=now):
                raise LinkNotGood

        await self._set(person, password, "password", address=address, now=now, before=use)

    async def _set(
        self,
        person: Person,
        password: str,
        field: str,
        *,
        address: str,
        now: datetime,
        before: Callable[[Tx], Awaitable[None]] | None = None,
    ) -> None:
        if problem := problem_with_password(password, person.email):
            raise Invalid(
                "The request has invalid fields.", code="password_weak", details={field: [f"{field} {problem}."]}
            )
        password_hash = await self._passwords.hash(password)
        async with self._database.begin() as tx:
            if before is not None:
                await before(tx)
            await people.set_password(tx, person.id, password_hash)
            await self._attempts.forgive(tx, person.email, address, now=now)
            await sessions.end_all(tx, now=now, person_id=person.id)
            await audit_log.append(
                tx, Actor(person.email, address), "password.changed", now=now, merchant_id=person.merchant_id
            )


async def make_link(tx: Tx, person: Person, *, now: datetime) -> str:
    """A one-time link for choosing a password. The operator hands it over; we keep its hash."""
    link = make_secret("mpl_")
    await people.insert_link(tx, hash_of(link), person.id, now=now, expires_at=now + LINK_LIFE)
    return link
