"""A figure without its proof is none: what create, hot-wallet, limits and start refuse to report."""

import math

import pytest

from benchmarks.demo import Memory
from benchmarks.load import CannotMeasure, Measured
from benchmarks.rate_limit_cost import OFF, ON, verify
from benchmarks.rate_limit_cost import Plan as LimitsPlan
from benchmarks.rate_limit_cost import Report as LimitsReport
from benchmarks.rate_limit_cost import Run as LimitsRun
from benchmarks.reports import rounds_report
from benchmarks.rounds import Loads, Plan, Report, Round, Run
from benchmarks.start import Soak

ANSWERS, CONNECTIONS = 1000, 64


def measured(per_second: float = 500.0) -> Measured:
    return Measured(ANSWERS, per_second, 1.0, 2.0, CONNECTIONS)


@pytest.mark.parametrize("made", [ANSWERS, ANSWERS + CONNECTIONS])
@pytest.mark.parametrize("half", [None, measured()])
def test_every_answer_is_a_row_and_those_that_were_cut_off_may_be(made: int, half: Measured | None) -> None:
    runs = 2 if half is None else 3
    Round.verify(Loads(measured(), measured(), half, 1.0), {"moves": 1}, {"moves": 1 + made * runs})


@pytest.mark.parametrize("made", [2 * ANSWERS - 1, 2 * (ANSWERS + CONNECTIONS) + 1])
def test_a_row_too_few_or_too_many_is_no_result(made: int) -> None:
    with pytest.raises(CannotMeasure, match=f"2000 payments were answered, and {made} rows are in moves"):
        Round.verify(Loads(measured(), measured(), None, 1.0), {"moves": 1}, {"moves": 1 + made})


def test_the_ratio_is_of_the_middle_rounds() -> None:
    runs = {
        "pgbench": [Run(measured(rate)) for rate in (100.0, 900.0, 1000.0)],
        "malipo": [Run(measured(rate), memory_mb=60, cpu_us=300) for rate in (1800.0, 10.0, 9999.0)],
    }
    reported = rounds_report.result_of("hot-wallet", Report(Plan(has_half=False), "18.0, fsync on", 1.0, runs))
    assert reported.value["ratios"] == {"vs_pgbench": 2.0}
    assert "malipo / pgbench       2.00" in reported.text
    assert [result["rounds"] for result in reported.value["results"]] == [
        [100.0, 900.0, 1000.0],
        [1800.0, 10.0, 9999.0],
    ]


@pytest.mark.parametrize(
    ("system", "made", "counted", "complaint"),
    [
        (ON, ANSWERS - 1, ANSWERS, "999 were made"),
        (ON, ANSWERS + CONNECTIONS + 1, ANSWERS, "1065 were made"),
        (ON, ANSWERS, ANSWERS - 1, "999 requests were counted"),
        (ON, ANSWERS, ANSWERS + CONNECTIONS + 1, "1065 requests were counted"),
        (OFF, ANSWERS, 1, "1 requests were counted without limits"),
    ],
)
def test_limits_that_do_not_count_each_request_are_not_measured(
    system: str, made: int, counted: int, complaint: str
) -> None:
    with pytest.raises(CannotMeasure, match=complaint):
        verify(system, measured(), made=made, counted=counted)


def test_limits_that_count_what_was_made_are_measured_and_so_are_none() -> None:
    verify(ON, measured(), made=ANSWERS + 3, counted=ANSWERS + 5)
    verify(OFF, measured(), made=ANSWERS, counted=0)


def test_what_limits_cost_is_compared_within_each_round() -> None:
    """The machine slows down to a third over the rounds, and that is none of the limits' doing."""
    slow = (1.0, 2.0, 3.0)
    runs = {
        OFF: [LimitsRun(measured(900 / each), 300 * each, 100 * each) for each in slow],
        ON: [LimitsRun(measured(810 / each), 330 * each, 120 * each) for each in slow],
    }
    ratios = LimitsReport(LimitsPlan(rounds=3), "18.0", 1.0, runs).ratios()
    assert [round(ratios[name], 6) for name in ("cpu", "per_second", "postgres_cpu")] == [1.1, 0.9, 1.2]


@pytest.mark.parametrize(
    ("sizes", "slope", "is_flat"),
    [
        ([50, 70, 80, 80, 80, 80, 80, 80], 0.0, True),
        ([80, 80, 80, 80, 81, 82, 83, 84], 1.0, False),
        ([80, 81], 1.0, False),
        ([80], 0.0, True),
    ],
)
def test_memory_grows_if_it_does_so_after_the_first_half(sizes: list[float], slope: float, is_flat: bool) -> None:
    soak = Soak(minutes={"api": [Memory(size, None) for size in sizes]})
    assert math.isclose(soak.slope("api"), slope, abs_tol=1e-9)
    assert soak.is_flat("api") is is_flat
