"""API keys."""

from collections.abc import Collection, Sequence
from datetime import datetime, time
from typing import NamedTuple

from malipo import clock, ids
from malipo.db import Conn, Row, Tx
from malipo.merchants.api_keys import (
    COLLECTING,
    Environment,
    KnownKey,
    NewKey,
    PayoutLimits,
    StoredKey,
    hash_of,
)
from malipo.rate_limit.sliding_window import RateClass, Window
from malipo.rate_limit.store import Version

_COLUMNS = """
    id, merchant_id, name, prefix, last4, environment, permissions, ip_allowlist, created_at, expires_at, last_used_at,
    payout_limit, daily_payout_limit
"""


async def insert(tx: Tx, key: NewKey) -> None:
    await tx.execute(
        """
        INSERT INTO api_keys (id, merchant_id, name, hash, prefix, last4, environment, permissions, ip_allowlist,
                              created_at, expires_at, payout_limit, daily_payout_limit, created_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        """,
        key.id,
        key.merchant_id,
        key.name,
        hash_of(key.text.encode()),
        key.prefix,
        key.last4,
        key.environment,
        list(key.permissions),
        list(key.ip_allowlist),
        key.created_at,
        key.expires_at,
        key.payout_limit,
        key.daily_payout_limit,
        key.created_by,
    )
    if key.daily_payout_limit is not None:
        # A day long ago, so that the key's first payout begins a new day.
        await tx.execute("INSERT INTO api_key_daily_payouts (key_id, day, amount) VALUES ($1, '2000-01-01', 0)", key.id)


Counted = tuple[bytes, RateClass]  # a key's hash, and the class whose window is needed
Wanted = tuple[bytes, RateClass | None]


class FoundKey(NamedTuple):
    """A key with its merchant's state, the rate-limit window of one class, and the time in milliseconds."""

    key: KnownKey
    window: Window
    version: Version
    now_ms: int


async def find_by_hashes(connection: Conn, wanted: Collection[Wanted]) -> dict[Wanted, FoundKey]:
    """The keys that have these hashes, each with the window of this class, if any."""
    rows = await connection.fetch(
        """
        SELECT wanted.hash, wanted.rate_class, w.requests, w.xmin::text::bigint,
               (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
               k.id, k.merchant_id, m.is_active, k.permissions, k.ip_allowlist, k.expires_at, k.revoked_at,
               k.last_used_at, k.payout_limit, k.daily_payout_limit, k.created_by, m.requires_idempotency_key
        FROM unnest($1::bytea[], $2::text[]) AS wanted (hash, rate_class)
        JOIN api_keys k ON k.hash = wanted.hash
        JOIN merchants m ON m.id = k.merchant_id
        LEFT JOIN rate_limit_windows w ON w.key_id = k.id AND w.rate_class = wanted.rate_class
        """,
        [hash_ for hash_, _ in wanted],
        [rate_class for _, rate_class in wanted],
    )
    return {
        (row[0], row[1]): FoundKey(_known(row), Window.unpacked(row[2] or b""), row[3] or 0, row[4]) for row in rows
    }


def is_good_sql(key: str, merchant: str, now: str) -> str:
    """A condition: whether a key may create collections from any address, as `check_api_key.py` decides for a key
    without an allowlist; and whether its last use was stored within a minute (`KnownKey.has_stale_use`)."""
    return f"""
        {key}.revoked_at IS NULL AND ({key}.expires_at IS NULL OR {now}::timestamptz < {key}.expires_at)
        AND {merchant}.is_active
        AND {key}.ip_allowlist = '{{}}' AND {key}.permissions && '{{{",".join(COLLECTING)}}}'
        AND {now}::timestamptz - {key}.last_used_at < interval '1 minute'
    """


