"""Log-in, sessions (of 12 hours) and log-out of operators. Merchants' people have a log-in of their own."""

from datetime import datetime, timedelta

from malipo import ids
from malipo.access.login_attempts import LoginAttempts
from malipo.access.password_login import PasswordLogin
from malipo.access.passwords import Passwords
from malipo.audit_log import actor as actors
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx, retry
from malipo.errors import Missing, Unauthorized
from malipo.operators import store as sessions
from malipo.operators.store import Operator, Session

SESSION_LIFE = timedelta(hours=12)


class WrongName(Unauthorized):
    code = "operator_unknown"
    scheme = "Bearer"

    def __init__(self) -> None:
        super().__init__("The name or the password is not right.")


class OperatorLogin:
    def __init__(self, database: Database, passwords: Passwords) -> None:
        self._database = database
        attempts = LoginAttempts(database, "operator")
        self._by_password = PasswordLogin(database, passwords, attempts, sessions.find_operator, wrong=WrongName)

    async def begin(self, name: str, password: str, *, address: str, now: datetime) -> str:
        """A new session, if the password is right. An operator without a password can use only the command line."""

        async def insert_session(tx: Tx, operator: Operator) -> str:
            session_id = ids.mint("ops_", now)
            await sessions.insert(tx, session_id, operator.id, now=now, expires_at=now + SESSION_LIFE, address=address)
            await audit_log.append(tx, actor_of(operator, address), "operator.logged_in", now=now)
            return session_id

        return await self._by_password.begin(name_of(name), password, insert_session, address=address, now=now)

    async def live_session(self, session_id: str, *, now: datetime) -> Session | None:
        return await retry.read(
            self._database, lambda connection: sessions.get_live(connection, session_id, now=now), patience_seconds=3
        )

    async def log_out(self, session: Session, *, address: str, now: datetime) -> None:
        async with self._database.begin() as tx:
            await sessions.end(tx, session.id, now=now)
            await audit_log.append(tx, actor_of(session.operator, address), "operator.logged_out", now=now)


def name_of(text: str) -> str:
    """An operator's name as it is stored; empty if it cannot be a name."""
    name = text.strip().lower()
    return name if name.isprintable() and len(name) <= 100 else ""


def actor_of(operator: Operator, address: str) -> Actor:
    """The same name as at the command line, so that one operator cannot propose here and approve there."""
    return actors.operator_at(operator.name, address)


async def set_password(tx: Tx, name: str, password_hash: str, *, actor: Actor, now: datetime) -> None:
    """A new password. Sessions that were begun with the old one end."""
    operator = await sessions.find_operator(tx, name_of(name))
    if operator is None:
        raise Missing(f"There is no operator {name!r}. See: malipo operators list")
    await sessions.set_password(tx, operator.id, password_hash)
    await sessions.end_all(tx, operator.id, now=now)
    await audit_log.append(tx, actor, "operator.password_set", now=now, name=operator.name)
