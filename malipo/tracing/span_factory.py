"""Begins spans, and knows the first span of every payment's trace."""

from collections.abc import Mapping, Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import Decision, Sampler
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    Tracer,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

from malipo.tracing.payment_trace import ids_of
from malipo.tracing.span_ids import SpanIds

_NO_PARENT = Context()


class SpanFactory:
    def __init__(self, tracer: Tracer, sampler: Sampler, span_ids: SpanIds) -> None:
        self._tracer = tracer
        self._sampler = sampler
        self._span_ids = span_ids

    def begin(
        self,
        name: str,
        kind: SpanKind,
        parent: SpanContext | None,
        *,
        began: int,
        attributes: Mapping[str, AttributeValue] | None = None,
        links: Sequence[Link] = (),
    ) -> Span:
        context = _NO_PARENT if parent is None else set_span_in_context(NonRecordingSpan(parent), _NO_PARENT)
        return self._tracer.start_span(name, context, kind, attributes, links, start_time=began)

    def choose_ids(self, ids: tuple[int, int]) -> None:
        """Choose the ids of the span that is begun next, which must be at once."""
        self._span_ids.chosen = ids

    def first_span_of(self, transaction_id: str) -> SpanContext:
        """Whether its trace is kept follows from the ids alone, so every process decides the same."""
        trace_id, span_id = ids_of(transaction_id)
        is_kept = self._sampler.should_sample(_NO_PARENT, trace_id, "payment").decision is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if is_kept else TraceFlags.DEFAULT)
        return SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)
