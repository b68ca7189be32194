"""The SQL of credential resets: passwords that another person set or made a link for, and second factors that another
person reset; of operators and of merchants' people."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from malipo.audit_log import actor as actors
from malipo.db import Conn, Tx

PASSWORD, SECOND_FACTOR = "password", "second_factor"


class CredentialReset(NamedTuple):
    id: str
    account: str  # its owner, as the audit log names them: "operator " and a name, or an email
    credential: str
    reset_by: str  # an actor's name
    reset_at: datetime
    vouched_at: datetime | None = None

    @property
    def name(self) -> str:
        """The owner's name, for people."""
        return actors.plain_name(self.account)

    @property
    def by(self) -> str:
        return actors.plain_name(self.reset_by)


async def insert(tx: Tx, id_: str, operator_id: str, credential: str, *, reset_by: str, now: datetime) -> None:
    """Store a reset of an operator's credential."""
    await tx.execute(
        "INSERT INTO credential_resets (id, operator_id, credential, reset_by, reset_at) VALUES ($1, $2, $3, $4, $5)",
        id_,
        operator_id,
        credential,
        reset_by,
        now,
    )


async def insert_of_person(
    tx: Tx, id_: str, merchant_id: str, email: str, credential: str, *, reset_by: str, now: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO credential_resets (id, merchant_id, email, credential, reset_by, reset_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        id_,
        merchant_id,
        email,
        credential,
        reset_by,
        now,
    )


async def find_open(connection: Conn, *, since: datetime) -> list[CredentialReset]:
    """Resets of operators without a voucher, the oldest first."""
    rows = await connection.fetch(
        """
        SELECT r.id, o.name, r.credential, r.reset_by, r.reset_at
        FROM credential_resets r JOIN operators o ON o.id = r.operator_id
        WHERE r.vouched_at IS NULL AND r.reset_at > $1 ORDER BY r.reset_at, r.id
        """,
        since,
    )
    return [CredentialReset(row[0], actors.operator_at(row[1], "").name, *row[2:]) for row in rows]


async def find_open_of_people(connection: Conn, merchant_id: str, *, since: datetime) -> list[CredentialReset]:
    """Open resets of a merchant's people, also of removed ones."""
    rows = await connection.fetch(
        """
        SELECT id, email, credential, reset_by, reset_at FROM credential_resets
        WHERE merchant_id = $1 AND vouched_at IS NULL AND reset_at > $2 ORDER BY reset_at, id
        """,
        merchant_id,
        since,
    )
    return [CredentialReset(*row.values()) for row in rows]


async def find_all(connection: Conn) -> list[CredentialReset]:
    """All resets of operators, ended ones included."""
    rows = await connection.fetch(
        """
        SELECT r.id, o.name, r.credential, r.reset_by, r.reset_at, r.vouched_at
        FROM credential_resets r JOIN operators o ON o.id = r.operator_id
        """
    )
    return [CredentialReset(row[0], actors.operator_at(row[1], "").name, *row[2:]) for row in rows]


async def find_all_of_people(connection: Conn, merchant_id: str) -> list[CredentialReset]:
    """All resets of a merchant's people, ended ones included."""
    rows = await connection.fetch(
        """
        SELECT id, email, credential, reset_by, reset_at, vouched_at FROM credential_resets WHERE merchant_id = $1
        """,
        merchant_id,
    )
    return [CredentialReset(*row.values()) for row in rows]


async def end(tx: Tx, ids: Sequence[str], *, vouched_by: str, now: datetime) -> None:
    """End these resets only. Resets since they were read stay open."""
    await tx.execute(
        "UPDATE credential_resets SET vouched_by = $2, vouched_at = $3 WHERE id = ANY($1) AND vouched_at IS NULL",
        list(ids),
        vouched_by,
        now,
    )


async def end_links_of_operator(tx: Tx, operator: str, *, now: datetime) -> None:
    """End the password links that an operator has made at the command line."""
    await tx.execute(
        "UPDATE password_links SET ended_at = $2 WHERE made_by_operator = $1 AND used_at IS NULL AND ended_at IS NULL",
        operator,
        now,
    )
