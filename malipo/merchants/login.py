"""Log in, and choose a password.

An attempt is committed before the refusal is raised.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from malipo import ids
from malipo.accounts.known_browsers import Browser
from malipo.accounts.login_attempts import LoginAttempts
from malipo.accounts.new_place_alerts import note_login
from malipo.accounts.password_login import FirstStep, PasswordLogin
from malipo.accounts.passwords import Passwords
from malipo.accounts.reauthentication import Proof
from malipo.accounts.second_factor.check_code import CodeChecker, CodeRequired, TypedCode
from malipo.accounts.second_factor.second_step import SecondStep, trust
from malipo.accounts.store import browsers
from malipo.accounts.tokens import hash_of
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.email_address import email_of
from malipo.errors import Forbidden, Invalid, Unauthorized
from malipo.merchants import second_factor
from malipo.merchants.password_links import LinkNotGood, end_links, judge_again
from malipo.merchants.people import Person
from malipo.merchants.sessions import SESSION_LIFE, LoginTokens, Sessions
from malipo.merchants.store import merchants, password_links, people, sessions
from malipo.merchants.store.sessions import MerchantSession
from malipo.messages import write
from malipo.messages.kinds import MessageKind

_A_PROGRAM = Browser()
_NO_CODE = TypedCode()


class WrongCredentials(Unauthorized):
    code = "invalid_credentials"
    scheme = "Bearer"

    def __init__(self) -> None:
        super().__init__("The email or the password is not right.")


class WrongCurrentPassword(Invalid):
    code = "password_wrong"

    def __init__(self) -> None:
        super().__init__(
            "The request has invalid fields.", details={"currentPassword": ["currentPassword is not right."]}
        )


class Login:
    def __init__(self, database: Database, sessions: Sessions, passwords: Passwords, codes: CodeChecker) -> None:
        self._database = database
        self._sessions = sessions
        self._passwords = passwords
        self._codes = codes
        self._second_step = SecondStep(database, codes, people.find, people.lock_password_hash)
        self._attempts = LoginAttempts(database, "email")
        self._by_password = PasswordLogin(
            database,
            passwords,
            self._attempts,
            people.find_by_email,
            people.lock_password_hash,
            wrong=WrongCredentials,
            owner="person_id",
            actor=lambda person, address: Actor(person.email, address),
        )

    async def log_in(
        self, email: str, password: str, typed: TypedCode, *, address: str, user_agent: str, now: datetime
    ) -> LoginTokens:
        """Log a program in: an access token for an hour, and a refresh token."""
        browser = Browser(user_agent=user_agent[:200])
        begun = await self.begin(email, password, address=address, browser=browser, now=now, may_enrol=False)
        session_id = begun.session_id
        if begun.pending_token is not None:
            if not typed:
                await self._second_step.give_up(begun.pending_token)
                raise CodeRequired
            session_id = await self.finish(begun.pending_token, typed, address=address, browser=browser, now=now)
        assert session_id is not None
        async with self._database.begin() as tx:
            return await self._sessions.grant(tx, session_id, now)

    async def begin(
        self,
        email: str,
        password: str,
        *,
        address: str,
        browser: Browser,
        now: datetime,
        may_enrol: bool = True,
    ) -> FirstStep:
        """Check the password, and begin a session, or a log-in that waits for a code."""

        async def proceed(tx: Tx, person: Person) -> FirstStep:
            await _require_active(tx, person)
            if (token := await self._second_step.begin(tx, person.id, browser, now=now)) is not None:
                return FirstStep(pending_token=token)
            if not may_enrol and await merchants.requires_second_factor(tx, person.merchant_id):
                raise second_factor.EnrolmentRequired
            confirmed_at = await self._second_step.confirmed_at(tx, person.id, now=now)
            return FirstStep(
                await self._insert_session(tx, person, confirmed_at, address=address, browser=browser, now=now)
            )

        typed_email = email_of(email) or ""
        return await self._by_password.begin(typed_email, password, proceed, address=address, browser=browser, now=now)

    async def waits_for_code(self, token: str, *, now: datetime) -> bool:
        return await self._second_step.waits(token, now=now)

    async def finish(
        self, token: str, typed: TypedCode, *, address: str, browser: Browser, now: datetime, is_trusted: bool = False
    ) -> str:
        """Check the code of a waiting log-in, and begin a session."""

        async def proceed(tx: Tx, person: Person) -> str:
            await _require_active(tx, person)
            session_id = await self._insert_session(tx, person, now, address=address, browser=browser, now=now)
            if is_trusted:
                await trust(tx, second_factor.owner_of(person, address), browser, now=now)
            return session_id

        return await self._second_step.finish(
            token, typed, lambda person: second_factor.owner_of(person, address), proceed, now=now, browser=browser
        )

    async def _insert_session(
        self, tx: Tx, person: Person, confirmed_at: datetime, *, address: str, browser: Browser, now: datetime
    ) -> str:
        session_id, owner = ids.mint("ses_", now), second_factor.owner_of(person, address)
        await sessions.insert(
            tx,
            session_id,
            person.id,
            now=now,
            confirmed_at=confirmed_at,
            expires_at=now + SESSION_LIFE,
            address=address,
            user_agent=browser.user_agent,
        )
        await audit_log.append(tx, owner.actor, "session.begun", now=now, merchant_id=person.merchant_id)
        is_known = await self._by_password.is_known(tx, person, browser)
        await note_login(tx, owner, session_id, is_browser_known=is_known, user_agent=browser.user_agent, now=now)
        await self._by_password.remember(tx, person, browser, address=address, now=now)
        return session_id

    async def confirm(
        self, session: MerchantSession, proof: Proof, *, address: str, now: datetime, browser: Browser = _A_PROGRAM
    ) -> None:
        """Check the password (and code) of the session's owner, and store the confirmation."""
        owner = second_factor.owner_of(session.person, address)
        await self._by_password.confirm(
            session.person,
            session.person.email,
            proof,
            lambda: self._codes.check_if_enrolled(owner, proof.typed, now=now, browser=browser),
            lambda tx: sessions.confirm(tx, session.id, now=now),
            address=address,
            browser=browser,
            now=now,
        )

    async def change_password(
        self,
        person: Person,
        current: str,
        new: str,
        typed: TypedCode = _NO_CODE,
        *,
        address: str,
        now: datetime,
        browser: Browser = _A_PROGRAM,
    ) -> None:
        """Change the password of a logged-in person. All sessions of the person end, this one included."""
        browser_hash = await self._by_password.known_hash(person, browser)
        if not await self._by_password.is_right(
            person, person.email, current, address=address, known_browser=browser_hash, now=now
        ):
            raise WrongCurrentPassword
        # Before the check of the code, which works only once.
        await self._refuse_weak(person, new, field="newPassword")
        owner = second_factor.owner_of(person, address)
        await self._codes.check_if_enrolled(owner, typed, now=now, browser=browser)

        async def require_unchanged(tx: Tx) -> None:
            if not await self._by_password.is_unchanged(tx, person):
                raise WrongCurrentPassword

        await self._set(person, new, address=address, now=now, before=require_unchanged, known_browser=browser_hash)

    async def use_link(self, link: str, password: str, *, address: str, now: datetime) -> None:
        """Set the password that a person with a one-time link has chosen."""
        async with self._database.read() as connection:
            person = await password_links.find(connection, hash_of(link), now=now)
        if person is None:
            raise LinkNotGood
        await self._refuse_weak(person, password)

        async def use(tx: Tx) -> None:
            # In the same order as a change of the password: the person first, then the links.
            await people.lock(tx, person.id)
            await password_links.lock_all(tx, person.id)
            if not await password_links.use(tx, hash_of(link), now=now):
                raise LinkNotGood
            await judge_again(tx, person, hash_of(link), now=now)
            await audit_log.append(
                tx, Actor(person.email, address), "password_link.used", now=now, merchant_id=person.merchant_id
            )

        await self._set(person, password, address=address, now=now, before=use)

    async def _refuse_weak(self, person: Person, password: str, *, field: str = "password") -> None:
        async with self._database.read() as connection:
            business = await merchants.name_of(connection, person.merchant_id)
        await self._passwords.refuse_weak(password, person.email, person.name, business, field=field)

    async def _set(
        self,
        person: Person,
        password: str,
        *,
        address: str,
        now: datetime,
        before: Callable[[Tx], Awaitable[None]],
        known_browser: bytes | None = None,
    ) -> None:
        password_hash = await self._passwords.hash(password)
        async with self._database.begin() as tx:
            await before(tx)
            await people.set_password(tx, person.id, password_hash)
            await self._attempts.forgive(tx, person.email, address, known_browser=known_browser, now=now)
            await browsers.forget_all(tx, "person_id", person.id)
            await sessions.end_all(tx, now=now, person_id=person.id)
            await end_links(tx, person.id, now=now)
            await second_factor.end_trust(tx, person)
            await audit_log.append(
                tx, Actor(person.email, address), "password.changed", now=now, merchant_id=person.merchant_id
            )
            facts = {"address": address, "happened_at": now.isoformat()}
            await write.to_account(tx, MessageKind.PASSWORD_CHANGED, person.id, facts, now=now)


async def _require_active(tx: Tx, person: Person) -> None:
    if not await merchants.is_active(tx, person.merchant_id):
        raise Forbidden("This merchant is not active.", code="merchant_inactive")
