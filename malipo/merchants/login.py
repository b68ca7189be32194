"""Log in, stay in, log out, choose a password.

What must be written even though the answer is no (an attempt, a session ended because its token was stolen) is
committed before the refusal is raised.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from malipo import ids
from malipo.access.login_attempts import LoginAttempts
from malipo.access.password_login import PasswordLogin
from malipo.access.passwords import Passwords, problem_with_password
from malipo.access.tokens import LINK_LIFE, SESSION_LIFE, TOKEN_SECONDS, Tokens, hash_of, make_secret
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.errors import Forbidden, Invalid, Unauthorized
from malipo.merchants.people import Person, email_of
from malipo.merchants.store import merchants, people, sessions
from malipo.merchants.store.sessions import Session


class WrongCredentials(Unauthorized):
    code = "invalid_credentials"
    scheme = "Bearer"

    def __init__(self) -> None:
        super().__init__("The email or the password is not right.")


class SessionOver(Unauthorized):
    code = "invalid_token"
    scheme = "Bearer"

    def __init__(self) -> None:
        super().__init__("The token is missing, not valid or no longer valid. Log in again.")


class LinkNotGood(Invalid):
    code = "link_invalid"

    def __init__(self) -> None:
        super().__init__("This link was used already, or is too old. Ask for a new one.")


@dataclass(frozen=True, slots=True)
class Granted:
    """What a person carries away from a log-in."""

    token: str
    refresh_token: str
    expires_in: int = TOKEN_SECONDS


class Login:
    def __init__(self, database: Database, tokens: Tokens, passwords: Passwords) -> None:
        self._database = database
        self._tokens = tokens
        self._passwords = passwords
        self._attempts = LoginAttempts(database, "email")
        self._by_password = PasswordLogin(
            database, passwords, self._attempts, people.find_by_email, wrong=WrongCredentials
        )

    async def log_in(self, email: str, password: str, *, address: str, user_agent: str, now: datetime) -> Granted:
        """For a program: a token for an hour, and one to get the next with."""
        session_id = await self.begin(email, password, address=address, user_agent=user_agent, now=now)
        async with self._database.begin() as tx:
            return await self._grant(tx, session_id, now)

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

    async def refresh(self, refresh_token: str, *, now: datetime) -> Granted:
        async with self._database.begin() as tx:
            found = await sessions.use_refresh(tx, hash_of(refresh_token), now=now)
            if found is not None:
                session_id, is_first_use = found
                if is_first_use and await sessions.get_live(tx, session_id, now=now):
                    return await self._grant(tx, session_id, now)
                # Whoever uses a token again is not the one we gave the next one to, or the other one is not.
                await sessions.end(tx, session_id, now=now)
        raise SessionOver

    async def session_of(self, token: str, *, now: datetime) -> Session:
        """The live session that a token names. Asked on every call, so that an ended one ends at once."""
        session_id = self._tokens.session_of(token, now=now)
        session = await self.live_session(session_id, now=now) if session_id is not None else None
        if session is None:
            raise SessionOver
        return session

    async def live_session(self, session_id: str, *, now: datetime) -> Session | None:
        return await self._database.ask(
            lambda connection: sessions.get_live(connection, session_id, now=now), patience_seconds=3
        )

    async def log_out(self, session: Session, *, now: datetime) -> None:
        async with self._database.begin() as tx:
            await sessions.end(tx, session.id, now=now)

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

    async def _grant(self, tx: Tx, session_id: str, now: datetime) -> Granted:
        refresh_token = make_secret("mrt_")
        await sessions.insert_refresh(tx, hash_of(refresh_token), session_id, now=now)
        return Granted(self._tokens.make(session_id, now=now), refresh_token)


async def make_link(tx: Tx, person: Person, *, now: datetime) -> str:
    """A one-time link for choosing a password. The operator hands it over; we keep its hash."""
    link = make_secret("mpl_")
    await people.insert_link(tx, hash_of(link), person.id, now=now, expires_at=now + LINK_LIFE)
    return link
