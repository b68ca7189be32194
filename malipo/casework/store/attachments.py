"""The SQL of attachments: files about cases and exceptions."""

from malipo.casework.attachment import Attachment, FileKind
from malipo.db import Conn, Row, Tx

_COLUMNS = "id, subject, name, kind, size, sha256, added_by, added_at"
_LOCK = 0x61746163  # "atac" in ASCII: any number that no other pair of locks uses


async def lock_of(tx: Tx, subject: str) -> list[Attachment]:
    """All of one subject; nobody adds another before the commit."""
    await tx.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", _LOCK, subject)
    return await find_of(tx, subject)


async def find_of(connection: Conn, subject: str) -> list[Attachment]:
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM attachments WHERE subject = $1 ORDER BY id", subject)
    return [_attachment(row) for row in rows]


async def get(connection: Conn, attachment_id: str) -> tuple[Attachment, bytes] | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS}, content FROM attachments WHERE id = $1", attachment_id)
    return None if row is None else (_attachment(row), bytes(row["content"]))


async def insert(tx: Tx, attachment: Attachment, content: bytes, *, merchant_id: str | None) -> None:
    await tx.execute(
        f"""
        INSERT INTO attachments ({_COLUMNS}, merchant_id, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        *attachment,
        merchant_id,
        content,
    )


def _attachment(row: Row) -> Attachment:
    return Attachment(
        row["id"],
        row["subject"],
        row["name"],
        FileKind(row["kind"]),
        row["size"],
        row["sha256"],
        row["added_by"],
        row["added_at"],
    )
