"""The spans of malipo: a request, a commit, a call to a network, a delivery of a webhook.

No phone number, name, amount, path, address or secret is ever in one: only ids, routes, codes and counts.
"""

import re
from collections.abc import Iterable

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import Sampler
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, Tracer
from opentelemetry.util.types import AttributeValue

from malipo import __version__
from malipo.tracing.context import LazySpan, RequestSpan, under_way
from malipo.tracing.payment_trace import trace_id_of
from malipo.tracing.span_factory import SpanFactory
from malipo.tracing.span_ids import SpanIds

# W3C Trace Context. Later versions may have more behind it; version ff is none.
_TRACEPARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")


class Spans:
    def __init__(self, tracer: Tracer, sampler: Sampler, span_ids: SpanIds) -> None:
        self._factory = SpanFactory(tracer, sampler, span_ids)

    @classmethod
    def of(cls, provider: TracerProvider, span_ids: SpanIds) -> "Spans":
        return cls(provider.get_tracer("malipo", __version__), provider.sampler, span_ids)

    # Requests

    def begin_request(self, request_id: str, traceparent: bytes | None) -> None:
        parent = None if traceparent is None else parent_in(traceparent)
        under_way.set(RequestSpan(self._factory, request_id, parent))

    def enter_payment(self, transaction_id: str) -> None:
        """This request is about to create this payment."""
        if isinstance(work := under_way.get(), RequestSpan):
            work.enter_payment(transaction_id)

    def note_transaction(self, transaction_id: str, *, is_new: bool) -> None:
        """This request is about this transaction, or has just created it."""
        if isinstance(work := under_way.get(), RequestSpan):
            work.note_transaction(transaction_id, is_new=is_new)

    def note_callback(self, transaction_id: str, connector: str, verdict: str) -> None:
        if isinstance(work := under_way.get(), RequestSpan):
            work.note_callback(transaction_id, connector, verdict)

    def end_request(
        self, method: str, route: str, status: int | None, scheme: str, merchant_id: str | None = None
    ) -> None:
        if isinstance(work := under_way.get(), RequestSpan):
            work.answered(method, route, status, scheme, merchant_id)

    # Work of the worker, each in a task of its own

    def begin_call(self, transaction_id: str, *, connector: str, channel: str, type_: str, act: str) -> None:
        self._begin(
            f"{act} {connector}",
            transaction_id,
            {"malipo.connector": connector, "malipo.channel": channel, "malipo.type": type_, "malipo.act": act},
        )

    def end_call(self, *, verdict: str, code: str, is_fault: bool) -> None:
        """An answer came. It is recorded under the same span, which is sent after that."""
        if (work := under_way.get()) is not None:
            work.note({"malipo.verdict": verdict, "malipo.code": code}, is_error=is_fault)
            work.stop_clock()

    def begin_delivery(self, transaction_id: str | None, *, endpoint_id: str, event_id: str, event: str) -> None:
        self._begin(
            f"deliver {event}",
            transaction_id,
            {"malipo.endpoint.id": endpoint_id, "malipo.event.id": event_id, "malipo.event": event},
        )

    def end_delivery(self, attempt_id: str, status: int | None, *, is_success: bool) -> None:
        if (work := under_way.get()) is not None:
            result: dict[str, AttributeValue] = {} if status is None else {"http.response.status_code": status}
            work.note({"malipo.attempt.id": attempt_id} | result, is_error=not is_success)
            work.stop_clock()

    def note_attempt(self, number: int) -> None:
        """Known when it is recorded: 1 is the first."""
        if (work := under_way.get()) is not None:
            work.note({"malipo.attempt.number": number})

    def end(self) -> None:
        """The work of this task is done, and recorded."""
        if (work := under_way.get()) is not None:
            work.end()
            under_way.set(None)

    # Commits

    @staticmethod
    def work() -> LazySpan | None:
        """The span of the caller, which a group commit is linked with."""
        return under_way.get()

    @staticmethod
    def leave_work() -> None:
        """This task was begun by one of many, and works for all of them."""
        under_way.set(None)

    def commit(
        self, group: str, shared_by: Iterable[LazySpan | None], *, callers: int, began: int, error: BaseException | None
    ) -> None:
        """A commit, if one of those who share it is kept: under the first of them, and linked with all, both ways."""
        kept = [each for each in shared_by if each is not None and each.context.trace_flags.sampled]
        if not kept:
            return
        attributes: dict[str, AttributeValue] = {
            "db.system.name": "postgresql",
            "malipo.group": group,
            "malipo.callers": callers,
        }
        span = self._factory.begin(
            f"commit {group}",
            SpanKind.CLIENT,
            kept[0].context,
            began=began,
            attributes=attributes,
            links=[Link(each.context) for each in kept],
        )
        if error is not None:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
        for each in kept:
            each.link(span.get_span_context())
        span.end()

    # The log

    @staticmethod
    def trace_id_for(transaction_id: object) -> str | None:
        """The id of the trace of the work under way; else of the payment that a line is about."""
        if (work := under_way.get()) is not None:
            return f"{work.context.trace_id:032x}"
        return trace_id_of(transaction_id) if isinstance(transaction_id, str) else None

    def _begin(self, name: str, transaction_id: str | None, attributes: dict[str, AttributeValue]) -> None:
        parent = None
        if transaction_id is not None:
            parent = self._factory.first_span_of(transaction_id)
            attributes["malipo.transaction.id"] = transaction_id
        under_way.set(LazySpan(self._factory, name, SpanKind.CLIENT, parent, **attributes))


def parent_in(traceparent: bytes) -> SpanContext | None:
    """The caller's span. An invalid header is ignored, as the standard requires."""
    found = _TRACEPARENT.fullmatch(traceparent)
    if found is None or (traceparent.startswith(b"00") and len(traceparent) != 55):
        return None
    flags = TraceFlags(int(found[3], 16) & TraceFlags.SAMPLED)
    context = SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=flags)
    return context if context.is_valid else None
