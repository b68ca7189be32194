"""Creates collections in one statement that is a transaction of its own. Only `status_writer.py` may call what writes.

A collection takes no money out of a wallet, so no lock is needed to decide about it: the statement that writes it
compares everything that it depends on (decision 50). Of a collection that does not fit, nothing is written.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from malipo.db import Conn
from malipo.merchants.store.api_keys import is_good_sql
from malipo.payments.fees import Band
from malipo.payments.store import dispatches
from malipo.restore.store import installation

_encode = msgspec.json.Encoder().encode


class NewCollection(msgspec.Struct, frozen=True, kw_only=True):
    """A collection as it is written, with its idempotency key and its event."""

    basis: int  # the number of its CreationBasis
    merchant_id: str
    id: str
    reference: str
    network_key: str
    channel: str
    amount: int
    fee: int
    phone: str
    name: str
    description: str
    metadata: Any
    search_text: str
    created_at: datetime
    created_by: str
    order_reference: str | None
    key: str
    request_hash: bytes
    event_id: str
    body: str


class CreationBasis(msgspec.Struct, frozen=True, kw_only=True):
    """The API key, and the tariff from which the fees were computed, on which several collections depend."""

    number: int
    key_id: str
    merchant_id: str
    channel: str
    bands: str


def bands_text(bands: Sequence[Band]) -> str:
    """A tariff as `_BANDS` writes it."""
    lines = []
    for each in sorted(bands, key=lambda band: band.from_amount):
        most = "" if each.max_fee is None else each.max_fee
        lines.append(f"{each.from_amount},{each.fixed_fee},{each.basis_points},{each.min_fee},{most}")
    return ";".join(lines)


_BANDS = """
    (SELECT coalesce(string_agg(concat_ws(',', from_amount, fixed_fee, basis_points, min_fee,
                                          coalesce(max_fee::text, '')), ';' ORDER BY from_amount), '')
     FROM tariffs t
     WHERE t.merchant_id = basis.merchant_id AND t.type = 'COLLECTION' AND t.channel = basis.channel)
"""

# PostgreSQL looks `(x IN (…)) IS TRUE` up in a hash table. Without IS TRUE it would plan a join, which compares each
# row with each other.
_CREATE = f"""
    WITH new AS MATERIALIZED (
             SELECT * FROM json_to_recordset($1) AS new (
                 basis smallint, merchant_id text, id text, reference text, network_key text, channel text,
                 amount bigint, fee bigint, phone text, name text, description text, metadata json, search_text text,
                 created_at timestamptz, created_by text, order_reference text, key text, request_hash text,
                 event_id text, body text)),
         fitting AS MATERIALIZED (
             SELECT basis.number FROM json_to_recordset($2) AS basis (
                 number smallint, key_id text, merchant_id text, channel text, bands text)
             JOIN api_keys k ON k.id = basis.key_id AND k.merchant_id = basis.merchant_id
             JOIN merchants m ON m.id = basis.merchant_id
             WHERE {is_good_sql("k", "m", "$3")} AND basis.bands = {_BANDS} AND NOT {installation.TAKES_NO_PAYMENTS}),
         claimed AS (
             INSERT INTO idempotency_keys (merchant_id, route, key, request_hash, transaction_id)
             SELECT merchant_id, 'COLLECTION', key, decode(request_hash, 'base64'), id FROM new
             WHERE (basis IN (SELECT number FROM fitting)) IS TRUE
             ORDER BY merchant_id, key
             ON CONFLICT DO NOTHING
             RETURNING transaction_id),
         created AS (
             INSERT INTO transactions (merchant_id, id, reference, network_key, type, channel, status, amount, fee,
                                       phone, name, description, metadata, search_text, created_at, created_by,
                                       order_reference)
             SELECT merchant_id, id, reference, network_key, 'COLLECTION', channel, 'PENDING', amount,
                    fee, phone, name, description, metadata, search_text, created_at, created_by, order_reference
             FROM new WHERE (id IN (SELECT transaction_id FROM claimed)) IS TRUE
             RETURNING merchant_id, id, channel, type, batch_id, phone, amount, refund_of, network_key),
         queued AS ({dispatches.insert_dispatches_sql("created", "true")}),
         inserted_events AS (
             INSERT INTO events (id, merchant_id, transaction_id, event, body, created_at, ordinal)
             SELECT event_id, merchant_id, id, 'payment.pending', body, created_at, 1
             FROM new WHERE (id IN (SELECT id FROM created)) IS TRUE)
    SELECT id FROM created
"""


async def create(
    connection: Conn, collections: Sequence[NewCollection], bases: Sequence[CreationBasis], *, now: datetime
) -> set[str]:
    """Create the collections that fit, and return their ids. The others do not fit: their idempotency key was used, the
    tariff or the API key has changed, or the installation takes no payments."""
    rows = await connection.fetch(_CREATE, _encode(collections).decode(), _encode(bases).decode(), now)
    return {row[0] for row in rows}
