"""Batches that await approval: their number by creator, and the batches of some creators."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn
from malipo.merchants.store import approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.payments.batches.approvers import AwaitingOfMaker


class ProposedBatch(NamedTuple):
    id: str
    name: str
    item_count: int
    amount: int
    created_at: datetime
    created_by: str  # the id of an API key, or the email of a person
    proposer: str | None  # the name of that person


async def count_by_maker(
    connection: Conn, merchant_id: str, *, now: datetime
) -> tuple[list[AwaitingOfMaker], ApprovalRules | None]:
    """The number by creator, and the merchant's approval rules; no rules if nothing awaits. One statement, because many
    pages need it."""
    rows = await connection.fetch(
        """
        SELECT b.maker, b.batches, b.amount,
               m.takes_two_to_approve, m.approval_above, c.takes_two, c.above, c.requested_by, c.requested_at
        FROM (SELECT maker, count(*) AS batches, sum(amount)::bigint AS amount FROM batches
              WHERE merchant_id = $1 AND status = 'AWAITING_APPROVAL' GROUP BY maker) b
        JOIN merchants m ON m.id = $1 LEFT JOIN approval_rule_changes c ON c.merchant_id = $1
        """,
        merchant_id,
    )
    found = [AwaitingOfMaker(row["maker"], row["batches"], row["amount"]) for row in rows]
    return found, approval_rules.current_rules(rows[0], now).rules if rows else None


async def find_oldest(
    connection: Conn, merchant_id: str, makers: Sequence[str | None], *, limit: int
) -> list[ProposedBatch]:
    """The batches of these creators, the longest waiting first."""
    rows = await connection.fetch(
        """
        SELECT b.id, b.name, b.item_count, b.amount, b.created_at, b.created_by, p.name AS proposer
        FROM batches b LEFT JOIN people p ON p.merchant_id = b.merchant_id AND p.email = b.created_by
        WHERE b.merchant_id = $1 AND b.status = 'AWAITING_APPROVAL'
          AND (b.maker = ANY($2) OR ($3 AND b.maker IS NULL))
        ORDER BY b.id LIMIT $4
        """,
        merchant_id,
        [maker for maker in makers if maker is not None],
        None in makers,
        limit,
    )
    return [ProposedBatch(*row.values()) for row in rows]
