"""The SQL of attempts to log in, and of failed log-ins by account and hour; of people and of operators."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from malipo.db import Tx


async def note(tx: Tx, subjects: Sequence[tuple[str, int]], *, now: datetime, span: timedelta) -> datetime | None:
    """Count a log-in attempt. If a subject has too many in the span, it is not counted, and the time of the next
    allowed attempt is returned.

    Concurrent attempts on one subject wait for each other here, so that all are counted.
    """
    for subject, _ in sorted(subjects):
        await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", subject)
    for subject, most in subjects:
        oldest_in_the_way = await tx.fetchval(
            """
            SELECT attempted_at FROM login_attempts WHERE subject = $1 AND attempted_at > $2
            ORDER BY attempted_at DESC OFFSET $3 LIMIT 1
            """,
            subject,
            now - span,
            most - 1,
        )
        if oldest_in_the_way is not None:
            return oldest_in_the_way + span  # type: ignore[no-any-return]
    await tx.execute(
        "DELETE FROM login_attempts WHERE subject = ANY($1) AND attempted_at <= $2",
        [s for s, _ in subjects],
        now - span,
    )
    await tx.executemany(
        "INSERT INTO login_attempts (subject, attempted_at) VALUES ($1, $2)",
        [(subject, now) for subject, _ in subjects],
    )
    return None


async def forget_all(tx: Tx, subject: str) -> None:
    """Forget the attempts of a subject, after a successful log-in."""
    await tx.execute("DELETE FROM login_attempts WHERE subject = $1", subject)


async def forget_one(tx: Tx, subjects: Sequence[str], *, at: datetime) -> None:
    """Forget one attempt, which succeeded. Others of the same subjects still count."""
    await tx.execute("DELETE FROM login_attempts WHERE subject = ANY($1) AND attempted_at = $2", subjects, at)


class FailedLoginCount(NamedTuple):
    action: str
    name: str
    merchant_id: str | None
    hour: datetime
    failures: int
    throttled: int


async def count_failure(
    tx: Tx, account: str, hour: datetime, *, action: str, name: str, merchant_id: str | None, is_throttled: bool
) -> int:
    """Count a failure. Returns the number of the account's failures in this hour."""
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


async def take_failures(tx: Tx, *, before: datetime, most: int) -> list[FailedLoginCount]:
    """Return and delete the counts of past hours."""
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
    return [FailedLoginCount(*row.values()) for row in rows]
