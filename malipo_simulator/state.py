"""The networks' state: transactions, subscribers with balances, and the book of all movements.

The state changes only by events (event sourcing), so that the same events make the same state after a restart. It knows
nothing of time, files or HTTP.
"""

from collections import defaultdict

import msgspec

from malipo_simulator.behaviour import Outcome, PaymentKind
from malipo_simulator.transaction import (
    Decided,
    Event,
    GatewayName,
    PromptState,
    Registered,
    Taken,
    Told,
    Transaction,
    Transferred,
)

STARTING_BALANCE = 1_000_000


class Movement(msgspec.Struct, gc=False):
    phone: str
    kind: str  # charged, or paid: as the subscriber sees it
    amount: int
    channel: str
    reference: str
    at: float
    balance_after: int
    transaction_id: str
    is_reversal: bool = False  # money on its way back


class Subscriber:
    """A subscriber, created when the number is first used."""

    __slots__ = ("balance", "movements", "transactions", "waiting")

    def __init__(self) -> None:
        self.balance = STARTING_BALANCE
        self.movements: list[Movement] = []
        self.transactions: list[Transaction] = []
        self.waiting: dict[str, Transaction] = {}  # whose prompt is on the screen, the oldest first


class State:
    def __init__(self) -> None:
        self.by_id: dict[str, Transaction] = {}
        self.by_reference: defaultdict[GatewayName, dict[str, Transaction]] = defaultdict(dict)
        self.by_network_id: defaultdict[GatewayName, dict[str, Transaction]] = defaultdict(dict)
        self.by_receipt: defaultdict[GatewayName, dict[str, Transaction]] = defaultdict(dict)
        self.subscribers: dict[str, Subscriber] = {}
        self.recent: dict[str, None] = {}  # phones, the latest used last
        self.book: list[Movement] = []
        self.transfers: list[Transferred] = []
        self.callback_urls: dict[GatewayName, str] = {}

    def subscriber(self, phone: str) -> Subscriber:
        found = self.subscribers.get(phone)
        if found is None:
            found = self.subscribers[phone] = Subscriber()
        return found

    def balance_of(self, phone: str) -> int:
        found = self.subscribers.get(phone)
        return STARTING_BALANCE if found is None else found.balance

    def apply(self, event: Event) -> None:
        if type(event) is Taken:
            self._keep(event.transaction)
        elif type(event) is Decided:
            self._decide(event)
        elif type(event) is Told:
            self._tell(event)
        elif type(event) is Registered:
            self.callback_urls = dict(event.urls)
        elif type(event) is Transferred:
            self.transfers.append(event)

    def _keep(self, transaction: Transaction) -> None:
        gateway = transaction.gateway
        self.by_id[transaction.id] = transaction
        self.by_reference[gateway][transaction.reference] = transaction
        # M-Pesa and AzamPay may be asked by their own names, and HaloPesa takes no request twice.
        if gateway in (GatewayName.MPESA, GatewayName.HALOPESA, GatewayName.AZAMPAY):
            self.by_network_id[gateway][transaction.network_id] = transaction
        if gateway is GatewayName.MPESA:
            self.by_receipt[gateway][transaction.receipt] = transaction
        subscriber = self.subscriber(transaction.phone)
        subscriber.transactions.append(transaction)
        if transaction.prompt is PromptState.WAITING:
            subscriber.waiting[transaction.id] = transaction
        self.recent.pop(transaction.phone, None)
        self.recent[transaction.phone] = None

    def _tell(self, event: Told) -> None:
        transaction = self.by_id[event.id]
        if event.is_opening:
            transaction.is_opening_due = False
        else:
            transaction.is_told = True

    def _decide(self, event: Decided) -> None:
        transaction = self.by_id[event.id]
        is_reversal = event.outcome is Outcome.REVERSED
        assert (transaction.outcome is Outcome.SUCCESS) == is_reversal, "Only money that has moved can go back."
        assert transaction.outcome is not Outcome.REVERSED, "It goes back once."
        transaction.outcome = event.outcome
        transaction.decided_at = event.at
        transaction.tell_at = event.tell_at
        transaction.is_told = event.is_secret
        if event.prompt is not None:
            transaction.prompt = event.prompt
            self.subscribers[transaction.phone].waiting.pop(transaction.id, None)
        if transaction.has_moved:
            self._move(transaction, event.at, is_reversal=is_reversal)

    def _move(self, transaction: Transaction, at: float, *, is_reversal: bool) -> None:
        subscriber = self.subscriber(transaction.phone)
        # A collection that is taken back is paid to the phone, and a payout is charged to it.
        is_charge = (transaction.kind is PaymentKind.COLLECTION) != is_reversal
        subscriber.balance += -transaction.amount if is_charge else transaction.amount
        movement = Movement(
            phone=transaction.phone,
            kind="charged" if is_charge else "paid",
            amount=transaction.amount,
            channel=transaction.channel,
            reference=transaction.reference,
            at=at,
            balance_after=subscriber.balance,
            transaction_id=transaction.id,
            is_reversal=is_reversal,
        )
        subscriber.movements.append(movement)
        self.book.append(movement)
