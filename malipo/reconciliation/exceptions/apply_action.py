"""Applies a decided action: it matches, books or adopts the line, so that the ledger has its amount. Also undoes
each."""

from dataclasses import dataclass
from datetime import datetime

from malipo import clock, ids
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Invalid, Missing
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.house_bookings import HouseBooking, HouseBookingKind
from malipo.ledger.store import closed_days
from malipo.payments import network_keys
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.store import adopted_payments, corrections, transactions
from malipo.payments.transaction import Status, Transaction
from malipo.reconciliation.exceptions.action import Action, Resolution
from malipo.reconciliation.exceptions.action_moves import signed_amount
from malipo.reconciliation.exceptions.adopt_payment import adopt, undo_adoption
from malipo.reconciliation.exceptions.refusals import BookRefusal, MatchRefusal
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.reconciliation.matching.payment_times import NEAR
from malipo.reconciliation.matching.report_evidence import report
from malipo.reconciliation.matching.store import (
    absence,
    evidence,
    line_queue,
    matching,
    payments,
    single_matches,
    waiting_lines,
)

BOOKED_TO = (Account.SUSPENSE, Account.NETWORK_FEES, Account.BANK, Account.LOSSES)


@dataclass(frozen=True)
class DecidedAction:
    """A decided action, and who decided."""

    exception: ReconciliationException
    resolution: Resolution
    actor: Actor  # the operator who decided last
    now: datetime
    is_alone: bool = False  # the only operator decided alone: --alone

    @property
    def approved_by(self) -> str | None:
        is_second = self.actor.name != self.resolution.requested_by
        return self.actor.name if is_second else None


async def match(tx: Tx, decided: DecidedAction, apply_answers: ApplyNetworkAnswers) -> str | None:
    """Match the line with a payment, and report the line to the payment, unless the statement shows that the network
    has taken it back. A difference of the amounts is booked to suspense."""
    line_id = _line(decided.exception)
    payment = await find_payment(tx, decided.resolution.terms["payment"])
    signed = require_direction(decided.exception, payment)
    require_own_amount(decided.exception, payment)
    await require_payment_of_line(tx, decided.exception, payment)
    reversals = await matching.find_open_reversals(tx, line_id)
    if not await single_matches.insert_match(
        tx, line_id, payment.merchant_id, payment.id, by=decided.actor.name, now=decided.now
    ):
        raise Conflict(code=MatchRefusal.NO_PLACE)
    await _let_go_of_keys(tx, decided.exception)
    await matching.match_reversals(tx, now=decided.now)
    await waiting_lines.set_counted(tx, reversals)  # The operators saw that these reversals take the line back.
    found = await evidence.find_unreported(tx, limit=1, line_ids=[line_id])
    await report(tx, apply_answers, found, now=decided.now)
    await absence.check_again(tx, line_id)
    rest = decided.exception.moved_cents - signed * 100
    return await _book(tx, decided, rest, Account.SUSPENSE) if rest else None


async def book(tx: Tx, decided: DecidedAction) -> str:
    """Book the amount that the ledger lacks of the line to an account of the house.

    If the float has followed the payment already, with another amount, the line is the payment's evidence, and only the
    rest is booked: the whole amount would be in the float twice, and the payment would look absent.
    """
    exception = decided.exception
    line_id, lacking = _line(exception), exception.lacking_cents
    if not lacking:
        raise Conflict(code=BookRefusal.NOTHING_LACKS)
    account = account_of(decided.resolution.terms)
    if not exception.has_followed:
        has_place = await line_queue.close_line(tx, line_id)
    else:
        assert exception.merchant_id is not None
        assert exception.transaction_id is not None
        has_place = await single_matches.insert_match(
            tx, line_id, exception.merchant_id, exception.transaction_id, by=decided.actor.name, now=decided.now
        )
        await evidence.set_reported(tx, [line_id])
    if not has_place:
        raise Conflict(code=MatchRefusal.NO_PLACE)
    await _let_go_of_keys(tx, exception)
    await absence.check_again(tx, line_id)
    return await _book(tx, decided, lacking, account)


