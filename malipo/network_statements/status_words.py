"""Which words of a status column say that money moved, and which that it did not. What no layout knows is counted."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from malipo.errors import Code, Problem
from malipo.network_statements.profile import StatementProfile

_FIRST_ROWS = 5  # are shown for a word that is not known


class StatusProblem(Code):
    UNKNOWN = "status_unknown"
    EMPTY = "status_empty"


@dataclass
class UnknownWord:
    """A word of which the layout does not say what it means, as it stands in the file."""

    word: str
    count: int = 0
    rows: list[int] = field(default_factory=list)  # the first ones

    @property
    def problem(self) -> Problem:
        rows = ", ".join(str(row) for row in self.rows) + (", …" if self.count > len(self.rows) else "")
        if not self.word:
            return Problem(StatusProblem.EMPTY, count=self.count, rows=rows)
        return Problem(StatusProblem.UNKNOWN, word=self.word, count=self.count, rows=rows)


@dataclass
class Statuses:
    """The words in the status column of a file, as far as the file was read."""

    profile: StatementProfile
    failed: Counter[str] = field(default_factory=Counter)  # rows that moved nothing, and were passed over
    said: Counter[tuple[str, bool]] = field(default_factory=Counter)  # rows by words that operators said; moved, or not
    _unknown: dict[str, UnknownWord] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._moved = folded_words(self.profile.completed)
        self._not_moved = folded_words(self.profile.failed)
        self._said_by = self.profile.said_by.words

    def is_said(self, word: str) -> bool:
        """Whether operators said what it means."""
        return word.casefold() in self._said_by

    @property
    def unknown(self) -> list[UnknownWord]:
        """The most frequent first."""
        return sorted(self._unknown.values(), key=lambda each: (-each.count, each.word))

    def is_moved(self, word: str, row: int) -> bool:
        """Whether a row with this status counts. If not, it is noted why."""
        folded = word.casefold()
        is_moved, is_not_moved = folded in self._moved, folded in self._not_moved
        if folded in self._said_by and (is_moved or is_not_moved):
            self.said[word, is_moved] += 1
        if is_moved:
            return True
        if is_not_moved:
            self.failed[word] += 1
            return False
        unknown = self._unknown.setdefault(folded, UnknownWord(word))
        unknown.count += 1
        if len(unknown.rows) < _FIRST_ROWS:
            unknown.rows.append(row)
        return False


def folded_words(words: Iterable[str]) -> set[str]:
    return {each.strip().casefold() for each in words}
