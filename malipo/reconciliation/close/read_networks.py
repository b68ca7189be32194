"""Reads what networks say of their accounts: whether their statements cover a day, and what each account held."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from malipo import money
from malipo.db import Tx
from malipo.reconciliation.close import coverage
from malipo.reconciliation.close.day_close import ChannelClose
from malipo.reconciliation.close.store import balances
from malipo.reconciliation.close.store.entries import Counted, LineSum
from malipo.reconciliation.statement_file import StatementFile

Files = Mapping[str, Sequence[StatementFile]]  # of a channel, by account


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """A channel's accounts in a day, by its statements."""

    since: Counted
    opening: Mapping[str, int]
    closing: Mapping[str, int]
    new_accounts: frozenset[str]  # that no close before has

    @property
    def opened(self) -> int:
        """What accounts held when they were first counted."""
        return sum(amount for account, amount in self.opening.items() if account in self.new_accounts)

    def gaps(self, lines: Sequence[LineSum]) -> dict[str, tuple[int, int]]:
        """By how much each account's balances do not follow from its lines; and how much of cents is in that.

        Balances and lines are rounded each for itself, so cents may be a shilling more or less.
        """
        found = {}
        for account, closing in self.closing.items():
            own = [each for each in lines if each.account == account]
            missing = closing - self.opening[account] - sum(each.amount for each in own)
            rounded, _ = money.split(sum(each.cents for each in own))
            has_cents = any(each.cents for each in own)
            found[account] = (0, missing) if has_cents and abs(missing - rounded) <= 1 else (missing - rounded, rounded)
        return found


def find_missing(files: Files, earlier: ChannelClose | None, begins: datetime, ends: datetime) -> list[str]:
    """What keeps a channel's statements from covering the day, in sentences."""
    held = {} if earlier is None else earlier.accounts
    accounts = sorted({name for name, each in files.items() if coverage.begins_before(each, ends)} | held.keys())
    if not accounts:
        return coverage.missing([], begins, ends, balance=None)
    return [
        f"Account {account}: {sentence}" if account else sentence
        for account in accounts
        for sentence in coverage.missing(files.get(account, []), begins, ends, balance=held.get(account))
    ]


async def read_network(tx: Tx, files: Files, since: Counted, ends: datetime, earlier: ChannelClose | None) -> Network:
    held = {} if earlier is None else earlier.accounts
    opening, closing = dict(held), dict(held)
    for account, own in files.items():
        if account not in held and (first := coverage.first_from(own, since.until)):
            opening[account] = await balances.held_at(tx, first, max(since.until, first.begins_at or since.until))
        if account in opening and (last := coverage.last_before(own, ends)):
            closing[account] = await balances.held_at(tx, last, ends)
    return Network(
        since=since,
        opening={account: opening[account] for account in sorted(closing)},
        closing={account: closing[account] for account in sorted(closing)},
        new_accounts=frozenset(closing.keys() - held.keys()),
    )
