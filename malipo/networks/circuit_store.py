"""SQL of the circuit breaker: which connectors are down, for all workers."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx


class Down(NamedTuple):
    since: datetime
    reason: str
    probes: int
    is_due: bool  # to be probed


async def find_down(connection: Conn) -> Mapping[str, Down]:
    rows = await connection.fetch("SELECT route, since, reason, probes, probe_at <= now() AS is_due FROM circuits")
    return {row["route"]: Down(row["since"], row["reason"], row["probes"], row["is_due"]) for row in rows}


async def open_circuit(tx: Tx, route: str, reason: str, *, probe_seconds: float, now: datetime) -> bool:
    """Whether it was closed until now."""
    done = await tx.execute(
        """
        INSERT INTO circuits (route, since, reason, probe_at) VALUES ($1, $2, $3, now() + $4 * interval '1 second')
        ON CONFLICT (route) DO NOTHING
        """,
        route,
        now,
        reason,
        float(probe_seconds),
    )
    return done == "INSERT 0 1"


async def claim_probe(tx: Tx, route: str, *, lease_seconds: float) -> bool:
    """Whether this worker is to probe now: of several workers, one probes."""
    done = await tx.execute(
        """
        UPDATE circuits SET probe_at = now() + $2 * interval '1 second', probes = probes + 1
        WHERE route = $1 AND probe_at <= now()
        """,
        route,
        float(lease_seconds),
    )
    return done == "UPDATE 1"


async def put_off(tx: Tx, route: str, reason: str, *, probe_seconds: float) -> None:
    """It did not answer: probe again later."""
    await tx.execute(
        "UPDATE circuits SET reason = $2, probe_at = now() + $3 * interval '1 second' WHERE route = $1",
        route,
        reason,
        float(probe_seconds),
    )


async def close_circuit(tx: Tx, route: str) -> bool:
    """Whether it was open until now."""
    return await tx.execute("DELETE FROM circuits WHERE route = $1", route) == "DELETE 1"
