"""Our own PostgreSQL: started by whoever comes first, ended after whoever leaves last, however they leave.

Every server here is a real one. Whether its processes are gone is read from the locks they hold until they die.
"""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from malipo.db.embedded import server
from tests.db.embedded_servers import (
    User,
    answers,
    ask,
    has_started_since,
    is_over,
    postmaster_pid,
    supervisor_pid,
    until,
    when_started,
)
from tests.db.embedded_servers import data_dir as data_dir
from tests.db.embedded_servers import made_once as made_once
from tests.db.embedded_servers import no_process_stays_behind as no_process_stays_behind


def test_what_the_first_start_wrote_the_second_reads(tmp_path: Path) -> None:
    with server(tmp_path / "new" / "malipo") as url:
        ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")

    with server(tmp_path / "new" / "malipo") as url:
        assert ask(url, "SELECT answer FROM kept") == 42


def test_the_cluster_is_durable_and_closed(data_dir: Path) -> None:
    expected = {
        "data_checksums": "on",
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "server_encoding": "UTF8",
        "timezone": "UTC",
    }
    with server(data_dir) as url:
        assert {name: ask(url, f"SHOW {name}") for name in expected} == expected
        assert ask(url, "SELECT datcollate FROM pg_database WHERE datname = 'malipo'") == "C"
        assert ask(url, "SELECT current_user || ' ' || current_database()") == "malipo malipo"
        for folder in ("postgres", "postgres/data", "postgres/socket"):
            assert (data_dir / folder).stat().st_mode & 0o777 == 0o700
        for file in (data_dir / "postgres").glob("*.lo*"):
            assert file.stat().st_mode & 0o777 == 0o600


def test_whoever_leaves_last_returns_when_the_server_is_down(data_dir: Path) -> None:
    with server(data_dir):
        assert not is_over(data_dir)

    assert is_over(data_dir)


def test_the_server_ends_when_its_only_user_is_killed_and_a_later_start_works(data_dir: Path) -> None:
    user = User(data_dir)
    assert answers(user.said())

    user.kill()

    until(lambda: is_over(data_dir))
    assert "database system is shut down" in (data_dir / "postgres" / "server.log").read_text()
    with server(data_dir) as url:
        assert answers(url)


def test_the_server_lives_on_for_a_second_user(data_dir: Path) -> None:
    first, second = User(data_dir), User(data_dir)
    url = first.said()
    assert second.said() == url
    started = when_started(url)

    first.kill()

    time.sleep(0.5)
    assert when_started(url) == started
    second.leave()
    assert is_over(data_dir)


def test_several_who_start_together_share_one_server(tmp_path: Path) -> None:
    users = [User(tmp_path) for _ in range(4)]

    urls = {user.said() for user in users}

    assert len(urls) == 1
    log = (tmp_path / "postgres" / "server.log").read_text()
    assert log.count("ready to accept connections") == 1
    for user in users:
        user.leave()


def test_a_newcomer_during_the_shutdown_gets_a_new_server(data_dir: Path) -> None:
    for _ in range(3):
        user = User(data_dir)
        user.said()
        threading.Timer(0.01, user.kill).start()
        with server(data_dir) as url:
            assert answers(url)


def test_a_killed_postgres_comes_back_by_itself(data_dir: Path) -> None:
    with server(data_dir) as url:
        started = when_started(url)

        os.kill(postmaster_pid(data_dir), signal.SIGKILL)

        until(lambda: has_started_since(url, started))
        assert "starting it again" in (data_dir / "postgres" / "server.log").read_text()


def test_a_killed_supervisor_takes_postgres_along_and_a_later_start_works(data_dir: Path) -> None:
    user = User(data_dir)
    user.said()
    os.kill(supervisor_pid(data_dir), signal.SIGKILL)
    user.kill()

    until(lambda: is_over(data_dir))
    with server(data_dir) as url:
        assert answers(url)


def test_a_killed_supervisor_is_replaced_while_somebody_needs_the_server(data_dir: Path) -> None:
    with server(data_dir) as url:
        started = when_started(url)

        os.kill(supervisor_pid(data_dir), signal.SIGKILL)

        until(lambda: has_started_since(url, started))


def test_signals_that_stop_a_service_do_not_take_its_database_away(data_dir: Path) -> None:
    with server(data_dir) as url:
        started = when_started(url)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(supervisor_pid(data_dir), each)
        time.sleep(0.3)
        assert when_started(url) == started


@pytest.mark.parametrize("victim", ["supervisor", "user"])
def test_a_kill_during_initdb_leaves_nothing_half_made(tmp_path: Path, victim: str) -> None:
    user = User(tmp_path)
    until(lambda: (tmp_path / "postgres" / "data.new" / "base").exists())

    if victim == "supervisor":
        os.kill(supervisor_pid(tmp_path), signal.SIGKILL)
    user.kill()

    until(lambda: is_over(tmp_path))
    assert (tmp_path / "postgres" / "data").exists() == (victim == "user")
    with server(tmp_path) as url:
        assert answers(url)
        assert not (tmp_path / "postgres" / "data.new").exists()


def test_a_pid_that_now_belongs_to_somebody_else_fools_nobody(data_dir: Path) -> None:
    with server(data_dir):
        pid_file = (data_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()
    lines = "\n".join([str(os.getpid()), *pid_file[1:]]) + "\n"
    assert "ready" in lines
    (data_dir / "postgres" / "data" / "postmaster.pid").write_text(lines)
    (data_dir / "postgres" / "socket" / ".s.PGSQL.5432.lock").write_text(lines)

    with server(data_dir) as url:
        assert answers(url)
