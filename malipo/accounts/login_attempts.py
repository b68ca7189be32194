"""Limits of log-in attempts: by account and address, by account, by address. Those from a browser in which the account
has logged in before are counted apart, so that strangers cannot lock its owner out.

An attempt is recorded before the password is checked, so that a thousand guesses at once are a thousand attempts.
"""

import ipaddress
from datetime import datetime, timedelta

from malipo.accounts.store import login_attempts
from malipo.db import Database, Tx
from malipo.errors import TooMany

_SPAN = timedelta(minutes=15)
# Few from one address at one account; more in all, so that others cannot lock an account with five guesses.
_MOST_PER_NAME_AND_ADDRESS = 5
_MOST_PER_NAME = 50
_MOST_PER_ADDRESS = 50


class TooManyAttempts(TooMany):
    code = "too_many_attempts"


class LoginAttempts:
    def __init__(self, database: Database, kind: str) -> None:
        self._database = database
        self._kind = kind  # what a name is: an email of a merchant's person, or an operator

    async def note(self, name: str, address: str, *, now: datetime, known_browser: bytes | None = None) -> None:
        most = (_MOST_PER_NAME_AND_ADDRESS, _MOST_PER_NAME, _MOST_PER_ADDRESS)
        subjects = list(zip(self._subjects(name, address, known_browser), most, strict=False))
        async with self._database.begin() as tx:
            free_at = await login_attempts.note(tx, subjects, now=now, span=_SPAN)
        if free_at is not None:
            # Of attempts that come at once, one may be recorded before another that came earlier.
            seconds = min(max(-int((now - free_at).total_seconds() // 1), 1), int(_SPAN.total_seconds()))
            raise TooManyAttempts(
                f"Too many attempts to log in. Try again in {seconds} seconds.", retry_after_seconds=seconds
            )

    async def forgive(
        self, tx: Tx, name: str, address: str, *, now: datetime, known_browser: bytes | None = None
    ) -> None:
        both, *each = self._subjects(name, address, known_browser)
        await login_attempts.forget_all(tx, both)
        await login_attempts.forget_one(tx, each, at=now)

    async def take_back(self, name: str, address: str, *, now: datetime, known_browser: bytes | None = None) -> None:
        """It was no attempt after all: the password was not looked at."""
        async with self._database.begin() as tx:
            await login_attempts.forget_one(tx, self._subjects(name, address, known_browser), at=now)

    def _subjects(self, name: str, address: str, known_browser: bytes | None) -> tuple[str, ...]:
        """What attempts are counted for: the account from one address, the account, the address."""
        if known_browser is not None:
            return (f"{self._kind} {name} browser {known_browser.hex()}",)
        place = counted_address(address)
        return f"{self._kind} {name} address {place}", f"{self._kind} {name}", f"address {place}"


def counted_address(address: str) -> str:
    """Whoever has one IPv6 address has the 2^64 addresses beside it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if parsed.version == 4 else str(ipaddress.IPv6Network((parsed.packed[:8] + bytes(8), 64)))
