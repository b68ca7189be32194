"""Sends spans to an OTLP collector over HTTP, in a thread of its own and from a queue that is bounded.

A collector that is away, slow or broken costs spans, and never a payment: what does not fit into the queue is dropped.
Address, sampling and limits are OpenTelemetry's own variables, `OTEL_…`.
"""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import Sampler

from malipo import __version__, clock
from malipo.tracing.span_ids import SpanIds
from malipo.tracing.spans import Spans

# At the end the queue is sent, if the collector accepts it in this time. A stop must not wait for a collector that
# hangs.
_STOP_SECONDS = 2.0
# A collector that is away is reported so often, and not at each of its many retries.
_REPORT_SECONDS = 60.0


@contextmanager
def exporting(process: str) -> Iterator[Spans]:
    span_ids = SpanIds()
    provider = provider_of(process, span_ids)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    for name in ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.sdk._shared_internal"):
        logging.getLogger(name).addFilter(_Rarely())
    try:
        yield Spans.of(provider, span_ids)
    finally:
        stopping = threading.Thread(target=provider.shutdown, daemon=True)
        stopping.start()
        stopping.join(_STOP_SECONDS)


class _Rarely(logging.Filter):
    """Lets one record of a logger through in a while."""

    def __init__(self) -> None:
        super().__init__()
        self._next_at = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        now = clock.monotonic()
        if now < self._next_at:
            return False
        self._next_at = now + _REPORT_SECONDS
        return True


def provider_of(process: str, span_ids: SpanIds, sampler: Sampler | None = None) -> TracerProvider:
    """Without a sampler, the one that OTEL_TRACES_SAMPLER names; without that, all are kept that their caller keeps."""
    resource = {
        SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", "malipo"),
        SERVICE_VERSION: __version__,
        "malipo.process": process,
    }
    return TracerProvider(sampler, Resource.create(resource), shutdown_on_exit=False, id_generator=span_ids)
