"""A merchant's payments in the ledger and a network's statements of them, at chosen times: the two sides of a close."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from malipo import clock, ids
from malipo.audit_log import actor as actors
from malipo.db import Database
from malipo.encryption import Encryption
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account, Move, Posting, Step
from malipo.ledger.house_bookings import HouseBooking, HouseBookingKind, ends_of, value_date_of
from malipo.ledger.store import wallets
from malipo.ledger.store.closed_days import first_open_day
from malipo.network_statements.profile import built_in
from malipo.networks.connector import Channel
from malipo.reconciliation.close import close_day
from malipo.reconciliation.close.business_day import SETTLING_TIME
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.signed_content import ChannelClose, DayClose, OpenReason
from malipo.reconciliation.close.store.closes import ProposedClose
from malipo.reconciliation.imports.import_statement import StatementImport, import_statement
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from tests.conftest import NOBODY, SECRET_KEY, make_merchant

MONDAY, TUESDAY, WEDNESDAY, THURSDAY = (date(2026, 11, day) for day in (2, 3, 4, 5))
ASHA, JUMA = (actors.operator_at(name, "test") for name in ("asha", "juma"))
LATER = datetime(2026, 11, 20, 9, tzinfo=UTC)
ENCRYPTION = Encryption(SECRET_KEY)

Line = tuple[str, int | Decimal, str, str]  # receipt, amount, time of day, kind


def at(day: date, clock_time: str = "12:00") -> datetime:
    return datetime.combine(day, time.fromisoformat(clock_time), clock.ZONE).astimezone(UTC)


def last_to_close(now: datetime) -> date:
    """The last day that can be closed by now: yesterday, but for the first quarter of an hour after midnight."""
    return clock.day_of(now - SETTLING_TIME) - timedelta(days=1)


@dataclass
class Books:
    database: Database
    folder: Path
    merchant_id: str = ""
    payments: dict[str, str] = field(default_factory=dict)  # receipt → payment
    imports: int = 0
    bookings: int = 0
    fee: int = 0  # that the rows of customers' payments say; the ledger has 10
    balances: dict[str, int | Decimal] = field(default_factory=dict)  # what each account held by the last statement

    @classmethod
    async def begin(cls, database: Database, folder: Path) -> "Books":
        merchant = await make_merchant(database)
        return cls(database, folder, merchant.id)

    async def paid(self, receipt: str, amount: int, when: datetime, *, channel: str = "MPESA") -> None:
        """A customer's payment completes, with a fee of 10 for the house."""
        moves = [
            Move(Account.FLOAT, Account.WALLET, amount - 10, channel),
            Move(Account.FLOAT, Account.FEES, 10, channel),
        ]
        await self._payment(receipt, "COLLECTION", amount, when, channel, fee=self.fee)
        await self.post(self.payments[receipt], Step.END, moves, when)

    async def paid_out(self, receipt: str, amount: int, when: datetime, *, channel: str = "MPESA") -> None:
        await self._payment(receipt, "DISBURSEMENT", amount, when, channel)
        taken = [Move(Account.WALLET, Account.IN_FLIGHT, amount)]
        await self.post(self.payments[receipt], Step.OPEN, taken, when - timedelta(minutes=1))
        gone = [Move(Account.IN_FLIGHT, Account.FLOAT, amount, channel)]
        await self.post(self.payments[receipt], Step.END, gone, when)

    async def contradicted(self, receipt: str, change: int, when: datetime) -> None:
        """The network reports another outcome: its float follows, against suspense."""
        ends = ends_of(change, Account.SUSPENSE)
        await self.post(self.payments[receipt], Step.CONTRADICTION, [Move(*ends, abs(change), "MPESA")], when)

    async def failed_payout(self, receipt: str, amount: int, when: datetime) -> None:
        await self._payment(receipt, "DISBURSEMENT", amount, when, "MPESA", status="FAILED")
        there = [Move(Account.WALLET, Account.IN_FLIGHT, amount)]
        back = [Move(Account.IN_FLIGHT, Account.WALLET, amount)]
        await self.post(self.payments[receipt], Step.OPEN, there, when - timedelta(minutes=1))
        await self.post(self.payments[receipt], Step.END, back, when)

    async def post(self, cause: str, step: Step, moves: Sequence[Move], when: datetime) -> None:
        async with self.database.begin() as tx:
            locked = await wallets.lock(tx, [self.merchant_id])
            await wallets.post(tx, locked, [Posting(self.merchant_id, cause, step, moves)], now=when)

    async def _payment(
        self,
        receipt: str,
        type_: str,
        amount: int,
        when: datetime,
        channel: str,
        *,
        status: str = "COMPLETED",
        fee: int = 0,
    ) -> None:
        self.payments[receipt] = payment_id = ids.mint("txn_", when)
        async with self.database.begin() as tx:
            await tx.execute(
                """
                INSERT INTO transactions (merchant_id, id, reference, network_key, type, channel, status, amount, fee,
                    phone, name, description, metadata, search_text, provider_reference, failure_code, created_at,
                    processing_at, ended_at)
                VALUES ($1, $2, $2, $2, $3, $4, $5, $6, $10, '', '', '', '{}', '', $7, $8, $9, $9, $9)
                """,
                self.merchant_id,
                payment_id,
                type_,
                channel,
                status,
                amount,
                receipt if status == "COMPLETED" else None,
                None if status == "COMPLETED" else "declined",
                when,
                fee,
            )

    async def statement(
        self,
        day: date,
        lines: Sequence[Line],
        *,
        opening: int | Decimal | None = None,
        account: str = "",
        channel: Channel = Channel.MPESA,
        days: int = 1,
        accepts_problems: bool = False,
        closing: int | None = None,
        name: str | None = None,
    ) -> str:
        """Import the statement of a day; the id of its file. It opens with what the one before it closed with."""
        self.imports += 1
        key = f"{channel} {account}"
        opening = self.balances.get(key, 0) if opening is None else opening
        balance = opening + sum(amount for _, amount, _, _ in lines)
        self.balances[key] = balance if closing is None else closing
        ends = day + timedelta(days=days)
        rows: list[list[object]] = [["opening balance", opening], ["closing balance", self.balances[key]]]
        rows += [["from", f"{day} 00:00"], ["to", f"{ends} 00:00"], ["receipt", "time", "amount", "class"]]
        rows += [
            [receipt, moment if len(moment) > 8 else f"{day} {moment}", amount, {"money": "payment"}.get(kind, kind)]
            for receipt, amount, moment, kind in lines
        ]
        path = self.folder / (name or f"{channel}-{account}-{day}.csv")
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        async with self.database.begin() as tx:
            done = await import_statement(
                tx,
                StatementImport(
                    path,
                    channel=channel,
                    account=account,
                    profile=built_in()["generic"],
                    accepts_problems=accepts_problems,
                    is_new_account=True,
                ),
                actor=NOBODY,
                now=LATER + timedelta(seconds=self.imports),
            )
        return done.file.id

    async def withdraw(self, file_id: str) -> None:
        """By two operators."""
        withdraw = WithdrawStatements(0)
        async with self.database.begin() as tx:
            await withdraw.propose_withdrawal(tx, file_id, reason="It was corrected", actor=ASHA, now=LATER)
        async with self.database.begin() as tx:
            await withdraw.approve(tx, file_id, actor=JUMA, now=LATER)

    async def match(self, *receipts: str) -> None:
        """These receipts' lines are those of their payments."""
        async with self.database.begin() as tx:
            for receipt in receipts:
                await tx.execute(
                    """
                    INSERT INTO statement_matches (line_id, merchant_id, transaction_id, role, how, is_reported,
                                                   ledger_at, matched_by, matched_at)
                    SELECT id, $2, $3, CASE kind WHEN 'money' THEN 'payment' ELSE 'reversal' END, 'receipt', true, $4,
                           'malipo', $4
                    FROM statement_lines WHERE $1 IN (receipt, linked) AND kind IN ('money', 'reversal')
                    ON CONFLICT DO NOTHING
                    """,
                    receipt,
                    self.merchant_id,
                    self.payments[receipt],
                    LATER,
                )

    async def carried_by(self, receipt: str, connector: str) -> None:
        """The connector that has reported the payment."""
        async with self.database.begin() as tx:
            await tx.execute(
                """
                INSERT INTO network_answers (merchant_id, transaction_id, id, received_at, connector, source, verdict,
                                             code, detail)
                VALUES ($1, $2, $3, $4, $5, 'send', 'confirmed', '', '')
                """,
                self.merchant_id,
                self.payments[receipt],
                ids.mint("hrg_", LATER),
                LATER,
                connector,
            )

    async def match_booking(self, receipt: str, booking_id: str) -> None:
        async with self.database.begin() as tx:
            await tx.execute(
                """
                INSERT INTO statement_matches (line_id, merchant_id, transaction_id, role, how, is_reported, matched_by,
                                               matched_at)
                SELECT id, 'house', $2, 'booking', 'transfer', true, 'malipo', $3 FROM statement_lines WHERE receipt = $1
                """,
                receipt,
                booking_id,
                LATER,
            )

    async def exception(self, kind: str, receipt: str) -> str:
        """About a line, or about a payment that no statement has."""
        exception_id = ids.mint("exc_", LATER)
        async with self.database.begin() as tx:
            line = await tx.fetchrow("SELECT id, amount FROM statement_lines WHERE receipt = $1", receipt)
            await tx.execute(
                """
                INSERT INTO reconciliation_exceptions (id, kind, channel, account, line_id, merchant_id, transaction_id,
                                                       amount, found_at)
                VALUES ($1, $2, 'MPESA', '', $3, $4, $5, $6, $7)
                """,
                exception_id,
                kind,
                line["id"] if line else None,
                None if line else self.merchant_id,
                None if line else self.payments[receipt],
                line["amount"] if line else 1,
                LATER,
            )
        return exception_id

    async def book(self, kind: HouseBookingKind, change: int, day: date, **more: Any) -> HouseBooking:
        """A booking of the house, signed as in a statement, for this day if it is open."""
        other = {HouseBookingKind.BANK_TRANSFER: Account.BANK, HouseBookingKind.NETWORK_FEE: Account.NETWORK_FEES}.get(
            kind, Account.SUSPENSE
        )
        source, target = ends_of(change, other)
        self.bookings += 1
        async with self.database.begin() as tx:
            booking = HouseBooking(
                id=ids.mint("hbk_", LATER + timedelta(seconds=self.bookings)),
                kind=kind,
                channel="MPESA",
                source=source,
                target=target,
                amount=abs(change),
                value_date=value_date_of(day, first_open_day=await first_open_day(tx)),
                booked_by="malipo",
                **more,
            )
            assert await house_bookings.book(tx, [booking], now=more.get("booked_at") or at(day)) != []
        return booking

    async def line_id(self, receipt: str) -> int:
        async with self.database.read() as connection:
            return int(await connection.fetchval("SELECT id FROM statement_lines WHERE receipt = $1", receipt))

    async def close(self, day: date, **how: Any) -> DayClose:
        """The day is closed, as an operator does it."""
        done = await self.try_to_close(day, **how)
        assert isinstance(done, ClosedDay)
        return done.close

    async def try_to_close(self, day: date, **how: Any) -> ClosedDay | ProposedClose:
        terms: dict[str, Any] = {"encryption": ENCRYPTION, "actor": ASHA, "now": LATER} | how
        async with self.database.begin() as tx:
            return await close_day.close_day(tx, day, **terms)

    async def approve(self, day: date, **how: Any) -> ClosedDay:
        terms: dict[str, Any] = {"encryption": ENCRYPTION, "actor": JUMA, "now": LATER} | how
        async with self.database.begin() as tx:
            return await close_day.approve(tx, day, **terms)


def of_channel(close: DayClose, channel: str = "MPESA") -> ChannelClose:
    [found] = [each for each in close.channels if each.channel == channel]
    return found


def opened(close: DayClose, channel: str = "MPESA") -> dict[OpenReason, int]:
    return {reason: each.amount for reason, each in of_channel(close, channel).open.items()}
