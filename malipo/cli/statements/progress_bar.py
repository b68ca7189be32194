"""How far a long command is, on one line of the terminal. Nothing where nobody looks: in a pipe, or with --json."""

from types import TracebackType
from typing import Self, TextIO

from malipo import clock

_WIDTH = 30
_SECONDS = 0.2  # between two pictures
_CLEARED_LINE = "\r\x1b[K"


class ProgressBar:
    def __init__(self, stream: TextIO, noun: str, *, total: int | None, is_quiet: bool) -> None:
        self._stream = stream
        self._noun = noun
        self._total = total  # None: not known
        self._is_shown = stream.isatty() and not is_quiet
        self._began = clock.monotonic()
        self._shown_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The line is free again for what the command says."""
        if self._shown_at:
            print(_CLEARED_LINE, end="", file=self._stream, flush=True)

    def show(self, done: int) -> None:
        now = clock.monotonic()
        if not self._is_shown or now - self._shown_at < _SECONDS:
            return
        self._shown_at = now
        line = picture(done, self._total, self._noun, per_second=done / max(now - self._began, 0.001))
        print(f"{_CLEARED_LINE}{line}", end="", file=self._stream, flush=True)


def picture(done: int, total: int | None, noun: str, *, per_second: float) -> str:
    """`[###...]  10%  100,000 of 1,000,000 lines, 20,000 a second`."""
    if not total:
        return f"{done:,} {noun}, {per_second:,.0f} a second"
    share = min(done / total, 1)
    filled = int(share * _WIDTH)
    bar = "#" * filled + "." * (_WIDTH - filled)
    return f"[{bar}] {share:4.0%}  {done:,} of {total:,} {noun}, {per_second:,.0f} a second"
