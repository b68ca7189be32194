"""Every call that concerns money, of every network: one row says where it goes, with which token, and what comes back.

For tests of what is the same whichever network it is. What is particular to a network is in its own folder.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.azampay.connector import Azampay
from malipo.networks.clickpesa.connector import Clickpesa
from malipo.networks.connector import Answer, Connector, PaymentInstruction, Type
from malipo.networks.halopesa.connector import Halopesa
from malipo.networks.http.client import HttpClient
from malipo.networks.mpesa.connector import Mpesa
from malipo.networks.tigo_pesa.connector import TigoPesa
from malipo.settings import Settings
from tests.networks import airtel_money_spec as airtel
from tests.networks import azampay_spec as azam
from tests.networks import clickpesa_spec as click
from tests.networks import halopesa_spec as halo
from tests.networks import mpesa_spec as mpesa
from tests.networks import rsa_keys
from tests.networks import tigo_pesa_spec as tigo
from tests.networks.scripted_server import Reply, Request, ScriptedServer, http
from tests.networks.verdict_words import PENDING, SUCCESS, Outcome


def connect_mpesa(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    # A short key, for there are many calls under it.
    chosen = mpesa.settings(port) | {"mpesa_public_key": rsa_keys.AIRTEL_MONEY_PUBLIC_KEY}
    return Mpesa(Settings(**chosen | {"mpesa_timeout_seconds": timeout_seconds} | changes), http_client)


def connect_airtel(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = airtel.settings(port) | {"airtel_money_timeout_seconds": timeout_seconds} | changes
    return AirtelMoney(Settings(**chosen), http_client)


def connect_airtel_v2(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = {"airtel_money_disbursement_version": "v2", "airtel_money_signing": True} | changes
    return connect_airtel(port, http_client, timeout_seconds, **chosen)


def connect_tigo(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = tigo.settings(port) | {"tigo_pesa_timeout_seconds": timeout_seconds} | changes
    return TigoPesa(Settings(**chosen), http_client)


def connect_halopesa(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = halo.settings(port) | {"halopesa_timeout_seconds": timeout_seconds} | changes
    return Halopesa(Settings(**chosen), http_client)


def connect_clickpesa(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = click.settings(port) | {"clickpesa_timeout_seconds": timeout_seconds} | changes
    return Clickpesa(Settings(**chosen), http_client)


def connect_azampay(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = azam.settings(port) | {"azampay_timeout_seconds": timeout_seconds} | changes
    return Azampay(Settings(**chosen), http_client)


def at(address: str) -> dict[str, str]:
    """The settings that move every network to this address."""
    return {
        "mpesa_base_url": f"{address}/sandbox/ipg/v2/vodacomTZN",
        "airtel_money_base_url": address,
        "tigo_pesa_token_url": f"{address}/MALIPO2DM-GetToken",
        "tigo_pesa_push_url": f"{address}/MALIPO2DM-PushBillpay",
        "tigo_pesa_query_url": f"{address}/MALIPO2DM-TQS",
        "tigo_pesa_disbursement_url": f"{address}/MALIPO2DM-MFICashIn",
        "halopesa_url": f"{address}/ServiceAPI",
        "clickpesa_base_url": f"{address}/third-parties",
        "azampay_base_url": address,
        "azampay_authenticator_url": f"{address}/auth",
    }


@dataclass(frozen=True)
class Entry:
    """Where a session or a token is asked for, what is given, and what a call is told whose token has ended."""

    network: str
    line: str
    given: Reply
    next_given: Reply
    tokens: tuple[str, str]  # that which is given, and the next
    ended: Reply
    bearer: Callable[[Request], str]  # the token that a call carries

    def __repr__(self) -> str:
        return self.network


def sealed_bearer(request: Request) -> str:
    return rsa_keys.opened(rsa_keys.AIRTEL_MONEY, request.header("Authorization").removeprefix("Bearer "))


def plain_bearer(request: Request) -> str:
    return request.header("Authorization").removeprefix("Bearer ")


def lower_case_bearer(request: Request) -> str:
    return request.header("Authorization").removeprefix("bearer ")


MPESA = Entry(
    "M-Pesa",
    mpesa.SESSION,
    mpesa.SESSION_GIVEN,
    mpesa.NEXT_SESSION_GIVEN,
    (mpesa.SESSION_ID, mpesa.NEXT_SESSION_ID),
    mpesa.SESSION_ENDED,
    sealed_bearer,
)
AIRTEL = Entry(
    "Airtel",
    airtel.GET_TOKEN,
    airtel.TOKEN_GIVEN,
    airtel.NEXT_TOKEN_GIVEN,
    (airtel.TOKEN, airtel.NEXT_TOKEN),
    airtel.TOKEN_ENDED,
    plain_bearer,
)
TIGO = Entry(
    "Tigo",
    tigo.GET_TOKEN,
    tigo.TOKEN_GIVEN,
    tigo.NEXT_TOKEN_GIVEN,
    (tigo.TOKEN, tigo.NEXT_TOKEN),
    tigo.TOKEN_ENDED,
    lower_case_bearer,
)
CLICK = Entry(
    "ClickPesa",
    click.GET_TOKEN,
    click.TOKEN_GIVEN,
    click.NEXT_TOKEN_GIVEN,
    (click.TOKEN, click.NEXT_TOKEN),
    click.TOKEN_ENDED,
    plain_bearer,
)
AZAM = Entry(
    "AzamPay",
    azam.GET_TOKEN,
    azam.TOKEN_GIVEN,
    azam.NEXT_TOKEN_GIVEN,
    (azam.TOKEN, azam.NEXT_TOKEN),
    azam.TOKEN_ENDED,
    plain_bearer,
)
NO_ENTRY = Entry("none", "", http("200 OK"), http("200 OK"), ("", ""), http("200 OK"), plain_bearer)


@dataclass(frozen=True)
class Call:
    name: str
    connect: Callable[..., Connector]
    entry: Entry
    line: str
    order: PaymentInstruction
    is_payment: bool
    reply: Reply  # and what it means
    outcome: Outcome

    def __repr__(self) -> str:
        return self.name

    async def make(self, connector: Connector, order: PaymentInstruction | None = None) -> Answer:
        order = order or self.order
        return await (connector.send(order) if self.is_payment else connector.query(order))

    def let_in(self, server: ScriptedServer) -> None:
        server.always(self.entry.line, self.entry.given)


IN, OUT = Type.COLLECTION, Type.DISBURSEMENT
AIRTEL_V2 = "POST /standard/v2/disbursements/"
CLICK_SUCCESS = click.reply(IN, status="SUCCESS")

# Its name, how it is connected, where its token is from; its line, its order, whether it is a payment or a question;
# a good reply to it, and what that means.
MPESA_COLLECTION = Call(
    "M-Pesa collection", connect_mpesa, MPESA, mpesa.COLLECT, mpesa.COLLECTION, True, mpesa.PAID, SUCCESS
)
MPESA_PAYOUT = Call(
    "M-Pesa payout", connect_mpesa, MPESA, mpesa.DISBURSE, mpesa.DISBURSEMENT, True, mpesa.PAID_OUT, SUCCESS
)
MPESA_QUERY = Call(
    "M-Pesa query", connect_mpesa, MPESA, mpesa.QUERY, mpesa.DISBURSEMENT, False, mpesa.COMPLETED, SUCCESS
)
AIRTEL_COLLECTION = Call(
    "Airtel collection", connect_airtel, AIRTEL, airtel.COLLECT, airtel.COLLECTION, True, airtel.ACCEPTED, PENDING
)
AIRTEL_PAYOUT = Call(
    "Airtel payout", connect_airtel, AIRTEL, airtel.DISBURSE, airtel.DISBURSEMENT, True, airtel.PAID_OUT, SUCCESS
)
AIRTEL_QUERY = Call(
    "Airtel query", connect_airtel, AIRTEL, airtel.ASK[OUT], airtel.DISBURSEMENT, False, airtel.DONE[OUT], SUCCESS
)
AIRTEL_V2_PAYOUT = Call(
    "Airtel v2 payout", connect_airtel_v2, AIRTEL, AIRTEL_V2, airtel.DISBURSEMENT, True, airtel.PAID_OUT, SUCCESS
)
TIGO_PUSH = Call("Tigo push", connect_tigo, TIGO, tigo.PUSH, tigo.COLLECTION, True, tigo.PUSHED, PENDING)
TIGO_PAYOUT = Call("Tigo payout", connect_tigo, NO_ENTRY, tigo.CASH_IN, tigo.DISBURSEMENT, True, tigo.PAID_OUT, SUCCESS)
TIGO_QUERY = Call("Tigo query", connect_tigo, NO_ENTRY, tigo.QUERY, tigo.COLLECTION, False, tigo.POSTED, SUCCESS)
HALO_PUSH = Call(
    "HaloPesa push", connect_halopesa, NO_ENTRY, halo.SERVICE, halo.COLLECTION, True, halo.ACCEPTED, PENDING
)
CLICK_PUSH = Call(
    "ClickPesa push", connect_clickpesa, CLICK, click.PUSH, click.COLLECTION, True, CLICK_SUCCESS, SUCCESS
)
CLICK_PAYOUT = Call(
    "ClickPesa payout", connect_clickpesa, CLICK, click.PAY_OUT, click.DISBURSEMENT, True, click.AUTHORIZED, PENDING
)
CLICK_QUERY = Call(
    "ClickPesa query", connect_clickpesa, CLICK, click.ASK[OUT], click.DISBURSEMENT, False, click.DONE[OUT], SUCCESS
)
AZAM_PAYOUT = Call(
    "AzamPay payout", connect_azampay, AZAM, azam.PAY_OUT, azam.DISBURSEMENT, True, azam.ACCEPTED, PENDING
)
AZAM_QUERY = Call("AzamPay query", connect_azampay, AZAM, azam.ASK, azam.ACCEPTED_ORDER, False, azam.PAID_OUT, SUCCESS)
CALLS = [
    *(MPESA_COLLECTION, MPESA_PAYOUT, MPESA_QUERY),
    *(AIRTEL_COLLECTION, AIRTEL_PAYOUT, AIRTEL_QUERY, AIRTEL_V2_PAYOUT),
    *(TIGO_PUSH, TIGO_PAYOUT, TIGO_QUERY),
    HALO_PUSH,
    *(CLICK_PUSH, CLICK_PAYOUT, CLICK_QUERY),
    *(AZAM_PAYOUT, AZAM_QUERY),
]
# One payment of each network that has a token.
PAYMENTS = {call.entry: call for call in (MPESA_COLLECTION, AIRTEL_COLLECTION, TIGO_PUSH, CLICK_PUSH, AZAM_PAYOUT)}
# The same questions about payments of the other type, which have other lines.
MPESA_COLLECTION_QUERY = Call(
    "M-Pesa collection query", connect_mpesa, MPESA, mpesa.QUERY, mpesa.COLLECTION, False, mpesa.COMPLETED, SUCCESS
)
AIRTEL_COLLECTION_QUERY = Call(
    "Airtel collection query",
    connect_airtel,
    AIRTEL,
    airtel.ASK[IN],
    airtel.COLLECTION,
    False,
    airtel.DONE[IN],
    SUCCESS,
)
CLICK_COLLECTION_QUERY = Call(
    "ClickPesa collection query",
    connect_clickpesa,
    CLICK,
    click.ASK[IN],
    click.COLLECTION,
    False,
    click.DONE[IN],
    SUCCESS,
)
