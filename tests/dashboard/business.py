"""A merchant with people who can log in, and a browser without a session."""

import itertools
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from malipo.db import Database
from malipo.merchants.people import Person
from tests.conftest import Running, make_merchant
from tests.dashboard.page_client import Surfer, add_person, surfing

numbers = itertools.count(1)


@dataclass
class Business:
    """A merchant, the owner, and a browser in which nobody is logged in."""

    database: Database
    merchant_id: str
    owner: Person
    surfer: Surfer
    address: str

    async def sessions(self) -> list[str]:
        """The addresses from which people are logged in now."""
        rows = await self._fetch("SELECT address FROM sessions WHERE person_id = $1 AND ended_at IS NULL ORDER BY id")
        return [row[0] for row in rows]

    async def _fetch(self, query: str) -> list[tuple[str]]:
        async with self.database.read() as connection:
            return [tuple(row) for row in await connection.fetch(query, self.owner.id)]

    async def is_in(self) -> bool:
        return (await self.surfer.get("/dashboard")).status == 200


@pytest.fixture
async def nobody(running: Running) -> AsyncIterator[Surfer]:
    async with surfing(running.url) as surfer:
        yield surfer


@pytest.fixture
async def business(running: Running, database: Database) -> AsyncIterator[Business]:
    merchant = await make_merchant(database)
    owner = await add_person(database, merchant.id, f"asha+{secrets.token_hex(6)}@example.com")
    # Guesses are counted by address: each test has one, so that none locks another out.
    number = next(numbers)
    address = f"10.20.{number // 250}.{number % 250}"
    async with surfing(running.url, seen_from=address) as surfer:
        yield Business(database, merchant.id, owner, surfer, address)
