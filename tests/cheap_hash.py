"""The hash of a password as it is kept, and cheap: what it costs to guess one is tested elsewhere."""

from functools import cache

from argon2 import PasswordHasher

PASSWORD = "maji ya kunde 7"


@cache
def cheap_hash(password: str = PASSWORD) -> str:
    return PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(password)
