"""The site of customers, below /pay and /receipt: routing, turns, misses, error pages, the log. It has no log-in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from malipo import clock, log
from malipo.app.assemble import Service
from malipo.clock import milliseconds
from malipo.dashboard import csrf
from malipo.dashboard.compressed_pages import may_compress
from malipo.dashboard.forms import read_form
from malipo.dashboard.secured_response import SecuredResponse
from malipo.errors import Missing
from malipo.http import methods as http_methods
from malipo.http.client_address import is_secure
from malipo.http.compression import takes_gzip
from malipo.http.request_ids import begin_request
from malipo.pay_pages import attempt_cookie, error_page, live_state, logo, pay_page, poster, receipt_page
from malipo.pay_pages.inline_files import security_headers
from malipo.pay_pages.link_guesses import Misses
from malipo.pay_pages.page_turns import PageTurns
from malipo.pay_pages.parts import PayParts
from malipo.pay_pages.request import PayRequest

Answer = TypeVar("Answer")
Handler = Callable[[PayRequest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class PayRoute:
    method: str
    path: str
    handler: Handler


ROUTES = [
    PayRoute("GET", "/pay/logo/{fingerprint:str}.png", logo.show),
    PayRoute("GET", "/pay/{code}", pay_page.show),
    PayRoute("POST", "/pay/{code}", pay_page.press),
    PayRoute("POST", "/pay/{code}/withdraw", pay_page.withdraw),
    PayRoute("GET", "/pay/{code}/qr.svg", poster.show_qr_code),
    PayRoute("GET", "/pay/{code}/poster", poster.show),
    PayRoute("GET", "/receipt/{token}", receipt_page.show),
    PayRoute("GET", "/receipt/{token}/receipt.json", receipt_page.download),
]
_STATE = "/pay/{code}/state"


class PayPages:
    def __init__(self, service: Service, turns: PageTurns | None = None) -> None:
        self._parts = PayParts.of(service)
        self._turns = turns or PageTurns()
        self._misses = Misses()
        by_path = http_methods.by_path(ROUTES)
        routes = [
            Route(_STATE, self._follow),
            *(Route(path, self._endpoint(methods), methods=list(methods)) for path, methods in by_path.items()),
        ]
        self._router = Router(routes, redirect_slashes=False)
        self._paths: dict[object, str] = {route.endpoint: route.path for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin_request(scope, self._parts.clock())
        self._parts.queries.begin_waiting()
        # With an app in the scope the framework raises its refusals, and does not write them as plain text.
        scope["app"] = self
        request = Request(scope, receive)
        is_over_tls = is_secure(request, self._parts.settings.trusted_proxies)
        sent = SecuredResponse(send, security_headers(), is_secure=is_over_tls, may_compress=_may_compress(request))
        try:
            await self._router(scope, receive, sent)
        except ClientDisconnect:
            pass
        except Exception as error:
            if sent.has_begun:
                raise
            if not isinstance(error, HTTPException):
                error = await self._parts.health.monitor.schema.explain(error)
            await error_page.page_for(PayRequest.of(self._parts, request), error)(scope, receive, sent)
        finally:
            self._log_request(request, sent)
            self._parts.queries.end_waiting()

    def _log_request(self, request: Request, sent: SecuredResponse) -> None:
        """A line in the log, and a count. The path itself is left out: whoever has it can open the link."""
        seconds = clock.monotonic() - sent.began
        path = self._paths.get(request.scope.get("endpoint"), "unknown")
        method = request.method if request.method in ("GET", "HEAD", "POST") else "other"
        self._parts.metrics.count_request(method, _label_of(path), sent.status or 0, seconds)
        log.info("pay_page", method=request.method, route=path, status=sent.status, ms=round(seconds * 1000, 1))

    def _endpoint(self, methods: dict[str, PayRoute]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            route = http_methods.route_for(request.method, methods)
            csrf.check_origin(request)
            # The form is read before the turn begins, so that a slow client keeps no other request waiting.
            form = await read_form(request) if request.method == "POST" else None
            return await self._serve(route.handler, PayRequest.of(self._parts, request, form))

        return endpoint

    async def _follow(self, http: Request) -> Response:
        """A request that waits has no turn meanwhile."""
        request = PayRequest.of(self._parts, http)
        key, status = await self._serve(live_state.find, request)
        if not live_state.is_shown(request, status):
            return live_state.answer(status)
        if self._parts.statuses.waiting >= live_state.MOST_WAITING:
            return live_state.answer(status, is_busy=True)
        await self._parts.statuses.until_changed(key, status, seconds=live_state.WAIT_SECONDS)
        self._parts.queries.begin_waiting()
        _, status = await self._serve(live_state.find, request)
        return live_state.answer(status)

    async def _serve(self, handler: Callable[[PayRequest], Awaitable[Answer]], request: PayRequest) -> Answer:
        self._parts.health.monitor.schema.require()
        self._misses.check(request.address, now_ms=milliseconds(self._parts.clock()))
        try:
            async with self._turns.taken(request.address):
                return await handler(request)
        except live_state.NothingBegun:  # This is no guess of a code: the script of a page has lost its cookie.
            raise
        except Missing:
            self._misses.note(request.address, now_ms=milliseconds(self._parts.clock()))
            raise


def _label_of(path: str) -> str:
    """The route in metrics: pages to pay, the requests that wait for news, and receipts."""
    if path == _STATE:
        return path
    return "/receipt" if path.startswith("/receipt/") else "/pay"


def _may_compress(request: Request) -> bool:
    """A page without a cookie has nothing of a customer in it. With one, by the rules for pages of people."""
    takes = takes_gzip(request.headers.get("accept-encoding", ""))
    return (takes and attempt_cookie.NAME not in request.cookies) or may_compress(request)
