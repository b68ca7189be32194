"""Limits of log-in attempts: by account and address, by account, by address.

An attempt is recorded before the password is checked, so that a thousand guesses at once are a thousand attempts.
"""

from datetime import datetime, timedelta

from malipo.access import store
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

    async def note(self, name: str, address: str, *, now: datetime) -> None:
        most = (_MOST_PER_NAME_AND_ADDRESS, _MOST_PER_NAME, _MOST_PER_ADDRESS)
        subjects = list(zip(self._subjects(name, address), most, strict=True))
        async with self._database.begin() as tx:
            free_at = await store.note(tx, subjects, now=now, span=_SPAN)
        if free_at is not None:
            seconds = max(-int((now - free_at).total_seconds() // 1), 1)
            raise TooManyAttempts(
                f"Too many attempts to log in. Try again in {seconds} seconds.", retry_after_seconds=seconds
            )

    async def forgive(self, tx: Tx, name: str, address: str, *, now: datetime) -> None:
        both, *each = self._subjects(name, address)
        await store.forget_all(tx, both)
        await store.forget_one(tx, each, at=now)

    def _subjects(self, name: str, address: str) -> tuple[str, str, str]:
        """What attempts are counted for: the account from one address, the account, the address."""
        return f"{self._kind} {name} address {address}", f"{self._kind} {name}", f"address {address}"
