"""The second step of a log-in: the code after the right password. The same for merchants' people and for operators.

Until the code is right, the log-in waits. It is no session and opens no page. The browser holds a random token in a
cookie, and malipo keeps its hash. The fifth wrong code ends the log-in, and so do ten minutes.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from malipo.accounts.account import AccountOwner
from malipo.accounts.known_browsers import Browser
from malipo.accounts.reauthentication import WITHOUT_CODE
from malipo.accounts.second_factor.check_code import CodeChecker, TypedCode, WrongCode
from malipo.accounts.store import pending_logins, second_factors, trusted_browsers
from malipo.accounts.tokens import hash_of, make_secret
from malipo.audit_log import store as audit_log
from malipo.db import Conn, Database, Tx
from malipo.errors import Code, Unauthorized

SomeAccount = TypeVar("SomeAccount")

TRUST_LIFE = timedelta(days=30)


class SecondStep(Generic[SomeAccount]):
    def __init__(
        self,
        database: Database,
        codes: CodeChecker,
        find: Callable[[Conn, str], Awaitable[SomeAccount | None]],
        lock_hash: Callable[[Tx, str], Awaitable[str | None]],
    ) -> None:
        self._database = database
        self._codes = codes
        self._find = find
        self._lock_hash = lock_hash

    async def begin(self, tx: Tx, account_id: str, browser: Browser, *, now: datetime) -> str | None:
        """The token of a log-in that waits for a code; None without a second factor, and in a trusted browser."""
        if await second_factors.find(tx, account_id) is None:
            return None
        if browser.hash is not None and await trusted_browsers.is_trusted(tx, account_id, browser.hash, now=now):
            return None
        return await begin(tx, account_id, now=now)

    async def confirmed_at(self, tx: Tx, account_id: str, *, now: datetime) -> datetime:
        """The confirmation time of a session that begins now without a code. A trusted browser may open pages without a
        code, but do no sensitive act: a thief who has copied its cookie has no code."""
        return now if await second_factors.find(tx, account_id) is None else now - WITHOUT_CODE

    async def finish(
        self,
        token: str,
        typed: TypedCode,
        owner_of: Callable[[SomeAccount], AccountOwner],
        insert_session: Callable[[Tx, SomeAccount], Awaitable[str]],
        *,
        now: datetime,
        browser: Browser,
    ) -> str:
        """Check the code, and begin a session. Returns its id. The fifth wrong code ends the log-in."""
        async with self._database.begin() as tx:
            account = await self._find(tx, await note_attempt(tx, token, now=now))
        if account is None:
            raise PendingLoginOver
        try:
            await self._codes.check(owner_of(account), typed, now=now, browser=browser)
        except WrongCode:
            if await self.waits(token, now=now):
                raise
            raise PendingLoginOver from None
        async with self._database.begin() as tx:
            # A concurrent change of the password has either ended this log-in already, or comes later and ends the new
            # session.
            await self._lock_hash(tx, owner_of(account).id)
            await finish(tx, token)
            return await insert_session(tx, account)

    async def waits(self, token: str, *, now: datetime) -> bool:
        async with self._database.read() as connection:
            return await find(connection, token, now=now) is not None

    async def give_up(self, token: str) -> None:
        async with self._database.begin() as tx:
            await finish(tx, token)


async def trust(tx: Tx, owner: AccountOwner, browser: Browser, *, now: datetime) -> None:
    """Trust this browser for a while, in the commit that begins its session. A program is never trusted."""
    if browser.next_token is None:
        return
    if await trusted_browsers.trust(tx, owner.id, hash_of(browser.next_token), until=now + TRUST_LIFE):
        await audit_log.append(tx, owner.actor, "browser.trusted", now=now, merchant_id=owner.merchant_id)


LIFE = timedelta(minutes=10)
_MOST_CODES = 5


class SecondStepRefusal(Code):
    OVER = "login_over"


class PendingLoginOver(Unauthorized):
    code = SecondStepRefusal.OVER
    scheme = "Bearer"


async def begin(tx: Tx, account_id: str, *, now: datetime) -> str:
    """The token for the browser's cookie."""
    token = make_secret("mpc_")
    await pending_logins.insert_pending_login(tx, hash_of(token), account_id, now=now, expires_at=now + LIFE)
    return token


async def find(connection: Conn, token: str, *, now: datetime) -> str | None:
    """The account of a waiting log-in that may still try a code."""
    return await pending_logins.find_pending_login(connection, hash_of(token), most=_MOST_CODES, now=now)


async def note_attempt(tx: Tx, token: str, *, now: datetime) -> str:
    """Count an attempt before the code is checked, and return the account."""
    account_id = await pending_logins.note_code_attempt(tx, hash_of(token), most=_MOST_CODES, now=now)
    if account_id is None:
        raise PendingLoginOver
    return account_id


async def finish(tx: Tx, token: str) -> None:
    """End the waiting log-in in the commit that begins the session, so that it becomes one session, never two."""
    if not await pending_logins.delete_pending_login(tx, hash_of(token)):
        raise PendingLoginOver
