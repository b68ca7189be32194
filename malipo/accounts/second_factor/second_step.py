"""The second step of a log-in: the code after the right password, or a trusted browser. The same for merchants' people
and for operators.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from malipo.accounts.account import AccountOwner
from malipo.accounts.known_browsers import Browser
from malipo.accounts.reauthentication import WITHOUT_CODE
from malipo.accounts.second_factor import pending_login
from malipo.accounts.second_factor.check_code import CodeChecker, TypedCode, WrongCode
from malipo.accounts.second_factor.pending_login import PendingLoginOver
from malipo.accounts.store import second_factors, trusted_browsers
from malipo.accounts.tokens import hash_of
from malipo.audit_log import store as audit_log
from malipo.db import Conn, Database, Tx

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
        return await pending_login.begin(tx, account_id, now=now)

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
            account = await self._find(tx, await pending_login.note_attempt(tx, token, now=now))
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
            await pending_login.finish(tx, token)
            return await insert_session(tx, account)

    async def waits(self, token: str, *, now: datetime) -> bool:
        async with self._database.read() as connection:
            return await pending_login.find(connection, token, now=now) is not None

    async def give_up(self, token: str) -> None:
        async with self._database.begin() as tx:
            await pending_login.finish(tx, token)


async def trust(tx: Tx, owner: AccountOwner, browser: Browser, *, now: datetime) -> None:
    """Trust this browser for a while, in the commit that begins its session. A program is never trusted."""
    if browser.next_token is None:
        return
    if await trusted_browsers.trust(tx, owner.id, hash_of(browser.next_token), until=now + TRUST_LIFE):
        await audit_log.append(tx, owner.actor, "browser.trusted", now=now, merchant_id=owner.merchant_id)
