"""Gathers the facts for malipo doctor. It reads, connects and asks; it writes nothing anywhere."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from malipo import clock
from malipo.build import build_id
from malipo.cli.database_url import database_url
from malipo.cli.doctor import store
from malipo.cli.doctor.checks import DatabaseFacts, DoctorFacts, Process
from malipo.db import ConnectionLost, Database
from malipo.db.database_clock import measure
from malipo.db.schema import require_served
from malipo.errors import Impossible, Unavailable
from malipo.http import tls
from malipo.operators import four_eyes
from malipo.settings import Settings, parsers, state_folder

_SECONDS = 5.0


def gather(settings: Settings, *, backups: str | None) -> DoctorFacts:
    try:
        with database_url(settings) as url:
            return asyncio.run(_gather(settings, url, None, backups=backups))
    except Impossible as error:
        return asyncio.run(_gather(settings, None, str(error), backups=backups))


async def _gather(settings: Settings, url: str | None, trouble: str | None, *, backups: str | None) -> DoctorFacts:
    database: DatabaseFacts | str = trouble or ""
    data_folder: str | None = None
    if url is not None:
        database, data_folder = await _query_database(url)
    is_remote = isinstance(database, DatabaseFacts) and not database.is_on_this_machine
    folder = state_folder(settings)
    api, worker = await _query_processes(settings)
    return DoctorFacts(
        settings=settings,
        now=clock.now(),
        build=build_id(),
        database=database,
        state_folder=str(folder) if folder is not None else None,
        state_folder_trouble=_trouble_of(folder) if folder is not None else None,
        is_state_on_database_disk=False if is_remote else _is_one_disk(folder, data_folder),
        backups=backups,
        last_backup_at=_last_backup(Path(backups)) if backups is not None else None,
        are_backups_hidden=backups is not None and _is_hidden(Path(backups)),
        networks=await _reach(settings),
        api=api,
        worker=worker,
    )


async def _query_database(url: str) -> tuple[DatabaseFacts | str, str | None]:
    try:
        async with asyncio.timeout(2 * _SECONDS), Database.opened(url, size=2) as database:
            await require_served(database)
            async with database.read() as connection:
                server = await store.find_server(connection)
                operators = await store.find_operators(connection)
                data_folder = await store.find_data_folder(connection)
                resets = await four_eyes.find_open(connection, now=clock.now())
            sample = await measure(database, clock.now)
    except (ConnectionLost, Impossible, Unavailable) as error:
        return str(error), None
    except TimeoutError:
        return "it did not answer in time.", None
    without = [name for name, has_second_factor in operators if not has_second_factor]
    facts = DatabaseFacts(
        **server,
        clock_ahead_seconds=0.0 if sample.is_too_much is None else sample.ahead_seconds,
        operators=len(operators),
        operators_without_second_factor=without,
        operators_not_vouched_for=[each.name for each in four_eyes.last_of_each(resets)],
    )
    return facts, data_folder


def _trouble_of(folder: Path) -> str | None:
    """Why a worker of this user could not use the folder. A missing folder is no trouble: a worker makes it."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        return "is no folder"
    return None if os.access(existing, os.W_OK | os.X_OK) else "cannot be written by this user"


def _is_one_disk(folder: Path | None, data_folder: str | None) -> bool | None:
    try:
        if folder is None or data_folder is None:
            return None
        while not folder.exists():
            folder = folder.parent
        return folder.stat().st_dev == Path(data_folder).stat().st_dev
    except OSError:
        return None


def _last_backup(folder: Path) -> datetime | None:
    """The time of the last backup, as deploy/backup/age reads it."""
    try:
        at, _, backup = (folder / "last-good").read_text().strip().partition(" ")
        return datetime.fromtimestamp(int(at), UTC) if Path(backup).is_dir() else None
    except (OSError, ValueError):
        return None


def _is_hidden(folder: Path) -> bool:
    try:
        (folder / "last-good").read_bytes()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


async def _reach(settings: Settings) -> Mapping[str, str | None]:
    """Each address of a network that is set: a connection, with TLS, and no request."""
    addresses = {
        f"{parts.scheme}://{parts.netloc}"
        for each in fields(Settings)
        if each.metadata["parse"] is parsers.base_url and (value := getattr(settings, each.name))
        for parts in (urlsplit(value),)
    }
    ordered = sorted(addresses)
    return dict(zip(ordered, await asyncio.gather(*map(_why_unreachable, ordered)), strict=True))


async def _why_unreachable(address: str) -> str | None:
    parts = urlsplit(address)
    is_tls = parts.scheme == "https"
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(
                parts.hostname, parts.port or (443 if is_tls else 80), ssl=tls.client_context() if is_tls else None
            )
    except TimeoutError:
        return f"no connection in {_SECONDS:.0f} s."
    except OSError as error:
        return f"{error.strerror or error}."
    writer.close()
    return None


async def _query_processes(settings: Settings) -> tuple[Process | None, Process | None]:
    headers = {"Authorization": f"Bearer {settings.metrics_token}"} if settings.metrics_token else {}
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as http:
        api = await _query_process(http, _address(settings.host, settings.port))
        if settings.worker_metrics_port is None:
            return api, None
        return api, await _query_process(http, _address(settings.worker_metrics_host, settings.worker_metrics_port))


def _address(host: str, port: int) -> str:
    """One that listens everywhere is asked on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _query_process(http: aiohttp.ClientSession, address: str) -> Process:
    try:
        health = await _json(http, f"{address}/healthz")
        ready = await _json(http, f"{address}/readyz")
        async with http.get(f"{address}/metrics") as answer:
            metrics = await answer.text() if answer.status == 200 else None
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return Process()
    return Process(
        build=health.get("build", "that is older than 0.3.0"),
        readiness=None if ready.get("status") == "ready" else str(ready.get("error")),
        warnings=ready.get("warnings", []),
        metrics=metrics,
    )


async def _json(http: aiohttp.ClientSession, url: str) -> dict[str, Any]:
    async with http.get(url) as answer:
        found: dict[str, Any] = await answer.json()
        return found
