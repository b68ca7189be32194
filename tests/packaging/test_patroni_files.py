"""deploy/patroni: the settings that no payment may be without, and a trial that says what it lacks."""

import re
import string
import subprocess
import sys
from pathlib import Path

import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "patroni"
PAGE = (FOLDER.parents[1] / "docs" / "operating" / "high-availability.md").read_text()


def test_a_trial_without_its_programs_names_each_and_how_to_get_it(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "POSTGRES_TOOLS": str(tmp_path)}
    for arguments in (["--check"], [str(tmp_path / "trial")]):
        tried = subprocess.run(
            [sys.executable, FOLDER / "try", *arguments], env=environment, capture_output=True, text=True, timeout=30
        )
        assert tried.returncode == 1
        assert "try: patroni is missing: pip install 'patroni[etcd3,psycopg3]'" in tried.stderr
        assert "try: etcd is missing: apt-get install etcd-server" in tried.stderr
        assert "try: PostgreSQL with psql is missing" in tried.stderr
    assert not (tmp_path / "trial").exists()


def test_a_commit_is_acknowledged_only_when_a_standby_has_it() -> None:
    text = (FOLDER / "patroni.yml").read_text()
    words = dict.fromkeys(re.findall(r"\$\{(\w+)\}", text), "1")
    node = yaml.safe_load(string.Template(text.replace("${...}", "")).substitute(words))
    dcs = node["bootstrap"]["dcs"]
    assert dcs["synchronous_mode"] is True
    assert dcs["failsafe_mode"] is True
    assert dcs["postgresql"]["parameters"]["synchronous_commit"] == "on"
    assert "trust" not in str(node["postgresql"]["pg_hba"])


def test_connections_to_a_node_that_is_no_longer_the_primary_are_cut() -> None:
    sections = re.split(r"^(?=\w)", (FOLDER / "haproxy.cfg").read_text(), flags=re.MULTILINE)
    [primary] = [each for each in sections if each.startswith("listen primary")]
    assert "option httpchk GET /primary" in primary
    assert "on-marked-down shutdown-sessions" in primary


def test_every_file_is_on_the_page() -> None:
    for each in FOLDER.iterdir():
        assert f"deploy/patroni/{each.name}" in PAGE
