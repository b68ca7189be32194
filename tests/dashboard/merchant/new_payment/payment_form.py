"""Somebody at the forms of /dashboard/collect and /dashboard/payout."""

import itertools
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from html import unescape

import pytest

from malipo.db import Database
from malipo.ledger.store import wallets
from malipo.payments.fees import Band
from malipo.payments.listing import transaction_list
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.store import tariffs
from malipo.payments.transaction import Transaction, Type
from tests.conftest import Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing

COLLECT, PAYOUT = "/dashboard/collect", "/dashboard/payout"
TYPED = {
    "amount": "25,000",
    "channel": "MPESA",
    "phone": "0754 000 100",
    "name": "Neema Kileo",
    "description": "Two bags",
    "orderReference": "A-1042",
}
numbers = itertools.count(1)
FIELD = re.compile(r'name="([a-zA-Z]+)" type="[a-z]+" value="([^"]*)"')
KEY = re.compile(r'name="key" value="([^"]*)"')


@dataclass
class PaymentForm:
    """A merchant with TZS 100,000, whose payments cost TZS 300, and its owner at the till."""

    database: Database
    merchant_id: str
    surfer: Surfer

    async def key(self, path: str) -> str:
        """What a form that was just opened carries."""
        return key_in(await self.surfer.get(path))

    async def review(self, path: str, key: str, **typed: str) -> Seen:
        return await self.surfer.post(path, TYPED | typed | {"key": key, "step": "review"})

    async def pay(self, path: str, key: str, **typed: str) -> Seen:
        return await self.surfer.post(path, TYPED | typed | {"key": key, "step": "pay"})

    async def made(self) -> list[Transaction]:
        async with self.database.snapshot() as connection:
            return (await transaction_list.page(connection, self.merchant_id, TransactionFilter(), page=1, limit=100))[
                1
            ]

    async def available(self) -> int:
        async with self.database.read() as connection:
            return (await wallets.get(connection, self.merchant_id))[0].available


def key_in(seen: Seen) -> str:
    found = KEY.search(seen.text)
    assert found is not None, seen.words
    return found[1]


def hidden_in(seen: Seen) -> dict[str, str]:
    """What the page would send when its button is pressed."""
    found = re.findall(r'<input type="hidden" name="([a-zA-Z]+)" value="([^"]*)">', seen.text)
    return {name: unescape(value) for name, value in found if name not in ("token", "language", "next")}


@pytest.fixture
async def surfer(running: Running) -> AsyncIterator[Surfer]:
    number = next(numbers)
    async with surfing(running.url, seen_from=f"10.50.{number // 250}.{number % 250}") as surfer:
        yield surfer


@pytest.fixture
async def payment_form(database: Database, surfer: Surfer) -> PaymentForm:
    merchant = await make_merchant(database, wallet=100_000)
    async with database.begin() as tx:
        for type_ in Type:
            await tariffs.replace(tx, merchant.id, type_, "MPESA", [Band(0, fixed_fee=300)])
    person = await add_person(database, merchant.id, f"owner+{secrets.token_hex(6)}@example.com")
    assert (await surfer.log_in(person.email)).status == 303
    return PaymentForm(database, merchant.id, surfer)
