"""Every route, with the permission or role it needs: one table for the app, the contract and the tests."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from malipo.accounts.reauthentication import SensitiveAct
from malipo.api import (
    api_keys,
    batches,
    callbacks,
    channels,
    deliveries,
    events,
    health,
    links,
    login,
    metrics,
    openapi,
    payments,
    people,
    postman,
    quote,
    receipts,
    recipients,
    settlements,
    wallet,
    webhooks,
)
from malipo.api.docs import site as docs
from malipo.api.parts import ApiParts
from malipo.api.request_credentials import Party
from malipo.merchants.api_keys import COLLECTING, PAYING_OUT, SETTLEMENTS_READ, Permission
from malipo.merchants.check_api_key import Caller
from malipo.merchants.roles import Right
from malipo.merchants.store.sessions import MerchantSession
from malipo.rate_limit.sliding_window import RateClass

OpenHandler = Callable[[ApiParts, Request], Awaitable[Response]]
TokenHandler = Callable[[ApiParts, MerchantSession, Request], Awaitable[Response]]
KeyHandler = Callable[[ApiParts, Caller, Request], Awaitable[Response]]
PartyHandler = Callable[[ApiParts, Party, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class PublicRoute:
    """No authentication is needed."""

    method: str
    path: str
    handler: OpenHandler


@dataclass(frozen=True, slots=True)
class KeyRoute:
    """A route for API keys with one of these permissions. Its rate limit is that of its class."""

    method: str
    path: str
    handler: KeyHandler
    permissions: tuple[Permission, ...]
    rate_class: RateClass = RateClass.OTHER


@dataclass(frozen=True, slots=True)
class TokenRoute:
    """A person of the merchant must be logged in, with a role that has this right."""

    method: str
    path: str
    handler: TokenHandler
    right: Right
    act: SensitiveAct | None = None  # if the password must have been typed a short time ago


AnyRoute = PublicRoute | KeyRoute | TokenRoute

# Webhook endpoints are managed by people, and by programs, which have an API key and no session.
_WEBHOOKS: list[tuple[str, str, PartyHandler, Right]] = [
    ("GET", "/webhooks", webhooks.list_, Right.READ),
    ("POST", "/webhooks", webhooks.create, Right.OPERATE),
    ("GET", "/webhooks/{id}", webhooks.retrieve, Right.READ),
    ("PATCH", "/webhooks/{id}", webhooks.change, Right.OPERATE),
    ("DELETE", "/webhooks/{id}", webhooks.delete, Right.OPERATE),
    ("POST", "/webhooks/{id}/test", deliveries.test, Right.OPERATE),
    ("POST", "/webhooks/{id}/rotate-secret", webhooks.rotate_secret, Right.OPERATE),
    ("POST", "/webhooks/{id}/rotate-secret/finish", webhooks.finish_rotation, Right.OPERATE),
    ("GET", "/webhooks/{id}/deliveries", deliveries.list_, Right.READ),
    ("GET", "/webhooks/{id}/deliveries/{delivery}", deliveries.retrieve, Right.READ),
    ("POST", "/webhooks/{id}/deliveries/{delivery}/redeliver", deliveries.redeliver, Right.OPERATE),
    ("POST", "/webhooks/{id}/recover", deliveries.recover, Right.OPERATE),
]

CALLBACK_PATH = "/callbacks/{route}/{token}"

ROUTES: list[AnyRoute] = [
    PublicRoute("GET", "/healthz", health.healthz),
    PublicRoute("GET", "/readyz", health.readyz),
    PublicRoute("GET", "/openapi.json", openapi.for_programs),
    PublicRoute("GET", "/docs", docs.home),
    PublicRoute("GET", "/docs/docs.css", docs.style),
    PublicRoute("GET", "/docs/malipo.postman_collection.json", postman.download),
    PublicRoute("GET", "/metrics", metrics.expose),
    KeyRoute("POST", "/v1/payments", payments.collect, COLLECTING, RateClass.CREATE),
    KeyRoute("GET", "/v1/payments", payments.list_, (Permission.PAYMENTS_READ,), RateClass.LIST),
    KeyRoute("POST", "/v1/payments/disburse", payments.disburse, PAYING_OUT),
    KeyRoute("POST", "/v1/payments/disburse/batches", batches.create, PAYING_OUT),
    KeyRoute("GET", "/v1/payments/disburse/batches", batches.list_, (Permission.PAYMENTS_READ,), RateClass.LIST),
    KeyRoute("GET", "/v1/payments/disburse/batches/{id}", batches.retrieve, (Permission.PAYMENTS_READ,)),
    KeyRoute("GET", "/v1/payments/disburse/batches/{id}/items", batches.list_items, (Permission.PAYMENTS_READ,)),
    KeyRoute("POST", "/v1/payments/disburse/batches/{id}/approve", batches.approve, (Permission.PAYOUTS_APPROVE,)),
    KeyRoute("POST", "/v1/payments/disburse/batches/{id}/cancel", batches.cancel, PAYING_OUT),
    KeyRoute("POST", "/v1/payments/quote", quote.preview, (Permission.PAYMENTS_READ,)),
    KeyRoute("GET", "/v1/payments/{id}", payments.retrieve, (Permission.PAYMENTS_READ,)),
    KeyRoute("GET", "/v1/payments/{id}/receipt", receipts.retrieve, (Permission.PAYMENTS_READ,)),
    KeyRoute("POST", "/v1/payments/{id}/cancel", payments.cancel, payments.MAY_CANCEL),
    KeyRoute("POST", "/v1/payments/{id}/refund", payments.refund, PAYING_OUT),
    KeyRoute("POST", "/v1/recipients/lookup", recipients.look_up_one, (Permission.RECIPIENTS_LOOKUP,)),
    KeyRoute("POST", "/v1/links", links.create, (Permission.LINKS_MANAGE,)),
    KeyRoute("GET", "/v1/links", links.list_, (Permission.LINKS_MANAGE,), RateClass.LIST),
    KeyRoute("GET", "/v1/links/{id}", links.retrieve, (Permission.LINKS_MANAGE,)),
    KeyRoute("POST", "/v1/links/{id}/cancel", links.cancel, (Permission.LINKS_MANAGE,)),
    KeyRoute("POST", "/v1/settlements", settlements.create, (Permission.SETTLEMENTS_CREATE,)),
    KeyRoute("GET", "/v1/settlements", settlements.list_, SETTLEMENTS_READ, RateClass.LIST),
    KeyRoute("GET", "/v1/settlements/{id}", settlements.retrieve, SETTLEMENTS_READ),
    KeyRoute("GET", "/v1/settlements/{id}/report", settlements.report, SETTLEMENTS_READ, RateClass.LIST),
    KeyRoute("POST", "/v1/settlements/{id}/cancel", settlements.cancel, (Permission.SETTLEMENTS_CREATE,)),
    KeyRoute("GET", "/v1/channels", channels.list_, (Permission.PAYMENTS_READ,)),
    KeyRoute("GET", "/v1/wallet", wallet.retrieve, (Permission.WALLET_READ,)),
    KeyRoute("GET", "/v1/wallet/entries", wallet.list_entries, (Permission.WALLET_READ,)),
    KeyRoute("GET", "/v1/events", events.list_, (Permission.EVENTS_READ,)),
    *(KeyRoute(method, f"/v1{path}", handler, (Permission.WEBHOOKS_MANAGE,)) for method, path, handler, _ in _WEBHOOKS),
    PublicRoute("POST", CALLBACK_PATH, callbacks.receive),
    PublicRoute("POST", "/merchant/auth/login", login.log_in),
    PublicRoute("POST", "/merchant/auth/refresh", login.refresh),
    PublicRoute("POST", "/merchant/auth/reset", login.reset),
    TokenRoute("POST", "/merchant/auth/logout", login.log_out, Right.READ),
    TokenRoute("POST", "/merchant/auth/confirm", login.confirm, Right.READ),
    TokenRoute("POST", "/merchant/auth/password", login.change_password, Right.READ),
    TokenRoute("GET", "/merchant/api-keys", api_keys.list_, Right.READ),
    TokenRoute("POST", "/merchant/api-keys", api_keys.create, Right.ADMINISTER, SensitiveAct.API_KEYS),
    TokenRoute("PATCH", "/merchant/api-keys/{id}", api_keys.change, Right.ADMINISTER, SensitiveAct.API_KEYS),
    TokenRoute("DELETE", "/merchant/api-keys/{id}", api_keys.revoke, Right.ADMINISTER, SensitiveAct.API_KEYS),
    *(TokenRoute(method, f"/merchant{path}", handler, right) for method, path, handler, right in _WEBHOOKS),
    TokenRoute("GET", "/merchant/people", people.list_, Right.READ),
    TokenRoute("POST", "/merchant/people", people.add, Right.ADMINISTER, SensitiveAct.PEOPLE),
    TokenRoute("PATCH", "/merchant/people/{id}", people.change, Right.ADMINISTER, SensitiveAct.PEOPLE),
    TokenRoute("DELETE", "/merchant/people/{id}", people.remove, Right.ADMINISTER, SensitiveAct.PEOPLE),
]

# Pages for people, which no program asks for: they are not in the contract.
PAGES = [
    PublicRoute("GET", "/docs/reference", docs.show_reference),
    PublicRoute("GET", "/docs/reference/{name}", docs.show_reference),
    PublicRoute("GET", "/docs/try", docs.try_it),
    PublicRoute("GET", "/docs/search.json", docs.search),
    PublicRoute("GET", "/docs/static/{name}", docs.static),
    PublicRoute("GET", "/docs/images/{name}", docs.image),
    PublicRoute("GET", "/docs/downloads/{name}", docs.download),
    PublicRoute("GET", "/docs/{name:path}", docs.guide),
]

# The receipt log, in the format of C2SP tlog-tiles, which is in docs/receipt-log.md and not in the contract.
LOG_FILES = [
    PublicRoute("GET", "/log/keys", receipts.keys),
    PublicRoute("GET", "/log/checkpoint", receipts.checkpoint),
    PublicRoute("GET", "/log/tile/{path:path}", receipts.tile),
    PublicRoute("GET", "/log/{number}/checkpoint", receipts.checkpoint),
    PublicRoute("GET", "/log/{number}/tile/{path:path}", receipts.tile),
]
