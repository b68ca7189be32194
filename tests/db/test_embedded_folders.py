"""The data folder of the embedded PostgreSQL: any name, any user of the machine, and access for that user only."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from malipo.db.embedded import EmbeddedError, server, supervisor, system_user
from tests.db.embedded_servers import (
    AS_NOBODY,
    IS_ROOT,
    NOBODY,
    POSTGRES_15,
    WITHOUT_NAMESPACES,
    Everybodys,
    answers,
    ask,
    copy,
    is_over,
    postmaster_pid,
    until,
)
from tests.db.embedded_servers import everybodys as everybodys
from tests.db.embedded_servers import made_once as made_once
from tests.db.embedded_servers import no_process_stays_behind as no_process_stays_behind
from tests.db.embedded_servers import open_to_all as open_to_all
from tests.db.embedded_servers import to_spoil as to_spoil


@pytest.mark.parametrize(
    ("name", "is_linked"), [("100% ü + 'x' & \"y\"?#", False), ("a, b", True), ("long" * 25, True)]
)
def test_the_data_folder_may_have_any_name(
    open_to_all: Path, made_once: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_linked: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(open_to_all))
    with server(copy(made_once, open_to_all / name)) as url:
        assert ask(url, "SELECT 1") == 1
        assert len(list(open_to_all.glob("malipo-*"))) == is_linked
    assert not list(open_to_all.glob("malipo-*"))


def test_data_of_another_major_version_are_refused_in_one_sentence(to_spoil: Path) -> None:
    (to_spoil / "postgres" / "data" / "PG_VERSION").write_text("14\n")

    with pytest.raises(EmbeddedError, match=r"belong to PostgreSQL 14, and .* is PostgreSQL \d+"):
        server(to_spoil).__enter__()

    assert is_over(to_spoil)


def test_a_server_that_cannot_start_says_why(to_spoil: Path) -> None:
    with (to_spoil / "postgres" / "data" / "postgresql.conf").open("a") as file:
        file.write("shared_buffers = 'many'\n")

    with pytest.raises(EmbeddedError, match=r"did not start; the end of .*server.log says: .*shared_buffers"):
        server(to_spoil).__enter__()


def test_binaries_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=f"No PostgreSQL was found in {tmp_path}"):
        server(tmp_path, binaries=tmp_path).__enter__()


def test_postgresql_15_works_as_well(tmp_path: Path) -> None:
    if not POSTGRES_15.exists():
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL 15 is missing, and in CI nothing is skipped")
        pytest.skip("NOT TESTED: PostgreSQL 15 is not installed here")
    with server(tmp_path, binaries=POSTGRES_15) as url:
        assert ask(url, "SHOW server_version").startswith("15.")
        assert ask(url, "SHOW data_checksums") == "on"


def test_an_ordinary_user_may_run_it(open_to_all: Path, everybodys: Everybodys) -> None:
    os.chown(open_to_all, NOBODY, NOBODY)
    user = everybodys.user(open_to_all / "malipo", **AS_NOBODY)
    url = user.said()
    assert answers(url)

    # Root joins, leaves, and has not taken the folder away from its owner.
    with server(open_to_all / "malipo") as same:
        assert same == url
    user.leave()
    root = everybodys.user(open_to_all / "malipo")
    assert answers(root.said())
    root.leave()
    user = everybodys.user(open_to_all / "malipo", **AS_NOBODY)
    assert answers(user.said())
    user.leave()


def test_other_users_of_the_machine_stay_outside(open_to_all: Path, made_once: Path, everybodys: Everybodys) -> None:
    with server(copy(made_once, open_to_all / "malipo")):
        knock = (
            f"import socket; socket.socket(socket.AF_UNIX).connect('{open_to_all}/malipo/postgres/{supervisor.SOCKET}')"
        )
        (open_to_all / "malipo").chmod(0o755)
        stranger: dict[str, Any] = {"user": 4242, "group": 4242, "extra_groups": []}
        done = subprocess.run([everybodys.python, "-c", knock], capture_output=True, text=True, cwd="/", **stranger)
        assert "PermissionError" in done.stderr


def test_root_without_namespaces_gives_the_folder_to_nobody(open_to_all: Path, everybodys: Everybodys) -> None:
    for _ in range(2):
        user = everybodys.user(open_to_all / "malipo", prelude=WITHOUT_NAMESPACES)
        assert answers(user.said())
        assert (open_to_all / "malipo" / "postgres" / "data").stat().st_uid == NOBODY
        user.leave()


def test_root_without_namespaces_says_when_nobody_cannot_reach_the_folder(
    open_to_all: Path, everybodys: Everybodys
) -> None:
    open_to_all.chmod(0o700)
    user = everybodys.user(open_to_all / "malipo", prelude=WITHOUT_NAMESPACES)
    assert "cannot be reached: choose a data folder" in user.said()
    user.leave()


def test_a_link_that_somebody_else_put_there_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not IS_ROOT:
        pytest.skip("only root can pretend to be somebody else")
    # A folder whose path is short, or the way around long paths would itself be too long for a socket.
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        _meet_the_link_of_a_stranger(Path(short), tmp_path / ("long" * 30))


def _meet_the_link_of_a_stranger(folder: Path, data_dir: Path) -> None:
    with server(data_dir):
        (link,) = folder.glob("malipo-*")
        target = link.readlink()
    link.symlink_to(target)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)

    with pytest.raises(EmbeddedError, match="is something else: remove it"):
        server(data_dir).__enter__()


def test_a_server_that_somebody_else_started_on_our_data_is_left_alone(open_to_all: Path, made_once: Path) -> None:
    data_dir = copy(made_once, open_to_all / "malipo")
    with server(data_dir) as url:
        postgres = Path(os.readlink(f"/proc/{postmaster_pid(data_dir)}/exe"))
    folder = data_dir / "postgres"
    become = [sys.executable, system_user.__file__, "run", str(folder), str(os.getpid()), str(int(signal.SIGKILL))]
    stranger = subprocess.Popen([*become, str(postgres), "-D", str(folder / "data")], stderr=subprocess.DEVNULL)
    until(lambda: answers(url))

    with pytest.raises(EmbeddedError, match="that malipo did not start"):
        server(data_dir).__enter__()

    assert answers(url)
    stranger.send_signal(signal.SIGINT)
    assert stranger.wait() == 0
