"""Schedules of settlements, and their runs."""

from collections.abc import Collection
from datetime import date, datetime, timedelta
from typing import NamedTuple

from malipo.db import Conn, Row, Tx
from malipo.restore.store import installation
from malipo.settlement.schedule import Every, RunOutcome, Schedule

_PAUSED_SINCE = f"""
    CASE WHEN s.every <> 'off' THEN {installation.lost_since_if("s.changed_at", within=timedelta(0))} END
"""
_COLUMNS = f"""
    s.merchant_id, s.every, s.on_day, s.minimum, s.keep, s.changed_at, s.changed_by, {_PAUSED_SINCE} AS paused_since
"""


class Run(NamedTuple):
    day: date
    outcome: RunOutcome
    settlement_id: str | None


def _schedule_of(row: Row) -> Schedule:
    return Schedule(
        merchant_id=row["merchant_id"],
        every=Every(row["every"]),
        on_day=row["on_day"],
        minimum=row["minimum"],
        keep=row["keep"],
        changed_at=row["changed_at"],
        changed_by=row["changed_by"],
        paused_since=row["paused_since"],
    )


async def save(tx: Tx, schedule: Schedule) -> None:
    await tx.execute(
        """
        INSERT INTO settlement_schedules (merchant_id, every, on_day, minimum, keep, changed_at, changed_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (merchant_id) DO UPDATE SET every = excluded.every, on_day = excluded.on_day,
            minimum = excluded.minimum, keep = excluded.keep, changed_at = excluded.changed_at,
            changed_by = excluded.changed_by
        """,
        schedule.merchant_id,
        schedule.every,
        schedule.on_day,
        schedule.minimum,
        schedule.keep,
        schedule.changed_at,
        schedule.changed_by,
    )


async def find(connection: Conn, merchant_id: str) -> Schedule | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM settlement_schedules s WHERE s.merchant_id = $1", merchant_id
    )
    return None if row is None else _schedule_of(row)


async def find_kept(connection: Conn, merchant_ids: Collection[str]) -> dict[str, int]:
    """What owners want to stay in the wallets of these merchants, also where nothing is sent by itself."""
    rows = await connection.fetch(
        "SELECT merchant_id, keep FROM settlement_schedules WHERE merchant_id = ANY($1)",
        list(merchant_ids),
    )
    return {row["merchant_id"]: row["keep"] for row in rows}


async def find_running(connection: Conn, *, day: date) -> list[tuple[Schedule, date | None]]:
    """All that are on, not paused, and have not run on this day, each with the day of its last run."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS}, r.day AS last_run FROM settlement_schedules s
        LEFT JOIN LATERAL (SELECT max(day) AS day FROM settlement_runs r WHERE r.merchant_id = s.merchant_id) r ON true
        WHERE s.every <> 'off' AND {_PAUSED_SINCE} IS NULL AND r.day IS DISTINCT FROM $1 ORDER BY s.merchant_id
        """,
        day,
    )
    return [(_schedule_of(row), row["last_run"]) for row in rows]


async def find_paused(connection: Conn) -> list[str]:
    """The merchants whose schedule waits for an owner since a restore."""
    rows = await connection.fetch(
        f"SELECT s.merchant_id FROM settlement_schedules s WHERE {_PAUSED_SINCE} IS NOT NULL ORDER BY 1"
    )
    return [row["merchant_id"] for row in rows]


async def claim_run(tx: Tx, merchant_id: str, day: date, *, now: datetime) -> bool:
    """Whether this is the first run of the merchant on that day. Another one waits for our commit."""
    done = await tx.execute(
        """
        INSERT INTO settlement_runs (merchant_id, day, outcome, ran_at) VALUES ($1, $2, 'too_little', $3)
        ON CONFLICT DO NOTHING
        """,
        merchant_id,
        day,
        now,
    )
    return done == "INSERT 0 1"


async def note_run(
    tx: Tx, merchant_id: str, day: date, outcome: RunOutcome, *, settlement_id: str | None = None
) -> None:
    await tx.execute(
        "UPDATE settlement_runs SET outcome = $3, settlement_id = $4 WHERE merchant_id = $1 AND day = $2",
        merchant_id,
        day,
        outcome,
        settlement_id,
    )


async def find_runs(connection: Conn, merchant_id: str, *, limit: int) -> list[Run]:
    """The runs of a merchant's schedule, the latest first."""
    rows = await connection.fetch(
        "SELECT day, outcome, settlement_id FROM settlement_runs WHERE merchant_id = $1 ORDER BY day DESC LIMIT $2",
        merchant_id,
        limit,
    )
    return [Run(row["day"], RunOutcome(row["outcome"]), row["settlement_id"]) for row in rows]
