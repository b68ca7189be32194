"""Passwords: argon2id, off the event loop, two at a time.

Checking one takes tens of milliseconds and 19 MiB on purpose; more than two at once would make the process large
and slow for everybody else.
"""

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
# An unknown email is checked against this, so that it takes as long as a known one. It is the hash of random bytes that
# were thrown away.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$7uVJbZAD20uXdIZQGKmYZg$bSd2i6ldRR6HRt/YPMjpk/JgTAra4jGBx6gQXgHc0hw"


class Passwords:
    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(2)

    async def hash(self, password: str) -> str:
        async with self._turns:
            return await asyncio.to_thread(_hasher.hash, password)

    async def is_right(self, password: str, password_hash: str | None) -> bool:
        async with self._turns:
            return await asyncio.to_thread(_is_right, password, password_hash)


def _is_right(password: str, password_hash: str | None) -> bool:
    try:
        return _hasher.verify(password_hash or _NOBODY, password) and password_hash is not None
    except (VerifyMismatchError, InvalidHashError):
        return False


_LEAST_PASSWORD = 10


_MOST_PASSWORD = 200


def problem_with_password(password: str, email: str) -> str | None:
    """What is wrong with a new password, in words; None if nothing is. Length is what makes it strong."""
    if not _LEAST_PASSWORD <= len(password) <= _MOST_PASSWORD:
        return f"must be {_LEAST_PASSWORD} to {_MOST_PASSWORD} characters"
    if len(set(password)) < 4 or password.lower() in email or email in password.lower():
        return "is too easy to guess"
    return None
