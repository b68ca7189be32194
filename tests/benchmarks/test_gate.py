"""`bench --gate` fails when a ratio has fallen to less than half, and not because a neighbour was busy once."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks import gate
from benchmarks.__main__ import BENCHMARKS, main, measure, parse
from benchmarks.reports.result import Result

GOOD = dict(gate.EXPECTED["create"])
LOW = GOOD | {"vs_pgbench": GOOD["vs_pgbench"] * 0.49}
OTHERWISE_LOW = GOOD | {"vs_conventional": GOOD["vs_conventional"] * 0.49}


class Measurements:
    """One after the other; whoever asks for more than there are has measured too often."""

    HELP = "what a benchmark is for"
    ABOUT = "more about it"

    def __init__(self, *ratios: dict[str, float]) -> None:
        self._told: Iterator[Result] = (Result({"name": "create", "ratios": each}, "a table") for each in ratios)
        self.said: list[str] = []

    def run(self, options: Any, say: Any) -> Result:
        return next(self._told)

    def fallen(self) -> list[str]:
        _, falls = gate.hold("create", lambda: self.run(None, None), self.said.append)
        assert not list(self._told), "each of them is needed for the decision"
        return [fall.ratio for fall in falls]


@pytest.mark.parametrize("share", [0.5, 0.51, 1.0, 7.0])
def test_half_of_what_is_expected_is_enough(share: float) -> None:
    assert gate.falls("create", {ratio: figure * share for ratio, figure in GOOD.items()}) == []


@pytest.mark.parametrize("share", [0.4999, 0.0, float("nan")])
def test_less_than_half_is_too_little(share: float) -> None:
    ratios = GOOD | {"vs_pgbench": GOOD["vs_pgbench"] * share}
    assert [fall.ratio for fall in gate.falls("create", ratios)] == ["vs_pgbench"]


def test_a_ratio_that_was_not_measured_is_a_fall() -> None:
    assert [fall.ratio for fall in gate.falls("create", {"vs_pgbench": 100.0})] == ["vs_conventional"]


def test_a_good_measurement_is_enough() -> None:
    assert Measurements(GOOD).fallen() == []


def test_a_low_ratio_is_measured_once_more_and_the_reason_is_said() -> None:
    measurements = Measurements(LOW, GOOD)
    assert measurements.fallen() == []
    expected = GOOD["vs_pgbench"]
    assert measurements.said == [
        f"create: malipo took {expected * 0.49:.2f} times what pgbench did. {expected:.2f} is expected, and less than "
        f"{expected / 2:.2f} is too little. Perhaps something else was running: once more ..."
    ]


def test_a_ratio_that_is_low_each_time_has_fallen() -> None:
    assert Measurements(*[LOW] * gate.MEASUREMENTS).fallen() == ["vs_pgbench"]


def test_a_ratio_that_is_good_the_last_time_has_not_fallen() -> None:
    assert Measurements(*[LOW] * (gate.MEASUREMENTS - 1), GOOD).fallen() == []


def test_of_two_ratios_the_one_that_is_low_each_time_has_fallen() -> None:
    both = LOW | {"vs_conventional": OTHERWISE_LOW["vs_conventional"]}
    assert Measurements(both, *[LOW] * (gate.MEASUREMENTS - 1)).fallen() == ["vs_pgbench"]


def test_two_ratios_that_were_low_once_each_have_not_fallen() -> None:
    assert Measurements(LOW, OTHERWISE_LOW).fallen() == []


@pytest.mark.parametrize(
    ("arguments", "ratios", "code"),
    [(["--gate"], [LOW] * gate.MEASUREMENTS, 1), (["--gate"], [LOW, GOOD], 0), (["--gate"], [GOOD], 0), ([], [LOW], 0)],
)
def test_only_a_fall_at_the_gate_fails_the_command(
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    ratios: list[dict[str, float]],
    code: int,
) -> None:
    assert measure(parse(["create", *arguments]), {"create": Measurements(*ratios)}) == code
    printed = capsys.readouterr()
    assert printed.out == "a table\n"
    assert ("So it was each time" in printed.err) == (code == 1)


def test_the_gate_is_for_what_has_an_expectation(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--gate", "create", "pages"])
    assert "--gate has no expectation of pages, only of create and hot-wallet" in capsys.readouterr().err


def test_without_a_name_the_benchmarks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed and benchmark.HELP in listed for name, benchmark in BENCHMARKS.items())


def test_a_name_that_is_none_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["creat"])
    assert "there is no benchmark 'creat', only create, hot-wallet" in capsys.readouterr().err
