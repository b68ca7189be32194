"""Conditions of a WHERE: only what is asked for, so that each combination of filters gets a plan of its own."""

from collections.abc import Sequence


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
