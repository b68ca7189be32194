"""Whether a statement adds up: opening + lines = closing, and each balance follows from the one before. Pure.

Files are newest first or oldest first, and do not say which. The balances do: they fit only one way. Everything here
is in cents, because balances follow from each other to the cent.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from malipo import clock, money
from malipo.network_statements.heading import Heading
from malipo.network_statements.statement_line import Line


@dataclass(frozen=True)
class Break:
    """Where the balances do not follow from each other."""

    row: int
    balance: int
    expected: int

    @property
    def words(self) -> str:
        return (
            f"Row {self.row} says that the balance is {_exact(self.balance)}; with the line before it, it would be "
            f"{_exact(self.expected)}: {_exact(abs(self.balance - self.expected))} are missing or too many."
        )


@dataclass
class _Direction:
    """The balances, read in one direction."""

    breaks: int = 0
    first: Break | None = None

    def note(self, row: int, balance: int, expected: int) -> None:
        if balance != expected:
            self.breaks += 1
            self.first = self.first or Break(row, balance, expected)


@dataclass
class Chain:
    """Takes the lines one by one, in the order of the file."""

    lines: int = 0
    money_in: int = 0
    money_out: int = 0
    begins: datetime | None = None  # the first and the last time of a line
    ends: datetime | None = None
    _is_balanced: bool = True  # every line so far has a balance
    _top: Line | None = None
    _bottom: Line | None = None
    _down: _Direction = field(default_factory=_Direction)  # oldest first
    _up: _Direction = field(default_factory=_Direction)  # newest first

    def add(self, line: Line) -> None:
        self.lines += 1
        amount = line.amount * 100 + line.cents
        if amount > 0:
            self.money_in += amount
        else:
            self.money_out -= amount
        before, self._bottom = self._bottom, line
        if before is None:
            self.begins = self.ends = line.at
            self._top = line
        else:
            self._widen(line.at)
        if line.balance is None:
            self._is_balanced = False
        elif before is not None and before.balance is not None:
            balance, balance_before = _balance(line), _balance(before)
            self._down.note(line.row, balance, balance_before + amount)
            self._up.note(before.row, balance_before, balance + before.amount * 100 + before.cents)

    def _widen(self, at: datetime) -> None:
        assert self.begins is not None
        assert self.ends is not None
        if at < self.begins:
            self.begins = at
        elif at > self.ends:
            self.ends = at

    @property
    def total(self) -> int:
        return self.money_in - self.money_out

    @property
    def has_balances(self) -> bool:
        return self.lines > 0 and self._is_balanced

    @property
    def is_newest_first(self) -> bool:
        if self._down.breaks != self._up.breaks:
            return self._up.breaks < self._down.breaks
        assert self._top is not None
        assert self._bottom is not None
        return self._top.at > self._bottom.at

    @property
    def opening(self) -> int | None:
        """Before the first line, as the balances say."""
        if not self.has_balances:
            return None
        oldest = self._bottom if self.is_newest_first else self._top
        assert oldest is not None
        return _balance(oldest) - oldest.amount * 100 - oldest.cents

    @property
    def closing(self) -> int | None:
        if not self.has_balances:
            return None
        newest = self._top if self.is_newest_first else self._bottom
        assert newest is not None
        return _balance(newest)

    @property
    def first_break(self) -> Break | None:
        return (self._up if self.is_newest_first else self._down).first if self.lines else None

    def problems(self, heading: Heading) -> list[str]:
        """What does not add up, in sentences. A file with any of these is not matched with anything."""
        found = []
        if self.has_balances and self.first_break is not None:
            found.append(self.first_break.words)
        for name, said, computed in (
            ("opens with", heading.opening, self.opening),
            ("closes with", heading.closing, self.closing),
        ):
            if said is not None and computed is not None and said != computed:
                found.append(f"The heading {name} {_exact(said)}, the lines with {_exact(computed)}.")
        if heading.opening is not None and heading.closing is not None:
            missing = heading.closing - heading.opening - self.total
            if missing and not found:
                found.append(
                    f"Opening {_exact(heading.opening)} and the lines "
                    f"({'+' if self.total > 0 else ''}{_exact(self.total)}) make "
                    f"{_exact(heading.opening + self.total)}, not the closing {_exact(heading.closing)}: "
                    f"{_exact(abs(missing))} differ."
                )
        return found

    def outside_of(self, heading: Heading) -> str | None:
        """Why a file does not have the time that its heading says, or one end of it; None if all lines are in it."""
        if self.begins is None or self.ends is None:
            return None
        begins, ends = heading.begins or self.begins, heading.ends_at(self.ends)
        assert ends is not None
        # "to 23:59" has the seconds of that minute too.
        last = ends + timedelta(seconds=59) if ends.minute == 59 and ends.second == 0 else ends
        if begins <= self.begins and self.ends <= last:
            return None
        said = [f"from {_moment(heading.begins)}"] if heading.begins else []
        said += [f"to {_moment(ends)}"] if heading.ends else []
        lines = f"from {_moment(self.begins)} to {_moment(self.ends)}"
        return f"It says that it is {' '.join(said)}, and its lines are {lines}."


def _moment(at: datetime) -> str:
    return f"{at.astimezone(clock.ZONE):%Y-%m-%d %H:%M:%S}"


def _balance(line: Line) -> int:
    assert line.balance is not None
    return line.balance * 100 + line.balance_cents


def _exact(cents: int) -> str:
    return money.exact(0, cents)
