"""Which application answers a path: the merchants' pages, the operators' pages, those of customers, or the API."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from malipo.api.app import App
from malipo.api.collection_fast_path import PATH, CollectionFastPath
from malipo.api.errors import answer_to
from malipo.api.http.writer import Cycle
from malipo.app.assemble import Service
from malipo.dashboard.merchant.app import Dashboard
from malipo.dashboard.operator.app import OperatorDashboard
from malipo.errors import Unavailable
from malipo.http.client_address import address_of
from malipo.pay_pages.app import PayPages


class WebApplication:
    """Pages for merchants at /dashboard, for operators at /operator and for customers at /pay, the API everywhere else.

    Where the operators' pages are switched off, the API answers as for any unknown path. Pages may keep a connection
    open for minutes, so they get only a share of the connections, and the API always has room. Those of customers have
    a share of their own.
    """

    def __init__(self, service: Service, *, most_pages: int) -> None:
        self._settings = service.settings
        self._api = App(service)
        self._fast_path = CollectionFastPath(self._api.parts)
        self._merchants = Dashboard(service)
        self._operators = OperatorDashboard(service)
        self._customers = PayPages(service)
        self._people_share, self._customers_share = _Share(most_pages), _Share(most_pages // 2)

    def try_fast_path(self, cycle: Cycle, usual: Callable[[], None]) -> bool:
        """Whether the fast path takes the request: it answers without a task, or calls `usual` later, which serves the
        request by a call of this application. If not, the server makes that call at once."""
        scope: Any = cycle.scope
        if scope["path"] != PATH or self._is_operators_port(scope):
            return False
        return self._fast_path.try_take(cycle, usual)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        application = self._application(scope)
        if application is self._api:
            await self._api(scope, receive, send)
        else:
            share = self._customers_share if application is self._customers else self._people_share
            await share.show(application, scope, receive, send)

    def _application(self, scope: Scope) -> ASGIApp:
        path: str = scope["path"]
        root = path[1:].partition("/")[0]
        is_operators_port = self._is_operators_port(scope)
        if root == "operator":
            is_here = (self._settings.operator_port is None or is_operators_port) and self._is_allowed(scope)
            return self._operators if is_here else self._api
        if is_operators_port:
            # The pages share their files with the merchants'. Every other path is unknown to them.
            is_file = path.startswith("/dashboard/static/") and self._is_allowed(scope)
            return self._merchants if is_file else self._operators
        if root in ("pay", "receipt"):
            return self._customers
        return self._merchants if root == "dashboard" else self._api

    def _is_operators_port(self, scope: Scope) -> bool:
        port = self._settings.operator_port
        return port is not None and bool(scope["server"][1] == port)

    def _is_allowed(self, scope: Scope) -> bool:
        allowed = self._settings.operator_allowed_addresses
        if not allowed:
            return True
        address = address_of(Request(scope), self._settings.trusted_proxies)
        return any(address in network for network in allowed)


class _Share:
    """The number of requests of pages that may be under way."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way = 0

    async def show(self, pages: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        if self._under_way >= self._most:
            await answer_to(Unavailable())(scope, receive, send)
            return
        self._under_way += 1
        try:
            await pages(scope, receive, send)
        finally:
            self._under_way -= 1
