"""The list of transactions: filters, ranges, search, exact totals and pages.

More history makes none of it slower. Totals are sums of the rollups and of the backlog; a page far back, or of a filter
with few matches, is found by the rollups; a search uses n-grams.
"""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from malipo.db import Conn
from malipo.payments.listing import by_reference, offset_pagination
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.search import query
from malipo.payments.store import transactions
from malipo.payments.transaction import Transaction


async def page(
    connection: Conn, merchant_id: str, wanted: TransactionFilter, *, page: int, limit: int
) -> tuple[int, list[Transaction]]:
    """The number of matches, and one page of them, newest first. The connection is in a snapshot, so the two agree."""
    offset = (page - 1) * limit
    if wanted.is_exact:
        return await by_reference.page(connection, merchant_id, wanted, offset=offset, limit=limit)
    if wanted.term is None:
        return await offset_pagination.page(connection, merchant_id, wanted, offset=offset, limit=limit)
    return await query.page(connection, merchant_id, wanted, wanted.term, offset=offset, limit=limit)


async def with_corrections(connection: Conn, merchant_id: str, found: Sequence[Transaction]) -> list[Transaction]:
    """These transactions, each with its latest correction and its refunds."""
    ids = [each.id for each in found]
    corrections = await transactions.find_corrections(connection, merchant_id, ids)
    refunds = await transactions.find_refunds(connection, merchant_id, ids)
    return [replace(each, correction=corrections.get(each.id), refunds=refunds.get(each.id, ())) for each in found]


async def find_versions(connection: Conn, merchant_ids: Collection[str]) -> dict[str, str]:
    """A version for each merchant. It changes whenever a payment of theirs is created, claimed, or ends."""
    rows = await connection.fetch(
        """
        SELECT merchant_id, concat_ws('-', latest.id, f.last_number, open.count, open.taken) AS version
        FROM unnest($1::text[]) AS merchant_id
        LEFT JOIN feeds f USING (merchant_id)
        LEFT JOIN LATERAL (SELECT id FROM transactions t WHERE t.merchant_id = merchant_id.merchant_id
                           ORDER BY id DESC LIMIT 1) latest ON true
        LEFT JOIN LATERAL (SELECT count(*) AS count, count(connector) AS taken FROM dispatches d
                           WHERE d.merchant_id = merchant_id.merchant_id) open ON true
        """,
        list(merchant_ids),
    )
    return {row["merchant_id"]: row["version"] for row in rows}
