"""The spans under way: of a request, of a call to a network, of a delivery. Each task has its span in its context."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar

from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from malipo import clock
from malipo.tracing.payment_trace import ids_of
from malipo.tracing.span_factory import SpanFactory

# Asked by machines all the time, and never of interest.
_NOT_TRACED = frozenset(("/healthz", "/readyz", "/metrics"))
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"))
_SERVER_ERROR = 500


class LazySpan:
    """A span that is begun when somebody needs it, and not before: until then it may still choose its trace."""

    __slots__ = ("_attributes", "_began", "_ended", "_factory", "_kind", "_name", "_parent", "_span")

    def __init__(
        self, factory: SpanFactory, name: str, kind: SpanKind, parent: SpanContext | None, **attributes: AttributeValue
    ) -> None:
        self._factory = factory
        self._name = name
        self._kind = kind
        self._parent = parent
        self._attributes = attributes
        self._began = clock.nanoseconds()
        self._ended: int | None = None
        self._span: Span | None = None

    @property
    def span(self) -> Span:
        if self._span is None:
            self._span = self._factory.begin(
                self._name, self._kind, self._parent, began=self._began, attributes=self._attributes
            )
        return self._span

    @property
    def context(self) -> SpanContext:
        return self.span.get_span_context()

    def link(self, other: SpanContext) -> None:
        if self.span.is_recording():
            self.span.add_link(other)

    def note(self, attributes: Mapping[str, AttributeValue], *, is_error: bool = False) -> None:
        """What became of it."""
        self.span.set_attributes(attributes)
        if is_error:
            self.span.set_status(Status(StatusCode.ERROR))

    def stop_clock(self) -> None:
        """It ends now, but is still to be linked with the commit that records it."""
        self._ended = clock.nanoseconds()

    def end(self) -> None:
        self.span.end(self._ended)


class RequestSpan(LazySpan):
    """A request. Without a trace of its caller's it is the first span of the trace of the payment that it creates."""

    __slots__ = ("_entered",)

    def __init__(self, factory: SpanFactory, request_id: str, parent: SpanContext | None) -> None:
        super().__init__(factory, "request", SpanKind.SERVER, parent, **{"malipo.request.id": request_id})
        self._entered: str | None = None  # the payment whose trace this is the first span of

    def enter_payment(self, transaction_id: str) -> None:
        if self._span is not None or self._parent is not None:
            return
        self._entered = transaction_id
        first = self._factory.first_span_of(transaction_id)
        if first.trace_flags.sampled:
            self._span = self._begin_first(transaction_id, self._name, self._kind, self._attributes)
        else:
            self._span = NonRecordingSpan(first)  # As the sampler would have it, at a third of the cost.

    def note_transaction(self, transaction_id: str, *, is_new: bool) -> None:
        if self.span.is_recording():
            self.span.set_attribute("malipo.transaction.id", transaction_id)
        if transaction_id == self._entered:
            return
        if is_new:
            # Its caller has a trace. The payment gets its own all the same: workers know no other.
            links = [Link(self.context)]
            self._begin_first(transaction_id, "payment", SpanKind.INTERNAL, self._attributes, links).end()
        if self.span.is_recording():
            self.span.add_link(self._factory.first_span_of(transaction_id))

    def _begin_first(
        self,
        transaction_id: str,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, AttributeValue],
        links: Sequence[Link] = (),
    ) -> Span:
        self._factory.choose_ids(ids_of(transaction_id))
        named = {**attributes, "malipo.transaction.id": transaction_id}
        return self._factory.begin(name, kind, None, began=self._began, attributes=named, links=links)

    def note_callback(self, transaction_id: str, connector: str, verdict: str) -> None:
        """Note a callback in the payment's trace, for as long as the request took until now."""
        first = self._factory.first_span_of(transaction_id)
        attributes: dict[str, AttributeValue] = {"malipo.connector": connector, "malipo.verdict": verdict}
        span = self._factory.begin(
            f"callback {connector}",
            SpanKind.INTERNAL,
            first,
            began=self._began,
            attributes=attributes,
            links=[Link(self.context)],
        )
        self.link(span.get_span_context())
        span.end()

    def answered(self, method: str, route: str, status: int | None, scheme: str, merchant_id: str | None) -> None:
        """Note an answer by HTTP's semantic conventions; but never its path, which can hold a secret or a number."""
        if self._span is None and route in _NOT_TRACED:
            under_way.set(None)
            return
        span = self.span
        if not span.is_recording():
            return
        known_method = method if method in _METHODS else "_OTHER"
        span.update_name(f"{'HTTP' if known_method == '_OTHER' else known_method} {route}")
        span.set_attribute("http.request.method", known_method)
        span.set_attribute("http.route", route)
        span.set_attribute("url.scheme", scheme)
        if merchant_id is not None:
            span.set_attribute("malipo.merchant.id", merchant_id)
        if status is not None:
            span.set_attribute("http.response.status_code", status)
        if status is None or status >= _SERVER_ERROR:
            span.set_attribute("error.type", str(status or "unanswered"))
            span.set_status(Status(StatusCode.ERROR))
        span.end()


under_way: ContextVar[LazySpan | None] = ContextVar("work", default=None)
