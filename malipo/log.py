"""JSON lines on standard error: an event, its ids as fields, the request it belongs to.

Redaction: phone numbers are masked here, in the finished line, so that no library's error message can leak one.
Secrets are never handed to this file.
"""

import asyncio
import atexit
import logging
import sys
import traceback
from contextvars import ContextVar
from typing import ClassVar, TextIO

import msgspec

from malipo import clock, phone

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_encode = msgspec.json.Encoder(enc_hook=str).encode


class _Output:
    stream: TextIO = sys.stderr
    threshold: int = _LEVELS["info"]
    lines: ClassVar[list[str]] = []  # not written yet


def configure(*, level: str, stream: TextIO) -> None:
    """Set the output, and take over what the libraries log, so that all lines have one format."""
    _Output.stream = stream
    _Output.threshold = _LEVELS[level]
    logging.basicConfig(handlers=[_FromLibraries()], level=max(_Output.threshold, logging.WARNING), force=True)


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
    request = request_id.get()
    if request is not None:
        line["request"] = request
    line |= fields
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
