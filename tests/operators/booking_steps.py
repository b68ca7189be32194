"""Operators at a desk, asking for bookings of one merchant."""

from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import timedelta

from malipo import clock
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import ProposedBooking, Requested
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, operator_at
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.ledger.bookings import Booking, BookingKind
from malipo.ledger.store import wallets
from malipo.operators import login
from malipo.operators import store as operators
from tests.conftest import Merchant

ASHA, JUMA, NEEMA = (operator_at(name, "test") for name in ("asha", "juma", "neema"))
LIMIT = 1_000_000
LARGE = 1_500_000


@dataclass(frozen=True)
class Desk:
    database: Database
    merchant: Merchant

    async def request(
        self,
        amount: int = LARGE,
        reference: str = "NMB-1",
        *,
        kind: BookingKind = BookingKind.TOP_UP,
        actor: Actor = ASHA,
        limit: int = LIMIT,
        merchant: Merchant | None = None,
    ) -> Requested:
        booking = Booking(kind, (merchant or self.merchant).id, amount, reference)
        async with self.database.begin() as tx:
            return await booking_approval.request(tx, booking, approval_amount=limit, actor=actor, now=clock.now())

    async def approve(self, name: str = "NMB-1", *, actor: Actor = JUMA) -> ProposedBooking:
        async with self.database.begin() as tx:
            return await booking_approval.approve(tx, name, actor=actor, now=clock.now())

    async def reject(self, name: str = "NMB-1", *, actor: Actor = JUMA) -> ProposedBooking:
        async with self.database.begin() as tx:
            return await booking_approval.reject(tx, name, actor=actor, now=clock.now())

    async def open(self) -> list[str]:
        async with self.database.read() as connection:
            return [each.bank_reference for each in await booking_approval.find_open(connection)]

    async def available(self) -> int:
        """What the wallet holds, in a book that is clean."""
        async with self.database.read() as connection:
            assert await ledger_check.check(connection) == []
            return (await wallets.get(connection, self.merchant.id))[0].available

    async def deeds(self) -> list[tuple[str, str]]:
        """What was done about the wallet, oldest first."""
        async with self.database.read() as connection:
            found = await audit_log.find(connection, merchant_id=self.merchant.id, limit=100)
        return [(each.action, each.actor) for each in reversed(found) if each.action.startswith("wallet.")]


async def outcome_of(act: Awaitable[object]) -> object:
    """What came of it: done, or the kind of refusal."""
    try:
        await act
    except Exception as error:
        return type(error)
    return "done"


async def hire(database: Database, *names: str) -> None:
    """Operators with these names, who have no password yet."""
    async with database.begin() as tx:
        for name in names:
            await operators.insert_operator(tx, f"opr_{name}", name, now=clock.now())


async def give_password(database: Database, name: str, *, by: Actor, ago: timedelta = timedelta()) -> None:
    async with database.begin() as tx:
        await login.set_password(tx, name, "x", actor=by, now=clock.now() - ago)
