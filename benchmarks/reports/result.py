"""The result of a benchmark: as JSON for a program, as text for a person."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeVar

Run = TypeVar("Run")


@dataclass(frozen=True)
class Result:
    value: dict[str, Any]
    text: str
    failures: list[str] = field(default_factory=list)  # why the gate lets nothing through


def middle(runs: Sequence[Run], figure: Callable[[Run], Any]) -> float:
    """On a shared machine neighbours come and go, and the middle of the rounds bears that best."""
    return round(float(median(figure(run) for run in runs)), 2)


def changes(options: Any, *names: str) -> dict[str, Any]:
    """What was asked for on the command line; the plan knows the rest."""
    return {name: value for name in names if (value := getattr(options, name))}
