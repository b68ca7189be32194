"""The progress of a long run: it goes on where it stopped, and only if it is the same run."""

from pathlib import Path

import pytest

from simulation import options, progress
from simulation.progress import OtherRun, Progress
from simulation.run import Result
from simulation.safeguards import SAFEGUARDS, SafeguardResult

OPTIONS = {"payments": "8"}
SAFEGUARD = SAFEGUARDS["claim-marked"]


def begun(
    path: Path | None, first: int = 7, given: dict[str, str] = OPTIONS, *, is_first_given: bool = False
) -> Progress:
    return progress.begin(path, first, given, is_first_given=is_first_given)


def test_a_run_goes_on_where_it_stopped_and_its_sittings_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    once = begun(path)
    once.add(Result(7, faults=["kill worker1 at 3", "pause api1 at 2"], payments=8))
    once.add(Result(8, findings=["lost: a payment"], payments=8))
    again = begun(path, first=99)  # A first seed that nobody asked for does not count.
    assert again.head.first == 7
    assert [each.seed for each in again.outcomes] == [7, 8]
    assert "2 seeds (" in again.line()
    again.add(Result(9, faults=["kill api1 at 3"], payments=8))
    third = begun(path)
    assert "3 seeds (" in third.line()
    assert "24 payments (" in third.line()
    assert "3 faults (" in third.line()
    assert third.line().endswith(" in 3 sittings")
    assert [each.findings for each in third.outcomes] == [[], ["lost: a payment"], []]


def test_each_seed_has_the_hash_of_its_history_to_compare_versions_by(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    begun(path).add(Result(7, payments=8, digest="0123456789abcdef0123456789abcdef"))
    assert [each.history for each in begun(path).outcomes] == ["0123456789abcdef"]


def test_a_line_that_was_cut_off_is_left_out_and_its_seed_runs_again(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    begun(path).add(Result(7, payments=8))
    with path.open("ab") as file:
        file.write(b'{"seed":8,"paym')
    again = begun(path)
    assert [each.seed for each in again.outcomes] == [7]
    again.add(Result(8, payments=8))
    assert [each.seed for each in begun(path).outcomes] == [7, 8]


def test_other_sources_other_options_or_another_first_seed_are_another_run(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    sources = begun(path).head.sources
    with pytest.raises(OtherRun, match="other options"):
        begun(path, given={"payments": "9"})
    with pytest.raises(OtherRun, match="other options"):
        begun(path, first=8, is_first_given=True)
    path.write_text(path.read_text().replace(sources, "0123456789abcdef"))
    with pytest.raises(OtherRun, match=rf"other sources: 0123456789abcdef \(commit .+\), and these are {sources}"):
        begun(path)


def test_a_run_without_a_file_is_kept_nowhere(tmp_path: Path) -> None:
    begun(None).add(Result(7, payments=8))
    assert begun(None).outcomes == []


def test_no_seed_is_begun_after_the_first_that_notices_and_none_before_it_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    given = options.parse(["--safeguards", "--seed", "7"])
    row = SafeguardResult(given, begun(path), SAFEGUARD, 5)
    plans = row.plans()
    assert [next(plans).seed for _ in range(3)] == [7, 8, 9]
    row.add(Result(9, findings=["paid-twice: x", "lost: y", "lost: z"]))
    assert list(plans) == []
    # The run was stopped before 8 had ended. It may have noticed, too.
    row.add(Result(7))
    again = SafeguardResult(given, begun(path), SAFEGUARD, 5)
    assert [each.seed for each in again.plans()] == [8]
    again.add(Result(8))
    assert again.line() == "| claim-marked | 9 | 5 | lost, paid-twice | 0 |"


def test_all_seeds_are_counted_on_demand(tmp_path: Path) -> None:
    given = options.parse(["--safeguards", "--seed", "7", "--count-all"])
    row = SafeguardResult(given, begun(tmp_path / "progress"), SAFEGUARD, 3)
    for plan, findings in zip(row.plans(), (["lost: x"], [], ["lost: y", "broke: z"]), strict=True):
        row.add(Result(plan.seed, findings=findings))
    assert row.line() == "| claim-marked | 2 | 3 | lost 2, broke 1; the first is 7 | 0 |"


@pytest.mark.parametrize("words", [["--seed", "1"], ["--runs", "3", "--twice"]])
def test_one_seed_or_seeds_run_twice_have_no_progress(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options.parse([*words, "--resume", "progress"])
    assert "--resume is for many seeds" in capsys.readouterr().err
