"""Traces: where the rest of malipo finds them.

Without traces, `active` is None, and nothing of OpenTelemetry is imported. Code that traces asks `if tracing.active is
not None`, which is all that it costs while traces are off. `spans.py` defines the spans and their attributes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from malipo import log
from malipo.errors import Impossible

if TYPE_CHECKING:
    from malipo.tracing.spans import Spans

active: Spans | None = None


class CannotTrace(Impossible):
    """Traces are switched on, and cannot be had."""


@contextmanager
def running(*, is_on: bool, process: str) -> Iterator[None]:
    """Traces of this process, if they are switched on, until the block ends."""
    if not is_on or not _is_wanted():
        yield
        return
    try:
        from malipo.tracing import export
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise CannotTrace(
            "MALIPO_TRACES needs OpenTelemetry, and it is not installed: see docs/operating/tracing.md."
        ) from None
    with export.exporting(process) as spans, switched_on(spans):
        yield


@contextmanager
def switched_on(spans: Spans) -> Iterator[None]:
    """One for each process, like its log."""
    global active
    active = spans
    log.name_traces_by(spans.trace_id_for)
    try:
        yield
    finally:
        active = None
        log.name_traces_by(None)


def _is_wanted() -> bool:
    """What the standard variables say. One that asks for what we have not is refused, and never silently ignored."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    if exporter not in ("otlp", "none"):
        raise CannotTrace(f"OTEL_TRACES_EXPORTER must be otlp or none; it is {exporter!r}.")
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if protocol := os.environ.get(name, "").strip():
            if protocol != "http/protobuf":
                raise CannotTrace(f"{name} must be http/protobuf; it is {protocol!r}.")
            break
    return exporter == "otlp"
