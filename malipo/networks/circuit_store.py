"""SQL of the circuit breaker: which connectors are down, for all workers."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx

# The connectors that are down, as a value.
DOWN = "ARRAY(SELECT connector FROM open_circuits)"


class Outage(NamedTuple):
    since: datetime
    reason: str
    probe_count: int
    is_due: bool  # to be probed


async def find_down(connection: Conn) -> Mapping[str, Outage]:
    rows = await connection.fetch(
        "SELECT connector, since, reason, probe_count, next_probe_at <= now() AS is_due FROM open_circuits"
    )
    return {row["connector"]: Outage(row["since"], row["reason"], row["probe_count"], row["is_due"]) for row in rows}


async def open_circuit(tx: Tx, connector: str, reason: str, *, probe_seconds: float, now: datetime) -> bool:
    """Whether it was closed until now."""
    done = await tx.execute(
        """
        INSERT INTO open_circuits (connector, since, reason, next_probe_at)
        VALUES ($1, $2, $3, now() + $4 * interval '1 second')
        ON CONFLICT (connector) DO NOTHING
        """,
        connector,
        now,
        reason,
        float(probe_seconds),
    )
    return done == "INSERT 0 1"


async def claim_probe(tx: Tx, connector: str, *, lease_seconds: float) -> bool:
    """Whether this worker is to probe now: of several workers, one probes."""
    done = await tx.execute(
        """
        UPDATE open_circuits SET next_probe_at = now() + $2 * interval '1 second', probe_count = probe_count + 1
        WHERE connector = $1 AND next_probe_at <= now()
        """,
        connector,
        float(lease_seconds),
    )
    return done == "UPDATE 1"


async def put_off(tx: Tx, connector: str, reason: str, *, probe_seconds: float) -> None:
    """It did not answer: probe again later."""
    await tx.execute(
        "UPDATE open_circuits SET reason = $2, next_probe_at = now() + $3 * interval '1 second' WHERE connector = $1",
        connector,
        reason,
        float(probe_seconds),
    )


async def close_circuit(tx: Tx, connector: str) -> bool:
    """Whether it was open until now."""
    return await tx.execute("DELETE FROM open_circuits WHERE connector = $1", connector) == "DELETE 1"
