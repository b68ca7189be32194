"""A stack whose database is restored from a backup while its processes go on, and operators who release it."""

import dataclasses
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from malipo import clock
from malipo.app.assemble import Service
from tests.conftest import named
from tests.journeys.full_stack import Elsewhere, FullStack, a_worker, until
from tests.journeys.operator_commands import Said, malipo

EVIDENCE = "The portals of all four networks, from the backup until now"
OPERATORS = ("asha", "juma")


async def back_up(database_url: str) -> str:
    """A copy of the database as it is now; its name. Whoever is connected is cut off, and comes back."""
    name, copy = _name_of(database_url), f"backup_{secrets.token_hex(6)}"
    async with _closed(database_url) as server:
        await server.execute(f'CREATE DATABASE "{copy}" TEMPLATE "{name}" STRATEGY = FILE_COPY')
    return copy


async def bring_back(database_url: str, backup: str) -> None:
    """What was written since the backup is gone. No network is queried, and no event is written."""
    name = _name_of(database_url)
    async with _closed(database_url) as server:
        await server.execute(f'ALTER DATABASE "{name}" RENAME TO "lost_{secrets.token_hex(6)}"')
        await server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{backup}" STRATEGY = FILE_COPY')


@asynccontextmanager
async def _closed(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """The server, while nobody can be connected to this database."""
    name = _name_of(database_url)
    server = await asyncpg.connect(named(database_url, "postgres"))
    try:
        await server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        query = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = $1"
        await server.fetchval(query, name)
        yield server
        await server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
    finally:
        await server.close()


def _name_of(database_url: str) -> str:
    return urlsplit(database_url).path.removeprefix("/")


@asynccontextmanager
async def a_host(full_stack: FullStack, state: Path | str) -> AsyncIterator[Service]:
    """A worker of a host that keeps its mark in this folder, and has looked at the database."""
    settings = dataclasses.replace(full_stack.settings, state_dir=str(state))
    began = clock.now()

    async def has_looked() -> bool:
        async with full_stack.database.read() as connection:
            return bool(
                await connection.fetchval("SELECT EXISTS (SELECT FROM worker_send_counts WHERE seen_at > $1)", began)
            )

    async with a_worker(Elsewhere(full_stack.database_url, settings)) as service:
        await until(has_looked, what="a worker's first look")
        yield service


async def installation(full_stack: FullStack) -> dict[str, Any]:
    """The installation's row, read without malipo's own stores."""
    connection = await asyncpg.connect(full_stack.database_url)
    try:
        row = await connection.fetchrow("SELECT * FROM installation")
    finally:
        await connection.close()
    assert row is not None
    return dict(row)


async def until_fenced(full_stack: FullStack, after: int = 1) -> int:
    """The epoch that begins, after this one."""
    found: list[int] = []

    async def is_fenced() -> bool:
        row = await installation(full_stack)
        found.append(row["epoch"])
        return row["fenced_at"] is not None and row["epoch"] > after

    await until(is_fenced, what="the fence")
    return found[-1]


async def until_looked(full_stack: FullStack, workers: int = 1) -> None:
    """So many workers have compared their marks, and are seen."""

    async def is_seen() -> bool:
        query = "SELECT count(*) FROM worker_send_counts WHERE seen_at > clock_timestamp() - interval '3 seconds'"
        async with full_stack.database.read() as connection:
            return int(await connection.fetchval(query)) >= workers

    await until(is_seen, what="a look at the database")


async def until_looked_again(full_stack: FullStack, times: int = 3) -> None:
    """The one worker has looked at the database so many times from now on, as it does before it sends anything."""
    seen: set[Any] = set()

    async def has_looked() -> bool:
        async with full_stack.database.read() as connection:
            seen.add(await connection.fetchval("SELECT max(seen_at) FROM worker_send_counts"))
        return len(seen) > times  # the first one was before

    await until(has_looked, what=f"{times} looks at the database")


async def operate(full_stack: FullStack, operator: str | None, *arguments: str) -> Said:
    settings: dict[str, Any] = {"database_url": full_stack.database_url, "unsettled_seconds": 5}
    return await malipo(*arguments, **settings, **({"operator": operator} if operator else {}))


async def appoint(full_stack: FullStack, operators: Sequence[str] = OPERATORS) -> None:
    for name in operators:
        assert (await operate(full_stack, None, "operators", "add", name)).code == 0


async def release(full_stack: FullStack, *scope: str) -> None:
    """Two operators agree, each by a command."""
    for operator in OPERATORS:
        let_go = ("restore", "release", "--evidence", EVIDENCE, "--here", *scope)
        said = await operate(full_stack, operator, *let_go)
        while "has changed since you saw it" in said.err:  # The networks are asked meanwhile: they look again.
            said = await operate(full_stack, operator, *let_go)
        assert said.code == 0, said.err


async def unsettled(full_stack: FullStack) -> dict[str, str]:
    """Payments that operators are shown, and why."""
    said = await operate(full_stack, None, "payments", "unsettled", "--json")
    return {row["payment"]: row["why"] for row in said.json}


async def pay(
    full_stack: FullStack, channel: str, phone: str, key: str | None, amount: int = 1000, *, type_: str = "DISBURSEMENT"
) -> Any:
    """Ask for a payment as a merchant's program does, with an Idempotency-Key; the whole answer."""
    is_payout = type_ == "DISBURSEMENT"
    body = {"amount": amount, "channel": channel, "recipientPhone" if is_payout else "buyerPhone": phone}
    headers = {"Idempotency-Key": key} if key is not None else {}
    return await full_stack.api("POST", "/v1/payments/disburse" if is_payout else "/v1/payments", body, headers=headers)


async def statuses(full_stack: FullStack) -> dict[str, str]:
    """Every payment's status by the phone it is for."""
    connection = await asyncpg.connect(full_stack.database_url)
    try:
        rows = await connection.fetch("SELECT phone, status FROM transactions")
    finally:
        await connection.close()
    return {row["phone"]: row["status"] for row in rows}
