"""Sessions of people: how long they last, refresh tokens, and the session of a token.

A refresh token that is used a second time was stolen, and ends the session. That is committed before the refusal is
raised.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from malipo.accounts.bearer_tokens import Tokens
from malipo.accounts.reauthentication import NOTED_EVERY
from malipo.accounts.tokens import TOKEN_SECONDS, hash_of, make_secret
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx, retry
from malipo.errors import Unauthorized
from malipo.merchants.second_factor import EnrolmentRequired
from malipo.merchants.store import sessions
from malipo.merchants.store.sessions import MerchantSession

SESSION_LIFE = timedelta(days=30)


class SessionOver(Unauthorized):
    code = "invalid_token"
    scheme = "Bearer"

    def __init__(self, message: str = "The token is missing, not valid or no longer valid. Log in again.") -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class LoginTokens:
    """The tokens that a log-in returns."""

    token: str
    refresh_token: str
    expires_in: int = TOKEN_SECONDS


class Sessions:
    def __init__(self, database: Database, tokens: Tokens) -> None:
        self._database = database
        self._tokens = tokens

    async def refresh(self, refresh_token: str, *, address: str, now: datetime) -> LoginTokens:
        async with self._database.begin() as tx:
            found = await sessions.use_refresh(tx, hash_of(refresh_token), now=now)
            if found is not None:
                session_id, is_first_use = found
                session = await sessions.get_live(tx, session_id, now=now)
                if is_first_use and session is not None:
                    return await self.grant(tx, session_id, now)
                # A token that is used twice was stolen: one of the two users is not the person.
                await sessions.end(tx, session_id, now=now)
                if session is not None:
                    await _append(tx, session, "session.refresh_reused", address=address, now=now)
        raise SessionOver

    async def session_of(self, token: str, *, now: datetime) -> MerchantSession:
        """The live session that a token names. Looked up on every call, so that an ended session is refused at once."""
        session_id = self._tokens.session_of(token, now=now)
        session = await self.live_session(session_id, now=now) if session_id is not None else None
        if session is None:
            raise SessionOver
        if session.must_enrol:
            raise EnrolmentRequired
        return session

    async def live_session(self, session_id: str, *, now: datetime) -> MerchantSession | None:
        return await retry.read(self._database, lambda connection: sessions.get_live(connection, session_id, now=now))

    async def note_use(self, session: MerchantSession, *, now: datetime) -> None:
        if now - session.last_used_at >= NOTED_EVERY:
            await retry.write(self._database, lambda tx: sessions.touch(tx, session.id, now=now))

    async def log_out(self, session: MerchantSession, *, address: str, now: datetime) -> None:
        async with self._database.begin() as tx:
            await sessions.end(tx, session.id, now=now)
            await _append(tx, session, "session.logged_out", address=address, now=now)

    async def grant(self, tx: Tx, session_id: str, now: datetime) -> LoginTokens:
        refresh_token = make_secret("mrt_")
        await sessions.insert_refresh(tx, hash_of(refresh_token), session_id, now=now)
        return LoginTokens(self._tokens.make(session_id, now=now), refresh_token)


async def _append(tx: Tx, session: MerchantSession, action: str, *, address: str, now: datetime) -> None:
    person = session.person
    await audit_log.append(tx, Actor(person.email, address), action, now=now, merchant_id=person.merchant_id)
