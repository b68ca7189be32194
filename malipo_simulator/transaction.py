"""A transaction at a network, and the events that change it. Pure data: it reads no clock and moves no money."""

from enum import StrEnum

import msgspec

from malipo_simulator.behaviour import Outcome, PaymentKind


class GatewayName(StrEnum):
    """The gateways that a merchant's programs call: the networks' own, and two aggregators'."""

    MPESA = "MPESA"
    AIRTEL_MONEY = "AIRTEL_MONEY"
    TIGO_PESA = "TIGO_PESA"
    HALOPESA = "HALOPESA"
    CLICKPESA = "CLICKPESA"
    AZAMPAY = "AZAMPAY"


class PromptState(StrEnum):
    WAITING = "waiting"
    APPROVED = "approved"
    DECLINED = "declined"
    EXPIRED = "expired"


class Transaction(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    id: str  # ours; a prompt is known by it
    gateway: GatewayName
    channel: str  # the network of the phone, which an aggregator's gateway does not share
    kind: PaymentKind
    phone: str
    amount: int
    reference: str  # the merchant's id, as it travelled
    network_id: str  # what the network calls the request
    receipt: str  # what it calls the payment, once money has moved
    merchant: str
    note: str
    taken_at: float
    due_at: float | None
    callbacks: int
    prompt: PromptState | None = None
    outcome: Outcome | None = None
    decided_at: float | None = None
    tell_at: float = 0  # Before that no callback is sent.
    is_told: bool = False  # whether the last outcome was reported; true as well if it is not to be
    is_opening_due: bool = False  # what some tell as soon as they have taken a payment is still to be told
    queries: int = 0  # how often it was asked about; soon forgotten

    @property
    def has_moved(self) -> bool:
        """Whether money has moved, though it may have gone back."""
        return self.outcome in (Outcome.SUCCESS, Outcome.REVERSED)


class Taken(msgspec.Struct, tag="taken", gc=False):
    transaction: Transaction


class Decided(msgspec.Struct, tag="decided", omit_defaults=True, gc=False):
    id: str
    outcome: Outcome
    at: float
    prompt: PromptState | None = None
    tell_at: float = 0
    is_secret: bool = False  # It is not reported.


class Told(msgspec.Struct, tag="told", omit_defaults=True, gc=False):
    id: str
    is_opening: bool = False


class Registered(msgspec.Struct, tag="registered", gc=False):
    """The callback addresses from now on."""

    urls: dict[GatewayName, str]


class Transferred(msgspec.Struct, tag="transferred", kw_only=True, gc=False):
    """Between the merchant's account and the merchant's bank."""

    gateway: GatewayName
    amount: int  # above 0 came from the bank, below 0 went to it
    reference: str  # the bank's
    receipt: str
    at: float


Event = Taken | Decided | Told | Registered | Transferred
