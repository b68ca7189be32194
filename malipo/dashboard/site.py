"""A site for browsers: routing, sessions, error pages and the access log.

Each site decides who may log in: people of merchants in `merchant/app.py`, operators in `operator/app.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Generic, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from malipo import clock, log, tracing
from malipo.app.assemble import Service
from malipo.dashboard import cookies, csrf, error_pages
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.compressed_pages import may_compress
from malipo.dashboard.language import Translator
from malipo.dashboard.language_choice import language_of
from malipo.dashboard.parts import PageParts
from malipo.dashboard.secured_response import SecuredResponse
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.http import methods as http_methods
from malipo.http.client_address import address_of, is_secure
from malipo.http.methods import HasMethod
from malipo.http.request_ids import begin_request

SomePage = TypeVar("SomePage", bound=HasMethod)
SomeRequest = TypeVar("SomeRequest", bound=BrowserRequest)


class Site(ABC, Generic[SomePage, SomeRequest]):
    root: str

    def __init__(self, service: Service, pages: Iterable[SomePage], more: Iterable[Route] = ()) -> None:
        self._parts = PageParts.of(service)
        by_path = http_methods.by_path(pages)
        routes = [
            Route(f"{self.root}/", self._home),
            *more,
            *(Route(path, self._endpoint(methods), methods=list(methods)) for path, methods in by_path.items()),
        ]
        self._router = Router(routes, redirect_slashes=False)
        self._paths: dict[object, str] = {route.endpoint: route.path for route in routes}

    @abstractmethod
    def _new_request(self, request: Request, words: Translator, address: str) -> SomeRequest:
        """A request that is not authenticated yet."""

    @abstractmethod
    async def _recognise(self, browser_request: SomeRequest) -> None:
        """Find the session of the browser, if it has one."""

    @abstractmethod
    async def _open(self, page: SomePage, browser_request: SomeRequest) -> Response:
        """The page, if this user may see it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        begin_request(scope, self._parts.clock())
        self._parts.queries.begin_waiting()
        # With an app in the scope the framework raises its own refusals instead of writing them as text.
        scope["app"] = self
        request = Request(scope, receive)
        is_over_tls = is_secure(request, self._parts.settings.trusted_proxies)
        sent = SecuredResponse(send, SECURITY_HEADERS, is_secure=is_over_tls, may_compress=may_compress(request))
        try:
            await self._router(scope, receive, sent)
        except ClientDisconnect:
            pass
        except Exception as error:
            if sent.has_begun:
                raise  # A file breaks off: the client must not take it for complete.
            if not isinstance(error, HTTPException):
                error = await self._parts.health.monitor.schema.explain(error)
            await error_pages.page_for(await self._request_in_trouble(request), error)(scope, receive, sent)
        finally:
            self._log_request(request, sent)
            self._parts.queries.end_waiting()

    def _log_request(self, request: Request, sent: SecuredResponse) -> None:
        """A line in the log, and a count. The path itself is left out: it may hold a key or a number."""
        seconds = clock.monotonic() - sent.began
        # Not counted: live pages, which take minutes and would hide the latency of others, and invented methods.
        path = self._paths.get(request.scope.get("endpoint"), "unknown")
        route = path if path == f"{self.root}/live" else self.root
        method = request.method if request.method in ("GET", "HEAD", "POST") else "other"
        self._parts.metrics.count_request(method, route, sent.status or 0, seconds)
        if tracing.active is not None:
            tracing.active.end_request(method, path, sent.status, "https" if sent.is_secure else "http")
        log.info(
            "page",
            method=request.method,
            route=path,
            status=sent.status,
            ms=round(seconds * 1000, 1),
        )

    async def _request_in_trouble(self, request: Request) -> SomeRequest:
        """The request with its user, for the error page; without a user if the database is away, or of another
        version."""
        if self._parts.health.monitor.schema.problem is not None:
            return await self._browser_request(request, with_session=False)
        try:
            return await self._browser_request(request)
        except Exception as error:
            log.error("dashboard.session_unknown", error)
            return await self._browser_request(request, with_session=False)

    def _endpoint(self, methods: Mapping[str, SomePage]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await self._serve(http_methods.route_for(request.method, methods), request)

        return endpoint

    async def _serve(self, page: SomePage, request: Request) -> Response:
        csrf.check_origin(request)
        self._parts.health.monitor.schema.require()
        browser_request = await self._browser_request(request)
        if browser_request.session_id is not None and browser_request.person_id is not None:
            self._parts.accounts.requests.admit(browser_request.session_id, browser_request.person_id)
        return await self._open(page, browser_request)

    async def _browser_request(self, request: Request, *, with_session: bool = True) -> SomeRequest:
        address = str(address_of(request, self._parts.settings.trusted_proxies))
        browser_request = self._new_request(request, Translator(language_of(request)), address)
        browser_request.notice = request.cookies.get(cookies.NOTICE)
        if with_session:
            await self._recognise(browser_request)
        if browser_request.session_id is not None:
            # Only now: a request without a session must not cause a warning about its address.
            self._parts.health.untrusted_proxies.look(request)
        return browser_request

    async def _home(self, request: Request) -> Response:
        return RedirectResponse(self.root, HTTPStatus.SEE_OTHER)
