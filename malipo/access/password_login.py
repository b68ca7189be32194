"""Log-in by name and password, the same for people of merchants and for operators.

`merchants/login.py` and `operators/login.py` say how an account is found and how its session is stored.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from malipo.access.login_attempts import LoginAttempts
from malipo.access.passwords import Passwords
from malipo.db import Conn, Database, Tx
from malipo.errors import Unauthorized


class Account(Protocol):
    @property
    def password_hash(self) -> str | None: ...


SomeAccount = TypeVar("SomeAccount", bound=Account)
Find = Callable[[Conn, str], Awaitable[SomeAccount | None]]
InsertSession = Callable[[Tx, SomeAccount], Awaitable[str]]


class PasswordLogin(Generic[SomeAccount]):
    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        attempts: LoginAttempts,
        find: Find[SomeAccount],
        wrong: type[Unauthorized],
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._attempts = attempts
        self._find = find
        self._wrong = wrong

    async def begin(
        self, name: str, password: str, insert_session: InsertSession[SomeAccount], *, address: str, now: datetime
    ) -> str:
        """The id of a new session, if the password is right. An unknown name is refused as slowly as a wrong one."""
        await self._attempts.note(name, address, now=now)
        async with self._database.read() as connection:
            account = await self._find(connection, name)
        is_right = await self._passwords.is_right(password, account.password_hash if account else None)
        if not is_right or account is None:
            raise self._wrong
        async with self._database.begin() as tx:
            await self._attempts.forgive(tx, name, address, now=now)
            return await insert_session(tx, account)
