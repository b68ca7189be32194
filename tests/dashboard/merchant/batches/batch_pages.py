"""Somebody of the staff who sends spreadsheets, and the owner who approves them."""

import io
import itertools
import re
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from html import unescape

import aiohttp
import pytest

from malipo import clock, ids
from malipo.accounts.four_eyes import COOLING_TIME
from malipo.db import Database
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.payments.batches.batch import Batch
from malipo.payments.batches.spreadsheet.columns import SheetColumn
from malipo.payments.batches.spreadsheet.draft import BatchDraft, Edits
from malipo.payments.batches.spreadsheet.read_sheet import PayoutSheet, SheetRow
from malipo.payments.batches.store import batches, drafts
from malipo.payments.fees import Band
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type
from tests.conftest import Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing

NEW = "/dashboard/batches/new"
RIGHT = b"Name,Phone,Network,Amount\nAsha Juma,0754000101,M-Pesa,1000\nBaraka Mushi,0655000102,Tigo,2000\n"
numbers = itertools.count(1)


@dataclass
class Office:
    """A merchant with TZS 100,000, whose payouts by M-Pesa cost TZS 300. The clerk is of the staff."""

    database: Database
    merchant_id: str
    clerk: Surfer
    clerk_email: str
    owner: Surfer
    owner_person: Person

    async def send(self, content: bytes, *, name: str = "salaries.csv", token: str | None = None) -> Seen:
        form = aiohttp.FormData()
        form.add_field("token", self.clerk.token if token is None else token)
        form.add_field("file", io.BytesIO(content), filename=name, content_type="text/csv")
        surfer = self.clerk
        sent = surfer.headers | {"Origin": surfer.url, "Sec-Fetch-Site": "same-origin"}
        async with surfer.http.post(surfer.url + NEW, data=form, headers=sent, allow_redirects=False) as answer:
            return Seen(answer.status, await answer.text(), answer.headers)

    async def draft(self, content: bytes = RIGHT, **more: str) -> str:
        """The page that shows the lines."""
        seen = await self.send(content, **more)
        assert seen.status == 303, seen.words
        return seen.to

    async def submit(self, draft: str, **fields: str) -> Seen:
        shown = await self.clerk.get(draft)
        return await self.clerk.post(f"{draft}/submit", {"seen": seen_in(shown), "batchName": "Wages"} | fields)

    async def submitted(self, content: bytes = RIGHT) -> str:
        """The page of a batch that awaits approval."""
        seen = await self.submit(await self.draft(content))
        assert seen.status == 303, seen.words
        return seen.to

    async def wait_for_rules(self) -> None:
        """Weaker rules that were asked for have waited."""
        async with self.database.begin() as tx:
            await tx.execute(
                "UPDATE approval_rule_changes SET requested_at = requested_at - $2::interval WHERE merchant_id = $1",
                self.merchant_id,
                COOLING_TIME,
            )

    async def made(self) -> list[Batch]:
        async with self.database.snapshot() as connection:
            return (await batches.find_page(connection, self.merchant_id, page=1, limit=100))[1]

    async def payouts(self) -> list[tuple[str, str, int]]:
        async with self.database.read() as connection:
            rows = await connection.fetch(
                "SELECT phone, status, amount FROM transactions WHERE merchant_id = $1 ORDER BY id", self.merchant_id
            )
        return [tuple(row) for row in rows]


def seen_in(page: Seen) -> str:
    found = re.search(r'name="seen" value="([^"]*)"', page.text)
    return found[1] if found else ""


def inputs_in(page: Seen) -> dict[str, str]:
    """What the page would send of the lines that can be fixed."""
    values = dict(re.findall(r'<input id="[^"]*" name="([a-z_]+-\d+)" value="([^"]*)"', page.text))
    for name, options in re.findall(
        r'<select id="[^"]*" name="(channel-\d+)"[^>]*>(.*?)</select>', page.text, re.DOTALL
    ):
        chosen = re.search(r'value="([A-Z_]+)" selected', options)
        values[name] = chosen[1] if chosen else ""
    return {name: unescape(value) for name, value in values.items()}


async def fix(surfer: Surfer, draft: str, **typed: str) -> Seen:
    """Type these, and leave the other inputs as they are."""
    shown = inputs_in(await surfer.get(draft))
    changed: Mapping[str, str] = {name.replace("__", "-"): value for name, value in typed.items()}
    return await surfer.post(draft, shown | dict(changed))


async def make_draft(database: Database, merchant_id: str, email: str) -> str:
    """The id of one that was sent without a page."""
    sheet = PayoutSheet(
        ["Phone", "Amount"], [SheetRow(2, ["0754000101", "1000"])], {SheetColumn.PHONE: 0, SheetColumn.AMOUNT: 1}
    )
    now = clock.now()
    draft = BatchDraft(
        id=ids.mint("drf_", now),
        merchant_id=merchant_id,
        person=email,
        filename="salaries.csv",
        sheet=sheet,
        edits=Edits(),
        created_at=now,
    )
    async with database.begin() as tx:
        await drafts.insert(tx, draft)
    return draft.id


@pytest.fixture
async def office(running: Running, database: Database) -> AsyncIterator[Office]:
    merchant = await make_merchant(database, wallet=100_000)
    async with database.begin() as tx:
        await tariffs.replace(tx, merchant.id, Type.DISBURSEMENT, "MPESA", [Band(0, fixed_fee=300)])
    mark = secrets.token_hex(6)
    clerk = await add_person(database, merchant.id, f"clerk+{mark}@example.com", Role.STAFF, name="Neema Clerk")
    owner = await add_person(database, merchant.id, f"owner+{mark}@example.com", name="Juma Owner")
    async with (
        surfing(running.url, seen_from=f"10.60.0.{next(numbers)}") as clerks,
        surfing(running.url, seen_from=f"10.61.0.{next(numbers)}") as owners,
    ):
        assert (await clerks.log_in(clerk.email)).status == 303
        assert (await owners.log_in(owner.email)).status == 303
        yield Office(database, merchant.id, clerks, clerk.email, owners, owner)
