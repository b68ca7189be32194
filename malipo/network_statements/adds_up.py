"""Whether a statement adds up: opening + lines = closing, and each balance follows from the one before. Pure.

Files are newest first or oldest first, and do not say which. The balances do: they fit only one way. Everything here
is in cents, because balances follow from each other to the cent.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from malipo import clock, money
from malipo.errors import Code, Problem
from malipo.network_statements.heading import StatementHeading
from malipo.network_statements.statement_line import StatementLine


class ChainProblem(Code):
    """Why a statement does not add up. The values are text, as they are stored with the file."""

    BALANCE = "statement_balance"
    OPENING = "statement_opening"
    CLOSING = "statement_closing"
    SUM = "statement_sum"
    OUTSIDE = "statement_lines_outside"  # of the time that the heading says
    BEFORE = "statement_lines_before"  # the heading says only when it begins
    AFTER = "statement_lines_after"  # or only when it ends


@dataclass(frozen=True)
class Break:
    """Where the balances do not follow from each other."""

    row: int
    balance: int
    expected: int

    @property
    def problem(self) -> Problem:
        return Problem(
            ChainProblem.BALANCE,
            row=str(self.row),
            balance=_exact(self.balance),
            expected=_exact(self.expected),
            missing=_exact(abs(self.balance - self.expected)),
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
    _top: StatementLine | None = None
    _bottom: StatementLine | None = None
    _down: _Direction = field(default_factory=_Direction)  # oldest first
    _up: _Direction = field(default_factory=_Direction)  # newest first

    def add(self, line: StatementLine) -> None:
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

    def problems(self, heading: StatementHeading) -> list[Problem]:
        """Where the balances do not add up. No line of a file with such a problem is matched."""
        found = []
        if self.has_balances and self.first_break is not None:
            found.append(self.first_break.problem)
        for code, stated, computed in (
            (ChainProblem.OPENING, heading.opening, self.opening),
            (ChainProblem.CLOSING, heading.closing, self.closing),
        ):
            if stated is not None and computed is not None and stated != computed:
                found.append(Problem(code, said=_exact(stated), computed=_exact(computed)))
        if heading.opening is not None and heading.closing is not None:
            missing = heading.closing - heading.opening - self.total
            if missing and not found:
                found.append(
                    Problem(
                        ChainProblem.SUM,
                        opening=_exact(heading.opening),
                        total=f"{'+' if self.total > 0 else ''}{_exact(self.total)}",
                        sum=_exact(heading.opening + self.total),
                        closing=_exact(heading.closing),
                        missing=_exact(abs(missing)),
                    )
                )
        return found

    def outside_of(self, heading: StatementHeading) -> Problem | None:
        """Why a file does not have the time that its heading says, or one end of it; None if all lines are in it."""
        if self.begins is None or self.ends is None:
            return None
        begins, ends = heading.begins or self.begins, heading.ends_at(self.ends)
        assert ends is not None
        # "to 23:59" has the seconds of that minute too.
        last = ends + timedelta(seconds=59) if ends.minute == 59 and ends.second == 0 else ends
        if begins <= self.begins and self.ends <= last:
            return None
        lines = {"begins": clock.local(self.begins), "ends": clock.local(self.ends)}
        if heading.ends is None:
            return Problem(ChainProblem.BEFORE, first=clock.local(begins), **lines)
        if heading.begins is None:
            return Problem(ChainProblem.AFTER, last=clock.local(ends), **lines)
        return Problem(ChainProblem.OUTSIDE, first=clock.local(begins), last=clock.local(ends), **lines)


def _balance(line: StatementLine) -> int:
    assert line.balance is not None
    return line.balance * 100 + line.balance_cents


def _exact(cents: int) -> str:
    return money.exact(0, cents)
