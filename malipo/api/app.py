"""The ASGI application of the API: routing, authentication, error responses, access log.

Whatever happens inside, the caller gets one JSON response with a request id, and the log gets one line.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from malipo import clock, ids, log
from malipo.api import auth
from malipo.api.errors import answer_to
from malipo.api.rate_limit_headers import headers_of
from malipo.api.routes import ROUTES, AnyRoute, ByToken, Open
from malipo.errors import Unavailable
from malipo.merchants.authenticate import RateLimited
from malipo.metrics import Metrics
from malipo.rate_limit.sliding_window import RateLimitStatus
from malipo.service import Service

_EXCHANGE = "malipo.exchange"


class App:
    def __init__(self, service: Service) -> None:
        self._service = service
        # One entry for each path, so that a wrong method is told all the right ones.
        by_path: dict[str, dict[str, AnyRoute]] = defaultdict(dict)
        for route in ROUTES:
            by_path[route.path][route.method] = route
        # Most paths are fixed: for those no pattern need be tried.
        self._fixed = {path: methods for path, methods in by_path.items() if "{" not in path}
        self._router = Router(
            [Route(path, self._endpoint(methods), methods=list(methods)) for path, methods in by_path.items()],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        exchange = _Exchange(scope, send, ids.mint("req_", self._service.clock()))
        log.request_id.set(exchange.id)
        # With an app in the scope the framework raises its own refusals instead of writing them as text.
        scope.update({"app": self, _EXCHANGE: exchange})
        try:
            if scope["path"].endswith("\n"):
                raise HTTPException(404)  # The router would overlook it.
            if route := self._fixed.get(scope["path"], {}).get(scope["method"]):
                response = await self._serve(route, Request(scope, receive))
                await response(scope, receive, exchange.send)
            else:
                await self._router(scope, receive, exchange.send)
        except ClientDisconnect:
            pass
        except Exception as error:
            await exchange.answer_to(error, receive)
        except BaseException:
            # The process is stopping while this request is under way.
            await exchange.answer_to(Unavailable(), receive)
            raise
        finally:
            exchange.note(self._service.metrics)
            del scope[_EXCHANGE]  # They refer to each other: without this only the garbage collector frees them.

    def _endpoint(self, methods: Mapping[str, AnyRoute]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await self._serve(methods["GET" if request.method == "HEAD" else request.method], request)

        return endpoint

    async def _serve(self, route: AnyRoute, request: Request) -> Response:
        exchange: _Exchange = request.scope[_EXCHANGE]
        exchange.route = route.path
        if isinstance(route, Open):
            return await route.handler(self._service, request)
        if isinstance(route, ByToken):
            session = await auth.session_of(self._service, request)
            exchange.caller = {"merchant": session.person.merchant_id, "person": session.person.id}
            auth.require_right(session, route.right)
            return await route.handler(self._service, session, request)
        try:
            caller = await auth.authenticate(self._service, request, route.rate_class)
        except RateLimited as refusal:
            exchange.rate_limit_status = refusal.rate_limit_status
            raise
        exchange.rate_limit_status = caller.rate_limit_status
        exchange.caller = {"merchant": caller.merchant_id, "key": caller.key_id}
        auth.require(caller, route.permission)
        return await route.handler(self._service, caller, request)


class _Exchange:
    """One request and its response, for the log and the headers."""

    def __init__(self, scope: Scope, send: Send, id_: str) -> None:
        self.id = id_
        self.route: str | None = None
        self.rate_limit_status: RateLimitStatus | None = None
        self.caller: dict[str, str] = {}
        self._scope = scope
        self._send = send
        self._status: int | None = None
        self._began = clock.monotonic()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message["headers"].extend(self._headers())
        await self._send(message)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        headers = [(b"x-request-id", self.id.encode()), (b"cache-control", b"no-store")]
        if self.rate_limit_status is not None:
            headers += headers_of(self.rate_limit_status)
        return headers

    async def answer_to(self, error: BaseException, receive: Receive) -> None:
        answer = answer_to(error)
        if self._status is None:
            await answer(self._scope, receive, self.send)

    def note(self, metrics: Metrics) -> None:
        """A line in the log, and a count. A path that no route knows is not repeated: it could hold anything."""
        seconds = clock.monotonic() - self._began
        # Methods can be made up too.
        method = self._scope["method"] if self.route else "other"
        metrics.count_request(method, self.route or "unknown", self._status or 0, seconds)
        log.info(
            "request",
            method=self._scope["method"],
            route=self.route,
            status=self._status,
            ms=round(seconds * 1000, 1),
            **self.caller,
        )
