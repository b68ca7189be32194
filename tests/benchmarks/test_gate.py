"""`bench compare --gate` fails when a part of a payment costs a tenth more, and not because the machine was slow once."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compare
from benchmarks.__main__ import BENCHMARKS, main, measure, parse
from benchmarks.compare import Report
from benchmarks.reports.result import Result

COSTS = {
    "create": {"api": 240.0, "postgresql": 180.0},
    "journey": {"api": 1000.0, "worker": 1100.0, "postgresql": 1300.0},
}


def times(ratio: float, load: str, part: str) -> dict[str, dict[str, float]]:
    """What a payment costs if one part of it costs so much more."""
    return COSTS | {load: COSTS[load] | {part: COSTS[load][part] * ratio}}


def report(*ours: Any) -> Report:
    return Report("abc", ours=list(ours), theirs=[COSTS] * len(ours))


GOOD = report(COSTS)
DEAR = report(times(1.2, "create", "api"))
DEAR_ELSEWHERE = report(times(1.2, "journey", "worker"))


def held(*reports: Report) -> list[tuple[str, str]]:
    """What the gate stops when it measures these, one after the other; each of them must be needed."""
    left: Iterator[Report] = iter(reports)
    _, grown = compare.hold(lambda: next(left), lambda line: None)
    assert not list(left), "it measured too little"
    return [(each.load, each.part) for each in grown]


@pytest.mark.parametrize("ratio", [0.1, 1.0, 1.09])
def test_up_to_a_tenth_more_is_borne(ratio: float) -> None:
    assert report(times(ratio, "create", "api")).growths() == []


@pytest.mark.parametrize("ratio", [1.11, 3.0, float("nan")])
@pytest.mark.parametrize(("load", "part"), [(load, part) for load, parts in COSTS.items() for part in parts])
def test_more_than_a_tenth_in_any_part_is_too_much(load: str, part: str, ratio: float) -> None:
    [growth] = report(times(ratio, load, part)).growths()
    assert (growth.load, growth.part) == (load, part)


def test_of_several_turns_the_middle_counts() -> None:
    assert report(COSTS, times(9.0, "create", "api"), COSTS).growths() == []


def test_a_good_measurement_is_enough() -> None:
    assert held(GOOD) == []


def taken(*ours: Any, until_sure: bool = True) -> list[str]:
    """Whose turns there are, one after the other, if ours cost so much."""
    order: list[str] = []

    def turn(who: str, cost: Any) -> Any:
        order.append(who)
        return cost

    compare.take_turns(
        "abc",
        len(ours),
        ours=lambda number: turn("ours", ours[number - 1]),
        theirs=lambda number: turn("theirs", COSTS),
        until_sure=until_sure,
    )
    return order


ONE_ROUND = ["ours", "theirs"]  # Ours is on the colder machine.
TWO_ROUNDS = [*ONE_ROUND, "theirs", "ours"]


def test_one_round_is_enough_for_the_gate_if_no_part_costs_nearly_too_much() -> None:
    assert taken(times(1.05, "create", "api"), COSTS) == ONE_ROUND


@pytest.mark.parametrize("ratio", [1.06, 1.2, float("nan")])
@pytest.mark.parametrize(("load", "part"), [(load, part) for load, parts in COSTS.items() for part in parts])
def test_what_costs_nearly_too_much_in_the_first_round_has_another(load: str, part: str, ratio: float) -> None:
    assert taken(times(ratio, load, part), COSTS) == TWO_ROUNDS


def test_without_the_gate_all_rounds_are_measured() -> None:
    assert taken(COSTS, COSTS, until_sure=False) == TWO_ROUNDS


def test_what_is_dear_once_is_measured_again_and_said() -> None:
    said: list[str] = []
    left = iter([DEAR, GOOD])
    assert compare.hold(lambda: next(left), said.append)[1] == []
    assert said == [
        "create: a payment takes 288 µs of api, 1.20 times the 240 of the other version; 1.10 is allowed. "
        "Once more, in case it was the machine ..."
    ]


def test_what_is_dear_each_time_is_stopped() -> None:
    assert held(*[DEAR] * compare.MEASUREMENTS) == [("create", "api")]


def test_what_is_good_the_last_time_is_not_stopped() -> None:
    assert held(*[DEAR] * (compare.MEASUREMENTS - 1), GOOD) == []


def test_two_parts_that_were_dear_once_each_are_not_stopped() -> None:
    assert held(DEAR, DEAR_ELSEWHERE) == []


def test_the_reference_is_a_version_of_this_history() -> None:
    """In a clone with a whole history; the gate says so where it is not."""
    shallow = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], cwd=compare.ROOT, capture_output=True, text=True, check=False
    )
    if shallow.stdout.strip() == "false":
        assert compare.has(compare.reference())


def test_each_version_runs_its_own_code(tmp_path: Path) -> None:
    """Started in a folder, it imports what is there and not what is installed."""
    for package in ("malipo", "benchmarks"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "benchmarks" / "__main__.py").write_text(
        "import malipo, sys\n"
        "assert sys.argv[1:] == ['cost', '--json', '--quick'], sys.argv\n"
        "assert malipo.__file__ == sys.path[0] + '/malipo/__init__.py', malipo.__file__\n"
        """print('{"results": [{"load": "create", "us": {"api": 7.5}}]}')\n"""
    )
    assert compare._cost(tmp_path, ["--quick"]) == {"create": {"api": 7.5}}


class Measured:
    HELP = "what a benchmark is for"
    ABOUT = "more about it"

    def __init__(self, *failures: str) -> None:
        self._failures = list(failures)

    def run(self, options: Any, say: Any) -> Result:
        return Result({"name": "compare"}, "a table", self._failures)


@pytest.mark.parametrize("failures", [[], ["too dear"]])
def test_what_the_gate_stops_fails_the_command(capsys: pytest.CaptureFixture[str], failures: list[str]) -> None:
    assert measure(parse(["compare", "--gate"]), {"compare": Measured(*failures)}) == len(failures)
    printed = capsys.readouterr()
    assert printed.out == "a table\n"
    assert printed.err == "".join(f"bench: {each}\n" for each in failures)


def test_the_gate_is_for_compare(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--gate", "create"])
    assert "--gate is for compare" in capsys.readouterr().err


def test_without_a_name_the_benchmarks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed and benchmark.HELP in listed for name, benchmark in BENCHMARKS.items())


def test_a_name_that_is_none_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["creat"])
    assert "there is no benchmark 'creat', only cost, compare, create" in capsys.readouterr().err
