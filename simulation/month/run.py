"""The month, day by day: its clock stands at an hour of each day, and people and networks act one after the other.

They act by the functions that the service has for them; nothing is written into its tables here.
"""

import math
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from malipo import clock
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.encryption import Encryption
from malipo.invoices import issue_invoices
from malipo.invoices.invoice import Invoice
from malipo.invoices.seller import seller_of
from malipo.invoices.store import invoices
from malipo.invoices.tax import TaxRate
from malipo.ledger.bank_bookings import BankBooking, BankBookingKind
from malipo.ledger.bookings import Booking, BookingKind
from malipo.ledger.transfers import Transfer, TransferKind
from malipo.merchants import onboard
from malipo.networks.connector import Channel, Type
from malipo.payments.after_restore import release
from malipo.payments.after_restore.fence import fence
from malipo.payments.fees import Band
from malipo.payments.initiate import PaymentRequest
from malipo.payments.store import tariffs
from malipo.restore.store import installation
from malipo.settings import Settings
from malipo.settlement.create import CreateSettlements
from malipo.settlement.fee_and_minimum import LARGEST_AMOUNT, SettlementTerms
from malipo.settlement.settlement_request import settlement_request_of
from malipo.table_files import rows
from malipo.validation.fields import Fields
from malipo_simulator.bank.bank import STARTING_BALANCE, Bank
from malipo_simulator.statements.account import ZONE
from simulation.month.finance_team import ASHA, JUMA, FinanceTeam
from simulation.month.network_book import OPENING, NetworkAccount
from simulation.month.shops import Shops
from simulation.month.treasurers import CHARGE, INTEREST, Treasurers
from simulation.reconciling.statement_files import read_here
from simulation.settlements.accounts import open_accounts
from simulation.template import SimulatedMerchant

SECRET_KEY = "the-key-of-a-simulated-month-and-nothing-else"  # noqa: S105
FIRST, DAYS = date(2026, 10, 1), 31
MERCHANTS = 5
_DAY = timedelta(days=1)
_TOP_UP = 20_000_000
_BUSY = 100  # payments of half a day
_RESTORED_ON = 17
_DECIDED_LATER = (3, 10, 20, 31)  # What these days leave open is decided when they are closed.
_FATES_OF_THE_LAST_DAY = ("taken-back", "told-paid-but-not")  # Their fees come back in the next month.
_DAYS_AFTER = 2  # of the next month, with payments
_INTEREST_ON, _CHARGED_ON, _TRANSFERS_ON = 15, 30, (9, 23)
_EVIDENCE = "The networks' statements of the lost time"

# PostgreSQL's own clock, too, stands at the hour of the month: `now()` is shadowed, as in the simulation.
_CLOCK = """
    CREATE SCHEMA sim;
    CREATE TABLE sim.clock (now timestamptz NOT NULL);
    INSERT INTO sim.clock VALUES ('2026-09-30 12:00+03');
    CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT now FROM sim.clock $$;
    CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT now FROM sim.clock $$;
"""
_SETTINGS = (
    *("fsync = off", "synchronous_commit = off", "full_page_writes = off", "jit = off"),
    *("plan_cache_mode = force_generic_plan", "max_parallel_workers_per_gather = 0"),
)
_PATH = "ALTER DATABASE month SET search_path = sim, pg_catalog, public"

Say = Callable[[str], None]


