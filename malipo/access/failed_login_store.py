"""The SQL of failed log-ins, counted by account and hour."""

from datetime import datetime
from typing import NamedTuple

from malipo.db import Tx


class Count(NamedTuple):
    action: str
    name: str
    merchant_id: str | None
    hour: datetime
    failures: int
    throttled: int


async def count(
    tx: Tx, account: str, hour: datetime, *, action: str, name: str, merchant_id: str | None, is_throttled: bool
) -> int:
    """How many failures the account has in this hour, with this one."""
    failures = await tx.fetchval(
        """
        INSERT INTO failed_logins AS f (account, hour, name, merchant_id, failures, throttled, action)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (account, hour) DO UPDATE SET failures = f.failures + $5, throttled = f.throttled + $6
        RETURNING failures
        """,
        account,
        hour,
        name,
        merchant_id,
        int(not is_throttled),
        int(is_throttled),
        action,
    )
    return int(failures)


async def take(tx: Tx, *, before: datetime, most: int) -> list[Count]:
    """The counts of hours that are over. They are gone from here with the commit."""
    rows = await tx.fetch(
        """
        DELETE FROM failed_logins WHERE (account, hour) IN (
            SELECT account, hour FROM failed_logins WHERE hour < $1 ORDER BY hour, account LIMIT $2
            FOR UPDATE SKIP LOCKED
        )
        RETURNING action, name, merchant_id, hour, failures, throttled
        """,
        before,
        most,
    )
    return [Count(*row.values()) for row in rows]
