"""The ASGI application of the API: routing, authentication, error responses, access log.

Whatever happens inside, the caller gets one JSON response with a request id, and the log gets one line.
"""

from collections.abc import Awaitable, Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from malipo.api import request_credentials
from malipo.api.access_log import LoggedExchange
from malipo.api.docs import site
from malipo.api.parts import ApiParts
from malipo.api.routes import CALLBACK_PATH, LOG_FILES, PAGES, ROUTES, AnyRoute, PublicRoute, TokenRoute
from malipo.app.assemble import Service
from malipo.errors import Unavailable
from malipo.http import methods as http_methods
from malipo.http.client_address import came_over_tls
from malipo.http.request_ids import begin_request
from malipo.rate_limit.refusal import RateLimited

_EXCHANGE = "malipo.exchange"
_CALLBACKS = "/callbacks/"


class App:
    def __init__(self, service: Service) -> None:
        self.parts = ApiParts.of(service)
        self._parts_for_people = self.parts.with_queries(service.people_queries)
        routes = http_methods.by_path([*ROUTES, *PAGES, *LOG_FILES])
        # Most paths are fixed: for those no pattern need be tried.
        self._fixed = {path: methods for path, methods in routes.items() if "{" not in path}
        self._callback = routes[CALLBACK_PATH]["POST"]
        self._router = Router(
            [Route(path, self._endpoint(methods), methods=list(methods)) for path, methods in routes.items()],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        is_secure = came_over_tls(scope, self.parts.settings.trusted_proxies)
        exchange = LoggedExchange(scope, send, begin_request(scope, self.parts.clock()), is_secure=is_secure)
        self.parts.queries.begin_waiting()
        # With an app in the scope the framework raises its refusals, and does not write them as plain text.
        scope.update({"app": self, _EXCHANGE: exchange})
        try:
            if route := self._fixed.get(scope["path"], {}).get(scope["method"]) or self._callback_for(scope):
                response = await self._serve(route, Request(scope, receive))
                await response(scope, receive, exchange.send)
            else:
                await self._find(scope, receive, exchange)
        except ClientDisconnect:
            pass
        except HTTPException as refusal:
            await exchange.answer_to(refusal, receive)
        except Exception as error:
            await exchange.answer_to(await self.parts.health.monitor.schema.explain(error), receive)
        except BaseException:
            # The process is stopping while this request is under way.
            await exchange.answer_to(Unavailable(), receive)
            raise
        finally:
            exchange.log_and_count(self.parts.metrics)
            self.parts.queries.end_waiting()
            del scope[_EXCHANGE]  # They refer to each other: without this only the garbage collector frees them.

    def _callback_for(self, scope: Scope) -> AnyRoute | None:
        """The route of callbacks, if this is one. Every payment has one, and the router would try 32 patterns first."""
        path: str = scope["path"]
        if scope["method"] != "POST" or not path.startswith(_CALLBACKS):
            return None
        route, _, token = path.removeprefix(_CALLBACKS).partition("/")
        if not route or not token or "/" in token or token.endswith("\n"):
            return None
        scope["path_params"] = {"route": route, "token": token}
        return self._callback

    async def _find(self, scope: Scope, receive: Receive, exchange: LoggedExchange) -> None:
        """Find the route by its pattern. If there is none, a browser gets a page, and a program the JSON error."""
        try:
            if scope["path"].endswith("\n"):
                raise HTTPException(404)  # The router would overlook it.
            await self._router(scope, receive, exchange.send)
        except HTTPException as refusal:
            request = Request(scope, receive)
            if refusal.status_code != 404 or not site.is_for_browser(request):
                raise
            page = await site.lost(self.parts, request)
            await page(scope, receive, exchange.send)

    def _endpoint(self, methods: Mapping[str, AnyRoute]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await self._serve(http_methods.route_for(request.method, methods), request)

        return endpoint

    async def _serve(self, route: AnyRoute, request: Request) -> Response:
        exchange: LoggedExchange = request.scope[_EXCHANGE]
        exchange.route = route.path
        if route.method != "GET" or not isinstance(route, PublicRoute):
            self.parts.health.monitor.schema.require()  # Health, metrics and docs need no schema.
        if isinstance(route, PublicRoute):
            return await route.handler(self.parts, request)
        if isinstance(route, TokenRoute):
            session = await request_credentials.session_of(self.parts, request)
            exchange.caller = {"merchant": session.person.merchant_id, "person": session.person.id}
            self.parts.accounts.requests.admit(session.id, session.person.id)
            request_credentials.require_right(session, route.right)
            request_credentials.require_confirmation(self.parts, session, route.act)
            return await route.handler(self._parts_for_people, session, request)
        try:
            caller = await request_credentials.authenticate(self.parts, request, route.rate_class)
        except RateLimited as refusal:
            exchange.rate_limit_status = refusal.rate_limit_status
            raise
        exchange.rate_limit_status = caller.rate_limit_status
        exchange.caller = {"merchant": caller.merchant_id, "key": caller.key_id}
        request_credentials.require(caller, *route.permissions)
        return await route.handler(self.parts, caller, request)