class MonthRun:
    def __init__(self, server_url: str, folder: Path, *, payments: int, seed: int, say: Say) -> None:
        self._server_url = server_url
        self._folder = folder
        self._payments = payments
        self._say = say
        self._chance = random.Random(f"month {seed}")
        self.settings = Settings(
            secret_key=SECRET_KEY,
            data_dir=folder,
            company_name="Malipo ya Mwezi Ltd",
            company_tin="123456789",
            company_address="Barabara ya Bagamoyo, Dar es Salaam",
            company_vrn="40-320840-G",
        )
        self.invoices: list[Invoice] = []
        self.next_invoices: list[Invoice] = []
        self.url = _url_of(server_url, "month")
        self.accounts = {each: NetworkAccount(each, random.Random(f"{each} {seed}")) for each in Channel}
        self.bank = Bank()
        self.merchants: list[str] = []
        self.lost = 0  # payments that the restore has lost
        self.late = 0
        self.settlements = 0
        self.releases = 0
        self._now = datetime.combine(FIRST, datetime.min.time(), ZONE)
        self._database: Database | None = None
        self._hand: Any = None  # the connection that sets the database's clock

    async def go(self) -> None:
        # In this process: another one for each file would cost as much as all the rest, and is tested elsewhere.
        rows._read = read_here
        # The month is thrown away in the end, so nothing of it need survive a power cut.
        await self._ask_server(*(f"ALTER SYSTEM SET {each}" for each in _SETTINGS), "SELECT pg_reload_conf()")
        await self._ask_server("DROP DATABASE IF EXISTS month WITH (FORCE)", "CREATE DATABASE month", _PATH)
        await self._ask(self.url, _CLOCK)
        await self._set_clock(FIRST - _DAY, 12)
        async with self._opened() as database:
            await migrate(database)
            await self._begin(database)
        for number in range(1, DAYS + 1):
            began = time.monotonic()
            await self._live(number)
            day = FIRST + (number - 1) * _DAY
            self._say(f"{day}  {self.shops.requests:>7,} payments asked for  {time.monotonic() - began:5.1f} s")
        async with self._opened() as database:
            self.invoices = await self._issue_invoices(database, FIRST)
        await self._let_go()

    async def go_on(self) -> None:
        """The next month: some days with payments, and all of it closed and invoiced."""
        for number in range(DAYS + 1, DAYS + 1 + _DAYS_AFTER):
            await self._live(number)
        async with self._opened() as database:
            begins, ends = FIRST + (DAYS + _DAYS_AFTER) * _DAY, _month_after(_month_after(FIRST))
            await self._set_clock(ends, 8, 30)
            until = datetime(ends.year, ends.month, ends.day, tzinfo=ZONE)
            await self.finance.import_statements(database, begins, until=until)
            await self.finance.decide_all(database)
            await self.treasurers.read_statement(database, begins, ends - _DAY)
            for each in range((ends - begins).days):
                await self.finance.close(database, begins + each * _DAY)
            self.next_invoices = await self._issue_invoices(database, _month_after(FIRST))
        await self._let_go()

    async def _begin(self, database: Database) -> None:
        for number in range(1, MERCHANTS + 1):
            async with database.begin() as tx:
                merchant_id = await onboard.create_merchant(tx, f"Duka {number}", actor=ASHA, now=clock.now())
                for type_ in Type:
                    for channel in Channel:
                        await tariffs.replace(tx, merchant_id, type_, channel, [Band(500, basis_points=100 + number)])
            self.merchants.append(merchant_id)
        await open_accounts(database, self.merchants, now=clock.now() - 30 * _DAY)
        accounts = [SimulatedMerchant(each, "", "", "") for each in self.merchants]
        self.shops = Shops(self.settings, self.merchants, self.accounts, self._chance)
        self.finance = FinanceTeam(
            self.settings, Encryption(SECRET_KEY), self.accounts, self.shops, _made(self._folder / "networks")
        )
        self.treasurers = Treasurers(accounts, self.bank, _made(self._folder / "bank"))
        day = FIRST - _DAY
        opening = BankBooking(BankBookingKind.OPENING_BALANCE, STARTING_BALANCE, "NMB 30 SEP", day=day)
        await self.finance.book(database, opening)
        for channel in Channel:
            at_network = BankBooking(
                BankBookingKind.OPENING_BALANCE, OPENING, f"{channel} 30 SEP", day=day, channel=channel
            )
            await self.finance.book(database, at_network)

    async def _live(self, number: int) -> None:
        day = FIRST + (number - 1) * _DAY
        async with self._opened() as database:
            await self._set_clock(day, 8)
            await self._of_the_bank(database, number, day)
            await self._ask_for_settlements(database, day)
        if number == DAYS:
            self.shops.planned += _FATES_OF_THE_LAST_DAY
        morning, afternoon = self._counts(number)
        async with self._opened() as database:
            await self._pay(database, day, 9, morning)
        if number == _RESTORED_ON:
            await self._lose_an_afternoon(day, afternoon)
        else:
            async with self._opened() as database:
                await self._pay(database, day, 15, afternoon)
        async with self._opened() as database:
            await self._end_the_day(database, day, number)

    def _counts(self, number: int) -> tuple[int, int]:
        """Of the payments of the month, those of this day."""
        edges = [math.floor(self._payments * each / DAYS) for each in (number - 1, number)]
        count = edges[1] - edges[0]
        return count // 2, count - count // 2

    async def _pay(self, database: Database, day: date, hour: int, count: int) -> list[PaymentRequest]:
        asked = []
        hours = 4 if count > _BUSY else 1
        for place in range(hours):
            share = (place + 1) * count // hours - place * count // hours
            await self._set_clock(day, hour + place)
            asked += await self.shops.pay(database, share, clock.now())
        return asked

    async def _end_the_day(self, database: Database, day: date, number: int) -> None:
        # Some pay a moment before midnight; the network books a moment after it.
        await self._set_clock(day, 23, 59, 30)
        await self.shops.pay(database, 1 + self._payments // 2_000, clock.now())
        await self._set_clock(day + _DAY, 8, 30)
        await self.finance.import_statements(database, day)
        if number not in _DECIDED_LATER:
            await self.finance.decide_all(database)
        await self.treasurers.read_statement(database, day, day)
        if number % 10 == 5:
            await self._close_too_early(database, day)
        else:
            await self.finance.close(database, day)
        if number in _DECIDED_LATER:
            await self.finance.decide_all(database)
        if number == DAYS - 3:
            await self._release_from_suspense(database)

    async def _close_too_early(self, database: Database, day: date) -> None:
        """Payouts of the day are committed after its close, as by a process that has stood still."""
        await self._set_clock(day, 23, 58)
        requests = await self.shops.payouts(database, 2, clock.now())
        async with database.begin() as tx:
            self.late += len(await self.shops.ask_in(tx, requests))
            await self._set_clock(day + _DAY, 9)
            await self.finance.close(database, day)

    async def _issue_invoices(self, database: Database, month: date) -> list[Invoice]:
        """Of a closed month, on the first day of the next one."""
        async with database.begin() as tx:
            if not await invoices.find_rates(tx):
                await invoices.set_rate(tx, TaxRate(FIRST.replace(month=1), 1800), by=ASHA.name, now=clock.now())
            seller = seller_of(self.settings)
            return await issue_invoices.issue(tx, month, seller=seller, actor=ASHA, now=clock.now())

    # Money at the bank.

    async def _of_the_bank(self, database: Database, number: int, day: date) -> None:
        if number == 1:
            for place, merchant_id in enumerate(self.merchants, 1):
                self.bank.deposit(100 * _TOP_UP, day, f"FTTOPUP{place}")
                await self.finance.book(database, Booking(BookingKind.TOP_UP, merchant_id, _TOP_UP, f"FTTOPUP{place}"))
        if number == _INTEREST_ON:
            self.bank.deposit(1_234_500, day, "FTINT15", INTEREST)
        if number == _CHARGED_ON:
            self.bank.deposit(-250_000, day, "FTFEE30", CHARGE)
        if number in _TRANSFERS_ON:
            for channel in (Channel.MPESA, Channel.TIGO_PESA):
                reference = f"FT{number}{channel[0]}"
                self.accounts[channel].transfer(-5_000_000, reference, clock.now())
                self.bank.deposit(500_000_000, day, reference)
                transfer = Transfer(TransferKind.TO_BANK, channel, "", 5_000_000, reference)
                await self.finance.book(database, transfer)

    async def _ask_for_settlements(self, database: Database, day: date) -> None:
        """Each Monday and Thursday, a third of what each merchant has."""
        if day.weekday() in (0, 3):
            async with database.read() as connection:
                wallets = await connection.fetch("SELECT merchant_id, available FROM wallets ORDER BY merchant_id")
            for row in wallets:
                request = settlement_request_of(
                    Fields({"amount": row["available"] // 3}),
                    row["merchant_id"],
                    key=f"settle-{day}",
                    largest=LARGEST_AMOUNT,
                    created_by="key_of_the_month",
                    now=clock.now(),
                )
                async with database.begin() as tx:
                    await CreateSettlements(SettlementTerms.of(self.settings))(tx, [request], again=False)
                self.settlements += 1
        await self.treasurers.send_due(database)

    async def _release_from_suspense(self, database: Database) -> None:
        """Some money that a network shows twice turned out to be the merchant's whose payment it is."""
        async with database.read() as connection:
            booked = await connection.fetch(
                "SELECT h.id, h.amount, e.merchant_id FROM house_bookings h "
                "JOIN reconciliation_exceptions e ON e.line_id = h.line_id AND e.merchant_id IS NOT NULL "
                "WHERE h.kind = 'line' AND h.source = 'float' AND h.target = 'suspense' ORDER BY h.id LIMIT 3"
            )
        for row in booked:
            amount = max(row["amount"] // 2, 1)
            await self.finance.release(database, row["id"], row["merchant_id"], amount, f"FOUND-{row['id'][-8:]}")
            self.releases += 1

    # The restore.

    async def _lose_an_afternoon(self, day: date, count: int) -> None:
        """The database is put back to noon. What the networks did in the afternoon they did."""
        await self._let_go()
        await self._ask_server("DROP DATABASE IF EXISTS month_backup", "CREATE DATABASE month_backup TEMPLATE month")
        async with self._opened() as database:
            asked = await self._pay(database, day, 14, count)
        await self._let_go()
        await self._ask_server("DROP DATABASE month", "CREATE DATABASE month TEMPLATE month_backup", _PATH)
        self.lost = len(asked)
        async with self._opened() as database:
            await self._set_clock(day, 19)
            async with database.begin() as tx:
                standing = await installation.get(tx)
                await fence(tx, "restored", actor=ASHA, now=clock.now(), epoch=standing.epoch)
            await self.finance.import_statements(database, day, until=clock.now())
            await self.finance.decide_all(database)
            for actor in (ASHA, JUMA):
                async with database.begin() as tx:
                    await release.release(tx, _EVIDENCE, actor=actor, now=clock.now())
            # Merchants repeat a part of what they had asked for: nothing of it is paid twice.
            await self._set_clock(day, 20)
            repeated = asked[: len(asked) // 2]
            for start in range(0, len(repeated), 100):
                await self.shops.ask(database, repeated[start : start + 100])
            await self.shops.work(database, clock.now())

    # The clock and the server.

    async def _set_clock(self, day: date, hour: int, minute: int = 0, second: int = 0) -> None:
        self._now = datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=ZONE)
        nanoseconds = int(self._now.timestamp()) * 1_000_000_000
        clock.read_from(nanoseconds=lambda: nanoseconds, monotonic=time.monotonic)
        self._hand = self._hand or await asyncpg.connect(self.url)
        await self._hand.execute(f"UPDATE sim.clock SET now = '{self._now.isoformat()}'")

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Database]:
        """The same connections for the whole month, but for the restore: each plans every statement once."""
        if self._database is None:
            self._database = Database(self.url, size=3)
            await self._database.open()
        yield self._database

    async def _let_go(self) -> None:
        """Nobody may be connected to a database that is copied or dropped."""
        if self._hand is not None:
            await self._hand.close()
        if self._database is not None:
            await self._database.close()
        self._hand = self._database = None

    async def _ask_server(self, *statements: str) -> None:
        await self._ask(self._server_url, *statements)

    async def _ask(self, url: str, *statements: str) -> None:
        connection = await asyncpg.connect(url)
        try:
            for each in statements:
                await connection.execute(each)
        finally:
            await connection.close()


def _url_of(server_url: str, database: str) -> str:
    head, question, query = server_url.partition("?")
    return f"{head.rpartition('/')[0]}/{database}{question}{query}"


def _month_after(first: date) -> date:
    return (first + 31 * _DAY).replace(day=1)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
