"""A range of keys: the rows that a statement reads when a large table is read in pieces. Pure."""

from typing import Any, NamedTuple


class KeyRange(NamedTuple):
    """The keys after one key, up to another one; both are values of the first columns. None is an open end."""

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
