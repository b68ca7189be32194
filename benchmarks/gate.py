"""The performance gate (`--gate`): the expected ratios, and how far one may fall.

Ratios and not rates, because machines differ. Even a ratio moves on a machine that others share, so a fall counts only
when it is to less than half, twice in a row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.reports.result import Result

# As measured with --quick on a quiet machine with two cores. Whoever makes malipo faster may raise them.
EXPECTED: Mapping[str, Mapping[str, float]] = {
    "create": {"vs_pgbench": 1.7, "vs_conventional": 9.0},
    "hot-wallet": {"vs_pgbench": 2.2},
}
FLOOR = 0.5  # of what is expected

Say = Callable[[str], None]


@dataclass(frozen=True)
class Fall:
    """A ratio that is below its floor."""

    benchmark: str
    ratio: str
    figure: float

    def __str__(self) -> str:
        expected = EXPECTED[self.benchmark][self.ratio]
        peer = self.ratio.removeprefix("vs_")
        return (
            f"{self.benchmark}: malipo took {self.figure:.2f} times what {peer} did. "
            f"{expected:.2f} is expected, and less than {expected * FLOOR:.2f} is too little."
        )


def falls(benchmark: str, ratios: Mapping[str, float]) -> list[Fall]:
    """What is too low. A ratio that is expected and was not measured is a fall to nothing."""
    measured = {ratio: ratios.get(ratio, 0.0) for ratio in EXPECTED[benchmark]}
    return [
        Fall(benchmark, ratio, figure)
        for ratio, figure in measured.items()
        if not figure >= EXPECTED[benchmark][ratio] * FLOOR
    ]


def hold(benchmark: str, measure: Callable[[], Result], say: Say) -> tuple[Result, list[Fall]]:
    """What was told last, and what was too low in two measurements. If the first one is good there is no second."""
    told = measure()
    first = falls(benchmark, told.value["ratios"])
    if not first:
        return told, []
    for fall in first:
        say(f"{fall} Perhaps something else was running: once more ...")
    told = measure()
    low = {fall.ratio for fall in first}
    return told, [fall for fall in falls(benchmark, told.value["ratios"]) if fall.ratio in low]
