"""Network answers: every answer about a payment, timeouts included. They are only inserted."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo.db import Conn, Tx
from malipo.payments.dispatch import AnswerSource

_MOST_CHARACTERS = 200

_encode = msgspec.json.Encoder().encode


class StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    merchant_id: str
    transaction_id: str
    received_at: datetime
    connector: str
    source: AnswerSource
    verdict: str
    code: str
    detail: str


async def insert(tx: Tx, answers: Sequence[StoredAnswer]) -> set[str]:
    """Store answers, and return the ids of the new ones. An answer that is there was stored by an earlier try."""
    if not answers:
        return set()
    rows = await tx.fetch(
        """
        INSERT INTO network_answers (merchant_id, transaction_id, id, received_at, connector, source, verdict, code,
                                     detail)
        SELECT merchant_id, transaction_id, id, received_at, connector, source, verdict, code, detail
        FROM json_to_recordset($1) AS new (
            merchant_id text, transaction_id text, id text, received_at timestamptz, connector text, source text,
            verdict text, code text, detail text)
        ON CONFLICT DO NOTHING RETURNING id
        """,
        _encode([replace(each, code=storable(each.code), detail=storable(each.detail)) for each in answers]).decode(),
    )
    return {row["id"] for row in rows}


async def find(connection: Conn, merchant_id: str, transaction_id: str) -> list[StoredAnswer]:
    """The answers about a payment, oldest first."""
    rows = await connection.fetch(
        """
        SELECT id, merchant_id, transaction_id, received_at, connector, source, verdict, code, detail
        FROM network_answers WHERE merchant_id = $1 AND transaction_id = $2 ORDER BY id
        """,
        merchant_id,
        transaction_id,
    )
    return [StoredAnswer(**dict(row)) for row in rows]


def storable(text: str) -> str:
    """A text of a network as it is stored: without NUL, which PostgreSQL refuses, and cut if it is long."""
    return text.replace("\0", "")[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()
