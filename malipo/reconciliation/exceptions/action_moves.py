"""Which moves a decision about an exception or an import books: one function for every action and kind. Pure.

Operators' limits count these moves, pages and commands show them before the decision, and a test compares them with the
moves that are written.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from malipo import money
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account, Move
from malipo.ledger.house_bookings import HouseBooking
from malipo.payments import correction_moves
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.correction_moves import Correction
from malipo.payments.dispatch import AnswerSource
from malipo.payments.status_effects import MOVES
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.matching.exception import ReconciliationException

# Which account, and which channel's float.
Place = tuple[Account, str | None]


class ActionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts on which the moves of an action depend."""

    exception: ReconciliationException
    payment: Transaction | None = None  # of the action; for an adoption, the payment that would be created
    correction: Correction | None = None  # of that payment
    available: int = 0  # in its merchant's wallet
    undone: Action | None = None  # the action that an undo reverses
    undone_booking: Move | None = None
    undone_cents: int = 0  # the cents that the undone booking kept beyond its move
    cents: int = 0  # the cents that bookings of the network's account could not move so far
    credits_automatically: bool = True
    is_taken_back: bool = False  # the statement has the reversal of the line


class ActionEffect(msgspec.Struct, frozen=True):
    """The moves, and the change of the merchant's debt."""

    moves: Sequence[Move] = ()
    owed: int = 0

    @property
    def changes(self) -> dict[Place, int]:
        """The change of each account's balance in the ledger, without accounts that stay the same."""
        sums: Counter[Place] = Counter()
        for move in self.moves:
            for account in (move.source, move.target):
                sums[account, move.channel if account is Account.FLOAT else None] += move.change_of(account)
        return {place: change for place, change in sums.items() if change}

    @property
    def amount(self) -> int:
        """The shillings that are in another account afterwards."""
        return sum(change for change in self.changes.values() if change > 0)


def effect_of(action: Action, terms: Mapping[str, str], facts: ActionFacts) -> ActionEffect:
    exception = facts.exception
    match action:
        case Action.BOOK:
            return ActionEffect(_booked(exception.lacking_cents, Account(terms["account"]), facts))
        case Action.MATCH:
            return _matched(facts)
        case Action.ADOPT:
            return _adopted(facts)
        case Action.RESOLVE:
            is_waived = terms.get("waive") == "yes"
            return _resolved(facts, is_paid=ResolvedOutcome(terms["outcome"]).is_paid, is_waived=is_waived)
        case Action.UNDO:
            return _undone(facts)
    return ActionEffect()


def booked_back(bookings: Sequence[HouseBooking], anew: Sequence[tuple[Move, int]], *, cents: int) -> ActionEffect:
    """The effect of undoing bookings of one network's account, one after the other, and of the bookings `anew`, with
    their cents, after that. `cents` are those that the account's bookings could not move so far."""
    moves: list[Move] = []

    def round_(channel: str) -> None:
        nonlocal cents
        moves.extend(_rounded(cents, channel))
        _, cents = money.split(cents)

    for each in bookings:
        moves.append(_reversed(each.move))
        if each.cents:
            cents -= each.cents
            round_(each.channel)
    moves += [move for move, _ in anew]
    if any(more for _, more in anew):
        cents += sum(more for _, more in anew)
        round_(anew[0][0].channel or "")
    return ActionEffect(moves)


def _reversed(move: Move) -> Move:
    return replace(move, source=move.target, target=move.source)


def _booked(moved: int, account: Account, facts: ActionFacts) -> list[Move]:
    """The moves of a line's booking, by its amount in cents; its cents may make the account's cents a whole
    shilling."""
    if not moved:
        return []
    channel = facts.exception.channel
    move, cents = house_bookings.move_of(moved, account, channel)
    return [move, *(_rounded(facts.cents + cents, channel) if cents else [])]


def _rounded(cents: int, channel: str) -> list[Move]:
    move = house_bookings.rounding_of(cents, channel)
    return [] if move is None else [move]


