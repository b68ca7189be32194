"""Every route, with what a caller needs for it: the one table that the door, the contract and the tests share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from malipo.api import health, payments, wallet
from malipo.limits.window import RateClass
from malipo.merchants.admit import Admitted
from malipo.merchants.keys import Permission
from malipo.service import Service

OpenHandler = Callable[[Service, Request], Awaitable[Response]]
KeyHandler = Callable[[Service, Admitted, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Open:
    """Anybody may ask."""

    method: str
    path: str
    handler: OpenHandler


@dataclass(frozen=True, slots=True)
class ByKey:
    """An API key with this permission may ask, as often as its class allows."""

    method: str
    path: str
    handler: KeyHandler
    permission: Permission
    rate_class: RateClass = RateClass.OTHER


ROUTES: list[Open | ByKey] = [
    Open("GET", "/healthz", health.healthz),
    Open("GET", "/readyz", health.readyz),
    ByKey("POST", "/v1/payments", payments.collect, Permission.PAYMENTS_CREATE, RateClass.CREATE),
    ByKey("GET", "/v1/payments", payments.list_, Permission.PAYMENTS_READ, RateClass.LIST),
    ByKey("POST", "/v1/payments/disburse", payments.disburse, Permission.PAYMENTS_CREATE),
    ByKey("GET", "/v1/payments/{id}", payments.retrieve, Permission.PAYMENTS_READ),
    ByKey("POST", "/v1/payments/{id}/cancel", payments.cancel, Permission.PAYMENTS_CREATE),
    ByKey("GET", "/v1/wallet", wallet.retrieve, Permission.WALLET_READ),
]
