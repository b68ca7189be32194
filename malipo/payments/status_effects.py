"""The moves of money and the event that follow from a status. Pure.

The moves of a transaction depend only on the transaction and the status it reaches. So the ledger check computes them
again, and compares them with the stored moves (`payments/check/transactions.py`).
"""

from collections.abc import Callable

from malipo.ledger.accounts import Account, Move, Posting, Step
from malipo.outbox.event import Event
from malipo.payments.transaction import Status, Transaction, Type


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


EVENTS: dict[tuple[Type, Status], Event] = {
    (Type.COLLECTION, Status.PENDING): Event.PAYMENT_PENDING,
    (Type.COLLECTION, Status.COMPLETED): Event.PAYMENT_COMPLETED,
    (Type.COLLECTION, Status.FAILED): Event.PAYMENT_FAILED,
    (Type.COLLECTION, Status.CANCELLED): Event.PAYMENT_CANCELLED,
    (Type.DISBURSEMENT, Status.COMPLETED): Event.PAYOUT_COMPLETED,
    (Type.DISBURSEMENT, Status.FAILED): Event.PAYOUT_FAILED,
    (Type.DISBURSEMENT, Status.CANCELLED): Event.PAYOUT_CANCELLED,
}

# The events of corrections. Their moves are in `correction_moves.py`.
CORRECTED = {Type.COLLECTION: Event.PAYMENT_CORRECTED, Type.DISBURSEMENT: Event.PAYOUT_CORRECTED}


def posting_of(transaction: Transaction) -> Posting | None:
    """The moves of a transaction that has just reached its status."""
    moves = MOVES.get((transaction.type, transaction.status))
    if moves is None:
        return None
    step = Step.END if transaction.status.is_final else Step.OPEN
    return Posting(transaction.merchant_id, transaction.id, step, moves(transaction))


def event_of(transaction: Transaction) -> Event | None:
    """The event of a transaction that has just reached its status."""
    return EVENTS.get((transaction.type, transaction.status))
