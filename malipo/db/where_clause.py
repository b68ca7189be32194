"""Conditions of a WHERE: only what is asked for, so that each combination of filters gets a plan of its own."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Conditions:
    def __init__(self, condition: str, value: object, *, after: Sequence[object] = ()) -> None:
        """It always begins with whose rows these are. `after` are the values that come first in the same statement."""
        self.values = [*after]
        self._conditions: list[str] = []
        self.add(condition, value)

    def add(self, condition: str, value: object | None) -> None:
        """A condition with `{}` where its value stands; without a value, none. Conditions are constants of the code."""
        if value is not None:
            self.values.append(value)
            self._conditions.append(condition.format(f"${len(self.values)}"))

    def __str__(self) -> str:
        return " AND ".join(self._conditions)


# A range of keys: which rows a statement reads, when a large table is read in pieces. Pure.


class KeyRange(NamedTuple):
    """After one key, up to another one; both are values of a key's first columns. Without one there is no such end."""

    after: tuple[Any, ...] = ()
    last: tuple[Any, ...] = ()

    def holds(self, *columns: str) -> str:
        """The condition that a key in these columns is in the range. Its parameters are `values`."""
        first = len(self.after)
        ends = [_compared(columns, ">", self.after, before=0), _compared(columns, "<=", self.last, before=first)]
        return " AND ".join(filter(None, ends)) or "true"

    def touches(self, column: str) -> str:
        """The condition that the range can hold a key that begins with this column."""
        ends = [
            f"{column} >= $1" if self.after else "",
            f"{column} <= ${len(self.after) + 1}" if self.last else "",
        ]
        return " AND ".join(filter(None, ends)) or "true"

    @property
    def values(self) -> tuple[Any, ...]:
        return (*self.after, *self.last)


EVERYTHING = KeyRange()


def _compared(columns: tuple[str, ...], how: str, key: tuple[Any, ...], *, before: int) -> str:
    parameters = ", ".join(f"${before + place}" for place in range(1, len(key) + 1))
    return f"({', '.join(columns[: len(key)])}) {how} ({parameters})" if key else ""
