"""Payouts that pay again what has failed. Only `status_writer.py` may call what writes here."""

from collections.abc import Collection, Sequence

import msgspec

from malipo.db import Conn, Tx
from malipo.payments.retried_outcome import RetriedOutcome, RetriedPayout, worst
from malipo.payments.store import transactions
from malipo.payments.store.transactions import Key
from malipo.payments.transaction import Status, Transaction

_encode = msgspec.json.Encoder().encode


async def insert(tx: Tx, opened: Sequence[Transaction]) -> None:
    await tx.execute(
        """
        INSERT INTO retries (merchant_id, payout_id, retry_of)
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
        """,
        [each.merchant_id for each in opened],
        [each.id for each in opened],
        [each.retry_of for each in opened],
    )


async def get(connection: Conn, payout: Transaction) -> str:
    """The id of the payout that this one, which is a retry, pays again."""
    found: str = await connection.fetchval(
        "SELECT retry_of FROM retries WHERE merchant_id = $1 AND payout_id = $2", payout.merchant_id, payout.id
    )
    return found


async def find(connection: Conn, retried: Collection[Key]) -> dict[Key, RetriedOutcome]:
    """How each of these payouts stands, with what it retried itself."""
    chains = await _chains(connection, retried)
    return await _outcomes(connection, chains)


async def lock(tx: Tx, retried: Collection[Key]) -> dict[Key, RetriedOutcome]:
    """Find as `find` does, with the payouts locked until the commit, so that a report that one was paid waits. Locked
    before wallets."""
    chains = await _chains(tx, retried)
    await transactions.lock(tx, _all_of(chains))
    # Read by a second statement: the first one sees the rows as they were before the locks were granted.
    return await _outcomes(tx, chains)


async def lock_if_free(tx: Tx, payouts: Collection[Key]) -> dict[Key, RetriedOutcome | None]:
    """Find, for each of these payouts that is a retry, how the payout that it retries stands, locked until the commit.
    It never waits: None while another transaction has locked one of the chain."""
    earlier = await _find_earlier(tx, payouts)
    if not earlier:
        return {}
    locked = await transactions.lock_free(tx, _all_of(earlier))
    free = {key: chain for key, chain in earlier.items() if chain <= locked}
    outcomes = await _outcomes(tx, free)
    return {key: outcomes.get(key) for key in earlier}


async def _chains(connection: Conn, retried: Collection[Key]) -> dict[Key, set[Key]]:
    """Each of these payouts, with all the earlier ones that it was paid in place of."""
    earlier = await _find_earlier(connection, retried)
    return {key: {key} | earlier.get(key, set()) for key in retried}


async def _find_earlier(connection: Conn, payouts: Collection[Key]) -> dict[Key, set[Key]]:
    """Find, for each payout that is a retry, the payout that it retries, the one that that retried, and so on."""
    rows = await connection.fetch(
        """
        WITH RECURSIVE earlier (merchant_id, payout_id, retried) AS (
            SELECT r.merchant_id, r.payout_id, r.retry_of FROM retries r
            WHERE (r.merchant_id, r.payout_id) IN (SELECT k ->> 0, k ->> 1 FROM json_array_elements($1) AS k)
            UNION
            SELECT e.merchant_id, e.payout_id, r.retry_of FROM earlier e
            JOIN retries r ON r.merchant_id = e.merchant_id AND r.payout_id = e.retried)
        SELECT merchant_id, payout_id, retried FROM earlier
        """,
        _encode([*payouts]).decode(),
    )
    found: dict[Key, set[Key]] = {}
    for merchant_id, payout_id, retried in rows:
        found.setdefault((merchant_id, payout_id), set()).add((merchant_id, retried))
    return found


async def _outcomes(connection: Conn, chains: dict[Key, set[Key]]) -> dict[Key, RetriedOutcome]:
    rows = await connection.fetch(
        """
        SELECT t.merchant_id, t.id, t.status, c.is_paid,
               coalesce(d.attention IS NOT NULL OR d.success_heard_at IS NOT NULL, false) AS is_doubted
        FROM transactions t
        LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
        LEFT JOIN dispatches d ON d.merchant_id = t.merchant_id AND d.transaction_id = t.id
        WHERE (t.merchant_id, t.id) IN (SELECT k ->> 0, k ->> 1 FROM json_array_elements($1) AS k)
        """,
        _encode([*_all_of(chains)]).decode(),
    )
    found = {(row[0], row[1]): RetriedPayout(Status(row[2]), row[3], row[4]) for row in rows}
    return {key: worst(found.get(each) for each in chain) for key, chain in chains.items()}


def _all_of(chains: dict[Key, set[Key]]) -> set[Key]:
    return set[Key]().union(*chains.values())
