"""The performance gate (`--gate`): the expected ratios, and how far one may fall.

Ratios and not rates, because machines differ. Even a ratio moves on a machine that others share, so a fall counts only
when it is to less than half, in each of four measurements.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.reports.result import Result

# As measured with --quick on two cores (x86_64), with the databases in memory. malipo is least ahead there, because
# it shares commits, and those cost little in memory. On a disk, and on other processors, the ratios are up to twice as
# high. Whoever makes malipo faster may raise them.
EXPECTED: Mapping[str, Mapping[str, float]] = {
    "create": {"vs_pgbench": 0.85, "vs_conventional": 7.0},
    "hot-wallet": {"vs_pgbench": 1.1},
}
FLOOR = 0.5  # of what is expected
MEASUREMENTS = 4  # in which a ratio must be too low

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
    """What was told last, and what was too low in every measurement. The first one without a fall is the last."""
    told = measure()
    low = falls(benchmark, told.value["ratios"])
    for _ in range(MEASUREMENTS - 1):
        if not low:
            break
        for fall in low:
            say(f"{fall} Perhaps something else was running: once more ...")
        told = measure()
        before = {fall.ratio for fall in low}
        low = [fall for fall in falls(benchmark, told.value["ratios"]) if fall.ratio in before]
    return told, low
