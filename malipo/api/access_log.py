"""The access log: one line and one count for each request. And the headers of every response, such as X-Request-Id."""

from starlette.types import Message, Receive, Scope, Send

from malipo import clock, log, tracing
from malipo.api.errors import answer_to
from malipo.http.client_address import HSTS
from malipo.metrics.process_metrics import Metrics
from malipo.rate_limit.sliding_window import RateLimitStatus

# Every response gets this header unless its route sets another, as those of the documentation do.
_NO_STORE = (b"cache-control", b"no-store")
_HSTS = (HSTS[0].encode(), HSTS[1].encode())


class LoggedExchange:
    """One request and its response: its id, its caller and its status."""

    __slots__ = ("_began", "_is_secure", "_scope", "_send", "_status", "caller", "id", "rate_limit_status", "route")

    def __init__(self, scope: Scope, send: Send, id_: str, *, is_secure: bool) -> None:
        self.id = id_
        self._is_secure = is_secure
        self.route: str | None = None
        self.rate_limit_status: RateLimitStatus | None = None
        self.caller: dict[str, str] = {}
        self._scope = scope
        self._send = send
        self._status: int | None = None
        self._began = clock.monotonic()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message["headers"]
            sets_cache_control = any(name == b"cache-control" for name, _ in headers)
            more = self.headers_for(message["status"])
            headers += [each for each in more if not (sets_cache_control and each is _NO_STORE)]
        await self._send(message)

    def headers_for(self, status: int) -> list[tuple[bytes, bytes]]:
        """The headers that every response gets beside its route's own. The call marks the request as answered."""
        self._status = status
        headers = [(b"x-request-id", self.id.encode()), _NO_STORE]
        if self._is_secure:
            headers.append(_HSTS)
        if self.rate_limit_status is not None:
            headers += _rate_limit_headers(self.rate_limit_status)
        return headers

    async def answer_to(self, error: BaseException, receive: Receive) -> None:
        answer = answer_to(error)
        if self._status is None:
            await answer(self._scope, receive, self.send)

    def log_and_count(self, metrics: Metrics, **ids: str) -> None:
        """A line in the log, and a count. A path that no route knows is not repeated: it could hold anything.

        `ids` are those that are not bound in the log already.
        """
        seconds = clock.monotonic() - self._began
        route = self.route or "unknown"
        # Methods can be made up too.
        method = self._scope["method"] if self.route else "other"
        metrics.count_request(method, route, self._status or 0, seconds)
        if tracing.active is not None:
            scheme = "https" if self._is_secure else "http"
            tracing.active.end_request(method, route, self._status, scheme, self.caller.get("merchant"))
        log.info(
            "request",
            **ids,
            method=self._scope["method"],
            route=route,
            status=self._status,
            ms=round(seconds * 1000, 1),
            **self.caller,
        )


def _rate_limit_headers(status: RateLimitStatus) -> list[tuple[bytes, bytes]]:
    """The limit, what is left of it, and when it is whole again."""
    return [
        (b"ratelimit-limit", b"%d" % status.limit),
        (b"ratelimit-remaining", b"%d" % status.remaining),
        (b"ratelimit-reset", b"%d" % status.reset_seconds),
    ]
