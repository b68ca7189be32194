"""JSON lines on standard error: an event, its ids as fields, and the request, payment and trace that it belongs to.

Redaction: phone numbers are masked here, in the finished line, so that no library's error message can leak one.
Secrets are never handed to this file.
"""

import asyncio
import atexit
import logging
import sys
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from typing import ClassVar, TextIO

import msgspec

from malipo import clock, phone

# Fields of every line that this task writes, and the tasks that it begins. They see what is added later, too.
_bound: ContextVar[dict[str, str] | None] = ContextVar("bound", default=None)

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_encode = msgspec.json.Encoder(enc_hook=str).encode


class _Output:
    stream: TextIO = sys.stderr
    threshold: int = _LEVELS["info"]
    lines: ClassVar[list[str]] = []  # not written yet
    trace_id_for: Callable[[object], str | None] | None = None  # of a line about this transaction, if there are traces


def configure(*, level: str, stream: TextIO) -> None:
    """Set the output, and take over what the libraries log, so that all lines have one format."""
    _Output.stream = stream
    _Output.threshold = _LEVELS[level]
    logging.basicConfig(handlers=[_FromLibraries()], level=max(_Output.threshold, logging.WARNING), force=True)


def name_traces_by(trace_id_for: Callable[[object], str | None] | None) -> None:
    """From here on each line has the id of its trace, if it has one. None: no line has."""
    _Output.trace_id_for = trace_id_for


def bind(**fields: str) -> None:
    """From here on every line of this task has these fields, and none that were bound before."""
    _bound.set(fields)


def add(**fields: str) -> None:
    """Beside those that are bound."""
    bound = _bound.get()
    if bound is None:
        _bound.set(fields)
    else:
        bound.update(fields)


def debug(event: str, **fields: object) -> None:
    _write("debug", event, fields)


def info(event: str, **fields: object) -> None:
    _write("info", event, fields)


def warning(event: str, **fields: object) -> None:
    _write("warning", event, fields)


def error(event: str, exception: BaseException | None = None, **fields: object) -> None:
    if exception is not None:
        fields["error"] = f"{type(exception).__name__}: {exception}"
        fields["trace"] = "".join(traceback.format_exception(exception))
    _write("error", event, fields)


def _write(level: str, event: str, fields: dict[str, object]) -> None:
    if _LEVELS[level] < _Output.threshold:
        return
    line: dict[str, object] = {"at": clock.iso(clock.now()), "level": level, "event": event}
    bound = _bound.get()
    if bound is not None:
        line |= bound
    line |= fields
    if _Output.trace_id_for is not None and (trace_id := _Output.trace_id_for(line.get("transaction"))):
        line["trace_id"] = trace_id
    _Output.lines.append(phone.mask_all(_encode(line).decode(errors="replace")) + "\n")
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        flush()
    else:
        # All lines of this turn of the event loop share one write.
        if len(_Output.lines) == 1:
            loop.call_soon(flush)


def flush() -> None:
    lines, _Output.lines = _Output.lines, []
    if lines:
        _Output.stream.write("".join(lines))
        _Output.stream.flush()


atexit.register(flush)


class _FromLibraries(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else "warning"
        fields: dict[str, object] = {"logger": record.name, "message": record.getMessage()}
        if record.exc_info and record.exc_info[1]:
            fields["trace"] = "".join(traceback.format_exception(record.exc_info[1]))
        _write(level, "library", fields)
