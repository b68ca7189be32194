"""Decides from gathered facts what is right and what is wrong with an installation. Pure.

CHECKS is the going-live list as far as a machine can check; docs/going-live.md has the same names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum

from malipo.settings import Settings
from malipo.settings.environment import variable

OLDEST_SERVER = 15
CLOCK_SECONDS = 2.0
BACKUP_AGE = timedelta(hours=26)
# The metrics that deploy/prometheus/alerts.yml reads from every process, and those that only a worker has.
METRICS_OF_ALL = (
    "malipo_build_info",
    "malipo_clock_skew_seconds",
    "malipo_code_schema",
    "malipo_database_schema",
    "malipo_database_up",
    "malipo_database_writable",
    "malipo_fenced",
    "malipo_held",
    "malipo_money_seen_timestamp_seconds",
    "malipo_workers_alive",
)
METRICS_OF_WORKERS = ("malipo_worker_loop_stuck", "malipo_worker_loop_blocked")


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class DoctorFinding:
    check: str
    level: Level
    sentence: str


@dataclass(frozen=True)
class DatabaseFacts:
    version: int
    is_tls: bool
    is_on_this_machine: bool
    is_read_only: bool
    is_superuser: bool
    owns_tables: bool
    may_make_temporary_tables: bool
    clock_ahead_seconds: float
    archive_mode: str
    last_archived_at: datetime | None
    last_failed_at: datetime | None
    operators: int  # who have a password
    operators_without_second_factor: Sequence[str]
    operators_not_vouched_for: Sequence[str]


@dataclass(frozen=True)
class Process:
    """The answers of the API or the worker of this machine; None where it gave none."""

    build: str | None = None
    readiness: str | None = None  # why it is not ready
    warnings: Sequence[str] = ()
    metrics: str | None = None


@dataclass(frozen=True)
class DoctorFacts:
    settings: Settings
    now: datetime
    build: str
    database: DatabaseFacts | str  # or why it cannot be asked
    state_folder: str | None  # None: switched off
    state_folder_trouble: str | None
    is_state_on_database_disk: bool | None  # None: unknown
    backups: str | None  # the folder that was named
    last_backup_at: datetime | None
    are_backups_hidden: bool  # from this user
    networks: Mapping[str, str | None]  # address → why it cannot be reached
    api: Process | None
    worker: Process | None


_Findings = Iterator[tuple[Level, str]]

# Settings that a drill shortens, and that must not be short where money is real.
_PATIENCE = ("not_found_seconds", "not_indexed_seconds", "not_indexed_answers")
_LIMITS = tuple(each.name for each in fields(Settings) if each.name.startswith("rate_limit_"))


def _default(name: str) -> int:
    found: int = next(each.default for each in fields(Settings) if each.name == name)  # type: ignore[assignment]
    return found


def _variables(names: Sequence[str]) -> str:
    return ", ".join(variable(name) for name in names)


def _settings(facts: DoctorFacts) -> _Findings:
    settings = facts.settings
    if settings.secret_key is None:
        yield Level.PROBLEM, "MALIPO_SECRET_KEY is not set: make one with openssl rand -hex 32."
    if settings.simulated:
        yield Level.PROBLEM, "MALIPO_SIMULATED is true: the pages say that no money is real. Take it out."
    if settings.webhook_allow_private:
        yield Level.PROBLEM, "MALIPO_WEBHOOK_ALLOW_PRIVATE is true: merchants reach addresses inside. Take it out."
    if settings.allow_http_networks:
        yield Level.WARNING, "MALIPO_ALLOW_HTTP_NETWORKS is true: right only where a VPN leads to the network."
    if settings.operator_port is None and not settings.operator_allowed_addresses:
        yield (
            Level.WARNING,
            "/operator is open to everybody: set MALIPO_OPERATOR_PORT or MALIPO_OPERATOR_ALLOWED_ADDRESSES.",
        )
    if settings.operator_second_factor != "required":
        yield Level.WARNING, "MALIPO_OPERATOR_SECOND_FACTOR is optional: operators log in with a password alone."
    if quick := [name for name in _PATIENCE if getattr(settings, name) < _default(name)]:
        yield (
            Level.WARNING,
            f"Shorter than the default: {_variables(quick)}. A payment that a network shows late is called failed.",
        )
    if unlimited := [name for name in _LIMITS if not getattr(settings, name)]:
        yield Level.WARNING, f"Without a limit: {_variables(unlimited)}. One key or person can slow everybody down."
    if not settings.float_low:
        yield Level.WARNING, "MALIPO_FLOAT_LOW is not set: no alarm says that a float is low."


def _database(facts: DoctorFacts) -> _Findings:
    if facts.settings.database_url is None:
        yield Level.WARNING, "The embedded PostgreSQL is used: it has no standby. Set MALIPO_DATABASE_URL."
    if isinstance(facts.database, str):
        yield Level.PROBLEM, f"The database cannot be asked: {facts.database}"
        return
    if facts.database.version < OLDEST_SERVER:
        yield Level.PROBLEM, f"PostgreSQL is {facts.database.version}; {OLDEST_SERVER} or newer is needed."
    if facts.database.is_read_only:
        yield Level.PROBLEM, "The database is read-only: it is a standby, or set so. Name the primary."


def _roles(facts: DoctorFacts) -> _Findings:
    if isinstance(facts.database, str) or facts.settings.database_url is None:
        return
    if facts.database.is_superuser:
        yield Level.PROBLEM, "The role of MALIPO_DATABASE_URL is a superuser: give malipo a role of its own."
    elif not facts.database.may_make_temporary_tables:
        yield (
            Level.PROBLEM,
            "The role may not make temporary tables, so no statement can be imported and no day closed: "
            "GRANT TEMPORARY ON DATABASE (docs/operating/database-roles.md).",
        )
    elif facts.database.owns_tables:
        yield (
            Level.WARNING,
            "The role owns the tables: let the processes have a role that may only change rows "
            "(docs/operating/database-roles.md).",
        )


def _tls(facts: DoctorFacts) -> _Findings:
    if isinstance(facts.database, str) or facts.database.is_on_this_machine:
        return
    if not facts.database.is_tls:
        yield Level.PROBLEM, "The connection to PostgreSQL has no TLS: add sslmode=verify-full to the address."
    elif "sslmode=verify-full" not in (facts.settings.database_url or ""):
        yield Level.WARNING, "The certificate of PostgreSQL is not verified: add sslmode=verify-full to the address."


def _state_folder(facts: DoctorFacts) -> _Findings:
    if facts.state_folder is None:
        yield Level.PROBLEM, "MALIPO_STATE_DIR is none: a restored database is not noticed, and may pay twice."
        return
    if facts.state_folder_trouble is not None:
        yield Level.PROBLEM, f"The state folder {facts.state_folder} {facts.state_folder_trouble}: no worker can send."
    if facts.is_state_on_database_disk:
        yield (
            Level.PROBLEM,
            f"The state folder {facts.state_folder} is on the database's disk: a restored disk brings the mark back "
            "too, and the restore is not noticed. Set MALIPO_STATE_DIR to another disk.",
        )
    elif facts.is_state_on_database_disk is None:
        yield (
            Level.WARNING,
            f"Whether the state folder {facts.state_folder} and the database share a disk cannot be told from here.",
        )


def _clock(facts: DoctorFacts) -> _Findings:
    if isinstance(facts.database, str):
        return
    ahead = facts.database.clock_ahead_seconds
    if abs(ahead) > CLOCK_SECONDS:
        yield Level.PROBLEM, f"This machine's clock is {ahead:+.1f} s from the database's: run NTP on both."


def _proxy(facts: DoctorFacts) -> _Findings:
    if not facts.settings.trusted_proxies:
        yield (
            Level.PROBLEM,
            "MALIPO_TRUSTED_PROXIES names no proxy: all clients of the proxy are one address to limits and IP lists.",
        )
    for warning in facts.api.warnings if facts.api is not None else ():
        yield Level.WARNING, f"/readyz of the API warns: {warning}"


def _backups(facts: DoctorFacts) -> _Findings:
    if facts.backups is None:
        yield Level.WARNING, "Not looked at: name the folder of deploy/backup/nightly with --backups."
    elif facts.are_backups_hidden:
        yield Level.WARNING, f"This user may not read {facts.backups}/last-good: run this as the user of the backups."
    elif facts.last_backup_at is None:
        yield Level.PROBLEM, f"There is no good backup in {facts.backups}: run deploy/backup/nightly."
    elif facts.now - facts.last_backup_at > BACKUP_AGE:
        hours = int((facts.now - facts.last_backup_at).total_seconds() // 3600)
        yield Level.PROBLEM, f"The last good backup is {hours} h old: see the log of deploy/backup/nightly."


def _archive(facts: DoctorFacts) -> _Findings:
    if isinstance(facts.database, str):
        return
    database = facts.database
    if database.archive_mode == "off":
        yield (
            Level.PROBLEM,
            "archive_mode is off: what came after the last base backup would be lost (docs/backups.md).",
        )
    elif database.last_archived_at is None:
        yield Level.PROBLEM, "No file of the write-ahead log was archived yet: see pg_stat_archiver."
    elif database.last_failed_at is not None and database.last_failed_at > database.last_archived_at:
        yield Level.PROBLEM, "Archiving the write-ahead log fails: see pg_stat_archiver and the server's log."


def _second_factors(facts: DoctorFacts) -> _Findings:
    if isinstance(facts.database, str):
        return
    if facts.database.operators < 2:
        yield (
            Level.PROBLEM,
            f"{facts.database.operators} operators have a password: corrections and large bookings take two "
            "(malipo operators add, malipo operators password).",
        )
    if without := facts.database.operators_without_second_factor:
        yield Level.PROBLEM, f"Without two-step log-in: {', '.join(without)}. They switch it on at /operator."
    if waiting := facts.database.operators_not_vouched_for:
        yield (
            Level.WARNING,
            f"Another operator has set the password or reset the second factor of {', '.join(waiting)}: who counts "
            "for no decision that takes two until a third operator vouches, or for 72 hours.",
        )


def _networks(facts: DoctorFacts) -> _Findings:
    if not facts.networks:
        yield Level.PROBLEM, "No network is connected: see docs/networks.md."
    for address, trouble in facts.networks.items():
        if trouble is not None:
            yield Level.PROBLEM, f"{address} cannot be reached: {trouble}"


def _processes(facts: DoctorFacts) -> _Findings:
    processes = (("The API", facts.api, "MALIPO_PORT"), ("The worker", facts.worker, "MALIPO_WORKER_METRICS_PORT"))
    for name, process, setting in processes:
        if process is None:
            continue
        if process.build is None:
            yield Level.PROBLEM, f"{name} of this machine does not answer at {setting}."
        elif process.build != facts.build:
            yield Level.WARNING, f"{name} runs build {process.build}, and this command is {facts.build}: reload it."
        if process.readiness is not None:
            yield Level.PROBLEM, f"{name} is not ready: {process.readiness}"


def _metrics(facts: DoctorFacts) -> _Findings:
    if facts.settings.worker_metrics_port is None:
        yield Level.WARNING, "MALIPO_WORKER_METRICS_PORT is not set: Prometheus cannot ask the workers."
    processes = (
        ("API", facts.api, METRICS_OF_ALL),
        ("worker", facts.worker, (*METRICS_OF_ALL, *METRICS_OF_WORKERS)),
    )
    for name, process, wanted in processes:
        if process is None or process.build is None:
            continue
        if process.metrics is None:
            yield Level.PROBLEM, f"/metrics of the {name} is refused: give this command its MALIPO_METRICS_TOKEN."
        elif missing := [each for each in wanted if f"\n{each}" not in process.metrics]:
            yield Level.PROBLEM, f"/metrics of the {name} lacks what alarms read: {', '.join(missing)}."


@dataclass(frozen=True)
class DoctorCheck:
    looks_at: str
    find: Callable[[DoctorFacts], _Findings]
    needs_database: bool = False


CHECKS = {
    "settings": DoctorCheck("The settings are those of an installation with real money.", _settings),
    "database": DoctorCheck("PostgreSQL answers, is new enough and takes writes.", _database),
    "roles": DoctorCheck("The role of the processes may not do more than it needs.", _roles, needs_database=True),
    "TLS": DoctorCheck(
        "The line to PostgreSQL is encrypted and verified, or on this machine.", _tls, needs_database=True
    ),
    "state folder": DoctorCheck("It can be written, and is on another disk than the database.", _state_folder),
    "clock": DoctorCheck("This machine's clock and the database's agree.", _clock, needs_database=True),
    "proxy": DoctorCheck("A proxy is named, and nothing came through another one.", _proxy),
    "backups": DoctorCheck(
        f"The last good backup is no older than {BACKUP_AGE // timedelta(hours=1)} hours.", _backups
    ),
    "archive": DoctorCheck("The write-ahead log is archived.", _archive, needs_database=True),
    "second factors": DoctorCheck(
        "Two operators have passwords and two-step log-in.", _second_factors, needs_database=True
    ),
    "networks": DoctorCheck("Every network that is set can be reached.", _networks),
    "processes": DoctorCheck("The processes of this machine answer, are ready and of this build.", _processes),
    "metrics": DoctorCheck("The metrics that the alerts read are present.", _metrics),
}


def findings_of(facts: DoctorFacts) -> list[DoctorFinding]:
    """The findings, at least one for each check, also where nothing is wrong or the check was not possible."""
    found: list[DoctorFinding] = []
    for name, check in CHECKS.items():
        if check.needs_database and isinstance(facts.database, str):
            found.append(DoctorFinding(name, Level.WARNING, "Not looked at: the database cannot be asked."))
            continue
        of_check = [DoctorFinding(name, level, sentence) for level, sentence in check.find(facts)]
        found += of_check or [DoctorFinding(name, Level.OK, check.looks_at)]
    return found
