"""The bank's balance by its statements, beside the ledger's, and what the difference is made of. It only reads.

In cents: banks charge them, and the ledger has whole shillings.
"""

import msgspec

from malipo import money
from malipo.bank.store import balances
from malipo.bank_evidence.store import coverage, holidays
from malipo.db import Conn
from malipo.reconciliation.close.safeguarding import BankSeen


class BankBalance(msgspec.Struct, frozen=True, kw_only=True):
    bank: int  # the closing balances of the latest statements of all accounts
    ledger: int  # what the ledger says that the bank holds
    before: int  # what the accounts held before their first statement, beyond the opening balances that are booked
    not_placed: int  # lines that are open exceptions
    not_on_statements: int  # bookings that no line has, the other way round
    cents: int  # of bookings, that have not become a shilling

    @property
    def difference(self) -> int:
        return self.bank - self.ledger

    @property
    def unexplained(self) -> int:
        """Nothing, if every line and every movement of the ledger has its place."""
        return self.difference - self.before - self.not_placed - self.not_on_statements - self.cents


async def find_seen(connection: Conn) -> BankSeen | None:
    """What the statements say beside the ledger, for safeguarding; None if an account of ours has no complete
    statement. A booking that the bank may still book counts as there. It is cheap: pages and gauges read it."""
    spans = await coverage.find(connection)
    if not spans or not all(spans.values()):
        return None
    last = min(max(ends for _, ends in days) for days in spans.values())
    found = await _find(connection, ledger=await balances.find_ledger_by_causes(connection))
    shown = (await holidays.find_banking_days(connection)).last_booked(last)
    gap, _ = money.split(found.difference + await balances.sum_bookings_without_line(connection, after=shown))
    unexplained, _ = money.split(found.unexplained)
    return BankSeen(gap=gap, unexplained=unexplained)


async def find_balance(connection: Conn) -> BankBalance:
    return await _find(connection, ledger=await balances.find_ledger(connection))


async def _find(connection: Conn, *, ledger: int) -> BankBalance:
    opening = await balances.sum_openings(connection)
    lines = await balances.sum_lines(connection)
    return BankBalance(
        bank=opening + lines,
        ledger=ledger,
        before=opening - await balances.sum_opening_balances(connection),
        not_placed=await balances.sum_unmatched(connection),
        not_on_statements=-await balances.sum_bookings_without_line(connection),
        cents=await balances.sum_cents(connection),
    )
