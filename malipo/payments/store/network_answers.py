"""Network answers: every answer about a payment, timeouts included. They are only inserted."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from malipo.db import Conn, Tx
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store.transactions import Key

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
    """The ids of those that are new: one that is already there was written by an earlier try."""
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
    """A network may send anything. PostgreSQL stores no NUL, and a long text is cut."""
    return text.replace("\0", "")[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()


# What networks call our payments, where their query needs that.


async def keep_network_ids(tx: Tx, network_ids: Mapping[Key, str]) -> None:
    """Of transactions that the caller has locked. The first stays: the same key is one payment."""
    if not network_ids:
        return
    await tx.execute(
        """
        UPDATE transactions t SET network_id = new.network_id
        FROM json_to_recordset($1) AS new (merchant_id text, id text, network_id text)
        WHERE t.merchant_id = new.merchant_id AND t.id = new.id AND t.network_id IS NULL
        """,
        _encode(
            [
                {"merchant_id": merchant_id, "id": id_, "network_id": network_id}
                for (merchant_id, id_), network_id in network_ids.items()
            ]
        ).decode(),
    )


# Callbacks about payments that we do not have. Money may have moved, so they are kept and shown to operators.


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
    """A second try of the same commit inserts nothing twice."""
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
    """The latest first."""
    rows = await connection.fetch(
        """
        SELECT id, received_at, connector, network_key, amount, phone, provider_reference, verdict, code, detail,
               is_signed
        FROM unknown_callbacks ORDER BY id DESC LIMIT $1
        """,
        most,
    )
    return [UnknownCallback(*row.values()) for row in rows]