def _known(row: Row) -> KnownKey:
    each, daily = row["payout_limit"], row["daily_payout_limit"]
    return KnownKey(
        id=row["id"],
        merchant_id=row["merchant_id"],
        merchant_is_active=row["is_active"],
        permissions=frozenset(row["permissions"]),
        ip_allowlist=row["ip_allowlist"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
        payout_limits=None if each is None and daily is None else PayoutLimits(row["id"], each, daily),
        created_by=row["created_by"],
        requires_idempotency_key=row["requires_idempotency_key"],
    )


async def find_payout_limits(connection: Conn, merchant_id: str, key_id: str) -> PayoutLimits | None:
    """The payout limits of a key, also of a revoked one; None if it has none, or if there is no such key."""
    row = await connection.fetchrow(
        """
        SELECT id, payout_limit, daily_payout_limit FROM api_keys
        WHERE merchant_id = $1 AND id = $2 AND coalesce(payout_limit, daily_payout_limit) IS NOT NULL
        """,
        merchant_id,
        key_id,
    )
    return None if row is None else PayoutLimits(*row.values())


async def find_all(connection: Conn, merchant_id: str) -> list[StoredKey]:
    """Every key of a merchant that was not revoked, oldest first."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM api_keys WHERE merchant_id = $1 AND revoked_at IS NULL ORDER BY id", merchant_id
    )
    return [_stored(row) for row in rows]


async def find_names(connection: Conn, merchant_id: str, key_ids: Collection[str]) -> dict[str, tuple[str, str]]:
    """The name and the last four characters of each of these keys, also of revoked ones."""
    rows = await connection.fetch(
        "SELECT id, name, last4 FROM api_keys WHERE merchant_id = $1 AND id = ANY($2::text[])",
        merchant_id,
        list(key_ids),
    )
    return {row["id"]: (row["name"], row["last4"]) for row in rows}


async def lock_all(tx: Tx, merchant_id: str) -> int:
    """Lock the merchant's keys, and return their number. Other commits that add a key wait for ours."""
    await tx.execute("SELECT FROM merchants WHERE id = $1 FOR UPDATE", merchant_id)
    count = await tx.fetchval(
        "SELECT count(*) FROM api_keys WHERE merchant_id = $1 AND revoked_at IS NULL", merchant_id
    )
    return int(count)


async def lock(tx: Tx, merchant_id: str, key_id: str) -> StoredKey | None:
    """Lock a key that was not revoked. Other commits that change or revoke it wait for ours."""
    row = await tx.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM api_keys
        WHERE merchant_id = $1 AND id = $2 AND revoked_at IS NULL FOR NO KEY UPDATE
        """,
        merchant_id,
        key_id,
    )
    return None if row is None else _stored(row)


async def update(tx: Tx, key: StoredKey) -> None:
    """Write the changeable fields of a key, which the caller has locked."""
    await tx.execute(
        "UPDATE api_keys SET name = $2, permissions = $3, payout_limit = $4, daily_payout_limit = $5 WHERE id = $1",
        key.id,
        key.name,
        list(key.permissions),
        key.payout_limit,
        key.daily_payout_limit,
    )


async def start_daily_sum(tx: Tx, merchant_id: str, key_id: str, *, now: datetime) -> None:
    """Store what a key has paid out today, by its payouts, because it gets a daily limit that it did not have. The
    caller has locked the wallet, so no payout is being created."""
    day = clock.day_of(now)
    began = datetime.combine(day, time.min, clock.ZONE)
    await tx.execute(
        """
        INSERT INTO api_key_daily_payouts (key_id, day, amount)
        SELECT $2, $3, coalesce(sum(amount), 0) FROM transactions
        WHERE merchant_id = $1 AND id >= $4 AND type = 'DISBURSEMENT' AND created_by = $2
        ON CONFLICT (key_id) DO UPDATE SET day = excluded.day, amount = excluded.amount
        """,
        merchant_id,
        key_id,
        day,
        ids.first_of("txn_", clock.milliseconds(began)),
    )


async def revoke(tx: Tx, merchant_id: str, key_id: str, *, now: datetime) -> bool:
    """Revoke a key. Returns whether it existed and was valid until now."""
    done = await tx.execute(
        "UPDATE api_keys SET revoked_at = $3 WHERE merchant_id = $1 AND id = $2 AND revoked_at IS NULL",
        merchant_id,
        key_id,
        now,
    )
    return done == "UPDATE 1"


def _stored(row: Row) -> StoredKey:
    return StoredKey(
        id=row["id"],
        merchant_id=row["merchant_id"],
        name=row["name"],
        prefix=row["prefix"],
        last4=row["last4"],
        environment=Environment(row["environment"]),
        permissions=tuple(row["permissions"]),
        ip_allowlist=tuple(row["ip_allowlist"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        payout_limit=row["payout_limit"],
        daily_payout_limit=row["daily_payout_limit"],
    )


async def touch(connection: Conn, key_ids: Sequence[str], *, now: datetime) -> None:
    """Note that these keys were used. A row that is locked is skipped: the other commit notes the same moment.

    The callers are answered before this is on disk.
    """
    await connection.execute(
        """
        UPDATE api_keys SET last_used_at = $2
        FROM set_config('synchronous_commit', 'off', true)
        WHERE id IN (SELECT id FROM api_keys WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED)
        """,
        key_ids,
        now,
    )
