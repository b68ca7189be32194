"""Log-in, sessions (of 12 hours) and log-out of operators. Merchants' people have a log-in of their own."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from malipo import ids
from malipo.accounts.known_browsers import Browser
from malipo.accounts.login_attempts import LoginAttempts
from malipo.accounts.new_place_alerts import note_login
from malipo.accounts.password_login import FirstStep, PasswordLogin
from malipo.accounts.passwords import Passwords
from malipo.accounts.reauthentication import NOTED_EVERY, Proof
from malipo.accounts.second_factor.check_code import CodeChecker, TypedCode
from malipo.accounts.second_factor.second_step import SecondStep, trust
from malipo.accounts.store import browsers
from malipo.accounts.store.credential_resets import PASSWORD, SECOND_FACTOR, end_links_of_operator
from malipo.audit_log import actor as actors
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx, retry
from malipo.errors import Code, Missing, Unauthorized
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.operators import four_eyes, second_factor
from malipo.operators import store as sessions
from malipo.operators.command_line_session import command_line_session
from malipo.operators.require_acting import require_acting
from malipo.operators.store import Operator, OperatorSession

SESSION_LIFE = timedelta(hours=12)


class LoginRefusal(Code):
    NO_SUCH = "operator_missing"
    WRONG_NAME = "operator_unknown"


class WrongName(Unauthorized):
    code = LoginRefusal.WRONG_NAME
    scheme = "Bearer"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The fields that only a session at the command line has."""

    secret: str  # kept in a file of the user, and here only as a hash
    os_user: str


class OperatorLogin:
    def __init__(
        self, database: Database, passwords: Passwords, codes: CodeChecker, *, is_command_line: bool = False
    ) -> None:
        self._database = database
        self._codes = codes
        self._second_step = SecondStep(database, codes, sessions.find_by_id, sessions.lock_password_hash)
        # Separate from the pages, which anybody can reach, so that strangers cannot lock an operator out of the command
        # line.
        attempts = LoginAttempts(database, "operator at the command line" if is_command_line else "operator")
        self._by_password = PasswordLogin(
            database,
            passwords,
            attempts,
            sessions.find_operator,
            sessions.lock_password_hash,
            wrong=WrongName,
            owner="operator_id",
            actor=actor_of,
        )

    async def begin(
        self,
        name: str,
        password: str,
        *,
        address: str,
        browser: Browser,
        now: datetime,
        command_line: CommandLine | None = None,
    ) -> FirstStep:
        """A new session, or one that waits for a code."""

        async def proceed(tx: Tx, operator: Operator) -> FirstStep:
            if (token := await self._second_step.begin(tx, operator.id, browser, now=now)) is not None:
                return FirstStep(pending_token=token)
            confirmed_at = await self._second_step.confirmed_at(tx, operator.id, now=now)
            session_id = await self._insert_session(
                tx, operator, confirmed_at, address, browser, command_line, now=now, without_code=True
            )
            return FirstStep(session_id)

        return await self._by_password.begin(
            name_of(name), password, proceed, address=address, browser=browser, now=now
        )

    async def waits_for_code(self, token: str, *, now: datetime) -> bool:
        return await self._second_step.waits(token, now=now)

    async def finish(
        self,
        token: str,
        typed: TypedCode,
        *,
        address: str,
        browser: Browser,
        now: datetime,
        is_trusted: bool = False,
        command_line: CommandLine | None = None,
    ) -> str:
        """A new session if the code is right too."""

        async def proceed(tx: Tx, operator: Operator) -> str:
            session_id = await self._insert_session(tx, operator, now, address, browser, command_line, now=now)
            if is_trusted:
                await trust(tx, second_factor.owner_of(operator, address), browser, now=now)
            return session_id

        return await self._second_step.finish(
            token, typed, lambda operator: second_factor.owner_of(operator, address), proceed, now=now, browser=browser
        )

    async def _insert_session(
        self,
        tx: Tx,
        operator: Operator,
        confirmed_at: datetime,
        address: str,
        browser: Browser,
        command_line: CommandLine | None,
        *,
        now: datetime,
        **details: Any,
    ) -> str:
        session_id = ids.mint("ops_", now) if command_line is None else command_line_session(command_line.secret)
        owner = second_factor.owner_of(operator, address)
        os_user = command_line.os_user if command_line else None
        await sessions.insert(
            tx,
            session_id,
            operator.id,
            now=now,
            confirmed_at=confirmed_at,
            expires_at=now + SESSION_LIFE,
            address=address,
            user_agent=browser.user_agent,
        )
        await audit_log.append(
            tx, actor_of(operator, address, os_user=os_user), "operator.logged_in", now=now, **details
        )
        if command_line is None:
            is_known = await self._by_password.is_known(tx, operator, browser)
            await note_login(tx, owner, session_id, is_browser_known=is_known, user_agent=browser.user_agent, now=now)
            await self._by_password.remember(tx, operator, browser, address=address, now=now)
        return session_id

    async def confirm(
        self, session: OperatorSession, proof: Proof, *, address: str, browser: Browser, now: datetime
    ) -> None:
        """Confirm that the session's operator is still the one who uses it."""
        owner = second_factor.owner_of(session.operator, address)
        await self._by_password.confirm(
            session.operator,
            session.operator.name,
            proof,
            lambda: self._codes.check_if_enrolled(owner, proof.typed, now=now, browser=browser),
            lambda tx: sessions.confirm(tx, session.id, now=now),
            address=address,
            browser=browser,
            now=now,
        )

    async def live_session(self, session_id: str, *, now: datetime) -> OperatorSession | None:
        return await retry.read(self._database, lambda connection: sessions.get_live(connection, session_id, now=now))

    async def note_use(self, session: OperatorSession, *, now: datetime) -> None:
        if now - session.last_used_at >= NOTED_EVERY:
            await retry.write(self._database, lambda tx: sessions.touch(tx, session.id, now=now))

    async def log_out(
        self, session: OperatorSession, *, address: str, now: datetime, os_user: str | None = None
    ) -> None:
        async with self._database.begin() as tx:
            await sessions.end(tx, session.id, now=now)
            actor = actor_of(session.operator, address, os_user=os_user)
            await audit_log.append(tx, actor, "operator.logged_out", now=now)


