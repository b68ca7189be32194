"""Log-in by name and password, the same for people of merchants and for operators.

`merchants/login.py` and `operators/login.py` say how an account is found and how its session is stored.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from malipo.accounts.failed_login_audit import FailedLogins
from malipo.accounts.known_browsers import Browser
from malipo.accounts.login_attempts import LoginAttempts, TooManyAttempts
from malipo.accounts.password_hashing_queue import TooBusy
from malipo.accounts.passwords import Passwords
from malipo.accounts.reauthentication import Proof, WrongPassword
from malipo.accounts.second_factor.check_code import CodeRequired
from malipo.accounts.store import browsers
from malipo.accounts.store.browsers import AccountColumn
from malipo.accounts.tokens import hash_of
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Database, Tx
from malipo.errors import Unauthorized


class PasswordAccount(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def password_hash(self) -> str | None: ...


SomeAccount = TypeVar("SomeAccount", bound=PasswordAccount)
Find = Callable[[Conn, str], Awaitable[SomeAccount | None]]
# Locks the password hash of the account with this id until the commit, and returns it.
LockHash = Callable[[Tx, str], Awaitable[str | None]]
# Called after the right password: begins a session, or a log-in that waits for a code.
Proceed = Callable[[Tx, SomeAccount], Awaitable["FirstStep"]]
CheckCode = Callable[[], Awaitable[None]]
Act = Callable[[Tx], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A log-in after the right password: a session, or the token of one that waits for a code."""

    session_id: str | None = None
    pending_token: str | None = None


class PasswordLogin(Generic[SomeAccount]):
    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        attempts: LoginAttempts,
        find: Find[SomeAccount],
        lock_hash: LockHash,
        wrong: type[Unauthorized],
        owner: AccountColumn,
        actor: Callable[[SomeAccount, str], Actor],
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._attempts = attempts
        self._find = find
        self._lock_hash = lock_hash
        self._wrong = wrong
        self._owner = owner
        self._actor = actor
        self._failed = FailedLogins(database, owner)
        self._code_asked = FailedLogins(database, f"code asked {owner}", "login.code_asked")

    async def begin(
        self,
        name: str,
        password: str,
        proceed: Proceed[SomeAccount],
        *,
        address: str,
        browser: Browser,
        now: datetime,
    ) -> FirstStep:
        """Begin a session, or a log-in that waits for a code. An unknown name is refused as slowly as a wrong
        password."""
        async with self._database.read() as connection:
            account = await self._find(connection, name)
        browser_hash = await self.known_hash(account, browser)
        if not await self.is_right(account, name, password, address=address, known_browser=browser_hash, now=now):
            raise self._wrong
        assert account is not None, "nobody's password is right"
        async with self._database.begin() as tx:
            if not await self.is_unchanged(tx, account):
                raise self._wrong
            await self._attempts.forgive(tx, name, address, known_browser=browser_hash, now=now)
            begun = await proceed(tx, account)
        if begun.pending_token is not None:
            await self._note(self._code_asked, account, address, is_throttled=False, now=now)
        return begun

    async def confirm(
        self,
        account: SomeAccount,
        name: str,
        proof: Proof,
        check_code: CheckCode,
        note: Act,
        *,
        address: str,
        browser: Browser,
        now: datetime,
    ) -> None:
        """Check the password that a logged-in user types again. A wrong one counts as a log-in attempt."""
        browser_hash = await self.known_hash(account, browser)
        if not await self.is_right(account, name, proof.password, address=address, known_browser=browser_hash, now=now):
            raise WrongPassword
        try:
            await check_code()
        except CodeRequired:
            await self._note(self._code_asked, account, address, is_throttled=False, now=now)
            raise
        async with self._database.begin() as tx:
            if not await self.is_unchanged(tx, account):
                raise WrongPassword
            await self._attempts.forgive(tx, name, address, known_browser=browser_hash, now=now)
            await note(tx)

    async def is_right(
        self,
        account: SomeAccount | None,
        name: str,
        password: str,
        *,
        address: str,
        known_browser: bytes | None,
        now: datetime,
    ) -> bool:
        """Whether the password is right. The attempt is counted before the check."""
        try:
            await self._attempts.note(name, address, known_browser=known_browser, now=now)
        except TooManyAttempts:
            await self._note(self._failed, account, address, is_throttled=True, now=now)
            raise
        password_hash = account.password_hash if account else None
        try:
            is_right = await self._passwords.is_right(password, password_hash, is_first=known_browser is not None)
        except TooBusy:
            await self._attempts.take_back(name, address, known_browser=known_browser, now=now)
            raise
        if not is_right:
            await self._note(self._failed, account, address, is_throttled=False, now=now)
        return is_right

    async def is_unchanged(self, tx: Tx, account: SomeAccount) -> bool:
        """Whether the checked password is still the account's, locked until the commit: the check takes a while."""
        return await self._lock_hash(tx, account.id) == account.password_hash

    async def _note(
        self, where: FailedLogins, account: SomeAccount | None, address: str, *, is_throttled: bool, now: datetime
    ) -> None:
        await where.note(
            account.id if account is not None else None,
            self._actor(account, address) if account is not None else None,
            merchant_id=getattr(account, "merchant_id", None),  # Operators have none.
            address=address,
            is_throttled=is_throttled,
            now=now,
        )

    async def known_hash(self, account: SomeAccount | None, browser: Browser) -> bytes | None:
        """The browser's hash, if this account has logged in there before."""
        if account is None or browser.hash is None:
            return None
        async with self._database.read() as connection:
            is_known = await browsers.is_known(connection, self._owner, account.id, browser.hash)
        return browser.hash if is_known else None

    async def is_known(self, tx: Tx, account: SomeAccount, browser: Browser) -> bool:
        if browser.hash is None:
            return False
        return await browsers.is_known(tx, self._owner, account.id, browser.hash)

    async def remember(self, tx: Tx, account: SomeAccount, browser: Browser, *, address: str, now: datetime) -> None:
        """Make the browser known, in the commit that begins a session: a password alone makes no browser known."""
        if browser.next_token is not None:
            await browsers.remember(
                tx,
                self._owner,
                account.id,
                before=browser.hash,
                after=hash_of(browser.next_token),
                address=address,
                user_agent=browser.user_agent,
                now=now,
            )
