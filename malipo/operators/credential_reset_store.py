"""The SQL of credential_resets: passwords that an operator has set for another, and second factors that were reset."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx

PASSWORD, SECOND_FACTOR = "password", "second_factor"


class CredentialReset(NamedTuple):
    id: str
    name: str  # of the operator whose it is
    credential: str
    reset_by: str  # an actor's name
    reset_at: datetime


async def insert(tx: Tx, id_: str, operator_id: str, credential: str, *, reset_by: str, now: datetime) -> None:
    await tx.execute(
        "INSERT INTO credential_resets (id, operator_id, credential, reset_by, reset_at) VALUES ($1, $2, $3, $4, $5)",
        id_,
        operator_id,
        credential,
        reset_by,
        now,
    )


async def find_open(connection: Conn, *, since: datetime) -> list[CredentialReset]:
    """Those that nobody has vouched for, the oldest first."""
    rows = await connection.fetch(
        """
        SELECT r.id, o.name, r.credential, r.reset_by, r.reset_at
        FROM credential_resets r JOIN operators o ON o.id = r.operator_id
        WHERE r.vouched_at IS NULL AND r.reset_at > $1 ORDER BY r.reset_at, r.id
        """,
        since,
    )
    return [CredentialReset(*row.values()) for row in rows]


async def end(tx: Tx, ids: Sequence[str], *, vouched_by: str, now: datetime) -> None:
    """Only these: what was reset since they were read stays open."""
    await tx.execute(
        "UPDATE credential_resets SET vouched_by = $2, vouched_at = $3 WHERE id = ANY($1) AND vouched_at IS NULL",
        list(ids),
        vouched_by,
        now,
    )
