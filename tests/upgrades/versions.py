"""Versions of malipo beside each other: the last released one, and this one with migrations of a later one added.

Each is a folder of its own, and its processes import malipo from there. They say which they are in /healthz.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from malipo.db.schema import migrations
from tests.conftest import SECRET_KEY, Merchant, Running, free_port

ROOT = Path(__file__).parents[2]
RELEASED = Path(__file__).with_name("released.txt")
NEXT = migrations()[-1].number + 1
_MAKE_MERCHANT = """
import asyncio, sys
from malipo.db import Database
from tests.conftest import make_merchant

async def make():
    async with Database.opened(sys.argv[1], size=2) as database:
        merchant = await make_merchant(database, wallet=int(sys.argv[2]))
    print(merchant.id, merchant.key)

asyncio.run(make())
"""


def releases() -> list[str]:
    """The versions from which an upgrade is tried, the last release first."""
    return list(_commits())


def commit_of(release: str) -> str:
    """Its tag; while there is none, the commit that the file names."""
    return tag_of(release) or _commits()[release]


def tag_of(release: str) -> str:
    """Empty if it has none yet."""
    return _git("tag", "--list", f"v{release}").strip()


def _commits() -> dict[str, str]:
    return dict(line.split() for line in RELEASED.read_text().splitlines())


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


@dataclass
class Version:
    name: str
    tree: Path
    environment: Mapping[str, str]
    started: list[Running] = field(default_factory=list)

    @property
    def newest(self) -> int:
        return max(int(file.name[:4]) for file in self._migrations.glob("*.sql"))

    @property
    def _migrations(self) -> Path:
        return self.tree / "malipo/db/migrations"

    def mark(self) -> None:
        """Its processes name themselves by it, so that no test takes one for another."""
        file = self.tree / "malipo/__init__.py"
        text, marked = file.read_text(), f'__version__ = "{self.name}"'
        file.write_text("\n".join(marked if "__version__ =" in line else line for line in text.splitlines()) + "\n")

    def add_migration(self, number: int, name: str, sql: str) -> None:
        (self._migrations / f"{number:04}_{name}.sql").write_text(sql)

    def start(self, command: str) -> Running:
        port = free_port()
        log = self.tree.parent / f"{self.name}-{len(self.started)}-{command}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "malipo", command],
                env={**self._variables, "MALIPO_PORT": str(port)},
                cwd=self.tree,
                stdout=output,
                stderr=output,
            )
        self.started.append(Running(process, f"http://127.0.0.1:{port}", log))
        return self.started[-1]

    def run(self, *command: str) -> str:
        done = self.attempt(*command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def attempt(self, *command: str, home: str = "", typed: str = "") -> subprocess.CompletedProcess[str]:
        """As somebody with a home of their own, beside the version's."""
        return subprocess.run(
            [sys.executable, "-m", "malipo", *command],
            env=self._variables | {"HOME": str(self.tree / home)},
            cwd=self.tree,
            input=typed,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def make_merchant(self, *, wallet: int) -> Merchant:
        """By the version's own code: this one's may write columns that an older schema does not have."""
        done = subprocess.run(
            [sys.executable, "-c", _MAKE_MERCHANT, self.environment["MALIPO_DATABASE_URL"], str(wallet)],
            env=self._variables,
            cwd=self.tree,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return Merchant(*done.stdout.split())

    @property
    def _variables(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self.tree),
            "HOME": str(self.tree),
            "MALIPO_SECRET_KEY": SECRET_KEY,
            **{name: value for name, value in self.environment.items() if self._knows(name)},
        }

    def _knows(self, variable: str) -> bool:
        """A version refuses to start with a setting that it does not have: operators take new ones out to go back."""
        name = variable.removeprefix("MALIPO_").lower()
        return any(re.search(rf"^    {name}:", text, re.MULTILINE) for text in self._settings)

    @cached_property
    def _settings(self) -> list[str]:
        return [file.read_text() for file in (self.tree / "malipo" / "settings").rglob("*.py")]


@contextmanager
def version_of(
    name: str, folder: Path, environment: Mapping[str, str], *, commit: str | None = None
) -> Iterator[Version]:
    """A version as it was at a commit, or as it is here. Its processes end with the block."""
    tree = folder / name
    tree.mkdir()
    if commit is None:
        shutil.copytree(ROOT / "malipo", tree / "malipo", ignore=shutil.ignore_patterns("__pycache__"))
    else:
        archive = folder / f"{name}.tar"
        _git("archive", "--output", str(archive), commit, "malipo", "tests")
        shutil.unpack_archive(archive, tree)
    version = Version(name, tree, environment)
    version.mark()
    try:
        yield version
    finally:
        for each in version.started:
            each.stop()
