"""Limits of log-in attempts: by account and address, by account, by address. Attempts from a known browser are counted
separately, so that strangers cannot lock the owner out.

An attempt is recorded before the password is checked, so that a thousand concurrent guesses are a thousand attempts.
"""

import ipaddress
from datetime import datetime, timedelta

from malipo.accounts.store import login_attempts
from malipo.db import Database, Tx
from malipo.errors import TooMany

_SPAN = timedelta(minutes=15)
# Few from one address for one account; more in total, so that a stranger cannot lock an account with five guesses.
_MOST_PER_NAME_AND_ADDRESS = 5
_MOST_PER_NAME = 50
_MOST_PER_ADDRESS = 50
_LIMITS = (_MOST_PER_NAME_AND_ADDRESS, _MOST_PER_NAME, _MOST_PER_ADDRESS)
_MOST_PER_KNOWN_BROWSER = 5  # and account: its owner mistypes no more often than a stranger may guess


class TooManyAttempts(TooMany):
    code = "too_many_attempts"


class LoginAttempts:
    def __init__(self, database: Database, kind: str) -> None:
        self._database = database
        self._kind = kind  # the kind of names: emails of merchants' people, or operators

    async def note(self, name: str, address: str, *, now: datetime, known_browser: bytes | None = None) -> None:
        limits = _LIMITS if known_browser is None else (_MOST_PER_KNOWN_BROWSER,)
        subjects = self._subjects(name, address, known_browser)
        async with self._database.begin() as tx:
            free_at = await login_attempts.note(tx, list(zip(subjects, limits, strict=True)), now=now, span=_SPAN)
        if free_at is not None:
            # Concurrent attempts may be recorded in another order than they came.
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
        """Take back an attempt whose password was not checked."""
        async with self._database.begin() as tx:
            await login_attempts.forget_one(tx, self._subjects(name, address, known_browser), at=now)

    def _subjects(self, name: str, address: str, known_browser: bytes | None) -> tuple[str, ...]:
        """The subjects that an attempt counts for: the account from this address, the account, the address."""
        if known_browser is not None:
            return (f"{self._kind} {name} browser {known_browser.hex()}",)
        place = counted_address(address)
        return f"{self._kind} {name} address {place}", f"{self._kind} {name}", f"address {place}"


def counted_address(address: str) -> str:
    """The address as it is counted: IPv6 by the /64, because one subscriber has all 2^64 addresses of it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if parsed.version == 4 else str(ipaddress.IPv6Network((parsed.packed[:8] + bytes(8), 64)))
