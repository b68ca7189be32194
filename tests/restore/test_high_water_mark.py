"""The mark of a host: flushed, never going back, one file for each worker, all of them counting."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from malipo.restore.high_water_mark import HighWaterMark, NoStateFolder, SendCount

HERE = "ins_1"


def test_a_mark_is_there_when_the_host_comes_back(tmp_path: Path) -> None:
    mark = HighWaterMark(tmp_path, HERE)
    assert mark.found == {}, "it has never worked for this installation"
    mark.write(SendCount(1, 7, 3))
    mark.write(SendCount(1, 12, 4))
    mark.close()

    again = HighWaterMark(tmp_path, HERE)

    assert again.counted == SendCount(1, 12, 4)
    assert again.worker_id == mark.worker_id, "it is the same worker"
    again.close()


def test_within_an_epoch_a_mark_never_goes_back(tmp_path: Path) -> None:
    mark = HighWaterMark(tmp_path, HERE)
    mark.write(SendCount(1, 12, 3, looks=8))
    mark.write(SendCount(1, 7, 4))
    assert mark.counted == SendCount(1, 12, 4, looks=8)
    mark.write(SendCount(1_800_000_000, 5, 1))
    mark.close()
    assert HighWaterMark(tmp_path, HERE).counted == SendCount(1_800_000_000, 5, 1), (
        "in the next it counts from what was restored"
    )


def test_workers_of_one_host_have_a_file_each_and_know_what_the_others_have_seen(tmp_path: Path) -> None:
    first, second = HighWaterMark(tmp_path, HERE), HighWaterMark(tmp_path, HERE)
    assert first.worker_id != second.worker_id
    first.write(SendCount(1, 5, 5))
    second.write(SendCount(1, 9, 4))
    second.close()
    third = HighWaterMark(tmp_path, HERE)
    assert third.worker_id == second.worker_id, "it takes the place that is free"
    assert third.found == {first.worker_id: SendCount(1, 5, 5), second.worker_id: SendCount(1, 9, 4)}


def test_another_installation_has_marks_of_its_own(tmp_path: Path) -> None:
    HighWaterMark(tmp_path, HERE).write(SendCount(1, 100, 100))
    assert HighWaterMark(tmp_path, "ins_2").found == {}


@pytest.mark.parametrize("left", [b"", b"nonsense", b"\xff\xfe", b"12", b"epoch 1 total 7 own 3 looks 9 wrk_1"])
def test_a_file_that_was_torn_is_no_mark(tmp_path: Path, left: bytes) -> None:
    (tmp_path / f"{HERE}.1.mark").write_bytes(left)
    mark = HighWaterMark(tmp_path, HERE)
    assert mark.found == {}
    mark.write(SendCount(1, 13, 13))
    mark.close()
    assert HighWaterMark(tmp_path, HERE).counted == SendCount(1, 13, 13)


def test_a_folder_that_cannot_be_used_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NoStateFolder, match="MALIPO_STATE_DIR"):
        HighWaterMark(tmp_path / "file" / "below", HERE)


def test_a_mark_does_not_go_back_whoever_of_several_threads_writes_last(tmp_path: Path) -> None:
    mark = HighWaterMark(tmp_path, "ins_1")
    with ThreadPoolExecutor(2) as threads:
        for number in range(1, 300):
            sent, looked = SendCount(1, number, number, 0), SendCount(1, 0, 0, number)
            list(threads.map(mark.write, (sent, looked)))
            assert mark.counted == SendCount(1, number, number, number)
    mark.write(SendCount(2, 0, 0))
    mark.write(SendCount(1, 999, 999, 999))
    assert mark.counted == SendCount(2, 0, 0)
    mark.close()


@pytest.mark.parametrize(
    ("counted", "has"),
    [
        (SendCount(2, 12, 4, looks=9), True),
        (SendCount(2, 11, 4, looks=8), True),
        (SendCount(2, 13, 4, looks=9), False),
        (SendCount(2, 12, 5, looks=9), False),
        (SendCount(2, 12, 4, looks=10), False),
        (SendCount(1, 99, 99, looks=99), True),  # of an epoch that is over
        (SendCount(3, 0, 0), False),
    ],
)
def test_a_mark_has_what_would_change_nothing_in_its_file(tmp_path: Path, counted: SendCount, *, has: bool) -> None:
    mark = HighWaterMark(tmp_path, HERE)
    assert not mark.has(counted), "there is nothing in it yet"
    mark.write(before := SendCount(2, 12, 4, looks=9))
    assert mark.has(counted) is has
    mark.write(counted)
    assert (mark.counted == before) is has
    mark.close()
