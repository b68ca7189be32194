"""The owner of a business with a bank account, in a browser, and the steps of its settlements outside."""

import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.settlement.settlement import Settlement
from malipo.settlement.store import settlements
from tests.conftest import Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing
from tests.settlement.settlement_steps import SettlementSteps

PATH = "/dashboard/settlements"
NEW = f"{PATH}/new"
_KEY = re.compile(r'name="key" value="([^"]+)"')


@dataclass
class SettlementPages:
    surfer: Surfer
    steps: SettlementSteps
    owner: Person

    @property
    def database(self) -> Database:
        return self.steps.database

    @property
    def merchant_id(self) -> str:
        return self.steps.merchant_id

    async def key(self) -> str:
        [key] = _KEY.findall((await self.surfer.get(NEW)).text)
        return str(key)

    async def press(self, step: str, key: str, **fields: str) -> Seen:
        typed = {"key": key, "step": step, "amount": "100,000", "bankAccountId": self.steps.account.id}
        return await self.surfer.post(NEW, typed | fields)

    async def withdrawn(self, **fields: str) -> Settlement:
        seen = await self.press("pay", await self.key(), **fields)
        assert seen.status == 303, seen.words
        return await self.settlement(seen.to.rpartition("/")[2])

    async def settlement(self, settlement_id: str) -> Settlement:
        async with self.database.read() as connection:
            found = await settlements.get(connection, self.merchant_id, settlement_id)
        assert found is not None
        return found

    async def count(self) -> int:
        async with self.database.read() as connection:
            return (await settlements.find_page(connection, self.merchant_id, page=1, limit=100))[0]

    async def password_is_old(self) -> None:
        async with self.database.begin() as tx:
            sql = "UPDATE sessions SET confirmed_at = confirmed_at - interval '11 minutes' WHERE person_id = $1"
            await tx.execute(sql, self.owner.id)


@pytest.fixture
async def desk(running: Running, database: Database, service: Service) -> AsyncIterator[SettlementPages]:
    merchant = await make_merchant(database, wallet=500_000)
    owner = await add_person(database, merchant.id, f"{secrets.token_hex(6)}@example.com", Role.OWNER)
    async with surfing(running.url) as surfer:
        assert (await surfer.log_in(owner.email)).status == 303
        yield SettlementPages(surfer, await SettlementSteps.of(service, database, merchant.id), owner)


@pytest.fixture
async def merchant_of_others(database: Database) -> str:
    """The email of the owner of another business."""
    merchant = await make_merchant(database, wallet=500_000)
    return (await add_person(database, merchant.id, f"{secrets.token_hex(6)}@example.com", Role.OWNER)).email
