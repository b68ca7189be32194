"""The six calls that concern money, of both networks, for tests of what is the same whichever network it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from malipo.networks.airtel_money import AirtelMoney
from malipo.networks.contract import Answer, Connector, Order, Type
from malipo.networks.mpesa import Mpesa
from malipo.networks.wire import Wire
from malipo.settings import Settings
from tests.networks import airtel_money_sheet, mpesa_sheet
from tests.networks.outcome import PENDING, SUCCESS, Outcome
from tests.networks.teller import Reply, Teller


def connect_mpesa(port: int, wire: Wire, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = mpesa_sheet.settings(port) | {"mpesa_timeout_seconds": timeout_seconds} | changes
    return Mpesa(Settings(**chosen), wire)


def connect_airtel(port: int, wire: Wire, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = airtel_money_sheet.settings(port) | {"airtel_money_timeout_seconds": timeout_seconds} | changes
    return AirtelMoney(Settings(**chosen), wire)


@dataclass(frozen=True)
class Call:
    name: str
    connect: Callable[..., Connector]
    entry: str  # where the session or the token is asked for
    entry_given: Reply
    line: str
    order: Order
    is_payment: bool
    reply: Reply  # and what it means
    outcome: Outcome

    def __repr__(self) -> str:
        return self.name

    async def make(self, connector: Connector) -> Answer:
        return await (connector.send(self.order) if self.is_payment else connector.ask(self.order))

    def let_in(self, teller: Teller) -> None:
        teller.always(self.entry, self.entry_given)


def _mpesa(name: str, type_: Type, line: str, reply: Reply, *, is_payment: bool) -> Call:
    sheet = mpesa_sheet
    order = sheet.ORDERS[type_]
    return Call(name, connect_mpesa, sheet.SESSION, sheet.SESSION_GIVEN, line, order, is_payment, reply, SUCCESS)


def _airtel(name: str, type_: Type, line: str, reply: Reply, outcome: Outcome, *, is_payment: bool) -> Call:
    sheet = airtel_money_sheet
    order = sheet.ORDERS[type_]
    return Call(name, connect_airtel, sheet.GET_TOKEN, sheet.TOKEN_GIVEN, line, order, is_payment, reply, outcome)


CALLS = [
    _mpesa("M-Pesa collection", Type.COLLECTION, mpesa_sheet.COLLECT, mpesa_sheet.PAID, is_payment=True),
    _mpesa("M-Pesa disbursement", Type.DISBURSEMENT, mpesa_sheet.DISBURSE, mpesa_sheet.PAID_OUT, is_payment=True),
    _mpesa("M-Pesa query", Type.DISBURSEMENT, mpesa_sheet.QUERY, mpesa_sheet.COMPLETED, is_payment=False),
    _airtel(
        "Airtel collection",
        Type.COLLECTION,
        airtel_money_sheet.COLLECT,
        airtel_money_sheet.ACCEPTED,
        PENDING,
        is_payment=True,
    ),
    _airtel(
        "Airtel disbursement",
        Type.DISBURSEMENT,
        airtel_money_sheet.DISBURSE,
        airtel_money_sheet.PAID_OUT,
        SUCCESS,
        is_payment=True,
    ),
    _airtel(
        "Airtel enquiry",
        Type.DISBURSEMENT,
        airtel_money_sheet.ASK[Type.DISBURSEMENT],
        airtel_money_sheet.DONE[Type.DISBURSEMENT],
        SUCCESS,
        is_payment=False,
    ),
]
