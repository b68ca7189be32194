"""PostgreSQL servers of a test's own, that can be stopped, copied, archived, restored and followed by a standby."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import free_port

BINARIES = Path("/usr/lib/postgresql/15/bin")
_OWNER = "postgres" if os.getuid() == 0 else None  # PostgreSQL refuses root.

_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
fsync = off
full_page_writes = on
wal_level = replica
max_wal_senders = 8
wal_keep_size = '256MB'
hot_standby = on
"""


@dataclass
class Cluster:
    """One data folder and, while it runs, its server."""

    folder: Path
    port: int

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    @property
    def url(self) -> str:
        return f"postgresql://malipo@127.0.0.1:{self.port}/malipo"

    def create(self) -> None:
        self.archive.mkdir()
        _own(self.archive)
        self.run("initdb", "-D", str(self.data), "-U", "malipo", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.configure(_SETTINGS, f"archive_mode = on\narchive_command = 'cp %p {self.archive}/%f'\n")

    def configure(self, *lines: str) -> None:
        """What is written last counts."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n".join(lines) + f"\nport = {self.port}\n")

    def start(self) -> None:
        log = str(self.folder / "server.log")
        self.run("pg_ctl", "-D", str(self.data), "-l", log, "-w", "-t", "60", "start")

    def stop(self, mode: str = "fast") -> None:
        if (self.data / "postmaster.pid").exists():
            self.run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "-t", "60", "stop")

    def promote(self) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "promote")

    def copy(self, name: str) -> Path:
        """The data folder of a stopped server, beside itself."""
        self.run_program("cp", "-a", str(self.data), str(self.folder / name))
        return self.folder / name

    def base_backup(self, name: str) -> Path:
        """A backup of a running server."""
        where = self.folder / name
        self.run("pg_basebackup", "-d", self.url, "-D", str(where), "-X", "stream", "-c", "fast", "--no-sync")
        return where

    def replace(self, backup: Path) -> None:
        """The data folder is as the backup is. The server must be down."""
        shutil.rmtree(self.data)
        self.run_program("cp", "-a", str(backup), str(self.data))

    def restore_to(self, moment: str) -> None:
        """What the archive has is played back until then; nothing of later, though the archive has it too."""
        (self.data / "recovery.signal").touch()
        _own(self.data / "recovery.signal")
        self.configure(
            f"restore_command = 'cp {self.archive}/%f %p'",
            f"recovery_target_time = '{moment}'",
            "recovery_target_action = 'promote'",
        )

    def until_primary(self) -> None:
        while self.ask("SELECT pg_is_in_recovery()") != "f":
            time.sleep(0.05)

    def ask(self, query: str) -> str:
        """One value, as text."""
        return self.ask_of(self.url, query)

    def ask_of(self, url: str, query: str) -> str:
        return self.run("psql", "-X", "-A", "-t", "-d", url, "-c", query).strip()

    def answers(self) -> bool:
        command = [str(BINARIES / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0

    def run(self, program: str, *arguments: str) -> str:
        return self.run_program(str(BINARIES / program), *arguments)

    def run_program(self, *command: str) -> str:
        # What a server inherits stays open for as long as it lives.
        output = subprocess.DEVNULL if command[0].endswith("pg_ctl") else subprocess.PIPE
        done = subprocess.run(
            command,
            user=_OWNER,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout or ""


@contextmanager
def a_cluster(disk: Path | None = None) -> Iterator[Cluster]:
    """A running server with an empty database, on this disk or in the folder of temporary files."""
    with _a_folder(disk) as folder:
        cluster = Cluster(folder, free_port())
        cluster.create()
        try:
            cluster.start()
            cluster.run("createdb", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "malipo", "malipo")
            yield cluster
        finally:
            cluster.stop("immediate")


@contextmanager
def a_standby(primary: Cluster, *, name: str) -> Iterator[Cluster]:
    """A running server that follows the primary."""
    with _a_folder() as folder:
        standby = Cluster(folder, free_port())
        primary_url = f"host=127.0.0.1 port={primary.port} user=malipo application_name={name}"
        arguments = (
            "-d",
            f"{primary.url}?application_name={name}",
            "-D",
            str(standby.data),
            "-X",
            "stream",
            "-c",
            "fast",
        )
        standby.run("pg_basebackup", *arguments, "--no-sync")
        (standby.data / "standby.signal").touch()
        _own(standby.data / "standby.signal")
        standby.configure(f"primary_conninfo = '{primary_url}'", "archive_mode = off", "synchronous_standby_names = ''")
        try:
            standby.start()
            yield standby
        finally:
            standby.stop("immediate")


@contextmanager
def _a_folder(disk: Path | None = None) -> Iterator[Path]:
    """Not in the test's own folder, which other users may not enter."""
    with tempfile.TemporaryDirectory(prefix="malipo-cluster-", dir=disk) as name:
        _own(Path(name))
        yield Path(name)


def _own(folder: Path) -> None:
    if _OWNER is not None:
        owner = pwd.getpwnam(_OWNER)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
