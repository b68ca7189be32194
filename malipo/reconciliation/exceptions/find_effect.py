"""Computes the effect of a decision about an exception or an import: each account that changes, before and after. It
only reads.

The proposer and the approver see the same effect, on the pages and at the command line.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from malipo.db import Conn
from malipo.errors import Missing, Refusal
from malipo.floats import store as floats
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.store import house_bookings as booking_store
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.payments.store import corrections
from malipo.payments.transaction import Status, Transaction
from malipo.reconciliation.exceptions.action import Action, Resolution
from malipo.reconciliation.exceptions.action_moves import ActionEffect, ActionFacts, effect_of
from malipo.reconciliation.exceptions.adopt_payment import fee_of_lost
from malipo.reconciliation.exceptions.lost_request import find_lost_request
from malipo.reconciliation.exceptions.refusals import ExceptionRefusal, MatchRefusal
from malipo.reconciliation.exceptions.store import house_balances, resolutions
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.reconciliation.matching.store import matching, payments

OWED = "owed"  # a merchant's debt, which is no account of the ledger
_OF_MERCHANTS = (Account.WALLET, Account.IN_FLIGHT, Account.IN_SETTLEMENT)
# These accounts are negative in the ledger. People count them as positive amounts.
_COUNTED_OTHERWISE = (Account.FLOAT, Account.BANK, Account.NETWORK_FEES, Account.LOSSES)


class AccountChange(msgspec.Struct, frozen=True):
    """The change of an account, as people count: floats, bank, charges and losses are positive."""

    account: str  # an account of the ledger, or OWED
    of: str  # the channel of a float, or the merchant; empty for an account of the house
    before: int
    after: int


class Balances(msgspec.Struct, frozen=True):
    """The balances in the ledger now, read once for several decisions."""

    house: Mapping[str, int]
    floats: Mapping[str, int]  # by channel


class ImportNote(StrEnum):
    """Effects of withdrawing an import that are not changes of accounts."""

    ELSEWHERE = "elsewhere"
    CALLED_OTHERWISE = "called-otherwise"
    AWAITS_APPROVAL = "held-afterwards"
    MATCHES = "matches"
    STAYS = "stays"


class ImportEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of withdrawing an import."""

    withdrawal: list[AccountChange]  # of the whole file, with the bookings that other files get right afterwards
    undos: dict[str, list[AccountChange]]  # the effect of undoing each booking alone, by its id
    elsewhere: int  # fees and sweeps that other files have too
    called_otherwise: int = 0  # lines that other files have, and do not call fees or sweeps
    awaiting_approval: int = 0  # fees and sweeps of those files that wait for a second operator
    matches: int  # that the withdrawal undoes
    stays: int  # payments that its lines have ended or corrected

    @property
    def notes(self) -> list[tuple[ImportNote, int]]:
        """The notes, each with its number."""
        others = [
            (ImportNote.ELSEWHERE, self.elsewhere),
            (ImportNote.CALLED_OTHERWISE, self.called_otherwise),
            (ImportNote.AWAITS_APPROVAL, self.awaiting_approval),
        ]
        always = [(ImportNote.MATCHES, self.matches), (ImportNote.STAYS, self.stays)]
        return [each for each in others if each[1]] + always


def fingerprint_of(changes: Sequence[AccountChange]) -> str:
    """A fingerprint of shown changes, so that operators approve what they saw. Balances may move meanwhile; changes may
    not."""
    return ",".join(f"{each.account}:{each.of}:{each.after - each.before}" for each in changes)


async def find_balances(connection: Conn) -> Balances:
    return Balances(await house_balances.find(connection), await floats.find_ledger_floats(connection))


async def find_facts(
    connection: Conn,
    exception: ReconciliationException,
    action: Action,
    terms: Mapping[str, str],
    *,
    credits_automatically: bool,
) -> ActionFacts:
    """The facts on which an effect depends. Refuses a payment or merchant that does not exist."""
    undone = await _find_undone(connection, exception, terms) if action is Action.UNDO else None
    booking_id = None if undone is None else undone.booking_id
    booking = None if booking_id is None else await house_bookings.find(connection, booking_id)
    payment = await _find_payment(connection, exception, action, terms, undone)
    key = None if payment is None else (payment.merchant_id, payment.id)
    found = {} if key is None else await corrections.find(connection, [key])
    wallet = None if payment is None else await _find_wallet(connection, payment.merchant_id)
    return ActionFacts(
        exception=exception,
        payment=payment,
        correction=None if key is None else found.get(key),
        available=0 if wallet is None else wallet.available,
        undone=None if undone is None else undone.action,
        undone_booking=None if booking is None else booking.move,
        undone_cents=0 if booking is None else booking.cents,
        cents=await booking_store.find_cents(connection, exception.channel, exception.account),
        credits_automatically=credits_automatically,
        is_taken_back=action in (Action.MATCH, Action.ADOPT)
        and bool(await matching.find_open_reversals(connection, exception.line_id or 0)),
    )


