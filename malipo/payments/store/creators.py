"""The SQL of creators: the API key or the person that created a payment, and how much people have paid out."""

from collections.abc import Sequence
from typing import NamedTuple

from malipo.db import Conn
from malipo.payments.limits.person_limits import PersonLimit


class Creator(NamedTuple):
    """An API key, with its name and last four characters; or a person, by the email."""

    id: str
    key_name: str | None
    last4: str | None


async def find(connection: Conn, merchant_id: str, transaction_id: str) -> Creator | None:
    """The creator of a payment; None for a payment that is older than this column. A revoked key is still known."""
    row = await connection.fetchrow(
        """
        SELECT t.created_by, k.name, k.last4 FROM transactions t
        LEFT JOIN api_keys k ON k.id = t.created_by AND k.merchant_id = t.merchant_id
        WHERE t.merchant_id = $1 AND t.id = $2 AND t.created_by IS NOT NULL
        """,
        merchant_id,
        transaction_id,
    )
    return None if row is None else Creator(*row)


async def find_sums(tx: Conn, limits: Sequence[PersonLimit]) -> dict[PersonLimit, int]:
    """The sum that each person has paid out since a time, whatever the outcome.

    A caller that decides by the sum has locked the merchants' wallets, so that no payout is being created. The
    condition on emails is the index's own: it has people only.
    """
    rows = await tx.fetch(
        """
        SELECT coalesce(sum(t.amount), 0)::bigint
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::boolean[])
             WITH ORDINALITY AS requested (merchant_id, person, since, is_of_approval, number)
        LEFT JOIN transactions t
             ON t.merchant_id = requested.merchant_id AND t.created_by = requested.person
             AND t.created_at >= requested.since
             AND t.type = 'DISBURSEMENT' AND t.created_by LIKE '%@%'
             AND NOT (requested.is_of_approval AND t.batch_id IS NOT NULL)
        GROUP BY requested.number ORDER BY requested.number
        """,
        [each.merchant_id for each in limits],
        [each.person for each in limits],
        [each.since for each in limits],
        [each.is_of_approval for each in limits],
    )
    return {limit: row[0] for limit, row in zip(limits, rows, strict=True)}
