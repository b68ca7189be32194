"""The owner of a business at /dashboard/settings, in one browser and in another."""

import itertools
import secrets
from collections.abc import AsyncIterator

import pytest

from malipo.db import Database
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.page_client import Surfer, add_person, surfing

PATH = "/dashboard/settings"
NEW = "ndizi mbivu sita 6"
numbers = itertools.count(1)


def an_email() -> str:
    return f"asha+{secrets.token_hex(6)}@example.com"


@pytest.fixture
async def shop(database: Database) -> Merchant:
    return await make_merchant(database)


@pytest.fixture
async def owner(database: Database, shop: Merchant) -> Person:
    return await add_person(database, shop.id, an_email())


@pytest.fixture
async def surfer(running: Running, owner: Person) -> AsyncIterator[Surfer]:
    async with surfing(running.url, seen_from=f"10.43.0.{next(numbers)}") as surfer:
        await surfer.log_in(owner.email)
        yield surfer


@pytest.fixture
async def elsewhere(running: Running, owner: Person) -> AsyncIterator[Surfer]:
    """The same person at another machine."""
    async with surfing(running.url, seen_from=f"10.43.1.{next(numbers)}") as surfer:
        surfer.headers["User-Agent"] = "Mozilla/5.0 (Linux; Android 13; Tecno) AppleWebKit/537 Chrome/120 Safari/537"
        await surfer.log_in(owner.email)
        yield surfer


async def everybody(database: Database, shop: Merchant) -> dict[str, Role]:
    async with database.read() as connection:
        return {each.email: each.role for each in await people.find_all(connection, shop.id)}
