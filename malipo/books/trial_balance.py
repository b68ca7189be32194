"""The trial balance: every account of the books at the end of a day, or now, beside the signed close of that day."""

from collections.abc import Mapping
from datetime import date, timedelta

import msgspec

from malipo.books import store
from malipo.books.chart import CHART, LATE, Division, SubAccount, chart_account, sub_account
from malipo.books.entry import Line, MovedAmount, lines_of
from malipo.db import Conn, Row
from malipo.reconciliation.close.late_moves import LateMoves, find_late
from malipo.reconciliation.close.store import closes
from malipo.reconciliation.close.two_columns import route_of

Balances = dict[SubAccount, int]  # debits above zero


class TrialBalance(msgspec.Struct, frozen=True, kw_only=True):
    at: date | None  # None: now
    balances: Mapping[SubAccount, int]
    is_closed: bool
    differing: Mapping[str, tuple[int, int]]  # of a closed day, by account of the ledger: the books', and the close's

    @property
    def whole(self) -> Balances:
        """Without a line for each merchant."""
        sums: Balances = {}
        for each, amount in self.balances.items():
            whole = each.whole if chart_account(each.account).division is Division.MERCHANT else each
            sums[whole] = sums.get(whole, 0) + amount
        return sums

    def shown(self, *, is_by_merchant: bool = False) -> Balances:
        """Every account of the chart, also one of nothing, in its order."""
        shown = dict(self.balances) if is_by_merchant else self.whole
        for each in CHART:
            if each.division is Division.WHOLE or not any(part.account == each.account for part in shown):
                shown.setdefault(SubAccount(each.code, each.account), 0)
        return {each: shown[each] for each in sorted(shown)}


async def find_trial_balance(connection: Conn, at: date | None) -> TrialBalance:
    """The connection is a snapshot of the database."""
    if at is None:
        return TrialBalance(at=at, balances=await balances_now(connection), is_closed=False, differing={})
    balances = await balances_before(connection, at + timedelta(days=1))
    closed = await closes.find(connection, at)
    differing = {} if closed is None else differences(balances, closed.close.balances)
    return TrialBalance(at=at, balances=balances, is_closed=closed is not None, differing=differing)


async def balances_now(connection: Conn) -> Balances:
    return _by_account(await store.find_balances_now(connection))


async def balances_before(connection: Conn, day: date, late: LateMoves | None = None) -> Balances:
    """The balances at the beginning of a day. `late` is what counts after the day before."""
    late = late or await find_late(connection, day - timedelta(days=1))
    balances = _by_account(await store.find_balances_before(connection, day, late))
    for line in late_lines(late):
        balances[line.account] = balances.get(line.account, 0) - line.amount
    return {each: balances[each] for each in sorted(balances) if balances[each]}


def _by_account(rows: list[Row]) -> Balances:
    return {sub_account(row["account"], row["of"]): -row["balance"] for row in rows}


def late_lines(late: LateMoves) -> tuple[Line, ...]:
    """The lines of late moves that cannot be separated."""
    routes = [route_of(name, amount) for name, amount in late.routes.items()]
    return lines_of((MovedAmount(each.source, each.target, each.channel, each.amount) for each in routes), LATE)


def ledger_name(account: SubAccount) -> str:
    """What a close calls this account, or the account that it is a part of."""
    return f"float {account.of}" if account.account == "float" else account.account


def differences(balances: Mapping[SubAccount, int], signed: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """The accounts of the ledger that differ from a signed close: the books' balance and the close's, debits above
    zero."""
    sums: dict[str, int] = {}
    for each, amount in balances.items():
        sums[ledger_name(each)] = sums.get(ledger_name(each), 0) + amount
    names = sorted(sums.keys() | signed.keys())
    return {
        name: (sums.get(name, 0), -signed.get(name, 0)) for name in names if sums.get(name, 0) != -signed.get(name, 0)
    }
