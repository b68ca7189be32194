"""deploy/patroni: the settings that no payment may be without, and a trial that says what it lacks."""

import re
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "patroni"
PAGES = FOLDER.parents[1] / "docs" / "operating"
PAGE = (PAGES / "high-availability.md").read_text()


def test_a_trial_without_its_programs_names_each_and_how_to_get_it(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "POSTGRES_TOOLS": str(tmp_path)}
    for arguments in (["--check"], [str(tmp_path / "trial")]):
        tried = subprocess.run(
            [sys.executable, FOLDER / "try", *arguments], env=environment, capture_output=True, text=True, timeout=240
        )
        assert tried.returncode == 1
        assert "try: patroni is missing: pip install 'patroni[etcd3,psycopg3]'" in tried.stderr
        assert "try: etcd is missing: apt-get install etcd-server" in tried.stderr
        assert "try: PostgreSQL with psql is missing" in tried.stderr
    assert not (tmp_path / "trial").exists()


def _node() -> Any:
    """The settings of a node, with the name of each word in its place."""
    text = (FOLDER / "patroni.yml").read_text()
    words = {word: word for word in re.findall(r"\$\{(\w+)\}", text)}
    return yaml.safe_load(string.Template(text.replace("${...}", "")).substitute(words))


def test_a_commit_is_acknowledged_only_when_a_standby_has_it() -> None:
    node = _node()
    dcs = node["bootstrap"]["dcs"]
    assert dcs["synchronous_mode"] is True
    assert dcs["failsafe_mode"] is True
    assert dcs["postgresql"]["parameters"]["synchronous_commit"] == "on"
    assert "trust" not in str(node["postgresql"]["pg_hba"])


def test_nobody_connects_without_tls_and_only_the_roles_of_the_page_do() -> None:
    node = _node()["postgresql"]
    assert node["parameters"]["ssl"] == "on"
    local, *lines, last = [line.split() for line in node["pg_hba"]]
    assert local[:3] == ["local", "all", "postgres"]
    assert last == ["host", "all", "all", "all", "reject"]
    assert {(line[0], line[-1]) for line in lines} == {("hostssl", "scram-sha-256")}
    named = {role for line in lines for role in line[2].split(",")}
    roles = set(re.findall(r"CREATE ROLE (\w+)", (PAGES / "database-roles.md").read_text()))
    patronis = {each["username"] for each in node["authentication"].values()}
    assert named == roles | patronis
    assert {line[3] for line in lines if patronis & set(line[2].split(","))} == {"NODES"}


def test_whichever_node_is_the_primary_archives_its_log() -> None:
    parameters = _node()["bootstrap"]["dcs"]["postgresql"]["parameters"]
    assert parameters["archive_mode"] == "on"
    assert parameters["archive_command"] == "ARCHIVE_WAL WAL %p %f"
    assert parameters["archive_timeout"] == "60s"


def test_connections_to_a_node_that_is_no_longer_the_primary_are_cut() -> None:
    sections = re.split(r"^(?=\w)", (FOLDER / "haproxy.cfg").read_text(), flags=re.MULTILINE)
    [primary] = [each for each in sections if each.startswith("listen primary")]
    assert "option httpchk GET /primary" in primary
    assert "on-marked-down shutdown-sessions" in primary


def test_every_file_is_on_the_page() -> None:
    for each in FOLDER.iterdir():
        assert f"deploy/patroni/{each.name}" in PAGE