async def adopt_line(
    tx: Tx, decided: DecidedAction, apply_answers: ApplyNetworkAnswers, *, reference_prefix: str
) -> Transaction:
    """Adopt the line as a lost payment of a merchant. If the statement shows that the network has taken it back, the
    reversal is reported at once: the merchant could spend the money before the next matching."""
    line_id = _line(decided.exception)
    reversals = await matching.find_open_reversals(tx, line_id)
    payment = await adopt(
        tx, decided.exception, decided.resolution.terms, reference_prefix=reference_prefix, now=decided.now
    )
    if not await single_matches.insert_match(
        tx, line_id, payment.merchant_id, payment.id, by=decided.actor.name, now=decided.now
    ):
        raise Conflict(code=MatchRefusal.NO_PLACE)
    await evidence.set_reported(tx, [line_id])
    if reversals:
        await matching.match_reversals(tx, now=decided.now)
        await waiting_lines.set_counted(tx, reversals)  # The operators saw that these reversals take the line back.
        found = await evidence.find_unreported(tx, limit=len(reversals), line_ids=reversals)
        await report(tx, apply_answers, found, now=decided.now)
    await absence.check_again(tx, line_id)
    return payment


async def undo(tx: Tx, decided: DecidedAction, undone: Resolution) -> None:
    """Reverse a resolution. The line is unmatched again, and only operators decide about it."""
    if undone.booking_id is not None:
        await house_bookings.undo(
            tx,
            undone.booking_id,
            evidence=decided.resolution.reason,
            booked_by=decided.resolution.requested_by,
            approved_by=decided.approved_by,
            first_open_day=await closed_days.first_open_day(tx),
            now=decided.now,
        )
    match undone.action:
        case Action.BOOK:
            line_id = _line(decided.exception)
            if not await single_matches.delete_matches(tx, [line_id]):
                await line_queue.reopen_line(tx, line_id)
            await absence.check_again(tx, line_id)
        case Action.MATCH | Action.ADOPT:
            line_id = _line(decided.exception)
            if undone.action is Action.ADOPT:
                await undo_adoption(
                    tx,
                    line_id,
                    evidence=decided.resolution.reason,
                    requested_by=decided.resolution.requested_by,
                    actor=decided.actor,
                    now=decided.now,
                )
            await single_matches.delete_matches(tx, [line_id])
            await absence.check_again(tx, line_id)


async def find_payment(tx: Tx, id_or_reference: str) -> Transaction:
    payment = await payments.find(tx, id_or_reference)
    if payment is None:
        raise Missing(code=MatchRefusal.NO_PAYMENT, name=id_or_reference)
    return payment


async def require_no_line(tx: Tx, payment: Transaction) -> None:
    if await single_matches.has_line(tx, payment.merchant_id, payment.id):
        raise Conflict(code=MatchRefusal.NO_PLACE)
    adopted = await adopted_payments.find(tx, payment.merchant_id, payment.id)
    if adopted is not None and adopted.is_undone:
        raise Conflict(code=MatchRefusal.ADOPTION_UNDONE, payment=payment.reference)
    if payment.network_key == payment.id:
        raise Conflict(code=MatchRefusal.NEVER_SENT, payment=payment.reference)


def require_own_amount(exception: ReconciliationException, payment: Transaction) -> None:
    """Refuse a refund of another amount, because a network pays exactly the amount of the request. A lost refund may
    have left its key to another refund of the collection, which this line did not pay."""
    is_another = payment.amount * 100 != abs(exception.moved_cents) and payment.status is not Status.COMPLETED
    if payment.refund_of is not None and is_another:
        raise Conflict(code=MatchRefusal.REFUND_AMOUNT, payment=payment.reference, amount=payment.amount)


async def require_payment_of_line(tx: Tx, exception: ReconciliationException, payment: Transaction) -> None:
    """Refuse the payment if another payment may be the line's, or if this one cannot be."""
    await require_no_other_named(tx, exception, payment)
    await require_receipt_free(tx, exception, payment)
    await require_unambiguous(tx, exception, payment)


async def require_receipt_free(tx: Tx, exception: ReconciliationException, payment: Transaction) -> None:
    """Refuse the payment if another line has its receipt: that one is its line."""
    assert exception.receipt is not None
    if await payments.has_other_line(tx, payment, exception.receipt):
        receipt = payment.provider_reference
        raise Conflict(code=MatchRefusal.RECEIPT_ELSEWHERE, payment=payment.reference, receipt=receipt)


