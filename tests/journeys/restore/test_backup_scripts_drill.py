"""deploy/backup on a real server: a nightly backup that is tried, what it lets go, when it fails, and the way back."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from malipo.db import Database
from malipo.db.migrate import migrate
from tests.conftest import make_merchant
from tests.journeys.postgres_cluster import BINARIES, Cluster, a_cluster, a_standby

_SCRIPTS = Path(__file__).parents[3] / "deploy/backup"

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Its log is archived as the page says, with scripts that the server's user can read."""
    with a_cluster() as cluster:
        shutil.copytree(_SCRIPTS, cluster.folder / "scripts")
        for name in ("backups", "wal"):
            cluster.run_program("mkdir", str(cluster.folder / name))
        archive = f"{cluster.folder}/scripts/archive-wal {cluster.folder}/wal %p %f"
        cluster.configure(f"archive_command = '{archive}'")
        cluster.run("pg_ctl", "-D", str(cluster.data), "reload")
        yield cluster


def _run(cluster: Cluster, script: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [cluster.folder / "scripts" / script, *arguments],
        user="postgres" if os.getuid() == 0 else None,
        cwd=cluster.folder,
        env={
            "PATH": os.environ["PATH"],
            "MALIPO_DATABASE_URL": cluster.url,
            "POSTGRES_TOOLS": str(BINARIES),
            "ARCHIVE_SECONDS": "10",
            **settings,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


def _backups(cluster: Cluster) -> list[Path]:
    return sorted((cluster.folder / "backups").glob("base-*"))


async def test_a_backup_of_the_scripts_is_restored_to_a_moment(cluster: Cluster) -> None:
    async with Database.opened(cluster.url, size=2) as database:
        await migrate(database)
        await make_merchant(database, name="Before")
        done = _run(cluster, "nightly", "backups", "wal", "2")
        assert done.returncode == 0, done.stderr
        assert "was restored: migration" in done.stdout
        assert [*(cluster.folder / "wal").glob("*.history")] == [], "the one that was tried archives nothing"
        assert _run(cluster, "age", "backups").returncode == 0
        metrics = (cluster.folder / "backups/malipo_backup.prom").read_text()
        assert "\nmalipo_backup_last_success_timestamp_seconds " in metrics
        await make_merchant(database, name="Since")
        moment = cluster.ask("SELECT clock_timestamp()")
        await make_merchant(database, name="Too late")
    cluster.ask("SELECT pg_switch_wal()")
    cluster.stop()

    [backup] = _backups(cluster)
    done = _run(cluster, "restore", str(backup), "wal", str(cluster.data), moment)
    assert (done.returncode, done.stderr) == (0, "")
    cluster.start()
    while not cluster.answers():  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    assert cluster.ask("SELECT string_agg(name, ', ' ORDER BY name) FROM merchants") == "Before, Since"

    # A standby that is copied from it follows it. With the settings of the restore it would have promoted itself.
    cluster.until_primary()
    written = (cluster.data / "postgresql.auto.conf").read_text()
    assert "recovery" not in written
    assert "restore_command" not in written
    assert "hot_standby" not in written
    with a_standby(cluster, name="second") as standby:
        assert standby.ask("SELECT pg_is_in_recovery()") == "t"
        await asyncio.sleep(2)
        assert standby.ask("SELECT pg_is_in_recovery()") == "t"
        assert cluster.ask("SELECT state FROM pg_stat_replication") == "streaming"

        # What is left to do. As after a restore by other means, a setting of it is still there.
        cluster.ask("ALTER SYSTEM SET recovery_target_time = '2020-01-01'")
        standby.stop()
        refused = _run(cluster, "rebuild-standby", cluster.url, str(cluster.folder / "third"), "third")
        assert (refused.returncode, "run after-restore there first" in refused.stderr) == (1, True), refused
        cluster.run("pg_ctl", "-D", str(cluster.data), "-w", "restart")
        done = _run(cluster, "after-restore", "backups", "wal")
        assert done.returncode == 0, done.stderr
        assert "recovery_target_time was left by the restore" in done.stdout
        assert "was restored: migration" in done.stdout, "the new backup is tried"
        assert len(_backups(cluster)) == 2
        assert "recovery" not in (cluster.data / "postgresql.auto.conf").read_text()

        # The standby is made anew, and follows.
        (standby.data / "postmaster.pid").touch()
        running = _run(cluster, "rebuild-standby", cluster.url, str(standby.data), "second")
        assert (running.returncode, "stop it first" in running.stderr) == (1, True)
        (standby.data / "postmaster.pid").unlink()
        done = _run(cluster, "rebuild-standby", cluster.url, str(standby.data), "second")
        assert done.returncode == 0, done.stderr
        assert [*standby.folder.glob("data.before-*")], "what was there is kept"
        standby.configure("archive_mode = off")
        standby.start()
        while cluster.ask("SELECT count(*) FROM pg_stat_replication WHERE application_name = 'second'") != "1":  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        assert standby.ask("SELECT pg_is_in_recovery()") == "t"
        assert standby.ask("SELECT string_agg(name, ', ' ORDER BY name) FROM merchants") == "Before, Since"
        again = _run(cluster, "after-restore", "backups", "wal", MALIPO_DATABASE_URL=standby.url)
        assert (again.returncode, "or is a standby" in again.stderr) == (1, True)


async def test_old_backups_and_their_log_go_only_when_a_new_one_is_good(cluster: Cluster) -> None:
    async with Database.opened(cluster.url, size=2) as database:
        await migrate(database)
        for _ in range(3):
            assert _run(cluster, "nightly", "backups", "wal", "2").returncode == 0
        kept = _backups(cluster)
        assert len(kept) == 2
        first = (kept[0] / "backup_label").read_text().partition("(file ")[2][:24]
        files = sorted(each.name for each in (cluster.folder / "wal").iterdir() if len(each.name) == 24)
        assert files[0] == first, "what no backup needs is gone, and all that one needs is there"

        good = (cluster.folder / "backups/last-good").read_text()
        cluster.configure("archive_command = '/bin/false'")
        cluster.run("pg_ctl", "-D", str(cluster.data), "reload")
        failed = _run(cluster, "nightly", "backups", "wal", "2")
        assert (failed.returncode, "did not come to" in failed.stderr) == (1, True)
        assert _backups(cluster)[:2] == kept, "nothing is let go"
        assert (cluster.folder / "backups/last-good").read_text() == good


async def test_a_backup_that_cannot_be_brought_back_is_no_good_one(cluster: Cluster) -> None:
    """It is whole, and it is not malipo's: as after a change of the address to another database."""
    failed = _run(cluster, "nightly", "backups", "wal")
    assert failed.returncode != 0
    assert "what malipo needs is not in it" in failed.stderr
    assert not (cluster.folder / "backups/last-good").exists()
    assert not (cluster.folder / "backups/.try").exists()
    assert _run(cluster, "age", "backups").returncode == 1


async def test_a_night_with_the_roles_of_the_page_needs_no_other_role(cluster: Cluster) -> None:
    """docs/operating/database-roles.md. The role that made the tables is not called malipo."""
    async with Database.opened(cluster.url, size=2) as database:
        await migrate(database)
    for statement in (
        "CREATE ROLE malipo_backup LOGIN REPLICATION",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO malipo_backup",
        "CREATE ROLE admin LOGIN SUPERUSER",
    ):
        cluster.ask(statement)
    url = cluster.url.replace("malipo@", "admin@")
    cluster.run("psql", "-X", "-d", url, "-c", "ALTER ROLE malipo RENAME TO malipo_owner")

    done = _run(
        cluster, "nightly", "backups", "wal", MALIPO_DATABASE_URL=cluster.url.replace("malipo@", "malipo_backup@")
    )

    assert done.returncode == 0, done.stderr
    assert "was restored: migration" in done.stdout
