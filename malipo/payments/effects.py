"""What reaching a status does to the money, and what is told about it. Pure.

The moves of a transaction depend on nothing but itself and the status it reaches, so they can be read here, and
checked afterwards against what was written (`payments/audit.py`).
"""

from collections.abc import Callable

from malipo.ledger.entry import Account, Move, Posting, Step
from malipo.outbox.event import Event
from malipo.payments.transaction import Cause, Status, Transaction, Type


def _take(transaction: Transaction) -> list[Move]:
    return [Move(Account.WALLET, Account.IN_FLIGHT, transaction.amount + transaction.fee)]


def _give_back(transaction: Transaction) -> list[Move]:
    return [Move(Account.IN_FLIGHT, Account.WALLET, transaction.amount + transaction.fee)]


def _pay_out(transaction: Transaction) -> list[Move]:
    paid = Move(Account.IN_FLIGHT, Account.FLOAT, transaction.amount, transaction.channel)
    return [paid, Move(Account.IN_FLIGHT, Account.FEES, transaction.fee)] if transaction.fee else [paid]


def _pay_in(transaction: Transaction) -> list[Move]:
    received = Move(Account.FLOAT, Account.WALLET, transaction.net_amount, transaction.channel)
    if not transaction.fee:
        return [received]
    return [received, Move(Account.FLOAT, Account.FEES, transaction.fee, transaction.channel)]


MOVES: dict[tuple[Type, Status], Callable[[Transaction], list[Move]]] = {
    (Type.DISBURSEMENT, Status.PENDING): _take,  # wallet → in flight
    (Type.DISBURSEMENT, Status.COMPLETED): _pay_out,  # in flight → the channel's float, and fees
    (Type.DISBURSEMENT, Status.FAILED): _give_back,  # in flight → wallet
    (Type.DISBURSEMENT, Status.CANCELLED): _give_back,
    (Type.COLLECTION, Status.COMPLETED): _pay_in,  # the channel's float → wallet, and fees
}


def _came_in(transaction: Transaction) -> list[Move]:
    return [Move(Account.FLOAT, Account.SUSPENSE, transaction.amount, transaction.channel)]


def _went_out(transaction: Transaction) -> list[Move]:
    return [Move(Account.SUSPENSE, Account.FLOAT, transaction.amount, transaction.channel)]


# A network that contradicts what it said changes nothing that the merchant saw. Its float is not what we thought, and
# the difference waits in suspense for an operator.
CONTRADICTIONS: dict[tuple[Type, Status, Cause], Callable[[Transaction], list[Move]]] = {
    (Type.COLLECTION, Status.FAILED, Cause.CONFIRMED): _came_in,
    (Type.COLLECTION, Status.CANCELLED, Cause.CONFIRMED): _came_in,
    (Type.COLLECTION, Status.COMPLETED, Cause.REFUSED): _went_out,
    (Type.DISBURSEMENT, Status.FAILED, Cause.CONFIRMED): _went_out,
    (Type.DISBURSEMENT, Status.CANCELLED, Cause.CONFIRMED): _went_out,
    (Type.DISBURSEMENT, Status.COMPLETED, Cause.REFUSED): _came_in,
}


def _credit(transaction: Transaction) -> list[Move]:
    """The merchant gets what they would have had, if the network had told the truth at once."""
    if transaction.type is Type.COLLECTION:
        moves = [Move(Account.SUSPENSE, Account.WALLET, transaction.net_amount)]
        return [*moves, Move(Account.SUSPENSE, Account.FEES, transaction.fee)] if transaction.fee else moves
    moves = [Move(Account.SUSPENSE, Account.WALLET, transaction.amount + transaction.fee)]
    return [*moves, Move(Account.FEES, Account.SUSPENSE, transaction.fee)] if transaction.fee else moves


