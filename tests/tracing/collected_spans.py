"""The real SDK with an exporter that keeps what it gets, in this process."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from malipo import tracing
from malipo.tracing.export import provider_of
from malipo.tracing.span_ids import SpanIds
from malipo.tracing.spans import Spans


@dataclass(frozen=True)
class Collected:
    exporter: InMemorySpanExporter

    def __call__(self, beginning: str = "") -> list[ReadableSpan]:
        """In the order of their ends."""
        return [each for each in self.exporter.get_finished_spans() if each.name.startswith(beginning)]

    def one(self, beginning: str) -> ReadableSpan:
        (found,) = self(beginning)
        return found

    def text(self) -> str:
        return "".join(each.to_json() for each in self())


@contextmanager
def collected_spans(ratio: float = 1.0) -> Iterator[Collected]:
    exporter = InMemorySpanExporter()
    span_ids = SpanIds()
    provider = provider_of("test", span_ids, ParentBased(TraceIdRatioBased(ratio)))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with tracing.switched_on(Spans.of(provider, span_ids)):
        yield Collected(exporter)


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def linked(span: ReadableSpan) -> set[int]:
    return {each.context.span_id for each in span.links}


def attributes(span: ReadableSpan) -> Mapping[str, object]:
    assert span.attributes is not None
    return span.attributes
