"""The outbox's SQL."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.db import Tx

_encode = msgspec.json.Encoder().encode


class Fact(msgspec.Struct, frozen=True):
    """Something that became true of a transaction. The body is what every receiver will get, byte for byte."""

    id: str
    merchant_id: str
    transaction_id: str
    event: str
    body: str


async def insert(tx: Tx, facts: Sequence[Fact], *, now: datetime) -> None:
    if not facts:
        return
    await tx.execute(
        """
        INSERT INTO events (id, merchant_id, transaction_id, event, body, created_at)
        SELECT id, merchant_id, transaction_id, event, body, $2
        FROM json_to_recordset($1) AS new (id text, merchant_id text, transaction_id text, event text, body text)
        """,
        _encode(facts).decode(),
        now,
    )
