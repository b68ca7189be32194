"""The calls that concern money of the networks that came later, for tests of what is the same whichever network it is."""

from typing import Any

from malipo.networks.azampay.connector import Azampay
from malipo.networks.clickpesa import Clickpesa
from malipo.networks.connector import Connector, Type
from malipo.networks.halopesa import Halopesa
from malipo.networks.http.client import HttpClient
from malipo.networks.tigo_pesa import TigoPesa
from malipo.settings import Settings
from tests.networks import airtel_money_spec, azampay_spec, clickpesa_spec, halopesa_spec, tigo_pesa_spec
from tests.networks.payment_calls import Call, connect_airtel
from tests.networks.scripted_server import http
from tests.networks.verdict_words import PENDING, SUCCESS

NO_ENTRY = ("", http("200 OK"))


def connect_tigo(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = tigo_pesa_spec.settings(port) | {"tigo_pesa_timeout_seconds": timeout_seconds} | changes
    return TigoPesa(Settings(**chosen), http_client)


def connect_halopesa(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = halopesa_spec.settings(port) | {"halopesa_timeout_seconds": timeout_seconds} | changes
    return Halopesa(Settings(**chosen), http_client)


def connect_clickpesa(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = clickpesa_spec.settings(port) | {"clickpesa_timeout_seconds": timeout_seconds} | changes
    return Clickpesa(Settings(**chosen), http_client)


def connect_azampay(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = azampay_spec.settings(port) | {"azampay_timeout_seconds": timeout_seconds} | changes
    return Azampay(Settings(**chosen), http_client)


def connect_airtel_v2(port: int, http_client: HttpClient, timeout_seconds: int = 10, **changes: Any) -> Connector:
    chosen = {"airtel_money_disbursement_version": "v2", "airtel_money_signing": True} | changes
    return connect_airtel(port, http_client, timeout_seconds, **chosen)


_tigo, _halo, _click, _airtel, _azam = tigo_pesa_spec, halopesa_spec, clickpesa_spec, airtel_money_spec, azampay_spec
_TIGO_ENTRY = (_tigo.GET_TOKEN, _tigo.TOKEN_GIVEN)
_CLICK_ENTRY = (_click.GET_TOKEN, _click.TOKEN_GIVEN)
_AZAM_ENTRY = (_azam.GET_TOKEN, _azam.TOKEN_GIVEN)
_AIRTEL_ENTRY = (_airtel.GET_TOKEN, _airtel.TOKEN_GIVEN)
_IN, _OUT = Type.COLLECTION, Type.DISBURSEMENT

TIGO_PUSH = Call("Tigo push", connect_tigo, *_TIGO_ENTRY, _tigo.PUSH, _tigo.COLLECTION, True, _tigo.PUSHED, PENDING)
TIGO_PAYOUT = Call(
    "Tigo payout", connect_tigo, *NO_ENTRY, _tigo.CASH_IN, _tigo.DISBURSEMENT, True, _tigo.PAID_OUT, SUCCESS
)
TIGO_QUERY = Call("Tigo query", connect_tigo, *NO_ENTRY, _tigo.QUERY, _tigo.COLLECTION, False, _tigo.POSTED, SUCCESS)
HALO_PUSH = Call(
    "HaloPesa push", connect_halopesa, *NO_ENTRY, _halo.SERVICE, _halo.COLLECTION, True, _halo.ACCEPTED, PENDING
)
CLICK_PUSH = Call(
    "ClickPesa push",
    connect_clickpesa,
    *_CLICK_ENTRY,
    _click.PUSH,
    _click.COLLECTION,
    True,
    _click.reply(_IN, status="SUCCESS"),
    SUCCESS,
)
CLICK_PAYOUT = Call(
    "ClickPesa payout",
    connect_clickpesa,
    *_CLICK_ENTRY,
    _click.PAY_OUT,
    _click.DISBURSEMENT,
    True,
    _click.AUTHORIZED,
    PENDING,
)
CLICK_QUERY = Call(
    "ClickPesa query",
    connect_clickpesa,
    *_CLICK_ENTRY,
    _click.ASK[_OUT],
    _click.DISBURSEMENT,
    False,
    _click.DONE[_OUT],
    SUCCESS,
)
AZAM_PAYOUT = Call(
    "AzamPay payout",
    connect_azampay,
    *_AZAM_ENTRY,
    _azam.PAY_OUT,
    _azam.DISBURSEMENT,
    True,
    _azam.ACCEPTED,
    PENDING,
)
AZAM_QUERY = Call(
    "AzamPay query",
    connect_azampay,
    *_AZAM_ENTRY,
    _azam.ASK,
    _azam.ACCEPTED_ORDER,
    False,
    _azam.PAID_OUT,
    SUCCESS,
)
AIRTEL_PAYOUT = Call(
    "Airtel v2 payout",
    connect_airtel_v2,
    *_AIRTEL_ENTRY,
    "POST /standard/v2/disbursements/",
    _airtel.DISBURSEMENT,
    True,
    _airtel.PAID_OUT,
    SUCCESS,
)
OTHER_CALLS = [
    TIGO_PUSH,
    TIGO_PAYOUT,
    TIGO_QUERY,
    HALO_PUSH,
    CLICK_PUSH,
    CLICK_PAYOUT,
    CLICK_QUERY,
    AZAM_PAYOUT,
    AZAM_QUERY,
    AIRTEL_PAYOUT,
]
