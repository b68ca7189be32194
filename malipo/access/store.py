"""The SQL of log-in attempts, of people and of operators; and what ends with an operator's password."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from malipo.db import Tx


async def note(tx: Tx, subjects: Sequence[tuple[str, int]], *, now: datetime, span: timedelta) -> datetime | None:
    """Note an attempt to log in. If a subject has too many in the span, none is noted: when the next is allowed.

    Attempts on one subject wait for each other here, so that many at once are all counted.
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
    """After a successful log-in, earlier attempts on the same subject no longer count."""
    await tx.execute("DELETE FROM login_attempts WHERE subject = $1", subject)


async def forget_one(tx: Tx, subjects: Sequence[str], *, at: datetime) -> None:
    """This attempt succeeded; others on the same subjects still count."""
    await tx.execute("DELETE FROM login_attempts WHERE subject = ANY($1) AND attempted_at = $2", subjects, at)


async def end_links_of_operator(tx: Tx, operator: str, *, now: datetime) -> None:
    """The password links that an operator has made at the command line no longer work."""
    await tx.execute(
        "UPDATE password_links SET ended_at = $2 WHERE made_by_operator = $1 AND used_at IS NULL AND ended_at IS NULL",
        operator,
        now,
    )