def _debit(transaction: Transaction) -> list[Move]:
    if transaction.type is Type.COLLECTION:
        moves = [Move(Account.WALLET, Account.SUSPENSE, transaction.net_amount)]
        return [*moves, Move(Account.FEES, Account.SUSPENSE, transaction.fee)] if transaction.fee else moves
    moves = [Move(Account.WALLET, Account.SUSPENSE, transaction.amount + transaction.fee)]
    return [*moves, Move(Account.SUSPENSE, Account.FEES, transaction.fee)] if transaction.fee else moves


# How a contradiction is cleared, by what the merchant saw and what an operator has found to be true. Either the network
# was right at first, and its float is as we had it; or it was right in the end, and the wallet follows.
RESOLUTIONS: dict[tuple[Type, Status, Cause], Callable[[Transaction], list[Move]]] = {
    (Type.COLLECTION, Status.FAILED, Cause.CONFIRMED): _credit,
    (Type.COLLECTION, Status.FAILED, Cause.REFUSED): _went_out,
    (Type.COLLECTION, Status.CANCELLED, Cause.CONFIRMED): _credit,
    (Type.COLLECTION, Status.CANCELLED, Cause.REFUSED): _went_out,
    (Type.COLLECTION, Status.COMPLETED, Cause.CONFIRMED): _came_in,
    (Type.COLLECTION, Status.COMPLETED, Cause.REFUSED): _debit,
    (Type.DISBURSEMENT, Status.FAILED, Cause.CONFIRMED): _debit,
    (Type.DISBURSEMENT, Status.FAILED, Cause.REFUSED): _came_in,
    (Type.DISBURSEMENT, Status.CANCELLED, Cause.CONFIRMED): _debit,
    (Type.DISBURSEMENT, Status.CANCELLED, Cause.REFUSED): _came_in,
    (Type.DISBURSEMENT, Status.COMPLETED, Cause.CONFIRMED): _went_out,
    (Type.DISBURSEMENT, Status.COMPLETED, Cause.REFUSED): _credit,
}

EVENTS: dict[tuple[Type, Status], Event] = {
    (Type.COLLECTION, Status.PENDING): Event.PAYMENT_PENDING,
    (Type.COLLECTION, Status.COMPLETED): Event.PAYMENT_COMPLETED,
    (Type.COLLECTION, Status.FAILED): Event.PAYMENT_FAILED,
    (Type.COLLECTION, Status.CANCELLED): Event.PAYMENT_CANCELLED,
    (Type.DISBURSEMENT, Status.COMPLETED): Event.PAYOUT_COMPLETED,
    (Type.DISBURSEMENT, Status.FAILED): Event.PAYOUT_FAILED,
    (Type.DISBURSEMENT, Status.CANCELLED): Event.PAYOUT_CANCELLED,
}


def posting_of(transaction: Transaction) -> Posting | None:
    """The moves of a transaction that has just reached its status."""
    moves = MOVES.get((transaction.type, transaction.status))
    if moves is None:
        return None
    step = Step.END if transaction.status.is_final else Step.OPEN
    return Posting(transaction.merchant_id, transaction.id, step, moves(transaction))


def contradiction_of(transaction: Transaction) -> Posting:
    """The moves of a transaction that has ended, when its network now says the opposite."""
    cause = Cause.REFUSED if transaction.status is Status.COMPLETED else Cause.CONFIRMED
    moves = CONTRADICTIONS[transaction.type, transaction.status, cause]
    return Posting(transaction.merchant_id, transaction.id, Step.CONTRADICTION, moves(transaction))


def resolution_of(transaction: Transaction, truth: Cause) -> Posting:
    """The moves that clear a contradiction, when it is known what became of the payment."""
    moves = RESOLUTIONS[transaction.type, transaction.status, truth]
    return Posting(transaction.merchant_id, transaction.id, Step.RESOLUTION, moves(transaction))


def event_of(transaction: Transaction) -> Event | None:
    """The event that tells of it."""
    return EVENTS.get((transaction.type, transaction.status))
