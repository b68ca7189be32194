"""The SQL of links, with the number and sum of their payments.

A worker adds ended attempts to the counts in a link's row. Reads add the uncounted ones, so that a link is PAID from
the commit that completes its payment. No read changes anything.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Row, Tx
from malipo.links.link import Late, LatePayment, Link, LinkStatus

Key = tuple[str, str]  # a merchant's id and a link's

_COLUMNS = """
    l.merchant_id, l.id, l.code, l.amount, l.min_amount, l.max_amount, l.description, l.order_reference, l.is_reusable,
    l.max_payments, l.expires_at, l.return_url, l.created_at, l.created_by, l.cancelled_at, l.paid_at, l.paid_count,
    l.paid_amount, coalesce(l.expires_at <= clock_timestamp(), false) AS is_expired, live.count AS live_count,
    live.amount AS live_amount
"""

# Whether the money of an attempt moved, by the latest report of its network; and when it reported that. That is by the
# clock of a host, which may be ahead of the database's, by which links expire: a payment in time would count as late,
# and the link would take a second one.
IS_PAID = "coalesce(c.is_paid, t.status = 'COMPLETED')"
PAID_AT = "least(CASE WHEN t.status = 'COMPLETED' THEN t.ended_at ELSE c.since END, clock_timestamp())"
_WITH_PAYMENT = """
    link_attempts a JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
    LEFT JOIN corrections c ON c.merchant_id = a.merchant_id AND c.transaction_id = a.transaction_id
"""
# The uncounted changes: attempts that were paid in time, less those that were counted as paid and were taken back.
_LIVE = f"""
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(now.change), 0)::int AS count, coalesce(sum(now.change * now.amount), 0)::bigint AS amount
        FROM (
            SELECT t.amount, CASE WHEN a.late IS NOT NULL THEN 0
                                  ELSE ({IS_PAID} AND {PAID_AT} <= coalesce(l.expires_at, 'infinity')
                                        AND {PAID_AT} <= coalesce(l.cancelled_at, 'infinity'))::int
                                       - (a.is_paid AND a.late IS NULL)::int END AS change
            FROM {_WITH_PAYMENT}
            WHERE a.merchant_id = l.merchant_id AND a.link_id = l.id AND NOT a.is_counted) now) live
"""
_STATUS = """
    CASE WHEN l.paid_at IS NOT NULL
              OR l.paid_count + live.count >= CASE WHEN l.is_reusable THEN l.max_payments ELSE 1 END THEN 'PAID'
         WHEN l.cancelled_at IS NOT NULL THEN 'CANCELLED'
         WHEN l.expires_at <= clock_timestamp() THEN 'EXPIRED' ELSE 'ACTIVE' END
"""


class UsedKey(NamedTuple):
    """What an idempotency key was used for."""

    request_hash: bytes
    link: Link


class CustomersLink(NamedTuple):
    """A link as its page shows it."""

    link: Link
    merchant_name: str
    is_merchant_active: bool


def _link_of(row: Row) -> Link:
    return Link(
        merchant_id=row["merchant_id"],
        id=row["id"],
        code=row["code"],
        amount=row["amount"],
        min_amount=row["min_amount"],
        max_amount=row["max_amount"],
        description=row["description"],
        order_reference=row["order_reference"],
        is_reusable=row["is_reusable"],
        max_payments=row["max_payments"],
        expires_at=row["expires_at"],
        return_url=row["return_url"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        cancelled_at=row["cancelled_at"],
        paid_at=row["paid_at"],
        paid_count=row["paid_count"] + row["live_count"],
        paid_amount=row["paid_amount"] + row["live_amount"],
        is_expired=row["is_expired"],
    )


async def insert(tx: Tx, link: Link, *, key: str | None, request_hash: bytes) -> bool:
    """Insert a link. Returns False if its id, its code or its idempotency key exists. It waits for a commit that uses
    one of them."""
    done = await tx.execute(
        """
        INSERT INTO links (merchant_id, id, code, amount, min_amount, max_amount, description, order_reference,
                           is_reusable, max_payments, expires_at, return_url, created_at, created_by, idempotency_key,
                           request_hash)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT DO NOTHING
        """,
        link.merchant_id,
        link.id,
        link.code,
        link.amount,
        link.min_amount,
        link.max_amount,
        link.description,
        link.order_reference,
        link.is_reusable,
        link.max_payments,
        link.expires_at,
        link.return_url,
        link.created_at,
        link.created_by,
        key,
        request_hash,
    )
    return done == "INSERT 0 1"


async def get(connection: Conn, merchant_id: str, link_id: str) -> Link | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM links l {_LIVE} WHERE l.merchant_id = $1 AND l.id = $2", merchant_id, link_id
    )
    return None if row is None else _link_of(row)


async def get_counted(connection: Conn, merchant_id: str, link_id: str) -> Link:
    """The link with only the counted attempts. It must exist."""
    row = await connection.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM links l CROSS JOIN (SELECT 0 AS count, 0::bigint AS amount) live
        WHERE l.merchant_id = $1 AND l.id = $2
        """,
        merchant_id,
        link_id,
    )
    assert row is not None
    return _link_of(row)