async def find_changes(
    connection: Conn, facts: ActionFacts, effect: ActionEffect, balances: Balances
) -> list[AccountChange]:
    """Every account that an effect changes."""
    merchant_id = "" if facts.payment is None else facts.payment.merchant_id
    wallet = await _find_wallet(connection, merchant_id) if merchant_id else None
    return changes_of(effect, balances, merchant_id, wallet)


def changes_of(
    effect: ActionEffect, balances: Balances, merchant_id: str = "", wallet: Wallet | None = None
) -> list[AccountChange]:
    found = []
    for (account, channel), change in effect.changes.items():
        sign = -1 if account in _COUNTED_OTHERWISE else 1
        of = channel or (merchant_id if account in _OF_MERCHANTS else "")
        before = _balance_of(account, channel, wallet, balances)
        found.append(AccountChange(account, of, before, before + sign * change))
    if effect.owed and wallet is not None:
        found.append(AccountChange(OWED, merchant_id, wallet.owed, wallet.owed + effect.owed))
    return sorted(found, key=lambda each: (each.account != Account.FLOAT, each.account == OWED, each.account))


def _balance_of(account: Account, channel: str | None, wallet: Wallet | None, balances: Balances) -> int:
    match account:
        case Account.FLOAT:
            return balances.floats.get(channel or "", 0)
        case Account.WALLET:
            return 0 if wallet is None else wallet.available
        case Account.IN_FLIGHT:
            return 0 if wallet is None else wallet.in_flight
    balance = balances.house.get(account, 0)
    return -balance if account in _COUNTED_OTHERWISE else balance


async def find_effect(
    connection: Conn,
    exception: ReconciliationException,
    action: Action,
    terms: Mapping[str, str],
    balances: Balances,
    *,
    credits_automatically: bool,
) -> list[AccountChange] | None:
    """The changes of a decision; None if the payment or merchant does not exist."""
    try:
        facts = await find_facts(connection, exception, action, terms, credits_automatically=credits_automatically)
    except Refusal:
        return None
    return await find_changes(connection, facts, effect_of(action, terms, facts), balances)


async def _find_wallet(connection: Conn, merchant_id: str) -> Wallet:
    return (await wallets.get(connection, merchant_id))[0]


async def _find_undone(connection: Conn, exception: ReconciliationException, terms: Mapping[str, str]) -> Resolution:
    for each in await resolutions.find(connection, exception.id):
        if each.id == terms.get("resolution"):
            return each
    raise Missing(code=ExceptionRefusal.UNDONE_GONE)


async def _find_payment(
    connection: Conn,
    exception: ReconciliationException,
    action: Action,
    terms: Mapping[str, str],
    undone: Resolution | None,
) -> Transaction | None:
    if action is Action.ADOPT:
        return await _lost_payment(connection, exception, terms)
    if undone is not None and undone.action is Action.ADOPT:
        return await payments.find_of_line(connection, exception.line_id or 0)
    name = {Action.MATCH: terms.get("payment"), Action.RESOLVE: exception.reference}.get(action)
    if name is None:
        return None
    payment = await payments.find(connection, name)
    if payment is None:
        raise Missing(code=MatchRefusal.NO_PAYMENT, name=name)
    return payment


async def _lost_payment(connection: Conn, exception: ReconciliationException, terms: Mapping[str, str]) -> Transaction:
    """The payment that an adoption would create, as far as its money is concerned: with the fee of the merchant's
    tariff."""
    if not terms.get("merchant"):
        raise Missing(code=ExceptionRefusal.NEEDS_MERCHANT)
    lost = await find_lost_request(connection, exception, terms)
    return Transaction(
        merchant_id=lost.merchant_id,
        id="",
        reference="",
        network_key="",
        type=lost.type,
        channel=lost.channel,
        status=Status.PENDING,
        amount=lost.amount,
        fee=await fee_of_lost(connection, lost),
        phone="",
        name="",
        description="",
        metadata={},
        created_at=exception.found_at,
    )
