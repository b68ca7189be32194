"""The six calls that concern money, of both networks, for tests of what is the same whichever network it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from malipo.networks.airtel_money import AirtelMoney
from malipo.networks.connector import Answer, Connector, Order, Type
from malipo.networks.http.client import HttpClient
from malipo.networks.mpesa import Mpesa
from malipo.settings import Settings
from tests.networks import airtel_money_spec, mpesa_spec
from tests.networks.scripted_server import Reply, ScriptedServer
from tests.networks.verdict_words import PENDING, SUCCESS, Outcome


def connect_mpesa(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = mpesa_spec.settings(port) | {"mpesa_timeout_seconds": timeout_seconds} | changes
    return Mpesa(Settings(**chosen), http_client)


def connect_airtel(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = airtel_money_spec.settings(port) | {"airtel_money_timeout_seconds": timeout_seconds} | changes
    return AirtelMoney(Settings(**chosen), http_client)


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

    def let_in(self, server: ScriptedServer) -> None:
        server.always(self.entry, self.entry_given)


def _mpesa(name: str, type_: Type, line: str, reply: Reply, *, is_payment: bool) -> Call:
    sheet = mpesa_spec
    order = sheet.ORDERS[type_]
    return Call(name, connect_mpesa, sheet.SESSION, sheet.SESSION_GIVEN, line, order, is_payment, reply, SUCCESS)


def _airtel(name: str, type_: Type, line: str, reply: Reply, outcome: Outcome, *, is_payment: bool) -> Call:
    sheet = airtel_money_spec
    order = sheet.ORDERS[type_]
    return Call(name, connect_airtel, sheet.GET_TOKEN, sheet.TOKEN_GIVEN, line, order, is_payment, reply, outcome)


CALLS = [
    _mpesa("M-Pesa collection", Type.COLLECTION, mpesa_spec.COLLECT, mpesa_spec.PAID, is_payment=True),
    _mpesa("M-Pesa disbursement", Type.DISBURSEMENT, mpesa_spec.DISBURSE, mpesa_spec.PAID_OUT, is_payment=True),
    _mpesa("M-Pesa query", Type.DISBURSEMENT, mpesa_spec.QUERY, mpesa_spec.COMPLETED, is_payment=False),
    _airtel(
        "Airtel collection",
        Type.COLLECTION,
        airtel_money_spec.COLLECT,
        airtel_money_spec.ACCEPTED,
        PENDING,
        is_payment=True,
    ),
    _airtel(
        "Airtel disbursement",
        Type.DISBURSEMENT,
        airtel_money_spec.DISBURSE,
        airtel_money_spec.PAID_OUT,
        SUCCESS,
        is_payment=True,
    ),
    _airtel(
        "Airtel enquiry",
        Type.DISBURSEMENT,
        airtel_money_spec.ASK[Type.DISBURSEMENT],
        airtel_money_spec.DONE[Type.DISBURSEMENT],
        SUCCESS,
        is_payment=False,
    ),
]
