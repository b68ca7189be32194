"""Lists of the payments with an order reference, a receipt or an idempotency key, or of a payment link.

An index has these payments in the order of their ids: the total and the ids of the page are read from it, then its
rows.
"""

import dataclasses

from malipo.db import Conn
from malipo.db.where_clause import Conditions
from malipo.payments.listing.filters import TransactionFilter, where_of
from malipo.payments.store import idempotency_keys, transactions
from malipo.payments.transaction import Transaction


async def page(
    connection: Conn, merchant_id: str, wanted: TransactionFilter, *, offset: int, limit: int
) -> tuple[int, list[Transaction]]:
    ids = None
    if wanted.idempotency_key is not None:
        ids = await idempotency_keys.find_transaction_ids(connection, merchant_id, wanted.idempotency_key)
    everything = _where(merchant_id, dataclasses.replace(wanted, before=None), ids)
    total = int(
        await connection.fetchval(f"SELECT count(*) FROM transactions t WHERE {everything}", *everything.values)
    )
    where = _where(merchant_id, wanted, ids)
    rows = await connection.fetch(
        f"SELECT t.id FROM transactions t WHERE {where} ORDER BY t.id DESC LIMIT {limit:d} OFFSET {offset:d}",
        *where.values,
    )
    return total, await transactions.find_by_ids(connection, merchant_id, [row["id"] for row in rows])


def _where(merchant_id: str, wanted: TransactionFilter, ids: list[str] | None) -> Conditions:
    where = where_of(merchant_id, wanted)
    where.add("t.id = ANY({}::text[])", ids)
    return where