def name_of(text: str) -> str:
    """An operator's name as it is stored; empty if it cannot be a name."""
    name = text.strip().lower()
    return name if name.isprintable() and len(name) <= 100 else ""


def actor_of(operator: Operator, address: str, *, os_user: str | None = None) -> Actor:
    """The operator as an actor, with the same name as at the command line, so that one operator cannot propose here and
    approve there."""
    return actors.operator_at(operator.name, address, os_user=os_user)


async def set_password(tx: Tx, name: str, password_hash: str, *, actor: Actor, now: datetime) -> bool:
    """A new password. Sessions that were begun with the old one end. Whether a third operator must vouch for it.

    Every operator may set their own, whatever the role.
    """
    operator = await sessions.find_operator(tx, name_of(name))
    if operator is None:
        raise Missing(code=LoginRefusal.NO_SUCH, name=name)
    if actor.name != actor_of(operator, "").name:
        await require_acting(tx, actor)
    await sessions.set_password(tx, operator.id, password_hash)
    await sessions.end_all(tx, operator.id, now=now)
    await browsers.forget_all(tx, "operator_id", operator.id)
    await second_factor.end_trust(tx, operator)
    await end_links_of_operator(tx, actors.operator_at(operator.name, "").name, now=now)
    await audit_log.append(tx, actor, "operator.password_set", now=now, name=operator.name)
    facts = {"address": actor.address, "happened_at": now.isoformat()}
    await write.to_account(tx, MessageKind.PASSWORD_CHANGED, operator.id, facts, now=now)
    return await four_eyes.note_reset(tx, operator, PASSWORD, actor=actor, now=now)


async def reset_second_factor(tx: Tx, name: str, *, actor: Actor, now: datetime) -> bool:
    """Reset the second factor of an operator who has lost the app and the recovery codes. Returns whether a third
    operator must vouch for it."""
    operator = await sessions.find_operator(tx, name_of(name))
    if operator is None:
        raise Missing(code=LoginRefusal.NO_SUCH, name=name)
    await second_factor.reset(tx, operator, actor=actor, now=now)
    return await four_eyes.note_reset(tx, operator, SECOND_FACTOR, actor=actor, now=now)
