"""Passwords: argon2id, in threads of their own, two at a time (`password_hashing_queue.py`).

Checking one deliberately takes tens of milliseconds and 19 MiB; more than two at once would slow down the whole
process.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from malipo.accounts.password_hashing_queue import AT_ONCE, HashingTurns
from malipo.accounts.password_strength import WeakPassword, weakness_of

Result = TypeVar("Result")

# Separate threads, so that people can log in even when the shared threads are busy.
_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password")
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
# An unknown email is checked against this hash, so that the answer takes as long as for a known one. It is the hash of
# random bytes that nobody has.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$7uVJbZAD20uXdIZQGKmYZg$bSd2i6ldRR6HRt/YPMjpk/JgTAra4jGBx6gQXgHc0hw"


class Passwords:
    def __init__(self) -> None:
        self._turns = HashingTurns()

    async def hash(self, password: str) -> str:
        async with self._turns.turn(is_first=True):
            return await _in_thread(lambda: _hasher.hash(password))

    async def refuse_weak(self, password: str, *names: str, field: str = "password") -> None:
        async with self._turns.turn(is_first=True):
            weakness = await _in_thread(lambda: weakness_of(password, *names))
        if weakness is not None:
            raise WeakPassword(field, weakness)

    async def is_right(self, password: str, password_hash: str | None, *, is_first: bool = False) -> bool:
        async with self._turns.turn(is_first=is_first):
            return await _in_thread(lambda: _is_right(password, password_hash))


async def _in_thread(act: Callable[[], Result]) -> Result:
    return await asyncio.get_running_loop().run_in_executor(_threads, act)


def _is_right(password: str, password_hash: str | None) -> bool:
    try:
        return _hasher.verify(password_hash or _NOBODY, password) and password_hash is not None
    except (VerifyMismatchError, InvalidHashError):
        return False
