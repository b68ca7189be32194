"""A merchant's wallet, and what it may spend: no balance goes below zero, and debt cannot be spent. Pure."""

from collections.abc import Iterable

import msgspec

from malipo.ledger.accounts import Account, Move


class Wallet(msgspec.Struct, frozen=True):
    """A merchant's two stored balances, the number of its statement lines, and what it owes after corrections."""

    merchant_id: str
    available: int
    in_flight: int
    statement_lines: int
    owed: int = 0

    @property
    def spendable(self) -> int:
        """The balance less the debt: debt cannot be spent."""
        return max(self.available - self.owed, 0)

    def can_spend(self, moves: Iterable[Move]) -> bool:
        """Whether these moves leave what is owed untouched, and no balance below zero."""
        after = self.after(moves)
        return after.available >= after.owed and after.in_flight >= 0

    def after(self, moves: Iterable[Move], *, owed: int = 0) -> "Wallet":
        available, in_flight, lines = self.available, self.in_flight, self.statement_lines
        for move in moves:
            change = move.change_of(Account.WALLET)
            available += change
            in_flight += move.change_of(Account.IN_FLIGHT)
            lines += change != 0
        return Wallet(self.merchant_id, available, in_flight, lines, self.owed + owed)
