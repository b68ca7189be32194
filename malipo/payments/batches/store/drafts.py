"""SQL of drafts of batches. Each is kept for a week, and some for each person."""

from datetime import datetime, timedelta

import msgspec

from malipo.db import Conn, Tx
from malipo.payments.batches.spreadsheet.draft import BatchDraft, Edits
from malipo.payments.batches.spreadsheet.read_sheet import PayoutSheet

_LIFE = timedelta(days=7)
_MOST_EACH = 20


class DraftSummary(msgspec.Struct, frozen=True):
    """A draft in a list."""

    id: str
    filename: str
    created_at: datetime


async def insert(tx: Tx, draft: BatchDraft) -> None:
    await _delete_old(tx, draft)
    await tx.execute(
        """
        INSERT INTO batch_drafts (id, merchant_id, person, filename, sheet, edits, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (id) DO NOTHING
        """,
        draft.id,
        draft.merchant_id,
        draft.person,
        draft.filename,
        msgspec.json.encode(draft.sheet),
        msgspec.json.encode(draft.edits),
        draft.created_at,
    )


async def _delete_old(tx: Tx, draft: BatchDraft) -> None:
    """Delete drafts that are older than a week, and the oldest of this person."""
    await tx.execute("DELETE FROM batch_drafts WHERE created_at < $1", draft.created_at - _LIFE)
    await tx.execute(
        """
        DELETE FROM batch_drafts WHERE id IN (
            SELECT id FROM batch_drafts WHERE merchant_id = $1 AND person = $2 ORDER BY id DESC OFFSET $3
        )
        """,
        draft.merchant_id,
        draft.person,
        _MOST_EACH - 1,
    )


async def get(connection: Conn, merchant_id: str, person: str, draft_id: str) -> BatchDraft | None:
    return await _get(connection, merchant_id, person, draft_id, "")


async def lock(tx: Tx, merchant_id: str, person: str, draft_id: str) -> BatchDraft | None:
    """Lock a draft, so that two windows that edit it come one after the other."""
    return await _get(tx, merchant_id, person, draft_id, "FOR UPDATE")


async def _get(connection: Conn, merchant_id: str, person: str, draft_id: str, how: str) -> BatchDraft | None:
    row = await connection.fetchrow(
        f"""
        SELECT filename, sheet, edits, created_at, batch_id FROM batch_drafts
        WHERE id = $3 AND merchant_id = $1 AND person = $2 {how}
        """,
        merchant_id,
        person,
        draft_id,
    )
    if row is None:
        return None
    return BatchDraft(
        id=draft_id,
        merchant_id=merchant_id,
        person=person,
        filename=row["filename"],
        sheet=msgspec.json.decode(row["sheet"], type=PayoutSheet),
        edits=msgspec.json.decode(row["edits"], type=Edits),
        created_at=row["created_at"],
        batch_id=row["batch_id"],
    )


async def update(tx: Tx, draft: BatchDraft) -> None:
    await tx.execute(
        "UPDATE batch_drafts SET sheet = $2, edits = $3 WHERE id = $1",
        draft.id,
        msgspec.json.encode(draft.sheet),
        msgspec.json.encode(draft.edits),
    )


async def set_batch(tx: Tx, draft_id: str, batch_id: str) -> None:
    await tx.execute("UPDATE batch_drafts SET batch_id = $2 WHERE id = $1", draft_id, batch_id)


async def delete(tx: Tx, draft_id: str) -> None:
    await tx.execute("DELETE FROM batch_drafts WHERE id = $1", draft_id)


async def find_open(connection: Conn, merchant_id: str, person: str) -> list[DraftSummary]:
    """The drafts of a person that are not submitted, newest first."""
    rows = await connection.fetch(
        """
        SELECT id, filename, created_at FROM batch_drafts
        WHERE merchant_id = $1 AND person = $2 AND batch_id IS NULL ORDER BY id DESC
        """,
        merchant_id,
        person,
    )
    return [DraftSummary(*row.values()) for row in rows]
