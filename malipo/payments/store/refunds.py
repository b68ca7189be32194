"""Refunds of collections. Only `status_writer.py` may call what writes here."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.payments.correction_moves import Correction
from malipo.payments.store import corrections, transactions
from malipo.payments.store.transactions import COLUMNS, REFUNDS, Key, refunds_of, transaction_of
from malipo.payments.transaction import Refund, Transaction


class PaymentWithRefunds(NamedTuple):
    """A payment, its correction if there is one, and its refunds in their order; a payout has none."""

    payment: Transaction
    correction: Correction | None
    refunds: list[Refund]


async def lock(tx: Tx, collections: Collection[Key]) -> dict[Key, PaymentWithRefunds]:
    """Lock these collections and their refunds until the commit, and return them. Nobody else can refund one of them
    meanwhile, and a report that takes one back waits.

    The next refund may take the network key of a cancelled one (see `insert`), so cancelled refunds are locked too,
    before any wallet.
    """
    locked: set[Key] = set()
    # While we waited for the locks, another transaction may have created a refund.
    while not (wanted := set().union(*(await _parts(tx, collections)).values())) <= locked:
        await transactions.lock(tx, wanted)
        locked |= wanted
    # A second statement reads them, because the first one sees the rows as they were before it got the locks.
    return await find(tx, collections)


async def lock_if_free(tx: Tx, collections: Collection[Key]) -> dict[Key, PaymentWithRefunds]:
    """Lock these collections and all their refunds until the commit, and return them. It never waits: a collection is
    left out while another transaction has locked it or one of its refunds."""
    parts = await _parts(tx, collections)
    locked = await transactions.lock_free(tx, set().union(*parts.values()))
    return await find(tx, [key for key, part in parts.items() if part <= locked])


async def _parts(connection: Conn, collections: Collection[Key]) -> dict[Key, set[Key]]:
    """Each of these collections, and its refunds."""
    rows = await connection.fetch(
        """
        SELECT merchant_id, collection_id, refund_id FROM refunds
        WHERE (merchant_id, collection_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [merchant_id for merchant_id, _ in collections],
        [id_ for _, id_ in collections],
    )
    parts = {key: {key} for key in collections}
    for merchant_id, collection_id, refund_id in rows:
        parts[merchant_id, collection_id].add((merchant_id, refund_id))
    return parts


async def find(connection: Conn, collections: Collection[Key]) -> dict[Key, PaymentWithRefunds]:
    rows = await connection.fetch(
        f"""
        SELECT {COLUMNS}, {corrections.COLUMNS}, {REFUNDS} AS refunds FROM transactions t
        LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
        WHERE (t.merchant_id, t.id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [merchant_id for merchant_id, _ in collections],
        [id_ for _, id_ in collections],
    )
    return {
        (row["merchant_id"], row["id"]): PaymentWithRefunds(
            transaction_of(row), corrections.correction_of(row), refunds_of(row["refunds"])
        )
        for row in rows
    }


async def find_keys(connection: Conn, collections: Collection[Key]) -> dict[Key, set[str]]:
    """The network keys of these collections' refunds that were sent, or may have been."""
    rows = await connection.fetch(
        """
        SELECT r.merchant_id, r.collection_id, p.network_key FROM refunds r
        JOIN transactions p ON p.merchant_id = r.merchant_id AND p.id = r.refund_id
        WHERE (r.merchant_id, r.collection_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
          AND (p.status <> 'CANCELLED' OR EXISTS (
              SELECT FROM corrections k WHERE k.merchant_id = p.merchant_id AND k.transaction_id = p.id))
        """,
        [merchant_id for merchant_id, _ in collections],
        [id_ for _, id_ in collections],
    )
    found: dict[Key, set[str]] = {key: set() for key in collections}
    for row in rows:
        found[row["merchant_id"], row["collection_id"]].add(row["network_key"])
    return found


async def find_undone(connection: Conn, collections: Collection[Key]) -> dict[Key, bool]:
    """The collections with a refund that was adopted from a statement and whose adoption was undone. True: that refund
    still has its network key, because operators have not decided about its line again."""
    rows = await connection.fetch(
        """
        SELECT r.merchant_id, r.collection_id, bool_or(p.network_key <> p.id) FROM refunds r
        JOIN adopted_payments a ON a.merchant_id = r.merchant_id AND a.transaction_id = r.refund_id
        JOIN transactions p ON p.merchant_id = r.merchant_id AND p.id = r.refund_id
        WHERE (r.merchant_id, r.collection_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
          AND a.undone_at IS NOT NULL GROUP BY 1, 2
        """,
        [merchant_id for merchant_id, _ in collections],
        [id_ for _, id_ in collections],
    )
    return {(row[0], row[1]): row[2] for row in rows}


async def insert(tx: Tx, opened: Sequence[Transaction]) -> None:
    """Store new refunds. The caller has locked their collections, with all refunds, before any wallet.

    A refund that was cancelled before it was sent gives its network key to the next one.
    """
    await tx.execute(
        """
        UPDATE transactions t SET network_key = t.id
        FROM unnest($1::text[], $2::text[], $3::text[]) AS new (merchant_id, collection_id, network_key)
        JOIN refunds r ON r.merchant_id = new.merchant_id AND r.collection_id = new.collection_id
        WHERE t.merchant_id = r.merchant_id AND t.id = r.refund_id
          AND t.network_key = new.network_key AND t.status = 'CANCELLED'
        """,
        [each.merchant_id for each in opened],
        [each.refund_of for each in opened],
        [each.network_key for each in opened],
    )
    await tx.execute(
        """
        INSERT INTO refunds (merchant_id, collection_id, ordinal, refund_id)
        SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[])
        """,
        [each.merchant_id for each in opened],
        [each.refund_of for each in opened],
        [each.refund_ordinal for each in opened],
        [each.id for each in opened],
    )
