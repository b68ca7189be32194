"""Transactions. Only `status_writer.py` may call what writes here."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel
from malipo.payments.transaction import CorrectionNotice, Refund, Status, Transaction, Type

Key = tuple[str, str]  # a merchant's id and a transaction's

COLUMNS = """
    t.merchant_id, t.id, t.reference, t.network_key, t.type, t.channel, t.status, t.amount, t.fee, t.phone, t.name,
    t.description, t.metadata, t.created_at, t.provider_reference, t.failure_code, t.failure_reason,
    t.failure_detail, t.network_code,
    t.processing_at, t.ended_at, t.order_reference, t.refund_of, t.batch_id, t.network_id, t.link_id
"""

# The refunds of a collection, in their order; null if there are none.
REFUNDS = """
    (SELECT json_agg(json_build_object('id', r.refund_id, 'ordinal', r.ordinal, 'amount', p.amount, 'status', p.status,
                                       'is_reported_paid', k.is_paid) ORDER BY r.ordinal)
     FROM refunds r JOIN transactions p ON p.merchant_id = r.merchant_id AND p.id = r.refund_id
     LEFT JOIN corrections k ON k.merchant_id = r.merchant_id AND k.transaction_id = r.refund_id
     WHERE r.merchant_id = t.merchant_id AND r.collection_id = t.id)
"""

_decode = msgspec.json.Decoder().decode
_decode_refunds = msgspec.json.Decoder(list[Refund]).decode
_decode_notice = msgspec.json.Decoder(CorrectionNotice).decode
_encode = msgspec.json.Encoder().encode


# The constraints that refuse a second payment under a key that a network may know.
UNIQUE_KEYS = ("transactions_reference_is_unique", "transactions_network_key_is_unique")

# A look-up in a dict is faster than a call of the enumeration.
_TYPES = {each.value: each for each in Type}
_CHANNELS = {each.value: each for each in Channel}
_STATUSES = {each.value: each for each in Status}


def transaction_of(row: Row) -> Transaction:
    return Transaction(
        merchant_id=row["merchant_id"],
        id=row["id"],
        reference=row["reference"],
        network_key=row["network_key"],
        type=_TYPES[row["type"]],
        channel=_CHANNELS[row["channel"]],
        status=_STATUSES[row["status"]],
        amount=row["amount"],
        fee=row["fee"],
        phone=row["phone"],
        name=row["name"],
        description=row["description"],
        metadata=_decode(row["metadata"]),
        created_at=row["created_at"],
        provider_reference=row["provider_reference"],
        failure_code=row["failure_code"],
        failure_reason=row["failure_reason"],
        failure_detail=row["failure_detail"],
        network_code=row["network_code"],
        processing_at=row["processing_at"],
        ended_at=row["ended_at"],
        order_reference=row["order_reference"],
        refund_of=row["refund_of"],
        batch_id=row["batch_id"],
        network_id=row["network_id"],
        link_id=row["link_id"],
    )


def refunds_of(document: str | None) -> list[Refund]:
    return [] if document is None else _decode_refunds(document)


def document_of(transactions: Sequence[Transaction]) -> str:
    # One document instead of an array for each column: the driver reads every element of an array twice.
    return _encode([msgspec.structs.asdict(each) | {"search_text": each.search_text} for each in transactions]).decode()


def insert_transactions_sql(transactions: str) -> str:
    """A part of a statement: inserts transactions, and returns the new ones."""
    return f"""
        INSERT INTO transactions (merchant_id, id, reference, network_key, type, channel, status, amount, fee,
                                  phone, name, description, metadata, search_text, created_at, created_by,
                                  order_reference, refund_of, batch_id, link_id)
        SELECT merchant_id, id, reference, network_key, type, channel, status, amount, fee, phone, name,
               description, metadata, search_text, created_at, created_by, order_reference, refund_of, batch_id,
               link_id
        FROM json_to_recordset({transactions}) AS new (
            merchant_id text, id text, reference text, network_key text, type text, channel text, status text,
            amount bigint, fee bigint, phone text, name text, description text, metadata json, search_text text,
            created_at timestamptz, created_by text, order_reference text, refund_of text, batch_id text,
            link_id text)
        ON CONFLICT (merchant_id, id) DO NOTHING
        RETURNING merchant_id, id, channel, type, batch_id, phone, amount, refund_of, network_key
    """


async def lock(tx: Tx, keys: Collection[Key]) -> dict[Key, Transaction]:
    """Lock these transactions until the commit, always in the order of their keys."""
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM transactions t
        WHERE (t.merchant_id, t.id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        ORDER BY t.merchant_id, t.id FOR UPDATE
        """,
        [merchant_id for merchant_id, _ in keys],
        [id_ for _, id_ in keys],
    )
    return {(row["merchant_id"], row["id"]): transaction_of(row) for row in rows}


