"""The SQL of attempts that a restore has lost and operators have adopted.

Such an attempt has no press. Its press id begins with a mark that no page can send; the customer's next press with the
amount that was paid finds it, once, and its press id then follows the mark.
"""

from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.links.store.links import Key

ADOPTED = "adopted:"
_MOST_LINKS = 20_000  # each costs some hashes, while nothing is locked


class PossibleLink(NamedTuple):
    id: str
    code: str
    is_amount_typed: bool
    order_reference: str | None
    last_ordinal: int  # of the attempts of the number that the database has


async def find_possible_links(
    connection: Conn, merchant_id: str, phone: str, amount: int, *, paid_at: datetime
) -> list[PossibleLink]:
    """The merchant's links by which this number can have paid this amount at this time, the newest first."""
    rows = await connection.fetch(
        """
        SELECT l.id, l.code, l.amount IS NULL, l.order_reference,
               coalesce((SELECT max(a.ordinal) FROM link_attempts a
                         WHERE a.merchant_id = l.merchant_id AND a.link_id = l.id AND a.phone = $2), 0)
        FROM links l
        WHERE l.merchant_id = $1 AND coalesce(l.amount, $3) = $3
          AND l.created_at < $4::timestamptz + interval '1 day'
        ORDER BY l.id DESC LIMIT $5
        """,
        merchant_id,
        phone,
        amount,
        paid_at,
        _MOST_LINKS,
    )
    return [PossibleLink(*row.values()) for row in rows]


async def insert(tx: Tx, link: Key, phone: str, ordinal: int, transaction_id: str) -> None:
    """Insert the attempt of an adopted payment. If an adoption that was undone has its place, it is the next one."""
    await tx.execute(
        """
        INSERT INTO link_attempts (merchant_id, link_id, phone, ordinal, transaction_id, press_id, pressed_at)
        SELECT $1, $2, $3, CASE WHEN bool_or(a.ordinal = $4) THEN max(a.ordinal) + 1 ELSE $4 END, $5, $6,
               clock_timestamp()
        FROM link_attempts a WHERE a.merchant_id = $1 AND a.link_id = $2 AND a.phone = $3
        """,
        *link,
        phone,
        ordinal,
        transaction_id,
        ADOPTED,
    )


async def note_press(tx: Tx, link: Key, transaction_id: str, press_id: str | None) -> None:
    """The customer has pressed again, and has found the adopted payment."""
    await tx.execute(
        "UPDATE link_attempts SET press_id = $4 WHERE merchant_id = $1 AND link_id = $2 AND transaction_id = $3",
        *link,
        transaction_id,
        f"{ADOPTED}{press_id or '-'}",
    )
