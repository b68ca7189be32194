"""Attempts to pay links, as far as payments write them. All else about links is in `malipo/links`, a layer above."""

from collections.abc import Sequence

from malipo.db import Tx
from malipo.payments.transaction import Transaction


async def count_again(tx: Tx, corrected: Sequence[Transaction]) -> None:
    """These payments were corrected after their end, so their links count them anew.

    Also those that seem not to be counted: a worker that is counting one now holds its row, and is waited for.
    """
    await tx.execute(
        """
        UPDATE link_attempts SET is_counted = false
        WHERE (merchant_id, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [each.merchant_id for each in corrected],
        [each.id for each in corrected],
    )