async def lock_free(tx: Tx, keys: Collection[Key]) -> set[Key]:
    """Lock these transactions until the commit, except those that another transaction has locked. It never waits."""
    rows = await tx.fetch(
        """
        SELECT merchant_id, id FROM transactions
        WHERE (merchant_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[])) FOR SHARE SKIP LOCKED
        """,
        [merchant_id for merchant_id, _ in keys],
        [id_ for _, id_ in keys],
    )
    return {(row["merchant_id"], row["id"]) for row in rows}


async def find_written(tx: Tx, drafts: Sequence[Transaction]) -> dict[str, Transaction]:
    """The drafts that an earlier try has written, as they are stored."""
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM transactions t
        WHERE (t.merchant_id, t.id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [draft.merchant_id for draft in drafts],
        [draft.id for draft in drafts],
    )
    return {row["id"]: transaction_of(row) for row in rows}


async def get(connection: Conn, merchant_id: str, id_or_reference: str) -> Transaction | None:
    """A transaction, with its latest correction and its refunds."""
    column = _column_of(id_or_reference)
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS}, c.latest, {REFUNDS} AS refunds FROM transactions t
        LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
        WHERE t.merchant_id = $1 AND t.{column} = $2
        """,
        merchant_id,
        id_or_reference,
    )
    if row is None:
        return None
    found = transaction_of(row)
    if row["refunds"] is not None:
        found = replace(found, refunds=refunds_of(row["refunds"]))
    return found if row["latest"] is None else replace(found, correction=_decode_notice(row["latest"]))


async def find_by_network_key(connection: Conn, key: str) -> Transaction | None:
    """The transaction with this network key, of any merchant and channel: a derived key is the same on all channels."""
    row = await connection.fetchrow(
        f"SELECT {COLUMNS} FROM transactions t WHERE t.channel = ANY($1) AND t.network_key = $2", list(_CHANNELS), key
    )
    return None if row is None else transaction_of(row)


async def has_reference(connection: Conn, reference: str) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM transactions WHERE reference = $1)", reference))


async def find_by_ids(connection: Conn, merchant_id: str, ids: Sequence[str]) -> list[Transaction]:
    """These transactions, the newest first."""
    rows = await connection.fetch(
        f"SELECT {COLUMNS} FROM transactions t WHERE t.merchant_id = $1 AND t.id = ANY($2) ORDER BY t.id DESC",
        merchant_id,
        ids,
    )
    return [transaction_of(row) for row in rows]


async def find_corrections(connection: Conn, merchant_id: str, ids: Sequence[str]) -> dict[str, CorrectionNotice]:
    """The latest correction of each of these transactions that has one."""
    rows = await connection.fetch(
        """
        SELECT transaction_id, latest FROM corrections
        WHERE merchant_id = $1 AND transaction_id = ANY($2::text[]) AND latest IS NOT NULL
        """,
        merchant_id,
        ids,
    )
    return {row["transaction_id"]: _decode_notice(row["latest"]) for row in rows}


async def find_refunds(connection: Conn, merchant_id: str, ids: Sequence[str]) -> dict[str, list[Refund]]:
    """The refunds of each of these transactions that has any."""
    rows = await connection.fetch(
        f"""
        SELECT t.id, {REFUNDS} AS refunds FROM transactions t
        WHERE t.merchant_id = $1 AND t.id IN (
            SELECT collection_id FROM refunds WHERE merchant_id = $1 AND collection_id = ANY($2::text[]))
        """,
        merchant_id,
        ids,
    )
    return {row["id"]: refunds_of(row["refunds"]) for row in rows}


async def find_statuses(connection: Conn, keys: Collection[Key]) -> dict[Key, Status]:
    rows = await connection.fetch(
        """
        SELECT merchant_id, id, status FROM transactions
        WHERE (merchant_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [merchant_id for merchant_id, _ in keys],
        [id_ for _, id_ in keys],
    )
    return {(row["merchant_id"], row["id"]): Status(row["status"]) for row in rows}


async def find_ids(tx: Tx, wanted: Sequence[Key]) -> list[str | None]:
    """The ids of transactions that are named by id or reference."""
    rows = await tx.fetch(
        """
        SELECT t.merchant_id, t.reference, t.id FROM transactions t
        WHERE (t.merchant_id, t.reference) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [merchant_id for merchant_id, _ in wanted],
        [reference for _, reference in wanted],
    )
    by_reference = {(row["merchant_id"], row["reference"]): row["id"] for row in rows}
    return [name if _column_of(name) == "id" else by_reference.get((merchant_id, name)) for merchant_id, name in wanted]


async def keep_network_ids(tx: Tx, network_ids: Mapping[Key, str]) -> None:
    """Store the ids of transactions that the caller has locked. The first id stays: one network key is one payment."""
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


def _column_of(id_or_reference: str) -> str:
    return "id" if id_or_reference.startswith("txn_") else "reference"