def signed_amount(payment: Transaction) -> int:
    """The amount, signed as in a statement: a collection comes in, a payout goes out."""
    return payment.amount if payment.type is Type.COLLECTION else -payment.amount


def _matched(facts: ActionFacts) -> ActionEffect:
    """Match a line: the payment counts as paid, unless the network took it back. A difference of amounts goes to
    suspense."""
    payment = facts.payment
    assert payment is not None
    signed = signed_amount(payment)
    rest = _booked(facts.exception.moved_cents - signed * 100, Account.SUSPENSE, facts)
    if facts.is_taken_back:
        return ActionEffect(rest)
    if not payment.status.is_final:
        return ActionEffect([*_ended(payment, is_paid=True), *rest])
    before = facts.correction or correction_moves.begin(payment)
    if before.is_paid:
        return ActionEffect(rest)
    contradiction = correction_moves.contradict(payment, before, is_paid=True, source=AnswerSource.STATEMENT)
    moves, after = [*contradiction.moves], contradiction.correction
    if facts.credits_automatically and correction_moves.is_credited_automatically(payment, after):
        credit = correction_moves.decide(payment, after, is_paid=True, available=0)
        moves, after = moves + credit.moves, credit.correction
    return ActionEffect([*moves, *rest], after.owed - before.owed)


def _adopted(facts: ActionFacts) -> ActionEffect:
    """Adopt a line: a payment is created and completed. The house lends what a wallet lacks for a payout. If the
    network has taken the line back, the payment is contradicted at once."""
    assert facts.payment is not None
    payment = replace(facts.payment, status=Status.COMPLETED)
    moves, after = MOVES[payment.type, Status.COMPLETED](payment), correction_moves.begin(payment)
    if payment.type is Type.DISBURSEMENT:
        moves = [*MOVES[payment.type, Status.PENDING](payment), *moves]
        lent = max(payment.amount + payment.fee - facts.available, 0)
        if lent:
            lend = correction_moves.lend(lent)
            moves, after = [*lend.moves, *moves], lend.correction
    if facts.is_taken_back:
        back = correction_moves.contradict(payment, after, is_paid=False, source=AnswerSource.STATEMENT)
        moves, after = [*moves, *back.moves], back.correction
    return ActionEffect(moves, after.owed)


def _resolved(facts: ActionFacts, *, is_paid: bool, is_waived: bool) -> ActionEffect:
    payment = facts.payment
    assert payment is not None
    if not payment.status.is_final:
        return ActionEffect(_ended(payment, is_paid=is_paid))
    before = facts.correction or correction_moves.begin(payment)
    moves: list[Move] = []
    after = before
    if is_paid != before.is_paid and not correction_moves.is_contradicted_by_network(payment, before):
        contradiction = correction_moves.contradict(payment, before, is_paid=is_paid, source=None)
        moves, after = contradiction.moves, contradiction.correction
    decided = correction_moves.decide(payment, after, is_paid=is_paid, available=facts.available, is_waived=is_waived)
    return ActionEffect([*moves, *decided.moves], decided.correction.owed - before.owed)


def _undone(facts: ActionFacts) -> ActionEffect:
    """Undo an action: a booking is reversed, an adopted payment is corrected as unpaid, a matched one stays as it
    is."""
    booked = facts.undone_booking
    reverse = [] if booked is None else [_reversed(booked)]
    if facts.undone_cents:
        reverse += _rounded(facts.cents - facts.undone_cents, facts.exception.channel)
    if facts.undone is not Action.ADOPT:
        return ActionEffect(reverse)
    corrected = _resolved(facts, is_paid=False, is_waived=False)
    return ActionEffect([*reverse, *corrected.moves], corrected.owed)


def _ended(payment: Transaction, *, is_paid: bool) -> list[Move]:
    moves = MOVES.get((payment.type, Status.COMPLETED if is_paid else Status.FAILED))
    return [] if moves is None else moves(payment)
