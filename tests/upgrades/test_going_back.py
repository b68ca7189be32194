"""The commands of the page for going back, run as they stand there: the old version gets the units that it can run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.upgrades.versions import ROOT, Version, commit_of, version_of

pytestmark = pytest.mark.slow

_PAGE = (ROOT / "docs/operating/upgrading.md").read_text()
_NOTE = '#!/bin/sh\necho "$@" >> "$NOTES"\n'
_PARSE = "import sys; from malipo.cli import parser; parser(sys.argv[1]).parse_args(sys.argv[1:])"


def _commands(heading: str) -> list[str]:
    section = _PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


[_KEEP] = _commands("Keep what runs now")
_BACK, _FROM_THE_REPOSITORY = _commands("Going back")


class Machine:
    """A folder in place of / for what the commands touch; systemctl only notes how it was called."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.units = root / "etc/systemd/system"
        self.units.mkdir(parents=True)
        (root / "opt/malipo-1/bin").mkdir(parents=True)
        (root / "opt/malipo-2").mkdir()
        (root / "opt/malipo").symlink_to("malipo-1")
        (root / "bin").mkdir()
        for program in (root / "bin/systemctl", root / "opt/malipo-1/bin/malipo"):
            program.write_text(_NOTE)
            program.chmod(0o755)

    def run(self, commands: str) -> None:
        commands = commands.replace("/opt/malipo-src", str(ROOT))
        commands = re.sub(r"(?<![\w/])/(?=opt/|etc/)", f"{self.root}/", commands)
        environment = {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "NOTES": str(self.root / "notes")}
        subprocess.run(["sh", "-euc", commands], env=environment, check=True)

    def install_units_of(self, commit: str) -> None:
        self.run(_FROM_THE_REPOSITORY.replace("1be86be", commit))

    @property
    def notes(self) -> list[str]:
        return (self.root / "notes").read_text().splitlines()

    def started(self) -> dict[str, list[str]]:
        """What the unit of each process gives to malipo."""
        found = {}
        for name in ("malipo", "malipo-api", "malipo-worker"):
            [line] = re.findall(r"^ExecStart=(.*)$", (self.units / f"{name}.service").read_text(), re.MULTILINE)
            found[name] = line.removeprefix("/opt/malipo/bin/malipo ").split()
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


def _knows(version: Version, arguments: list[str]) -> bool:
    tried = subprocess.run(
        [sys.executable, "-c", _PARSE, *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(version.tree)},
        cwd=version.tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tried.returncode == 0 or "unrecognized arguments" in tried.stderr, tried.stderr
    return tried.returncode == 0


def test_going_back_starts_what_the_old_version_can_run(machine: Machine, tmp_path: Path) -> None:
    machine.install_units_of("1be86be")
    (machine.units / "malipo-api.service.d").mkdir()
    (machine.units / "malipo-api.service.d/override.conf").write_text("[Service]\nNice=1\n")
    before = {path: path.read_text() for path in machine.units.rglob("*") if path.is_file()}
    machine.run(_KEEP)
    machine.install_units_of("HEAD")
    (machine.root / "opt/malipo").unlink()
    (machine.root / "opt/malipo").symlink_to("malipo-2")
    after_the_upgrade = machine.started()
    with version_of("0.2.0", tmp_path, {}, commit="1be86be") as old:
        assert not _knows(old, after_the_upgrade["malipo-api"]), "else the page need not speak of units"
        machine.run(_BACK)
        assert {path: path.read_text() for path in before} == before
        assert all(_knows(old, arguments) for arguments in machine.started().values())
    assert os.readlink(machine.root / "opt/malipo") == "malipo-1"
    assert machine.notes == ["daemon-reload", "restart malipo-api malipo-worker", "--version"]


def test_units_that_were_not_kept_come_out_of_the_repository(machine: Machine) -> None:
    machine.install_units_of("HEAD")
    machine.run(_FROM_THE_REPOSITORY)
    assert machine.started() == {"malipo": ["serve"], "malipo-api": ["api"], "malipo-worker": ["worker"]}


def test_each_commit_of_the_table_is_of_its_release_and_its_last_migration() -> None:
    rows = re.findall(r"^\| (\d+\.\d+\.\d+) \| `(\w+)`[^|]*\| (\d+) \|", _PAGE, re.MULTILINE)
    assert len(rows) >= 2
    for version, commit, migration in rows:
        assert f'__version__ = "{version}"' in _git("show", f"{commit}:malipo/__init__.py")
        files = _git("ls-tree", "--name-only", commit, "malipo/db/migrations/").split()
        assert max(int(Path(each).name[:4]) for each in files if each.endswith(".sql")) == int(migration)
    assert commit_of("0.2.0").startswith(("v", rows[-2][1], rows[-1][1]))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
