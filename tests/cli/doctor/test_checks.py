"""The checks of malipo doctor: an installation that is ready for money, and the same with one fact changed."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from malipo.cli.doctor.checks import (
    CHECKS,
    METRICS_OF_ALL,
    METRICS_OF_WORKERS,
    DatabaseFacts,
    DoctorFacts,
    Level,
    Process,
    findings_of,
)
from malipo.settings.environment import read
from tests.conftest import SECRET_KEY
from tests.test_docs import table

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
SETTINGS = read(
    {
        "MALIPO_SECRET_KEY": SECRET_KEY,
        "MALIPO_DATABASE_URL": "postgresql://malipo_app@db.internal/malipo?sslmode=verify-full",
        "MALIPO_TRUSTED_PROXIES": "127.0.0.1",
        "MALIPO_OPERATOR_PORT": "8081",
        "MALIPO_WORKER_METRICS_PORT": "9091",
        "MALIPO_FLOAT_LOW": "MPESA=1000000",
    }
)
DATABASE = DatabaseFacts(
    version=17,
    is_tls=True,
    is_on_this_machine=False,
    is_read_only=False,
    is_superuser=False,
    owns_tables=False,
    may_make_temporary_tables=True,
    clock_ahead_seconds=0.1,
    archive_mode="on",
    last_archived_at=NOW,
    last_failed_at=None,
    operators=2,
    operators_without_second_factor=[],
    operators_not_vouched_for=[],
)
METRICS = "".join(f"\n{each} 1" for each in (*METRICS_OF_ALL, *METRICS_OF_WORKERS))
PROCESS = Process(build="4f1c09d2a7be", metrics=METRICS)
READY = DoctorFacts(
    settings=SETTINGS,
    now=NOW,
    build="4f1c09d2a7be",
    database=DATABASE,
    state_folder="/mnt/marks/malipo",
    state_folder_trouble=None,
    is_state_on_database_disk=False,
    backups="/mnt/backup/base",
    last_backup_at=NOW - timedelta(hours=25),
    are_backups_hidden=False,
    networks={"https://openapi.m-pesa.com": None},
    api=PROCESS,
    worker=PROCESS,
)
OTHERS: list[tuple[str, str, dict[str, Any], str]] = [
    ("settings", "problem", {"settings": replace(SETTINGS, secret_key=None)}, "MALIPO_SECRET_KEY is not set"),
    ("settings", "problem", {"settings": replace(SETTINGS, simulated=True)}, "no money is real"),
    ("settings", "problem", {"settings": replace(SETTINGS, webhook_allow_private=True)}, "ALLOW_PRIVATE"),
    ("settings", "warning", {"settings": replace(SETTINGS, allow_http_networks=True)}, "VPN"),
    ("settings", "warning", {"settings": replace(SETTINGS, operator_port=None)}, "/operator is open to everybody"),
    ("settings", "warning", {"settings": replace(SETTINGS, operator_second_factor="optional")}, "optional"),
    ("settings", "warning", {"settings": replace(SETTINGS, float_low=())}, "MALIPO_FLOAT_LOW"),
    ("settings", "warning", {"settings": replace(SETTINGS, not_found_seconds=60)}, "MALIPO_NOT_FOUND_SECONDS"),
    ("settings", "warning", {"settings": replace(SETTINGS, not_indexed_seconds=120)}, "MALIPO_NOT_INDEXED_SECONDS"),
    ("settings", "warning", {"settings": replace(SETTINGS, rate_limit_create=0)}, "MALIPO_RATE_LIMIT_CREATE"),
    ("database", "problem", {"database": "It is away."}, "cannot be asked: It is away."),
    ("database", "problem", {"database": replace(DATABASE, version=14)}, "PostgreSQL is 14"),
    ("database", "problem", {"database": replace(DATABASE, is_read_only=True)}, "read-only"),
    ("roles", "problem", {"database": replace(DATABASE, is_superuser=True)}, "superuser"),
    ("roles", "warning", {"database": replace(DATABASE, owns_tables=True)}, "owns the tables"),
    ("roles", "problem", {"database": replace(DATABASE, may_make_temporary_tables=False)}, "GRANT TEMPORARY"),
    ("roles", "warning", {"database": "It is away."}, "Not looked at"),
    ("TLS", "problem", {"database": replace(DATABASE, is_tls=False)}, "has no TLS"),
    ("TLS", "warning", {"settings": replace(SETTINGS, database_url="postgresql://db/malipo")}, "not verified"),
    ("state folder", "problem", {"state_folder": None}, "may pay twice"),
    ("state folder", "problem", {"state_folder_trouble": "is no folder"}, "is no folder: no worker can send"),
    ("state folder", "problem", {"is_state_on_database_disk": True}, "on the database's disk"),
    ("state folder", "warning", {"is_state_on_database_disk": None}, "cannot be told"),
    ("clock", "problem", {"database": replace(DATABASE, clock_ahead_seconds=-2.5)}, "-2.5 s"),
    ("proxy", "problem", {"settings": replace(SETTINGS, trusted_proxies=())}, "names no proxy"),
    ("proxy", "warning", {"api": replace(PROCESS, warnings=["A proxy is not trusted."])}, "A proxy is not trusted."),
    ("backups", "warning", {"backups": None}, "--backups"),
    ("backups", "problem", {"last_backup_at": None}, "no good backup in /mnt/backup/base"),
    (
        "backups",
        "warning",
        {"last_backup_at": None, "are_backups_hidden": True},
        "may not read /mnt/backup/base/last-good",
    ),
    ("backups", "problem", {"last_backup_at": NOW - timedelta(hours=27)}, "27 h old"),
    ("archive", "problem", {"database": replace(DATABASE, archive_mode="off")}, "archive_mode is off"),
    ("archive", "problem", {"database": replace(DATABASE, last_archived_at=None)}, "No file"),
    (
        "archive",
        "problem",
        {"database": replace(DATABASE, last_failed_at=NOW + timedelta(seconds=1))},
        "Archiving the write-ahead log fails",
    ),
    ("second factors", "problem", {"database": replace(DATABASE, operators=1)}, "1 operators have a password"),
    (
        "second factors",
        "problem",
        {"database": replace(DATABASE, operators_without_second_factor=["asha"])},
        "Without two-step log-in: asha",
    ),
    (
        "second factors",
        "warning",
        {"database": replace(DATABASE, operators_not_vouched_for=["juma"])},
        "reset the second factor of juma",
    ),
    ("networks", "problem", {"networks": {}}, "No network is connected"),
    ("networks", "problem", {"networks": {"https://a": "refused."}}, "https://a cannot be reached: refused."),
    ("processes", "problem", {"api": Process()}, "The API of this machine does not answer"),
    ("processes", "warning", {"worker": replace(PROCESS, build="e9345ec4b0a1")}, "The worker runs build e9345ec4b0a1"),
    (
        "processes",
        "problem",
        {"worker": replace(PROCESS, readiness="Disk full.")},
        "The worker is not ready: Disk full.",
    ),
    ("metrics", "warning", {"settings": replace(SETTINGS, worker_metrics_port=None)}, "MALIPO_WORKER_METRICS_PORT"),
    ("metrics", "problem", {"api": replace(PROCESS, metrics=None)}, "/metrics of the API is refused"),
    ("metrics", "problem", {"worker": replace(PROCESS, metrics="")}, "/metrics of the worker lacks"),
]


def test_an_installation_that_is_ready_for_money_is_ok_in_everything() -> None:
    assert [(each.check, each.level) for each in findings_of(READY)] == [(name, Level.OK) for name in CHECKS]


@pytest.mark.parametrize(("check", "level", "changed", "words"), OTHERS)
def test_each_wrong_fact_is_a_problem_in_the_report(
    check: str, level: str, changed: dict[str, Any], words: str
) -> None:
    said = [each for each in findings_of(replace(READY, **changed)) if each.check == check]
    assert [each.level for each in said if words in each.sentence] == [level], said


def test_every_check_has_a_fact_that_fails_it() -> None:
    assert {check for check, *_ in OTHERS} == set(CHECKS)


def test_the_table_of_the_docs_is_that_of_the_checks() -> None:
    rows = [row for row in table("going-live.md", 2) if row[0] != "check"]
    assert rows == [[name, check.looks_at] for name, check in CHECKS.items()]


def test_the_metrics_that_are_looked_for_are_read_by_alarms() -> None:
    read_by_alarms = set(re.findall(r"malipo_[a-z_]+", (ROOT / "deploy/prometheus/alerts.yml").read_text()))
    assert {*METRICS_OF_ALL, *METRICS_OF_WORKERS} <= read_by_alarms
