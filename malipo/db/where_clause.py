"""Conditions of a WHERE: only for the given filters, so that each combination of filters gets a plan of its own."""

from collections.abc import Sequence


class Conditions:
    def __init__(self, condition: str, value: object, *, after: Sequence[object] = ()) -> None:
        """Begin with the condition on the owner of the rows. `after` are the values that come first in the
        statement."""
        self.values = [*after]
        self._conditions: list[str] = []
        self.add(condition, value)

    def add(self, condition: str, value: object | None) -> None:
        """Add a condition, with `{}` in place of its value; nothing if the value is None. Conditions are constants."""
        if value is not None:
            self.values.append(value)
            self._conditions.append(condition.format(f"${len(self.values)}"))

    def __str__(self) -> str:
        return " AND ".join(self._conditions)