async def require_unambiguous(tx: Tx, exception: ReconciliationException, payment: Transaction) -> None:
    """Refuse to match a line that names no payment with a payment that is not known to be paid, if another payment of
    the same number and amount may be the line's. The network would confirm that other one by its key, and both would be
    debited."""
    assert exception.receipt is not None
    assert exception.moved_at is not None
    is_paid = await _is_paid(tx, payment)
    is_named = network_keys.key_in(exception.key or "") == payment.network_key
    if is_named or is_paid or payment.provider_reference == exception.receipt:
        return
    other = await payments.find_other_like(
        tx,
        payment,
        abs(exception.line_amount or 0),
        receipt=exception.receipt,
        since=exception.moved_at - NEAR,
    )
    if other is not None:
        raise Conflict(code=MatchRefusal.ANOTHER_LIKE_IT, payment=other.reference)


async def _is_paid(tx: Tx, payment: Transaction) -> bool:
    """Whether the payment was paid, by its last correction, or else by its status."""
    named = (payment.merchant_id, payment.id)
    correction = (await corrections.find(tx, [named])).get(named)
    return payment.status is Status.COMPLETED if correction is None else correction.is_paid


async def require_no_other_named(tx: Tx, exception: ReconciliationException, payment: Transaction) -> None:
    """Refuse the match if another payment has the key or the receipt of the line: it would be left without a line, and
    be adopted as a lost one. It may have come, or got its receipt, since the last matching."""
    assert exception.receipt is not None
    assert exception.moved_at is not None
    key = network_keys.key_in(exception.key or "")
    if key == payment.network_key:
        return  # A receipt alone does not count, because a person may have typed it.
    by_key = None if key is None else await transactions.find_by_network_key(tx, key)
    by_receipt = await payments.find_by_receipt(tx, exception.receipt, since=exception.moved_at)
    named = {MatchRefusal.ANOTHER_HAS_KEY: by_key, MatchRefusal.ANOTHER_HAS_RECEIPT: by_receipt}
    for code, other in named.items():
        if other is None or other.id == payment.id or signed_amount(other) * 100 != exception.moved_cents:
            continue
        if code is MatchRefusal.ANOTHER_HAS_RECEIPT and other.status.is_final and not await _is_paid(tx, other):
            continue
        if not await single_matches.has_line(tx, other.merchant_id, other.id):
            raise Conflict(code=code, payment=other.reference)


async def _let_go_of_keys(tx: Tx, exception: ReconciliationException) -> None:
    """Free the network keys of undone adoptions of this line: the line is not theirs."""
    assert exception.receipt is not None
    paid_key = network_keys.key_in(exception.key or "")
    await adopted_payments.give_up_keys(tx, exception.receipt, abs(exception.line_amount or 0), paid_key=paid_key)


def require_direction(exception: ReconciliationException, payment: Transaction) -> int:
    """The amount of the payment, signed as in the statement."""
    signed = signed_amount(payment)
    if (signed > 0) != ((exception.line_amount or 0) > 0):
        raise Invalid(code=MatchRefusal.WRONG_WAY)
    return signed


def account_of(terms: dict[str, str]) -> Account:
    for account in BOOKED_TO:
        if account == terms.get("account"):
            return account
    raise Invalid(code=BookRefusal.ACCOUNT, accounts=BOOKED_TO)


def _line(exception: ReconciliationException) -> int:
    """The id of the exception's line."""
    assert exception.line_id is not None
    assert exception.line_amount is not None
    return exception.line_id


async def _book(tx: Tx, decided: DecidedAction, moved: int, account: Account) -> str:
    """Book the amount of a line, in cents: whole shillings move, and the house booking keeps the rest."""
    exception, moved_at = decided.exception, decided.exception.moved_at
    assert moved_at is not None
    move, cents = house_bookings.move_of(moved, account, exception.channel)
    first_open_day = await closed_days.first_open_day(tx)
    booking = HouseBooking(
        id=ids.mint(house_bookings.ID_PREFIX, decided.now),
        kind=HouseBookingKind.LINE,
        channel=exception.channel,
        account=exception.account,
        source=move.source,
        target=move.target,
        amount=move.amount,
        cents=cents,
        file_id=exception.file_id,
        line_id=exception.line_id,
        value_date=house_bookings.value_date_of(clock.day_of(moved_at), first_open_day=first_open_day),
        evidence=decided.resolution.reason,
        booked_by=decided.resolution.requested_by,
        approved_by=decided.approved_by,
    )
    if not await house_bookings.book(tx, [booking], now=decided.now):
        raise Conflict(code=MatchRefusal.NO_PLACE)
    return booking.id
