"""Callbacks about payments that we do not have. Money may have moved, so they are kept and shown to operators."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.payments.store.network_answers import storable


class UnknownCallback(NamedTuple):
    id: str
    received_at: datetime
    connector: str
    network_key: str
    amount: int | None
    phone: str | None
    provider_reference: str | None
    verdict: str
    code: str
    detail: str
    is_signed: bool


async def insert_unknown_callbacks(tx: Tx, callbacks: Sequence[UnknownCallback]) -> None:
    """Store these callbacks. A second try of the same commit stores none of them twice."""
    for each in callbacks:
        await tx.execute(
            """
            INSERT INTO unknown_callbacks (id, received_at, connector, network_key, amount, phone, provider_reference,
                                           verdict, code, detail, is_signed)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING
            """,
            *each._replace(
                network_key=storable(each.network_key), code=storable(each.code), detail=storable(each.detail)
            ),
        )


async def find_unknown_callbacks(connection: Conn, *, most: int) -> list[UnknownCallback]:
    """The latest callbacks, newest first."""
    rows = await connection.fetch(
        """
        SELECT id, received_at, connector, network_key, amount, phone, provider_reference, verdict, code, detail,
               is_signed
        FROM unknown_callbacks ORDER BY id DESC LIMIT $1
        """,
        most,
    )
    return [UnknownCallback(*row.values()) for row in rows]
