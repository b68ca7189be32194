"""The bank's balance by its statements, beside the ledger's, and what the difference is made of. It only reads.

In cents: banks charge them, and the ledger has whole shillings.
"""

import msgspec

from malipo.bank.store import balances
from malipo.db import Conn


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


async def find_balance(connection: Conn) -> BankBalance:
    opening = await balances.sum_openings(connection)
    lines = await balances.sum_lines(connection)
    return BankBalance(
        bank=opening + lines,
        ledger=await balances.find_ledger(connection),
        before=opening - await balances.sum_opening_balances(connection),
        not_placed=await balances.sum_unmatched(connection),
        not_on_statements=-await balances.sum_bookings_without_line(connection),
        cents=await balances.sum_cents(connection),
    )
