"""The SQL that deletes old rows: attempts, sessions, links, known browsers and messages about new places. Auditors have
90 days.

Refresh tokens go with their sessions, and so do the links that were made in them.
"""

from datetime import datetime, timedelta

from malipo.accounts.new_place_alerts import ALERT_LIFE
from malipo.db import Tx

_KEPT = timedelta(days=90)
_ATTEMPTS_KEPT = timedelta(days=1)  # The audit log keeps the failed ones.

# A table, and its condition for old rows; $1 is the time before which they are old.
_OLD = {
    "login_attempts": ("attempted_at < $1", _ATTEMPTS_KEPT),
    "sessions": ("expires_at < $1 OR ended_at < $1", _KEPT),
    "operator_sessions": ("expires_at < $1 OR ended_at < $1", _KEPT),
    "password_links": ("expires_at < $1", _KEPT),
    "stop_links": ("expires_at < $1", _KEPT),
    "known_browsers": ("last_seen_at < $1", _KEPT),
    # Until then one that nobody has read is shown, also when its session has ended. The audit log has all of them.
    "new_place_alerts": ("created_at < $1", ALERT_LIFE),
}


async def prune(tx: Tx, *, now: datetime, most: int) -> int:
    """Delete at most so many rows of each table. Returns how many."""
    gone = 0
    for table, (is_old, kept) in _OLD.items():
        done = await tx.execute(
            f"DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE {is_old} LIMIT $2))",
            now - kept,
            most,
        )
        gone += int(done.removeprefix("DELETE "))
    return gone
