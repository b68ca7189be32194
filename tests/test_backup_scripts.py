"""deploy/backup: what the scripts keep, and what they refuse. The whole way is a journey of its own."""

import subprocess
import time
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "deploy/backup"


def _run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPTS / script, *map(str, arguments)], capture_output=True, text=True, timeout=240)


@pytest.fixture
def wal(tmp_path: Path) -> Path:
    (tmp_path / "wal").mkdir()
    return tmp_path / "wal"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    folder = tmp_path / "base-1"
    folder.mkdir()
    (folder / "PG_VERSION").write_text("18\n")
    (folder / "postgresql.auto.conf").write_text("archive_mode = 'on'\nrecovery_target_time = 'long ago'\n")
    return folder


def test_a_file_of_the_log_is_kept_once_and_never_over_another(tmp_path: Path, wal: Path) -> None:
    (tmp_path / "first").write_text("first")
    (tmp_path / "second").write_text("second")
    assert _run("archive-wal", wal, tmp_path / "first", "0001").returncode == 0
    assert _run("archive-wal", wal, tmp_path / "first", "0001").returncode == 0, "asked again"
    assert _run("archive-wal", wal, tmp_path / "second", "0001").returncode == 1
    assert _run("archive-wal", wal, tmp_path / "missing", "0002").returncode != 0
    assert [(each.name, each.read_text()) for each in wal.iterdir()] == [("0001", "first")]


def test_a_base_backup_is_never_written_over_another(tmp_path: Path) -> None:
    (tmp_path / "base-1").mkdir()
    refused = _run("base-backup", tmp_path / "base-1")
    assert (refused.returncode, "is there already" in refused.stderr) == (2, True)


def test_what_was_there_is_kept_and_only_this_moment_is_gone_back_to(tmp_path: Path, backup: Path, wal: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "old").touch()
    done = _run("restore", backup, wal, data, "2026-11-16 09:30:00+03")
    assert (done.returncode, done.stderr) == (0, "")
    [kept] = tmp_path.glob("data.before-*")
    assert (kept / "old").exists()
    assert (data / "recovery.signal").exists()
    settings = (data / "postgresql.auto.conf").read_text().splitlines()
    assert [line for line in settings if line.startswith("recovery_target_time")] == [
        "recovery_target_time = '2026-11-16 09:30:00+03'"
    ]
    assert "archive_mode = 'on'" in settings


def test_all_that_was_kept_comes_back_without_a_moment_whatever_was_restored_before(
    tmp_path: Path, backup: Path, wal: Path
) -> None:
    assert _run("restore", backup, wal, tmp_path / "data").returncode == 0
    assert "recovery_target_time" not in (tmp_path / "data/postgresql.auto.conf").read_text()


def test_nothing_is_restored_under_a_running_server(tmp_path: Path, backup: Path, wal: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "postmaster.pid").touch()
    assert _run("restore", backup, wal, data).returncode == 1
    lock = tmp_path / "server.lock"
    lock.touch()
    with subprocess.Popen(["flock", lock, "sh", "-c", "echo held; cat"], stdin=-1, stdout=-1) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert _run("restore", backup, wal, data).returncode == 1
        assert (data / "postmaster.pid").exists()
        assert holder.stdin is not None
        holder.stdin.close()
    assert _run("restore", backup, wal, data).returncode == 0, "the embedded server leaves a file that nobody believes"


def test_what_is_no_backup_is_refused(tmp_path: Path, wal: Path) -> None:
    (tmp_path / "data").mkdir()
    assert _run("restore", wal, wal, tmp_path / "data").returncode == 2
    assert [*tmp_path.glob("data*")] == [tmp_path / "data"]


@pytest.mark.parametrize(("hours_old", "code"), [(25, 0), (27, 1)])
def test_the_age_of_the_last_good_backup_is_an_exit_code(tmp_path: Path, hours_old: int, code: int) -> None:
    (tmp_path / "base-1").mkdir()
    assert _run("age", tmp_path).returncode == 1, "there is none"
    (tmp_path / "last-good").write_text(f"{int(time.time()) - hours_old * 3600} {tmp_path}/base-1\n")
    reported = _run("age", tmp_path)
    assert reported.returncode == code
    assert f"is {hours_old} h 0 min old" in reported.stdout + reported.stderr
    (tmp_path / "base-1").rmdir()
    assert _run("age", tmp_path).returncode == 1, "somebody has deleted it"
