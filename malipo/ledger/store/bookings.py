"""Bookings of bank transfers to and from wallets: their references, and their rows."""

from datetime import datetime

from malipo.db import Conn, Tx

# Any number that no other pair of locks uses: "book" in ASCII.
_BOOKINGS = 0x626F6F6B


async def insert(
    tx: Tx,
    *,
    booking_id: str,
    merchant_id: str,
    kind: str,
    bank_reference: str,
    amount: int,
    releases: str | None,
    now: datetime,
) -> bool:
    """Insert a booking. Returns whether its reference was new."""
    done = await tx.execute(
        """
        INSERT INTO bookings (id, merchant_id, kind, bank_reference, amount, releases, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (kind, bank_reference) DO NOTHING
        """,
        booking_id,
        merchant_id,
        kind,
        bank_reference,
        amount,
        releases,
        now,
    )
    return done == "INSERT 0 1"


async def lock_reference(tx: Tx, kind: str, bank_reference: str) -> None:
    """Lock a bank reference until the commit, so that nobody else proposes or books it. There may be no row yet."""
    await tx.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", _BOOKINGS, f"{kind} {bank_reference}")


async def is_proposed(tx: Tx, kind: str, bank_reference: str) -> bool:
    """Whether a booking with this reference waits for a second operator. It reads the table of `approvals`, a room
    above: only here is the reference locked."""
    sql = "SELECT EXISTS (SELECT FROM proposals WHERE action = $1 AND subject = $2 AND decided_at IS NULL)"
    return bool(await tx.fetchval(sql, kind, bank_reference))


async def find(connection: Conn, kind: str, bank_reference: str) -> tuple[str, int, str | None] | None:
    """The merchant and the amount that a reference was booked with, and what it released."""
    row = await connection.fetchrow(
        "SELECT merchant_id, amount, releases FROM bookings WHERE kind = $1 AND bank_reference = $2",
        kind,
        bank_reference,
    )
    return None if row is None else (row["merchant_id"], row["amount"], row["releases"])
