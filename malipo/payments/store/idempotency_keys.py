"""Idempotency keys: written in the commit of their transaction, and kept for ever."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from malipo.db import Conn, Tx
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Transaction

# A merchant's id; the route, which is the type of the payment, or the scope of its request; the idempotency key.
IdempotencyKey = tuple[str, str, str]

_encode = msgspec.json.Encoder().encode


class IdempotencyRecord(NamedTuple):
    """What an idempotency key was used for."""

    request_hash: bytes
    transaction_id: str


ADOPTED = b""  # the request hash of an adopted payment: its request was lost


def document_of(records: Mapping[IdempotencyKey, IdempotencyRecord]) -> str:
    """The records as one JSON document, sorted, so that there are no deadlocks."""
    return _encode([(*key, *record) for key, record in sorted(records.items())]).decode()


def insert_new_keys_sql(records: str) -> str:
    """A part of a statement: inserts the keys that are new. It waits for a commit that is using one of them."""
    return f"""
        INSERT INTO idempotency_keys (merchant_id, route, key, request_hash, transaction_id)
        SELECT record ->> 0, record ->> 1, record ->> 2, decode(record ->> 3, 'base64'), record ->> 4
        FROM json_array_elements({records}) AS record
        ON CONFLICT DO NOTHING
        RETURNING transaction_id
    """


async def find(tx: Tx, keys: Collection[IdempotencyKey]) -> dict[IdempotencyKey, tuple[IdempotencyRecord, Transaction]]:
    """What these idempotency keys were used for, and their transactions."""
    rows = await tx.fetch(
        f"""
        SELECT k.route, k.key, k.request_hash, {COLUMNS}
        FROM idempotency_keys k
        JOIN transactions t ON t.merchant_id = k.merchant_id AND t.id = k.transaction_id
        WHERE (k.merchant_id, k.route, k.key) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))
        """,
        *map(list, zip(*keys, strict=True)),
    )
    return {
        (row["merchant_id"], row["route"], row["key"]): (
            IdempotencyRecord(row["request_hash"], row["id"]),
            transaction_of(row),
        )
        for row in rows
    }


async def insert(tx: Tx, key: IdempotencyKey, request_hash: bytes, transaction_id: str) -> bool:
    """Note what a key was used for, unless it has been used. Returns whether it was noted."""
    done = await tx.execute(
        """
        INSERT INTO idempotency_keys (merchant_id, route, key, request_hash, transaction_id)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
        """,
        *key,
        request_hash,
        transaction_id,
    )
    return done == "INSERT 0 1"


async def find_transaction_ids(connection: Conn, merchant_id: str, key: str) -> list[str]:
    """The ids of the transactions that a key was used for, on any route. The index has the route before the key, so the
    query goes from one route of the merchant to the next."""
    rows = await connection.fetch(
        """
        WITH RECURSIVE used (route) AS (
            SELECT min(route) FROM idempotency_keys WHERE merchant_id = $1
            UNION ALL
            SELECT (SELECT min(k.route) FROM idempotency_keys k WHERE k.merchant_id = $1 AND k.route > used.route)
            FROM used WHERE used.route IS NOT NULL
        )
        SELECT k.transaction_id FROM used
        JOIN idempotency_keys k ON k.merchant_id = $1 AND k.route = used.route AND k.key = $2
        """,
        merchant_id,
        key,
    )
    return [row["transaction_id"] for row in rows]


async def update(tx: Tx, records: Mapping[IdempotencyKey, IdempotencyRecord]) -> None:
    await tx.execute(
        """
        UPDATE idempotency_keys k SET request_hash = new.request_hash, transaction_id = new.transaction_id
        FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[])
             AS new (merchant_id, route, key, request_hash, transaction_id)
        WHERE k.merchant_id = new.merchant_id AND k.route = new.route AND k.key = new.key
        """,
        *_columns_of(list(records.items())),
    )


async def delete(tx: Tx, keys: Collection[IdempotencyKey]) -> None:
    await tx.execute(
        """
        DELETE FROM idempotency_keys
        WHERE (merchant_id, route, key) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))
        """,
        *map(list, zip(*keys, strict=True)),
    )


def _columns_of(records: Sequence[tuple[IdempotencyKey, IdempotencyRecord]]) -> list[list[Any]]:
    return [list(column) for column in zip(*((*key, *record) for key, record in records), strict=True)]