async def find(connection: Conn, keys: Collection[Key]) -> dict[Key, Link]:
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM links l {_LIVE}
        WHERE (l.merchant_id, l.id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [merchant_id for merchant_id, _ in keys],
        [id_ for _, id_ in keys],
    )
    return {(row["merchant_id"], row["id"]): _link_of(row) for row in rows}


async def find_by_code(connection: Conn, code: str) -> CustomersLink | None:
    """The link with this code, of any merchant: the code is enough to see it."""
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS}, m.name, m.is_active FROM links l {_LIVE} JOIN merchants m ON m.id = l.merchant_id "
        "WHERE l.code = $1",
        code.lower(),
    )
    return None if row is None else CustomersLink(_link_of(row), row["name"], row["is_active"])


async def find_by_key(connection: Conn, merchant_id: str, key: str) -> UsedKey | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS}, l.request_hash FROM links l {_LIVE} WHERE l.merchant_id = $1 AND l.idempotency_key = $2",
        merchant_id,
        key,
    )
    return None if row is None else UsedKey(row["request_hash"], _link_of(row))


async def find_page(
    connection: Conn, merchant_id: str, *, status: LinkStatus | None = None, page: int, limit: int
) -> tuple[int, list[Link]]:
    """The number of all links, and one page of them, the newest first."""
    if status is None:
        total = await connection.fetchval("SELECT count(*) FROM links l WHERE l.merchant_id = $1", merchant_id)
    else:
        total = await connection.fetchval(
            f"SELECT count(*) FROM links l {_LIVE} WHERE l.merchant_id = $1 AND {_STATUS} = $2", merchant_id, status
        )
    wanted = "true" if status is None else f"{_STATUS} = $4"
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM links l {_LIVE} WHERE l.merchant_id = $1 AND {wanted}
        ORDER BY l.id DESC LIMIT $2 OFFSET $3
        """,
        merchant_id,
        limit,
        (page - 1) * limit,
        *([] if status is None else [status]),
    )
    return int(total), [_link_of(row) for row in rows]


async def find_late(connection: Conn, keys: Collection[Key]) -> dict[Key, list[LatePayment]]:
    """The late payments of each of these links, the oldest first."""
    rows = await connection.fetch(
        f"""
        SELECT a.merchant_id, a.link_id, t.id, t.amount, a.late, {PAID_AT} AS paid_at
        FROM {_WITH_PAYMENT}
        WHERE (a.merchant_id, a.link_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
          AND a.late IS NOT NULL AND {IS_PAID}
        ORDER BY t.id
        """,
        [merchant_id for merchant_id, _ in keys],
        [id_ for _, id_ in keys],
    )
    found: dict[Key, list[LatePayment]] = {}
    for row in rows:
        late = LatePayment(row["id"], Late(row["late"]), row["amount"], row["paid_at"])
        found.setdefault((row["merchant_id"], row["link_id"]), []).append(late)
    return found


async def lock_by_codes(tx: Tx, codes: Collection[str]) -> dict[str, Key]:
    """Lock the links with these codes until the commit, in the order of their ids. Links are locked before payments and
    wallets."""
    rows = await tx.fetch(
        "SELECT merchant_id, id, code FROM links WHERE code = ANY($1::text[]) ORDER BY merchant_id, id FOR UPDATE",
        list(codes),
    )
    return {row["code"]: (row["merchant_id"], row["id"]) for row in rows}


async def lock(tx: Tx, merchant_id: str, link_id: str) -> bool:
    """Lock the link until the commit. Returns False if there is none."""
    row = await tx.fetchrow("SELECT id FROM links WHERE merchant_id = $1 AND id = $2 FOR UPDATE", merchant_id, link_id)
    return row is not None


async def find_inactive_merchants(connection: Conn, merchant_ids: Sequence[str]) -> set[str]:
    rows = await connection.fetch(
        "SELECT id FROM merchants WHERE id = ANY($1::text[]) AND NOT is_active", list(set(merchant_ids))
    )
    return {row["id"] for row in rows}


async def cancel(tx: Tx, link: Link, *, by: str) -> datetime:
    """Cancel a link that the caller has locked. Returns the time by the database's clock."""
    at: datetime = await tx.fetchval(
        """
        UPDATE links SET cancelled_at = clock_timestamp(), cancelled_by = $3 WHERE merchant_id = $1 AND id = $2
        RETURNING cancelled_at
        """,
        link.merchant_id,
        link.id,
        by,
    )
    return at


async def write_counts(tx: Tx, link: Link, *, count: int, amount: int, paid_at: datetime | None) -> None:
    """Add to the counts of a link that the caller has locked."""
    await tx.execute(
        """
        UPDATE links SET paid_count = paid_count + $3, paid_amount = paid_amount + $4, paid_at = coalesce(paid_at, $5)
        WHERE merchant_id = $1 AND id = $2
        """,
        link.merchant_id,
        link.id,
        count,
        amount,
        paid_at,
    )
