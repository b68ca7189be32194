"""Differences that a statement can be asked to have: every kind of exception that reconciliation must find. Pure.

The choice is always the same for the same statement, so that a test or a reader can repeat it.
"""

from collections.abc import Callable
from datetime import datetime, time
from enum import StrEnum

from msgspec.structs import replace

from malipo_simulator.statements.account import ZONE, Statement, StatementEntry, with_balances


class Difference(StrEnum):
    MISSING = "missing"  # a payment of the book is not in the statement
    THEIRS_ONLY = "theirsOnly"  # a payment that the merchant never asked for
    AMOUNT = "amount"  # a payment with another amount than asked for
    TWICE = "twice"  # a payment that the network made twice
    FEE = "fee"  # a fee that is not that of the tariff
    REVERSED = "reversed"  # a payment that was taken back without a word
    SWEEP = "sweep"  # between the merchant's own accounts, out and back
    BANK = "bank"  # to the merchant's bank
    OTHER = "other"  # what is none of these: a share of the trust account's profit
    REPEATED = "repeated"  # another customer's payment, with a receipt that there was before
    FAILED = "failed"  # a payment that is listed, and failed
    OPENING = "opening"  # an opening balance that does not fit
    GAP = "gap"  # balances that do not follow from each other


_PAYMENTS = ("collection", "disbursement")


def with_differences(statement: Statement, differences: set[Difference]) -> Statement:
    for difference in Difference:
        if difference in differences and difference in _CHANGES:
            statement = with_balances(_CHANGES[difference](statement))
    if Difference.GAP in differences and statement.entries:
        last = statement.entries[-1]
        statement = replace(
            statement,
            entries=[*statement.entries[:-1], replace(last, balance=last.balance + 7)],
            closing=statement.closing + 7,
        )
    if Difference.OPENING in differences:
        statement = replace(statement, opening=statement.opening + 1000)
    return statement


def _payment(statement: Statement, nth: int) -> StatementEntry | None:
    """The n-th payment from the end of the day, or the last there is."""
    payments = [each for each in statement.entries if each.kind in _PAYMENTS]
    return payments[max(len(payments) - nth, 0)] if payments else None


def _changed(statement: Statement, entry: StatementEntry | None, *instead: StatementEntry) -> Statement:
    entries: list[StatementEntry] = []
    for each in statement.entries:
        entries += instead if each is entry else [each]
    return replace(statement, entries=entries)


def _missing(statement: Statement) -> Statement:
    """With its fee: nothing of it is there."""
    gone = _payment(statement, 1)
    kept = [each for each in statement.entries if gone is None or each.receipt != gone.receipt]
    return replace(statement, entries=kept)


def _amount(statement: Statement) -> Statement:
    entry = _payment(statement, 2)
    return _changed(statement, entry, replace(entry, amount=entry.amount * 2)) if entry else statement


def _twice(statement: Statement) -> Statement:
    entry = _payment(statement, 3)
    if entry is None:
        return statement
    return _changed(
        statement, entry, entry, replace(entry, receipt=f"{entry.receipt}2", at=min(entry.at + 1, _night(statement)))
    )


def _reversed(statement: Statement) -> Statement:
    entry = _payment(statement, 4)
    if entry is None:
        return statement
    back = StatementEntry(
        at=min(entry.at + 60, _night(statement)),
        receipt=f"{entry.receipt}R",
        kind="reversal",
        amount=-entry.amount,
        phone=entry.phone,
        linked=entry.receipt,
    )
    return _added(statement, back)


def _fee(statement: Statement) -> Statement:
    fee = next((each for each in statement.entries if each.kind == "fee"), None)
    return _changed(statement, fee, replace(fee, amount=fee.amount - 3)) if fee else statement


def _theirs_only(statement: Statement) -> Statement:
    at = _evening(statement)
    return _added(
        statement,
        StatementEntry(
            at=at, receipt=f"TO{statement.day:%y%m%d}", kind="collection", amount=4_321, phone="+255754999001"
        ),
    )


def _sweep(statement: Statement) -> Statement:
    at, receipt = _evening(statement) + 60, f"SW{statement.day:%y%m%d}"
    away = StatementEntry(at=at, receipt=receipt, kind="sweep", amount=-10_000)
    return _added(statement, away, replace(away, at=at + 1, amount=10_000))


def _bank(statement: Statement) -> Statement:
    at = _evening(statement) + 120
    return _added(statement, StatementEntry(at=at, receipt=f"BK{statement.day:%y%m%d}", kind="bank", amount=-25_000))


def _other(statement: Statement) -> Statement:
    at = _evening(statement) + 180
    return _added(statement, StatementEntry(at=at, receipt=f"PS{statement.day:%y%m%d}", kind="other", amount=777))


def _repeated(statement: Statement) -> Statement:
    entry = _payment(statement, 5)
    if entry is None:
        return statement
    again = replace(entry, at=_evening(statement) + 240, kind="collection", amount=1_234, reference="")
    return _added(statement, replace(again, phone="+255754999002"))


def _failed(statement: Statement) -> Statement:
    at = _evening(statement) + 300
    entry = StatementEntry(
        at=at, receipt=f"FA{statement.day:%y%m%d}", kind="collection", amount=999, phone="+255754999003"
    )
    return _added(statement, replace(entry, is_failed=True))


def _evening(statement: Statement) -> float:
    """Late on that day, and so early that whatever is added after it is still of that day."""
    return datetime.combine(statement.day, time(23, 51), ZONE).timestamp()


def _night(statement: Statement) -> float:
    """The last second of that day: a line is in the statement of its day."""
    return datetime.combine(statement.day, time(23, 59, 59), ZONE).timestamp()


def _added(statement: Statement, *entries: StatementEntry) -> Statement:
    return replace(statement, entries=sorted([*statement.entries, *entries], key=lambda each: each.at))


_CHANGES: dict[Difference, Callable[[Statement], Statement]] = {
    Difference.MISSING: _missing,
    Difference.THEIRS_ONLY: _theirs_only,
    Difference.AMOUNT: _amount,
    Difference.TWICE: _twice,
    Difference.FEE: _fee,
    Difference.REVERSED: _reversed,
    Difference.SWEEP: _sweep,
    Difference.BANK: _bank,
    Difference.OTHER: _other,
    Difference.REPEATED: _repeated,
    Difference.FAILED: _failed,
}
