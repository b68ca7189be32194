"""The SQL of the networks from which people log in, and of the alerts about new ones."""

from dataclasses import dataclass
from datetime import datetime

from malipo.db import Conn, Tx


@dataclass(frozen=True, slots=True)
class Alert:
    session_id: str
    created_at: datetime
    address: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class ViewingSession:
    """The session that shows alerts and answers them, and its browser."""

    session_id: str
    browser_hash: bytes | None


# An intruder must not see the alert, not even in another session. It is shown only in sessions that began before the
# reported log-in, or in browsers that the account had used before.
_FROM_BEFORE = """(
    EXISTS (SELECT FROM sessions s WHERE s.id = $2 AND s.created_at < a.created_at)
    OR EXISTS (SELECT FROM operator_sessions s WHERE s.id = $2 AND s.created_at < a.created_at)
    OR EXISTS (
        SELECT FROM known_browsers b
        WHERE (b.person_id = $1 OR b.operator_id = $1) AND b.hash = $3 AND b.first_seen_at < a.created_at
    )
)"""


async def note_network(tx: Tx, account_id: str, network: str, *, forget_before: datetime, now: datetime) -> bool:
    """Store the network. Returns whether it is new: the account has logged in before, and never from this network."""
    known = {
        row["network"]
        for row in await tx.fetch(
            "SELECT network FROM login_places WHERE account_id = $1 AND last_seen_at > $2", account_id, forget_before
        )
    }
    await tx.execute(
        """
        INSERT INTO login_places (account_id, network, last_seen_at) VALUES ($1, $2, $3)
        ON CONFLICT (account_id, network) DO UPDATE SET last_seen_at = excluded.last_seen_at
        """,
        account_id,
        network,
        now,
    )
    await tx.execute("DELETE FROM login_places WHERE account_id = $1 AND last_seen_at <= $2", account_id, forget_before)
    return bool(known) and network not in known


async def insert_alert(
    tx: Tx, session_id: str, account_id: str, *, address: str, user_agent: str, now: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO new_place_alerts (session_id, account_id, created_at, address, user_agent)
        VALUES ($1, $2, $3, $4, $5)
        """,
        session_id,
        account_id,
        now,
        address,
        user_agent,
    )


async def find_unread(connection: Conn, account_id: str, asking: ViewingSession, *, since: datetime) -> list[Alert]:
    """Unread alerts that this session may see, the latest first."""
    rows = await connection.fetch(
        f"""
        SELECT session_id, created_at, address, user_agent FROM new_place_alerts a
        WHERE account_id = $1 AND read_at IS NULL AND created_at > $4 AND {_FROM_BEFORE}
        ORDER BY created_at DESC LIMIT 3
        """,
        account_id,
        asking.session_id,
        asking.browser_hash,
        since,
    )
    return [Alert(*row.values()) for row in rows]


async def read_alert(tx: Tx, account_id: str, session_id: str, asking: ViewingSession, *, now: datetime) -> bool:
    done = await tx.execute(
        f"""
        UPDATE new_place_alerts a SET read_at = $5
        WHERE account_id = $1 AND session_id = $4 AND read_at IS NULL AND {_FROM_BEFORE}
        """,
        account_id,
        asking.session_id,
        asking.browser_hash,
        session_id,
        now,
    )
    return done == "UPDATE 1"


async def forget(tx: Tx, account_id: str) -> None:
    """Delete everything about an account that is deleted."""
    await tx.execute("DELETE FROM login_places WHERE account_id = $1", account_id)
    await tx.execute("DELETE FROM new_place_alerts WHERE account_id = $1", account_id)
