"""The outbox's SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from malipo.db import Tx


@dataclass(frozen=True, slots=True)
class Fact:
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
        SELECT *, $6 FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
        """,
        [fact.id for fact in facts],
        [fact.merchant_id for fact in facts],
        [fact.transaction_id for fact in facts],
        [fact.event for fact in facts],
        [fact.body for fact in facts],
        now,
    )
