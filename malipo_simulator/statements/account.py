"""The merchant's account at a network: what came in and went out, with the network's fees. Pure.

It is made of the book and of the transfers to and from the bank, so that it never differs from them.
"""

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from heapq import merge
from zoneinfo import ZoneInfo

import msgspec

from malipo_simulator.behaviour import PaymentKind
from malipo_simulator.state import Movement, State
from malipo_simulator.transaction import GatewayName, Transaction

ZONE = ZoneInfo("Africa/Dar_es_Salaam")
STARTING_BALANCE = 50_000_000

# What each network takes: parts of a thousand, at least one shilling.
_FEES = {
    GatewayName.MPESA: {PaymentKind.COLLECTION: 10, PaymentKind.DISBURSEMENT: 4},
    GatewayName.AIRTEL_MONEY: {PaymentKind.COLLECTION: 8, PaymentKind.DISBURSEMENT: 4},
    GatewayName.TIGO_PESA: {PaymentKind.COLLECTION: 9, PaymentKind.DISBURSEMENT: 5},
    GatewayName.HALOPESA: {PaymentKind.COLLECTION: 7, PaymentKind.DISBURSEMENT: 7},
    GatewayName.CLICKPESA: {PaymentKind.COLLECTION: 20, PaymentKind.DISBURSEMENT: 15},
    GatewayName.AZAMPAY: {PaymentKind.COLLECTION: 20, PaymentKind.DISBURSEMENT: 12},
}


class StatementEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line. Amounts are as the account sees them: above 0 came in, below 0 went out."""

    at: float
    receipt: str
    kind: str  # collection, disbursement, fee, reversal, sweep, bank or other
    amount: int
    phone: str = ""
    reference: str = ""  # the merchant's id, as it travelled
    linked: str = ""  # the receipt that a reversal takes back
    remark: str = ""  # what somebody wrote on a payment: a statement shows it instead of its own words
    is_failed: bool = False  # it is listed, and moved nothing
    balance: int = 0  # after it
    # Beyond the amount and the balance: networks charge cents. What is written is amount * 100 + cents.
    cents: int = 0
    balance_cents: int = 0


class Statement(msgspec.Struct, frozen=True):
    gateway: GatewayName
    merchant: str
    day: date
    opening: int
    closing: int
    entries: list[StatementEntry]  # oldest first
    until: float | None = None  # of a day that is not over: the last moment that it covers
    closing_cents: int = 0


def statement_of(
    state: State, gateway: GatewayName, day: date, *, merchant: str, until: float | None = None
) -> Statement:
    """Of a day in Dar es Salaam, as far as it has gone."""
    opening, todays = STARTING_BALANCE, []
    for entry in entries_of(state, gateway):
        on = datetime.fromtimestamp(entry.at, ZONE).date()
        if on < day:
            opening += entry.amount
        elif on == day and (until is None or entry.at < until):
            todays.append(entry)
    return with_balances(Statement(gateway, merchant, day, opening, opening, todays, until))


def with_balances(statement: Statement) -> Statement:
    """With a balance after each line, which follows from the opening."""
    cents, entries = statement.opening * 100, []
    for entry in statement.entries:
        cents += 0 if entry.is_failed else entry.amount * 100 + entry.cents
        entries.append(msgspec.structs.replace(entry, balance=cents // 100, balance_cents=cents % 100))
    return msgspec.structs.replace(statement, entries=entries, closing=cents // 100, closing_cents=cents % 100)


def fee_of(gateway: GatewayName, kind: PaymentKind, amount: int) -> int:
    return max(amount * _FEES[gateway][kind] // 1000, 1)


def balance_of(state: State, gateway: GatewayName) -> int:
    """What is in the account now."""
    return STARTING_BALANCE + sum(entry.amount for entry in entries_of(state, gateway))


def entries_of(state: State, gateway: GatewayName) -> Iterator[StatementEntry]:
    """All there ever were, the oldest first."""
    return merge(_movements(state, gateway), _transfers(state, gateway), key=lambda each: each.at)


def _movements(state: State, gateway: GatewayName) -> Iterator[StatementEntry]:
    for movement in state.book:
        transaction = state.by_id[movement.transaction_id]
        if transaction.gateway is gateway:
            yield from _of_movement(movement, transaction)


def _transfers(state: State, gateway: GatewayName) -> Iterator[StatementEntry]:
    for each in state.transfers:
        if each.gateway is gateway:
            yield StatementEntry(
                at=each.at, receipt=each.receipt, kind="bank", amount=each.amount, reference=each.reference
            )


def receipt_in_account(transaction: Transaction) -> str:
    """ClickPesa's account knows its own ids, and not the receipts of the networks that it uses."""
    return transaction.network_id if transaction.gateway is GatewayName.CLICKPESA else transaction.receipt


def _of_movement(movement: Movement, transaction: Transaction) -> Iterable[StatementEntry]:
    amount = movement.amount if movement.kind == "charged" else -movement.amount
    receipt = receipt_in_account(transaction)
    if movement.is_reversal:
        yield StatementEntry(
            at=movement.at,
            receipt=f"{receipt}R",
            kind="reversal",
            amount=amount,
            phone=movement.phone,
            linked=receipt,
        )
        return
    yield StatementEntry(
        at=movement.at,
        receipt=receipt,
        kind=transaction.kind,
        amount=amount,
        phone=movement.phone,
        reference=movement.reference,
    )
    fee = fee_of(transaction.gateway, transaction.kind, movement.amount)
    yield StatementEntry(at=movement.at, receipt=receipt, kind="fee", amount=-fee)
