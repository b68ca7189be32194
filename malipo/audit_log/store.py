"""The SQL of the audit log. Entries are appended, never changed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from malipo import clock, ids
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Row, Tx
from malipo.db.where_clause import Conditions

# A filter with few matches could read all entries, so a page reads at most these, and the next one begins there.
MOST_LOOKED_THROUGH = 50_000

_PREFIX = "aud_"
_COLUMNS = "id, created_at, actor, address, action, merchant_id, details, os_user"
_encode = msgspec.json.Encoder(enc_hook=str).encode
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class AuditLogEntry:
    id: str
    created_at: datetime
    actor: str
    address: str
    action: str
    merchant_id: str | None
    details: Mapping[str, Any]
    os_user: str | None


@dataclass(frozen=True, slots=True)
class AuditLogFilter:
    action: str | None = None
    actor: str | None = None  # part of the name, in any case
    merchant_ids: Collection[str] | None = None
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditLogPage:
    """Newest first, and the entry that the next page begins after."""

    entries: list[AuditLogEntry]
    older: str | None = None
    is_cut: bool = False  # the limit was reached, and older entries may match too


async def append(
    tx: Tx, actor: Actor, action: str, *, now: datetime, merchant_id: str | None = None, **details: object
) -> None:
    """Append an entry, in the commit of the act. Callers never pass secrets."""
    await append_many(tx, actor, action, [details], now=now, merchant_id=merchant_id)


async def append_many(
    tx: Tx,
    actor: Actor,
    action: str,
    details: Sequence[Mapping[str, object]],
    *,
    now: datetime,
    merchant_id: str | None = None,
) -> None:
    """An entry for each of the details, all of the same act."""
    await tx.execute(
        """
        INSERT INTO audit_log (id, created_at, actor, address, action, merchant_id, details, os_user)
        SELECT entry.id, $3, $4, $5, $6, $7, entry.details::json, $8
        FROM unnest($1::text[], $2::text[]) AS entry (id, details)
        """,
        [ids.mint(_PREFIX, now) for _ in details],
        [_encode(each).decode() for each in details],
        now,
        actor.name,
        actor.address,
        action,
        merchant_id,
        actor.os_user,
    )


def alone(is_alone: bool) -> dict[str, Any]:
    """The detail that the only operator did alone what otherwise takes two."""
    return {"alone": True} if is_alone else {}


async def find(connection: Conn, *, merchant_id: str | None = None, limit: int) -> list[AuditLogEntry]:
    """The latest entries, newest first."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM audit_log
        WHERE $1::text IS NULL OR merchant_id = $1 ORDER BY id DESC LIMIT $2
        """,
        merchant_id,
        limit,
    )
    return [_entry(row) for row in rows]


async def find_page(
    connection: Conn, wanted: AuditLogFilter, *, before: str | None, limit: int, most: int = MOST_LOOKED_THROUGH
) -> AuditLogPage:
    """A page of entries, the latest first; `before` is the last one of the page before."""
    where, reached = _span(wanted, before), None
    if wanted.action is not None or wanted.actor is not None:
        reached = await connection.fetchval(
            f"SELECT id FROM audit_log WHERE {where} ORDER BY id DESC OFFSET {most - 1:d} LIMIT 1", *where.values
        )
    where.add("id >= {}", reached)
    where.add("action = {}", wanted.action)
    where.add("strpos(lower(actor), lower({})) > 0", wanted.actor)
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM audit_log WHERE {where} ORDER BY id DESC LIMIT {limit + 1:d}", *where.values
    )
    found = [_entry(row) for row in rows]
    if len(found) > limit:
        return AuditLogPage(found[:limit], found[limit - 1].id)
    return AuditLogPage(found, reached, is_cut=reached is not None)


def _span(wanted: AuditLogFilter, before: str | None) -> Conditions:
    """Ids begin with their time, so a range of time is a range of ids."""
    first = _PREFIX if wanted.first is None else ids.first_of(_PREFIX, clock.milliseconds(wanted.first))
    where = Conditions("id >= {}", first)
    where.add("id <= {}", None if wanted.last is None else ids.last_of(_PREFIX, clock.milliseconds(wanted.last)))
    where.add("id < {}", before)
    where.add("merchant_id = ANY({}::text[])", None if wanted.merchant_ids is None else list(wanted.merchant_ids))
    return where


async def sum_of_day(tx: Tx, merchant_id: str, actions: Collection[str], *, since: datetime) -> int:
    """The sum of the counts in a merchant's entries of these kinds since a time, locked against concurrent callers."""
    subject = f"{' '.join(actions)} {merchant_id}"
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", subject)
    return int(
        await tx.fetchval(
            """
            SELECT coalesce(sum((details ->> 'count')::bigint), 0) FROM audit_log
            WHERE merchant_id = $1 AND id >= $2 AND action = ANY($3::text[])
            """,
            merchant_id,
            ids.first_of(_PREFIX, clock.milliseconds(since)),
            list(actions),
        )
    )


async def find_of_merchant(
    connection: Conn, merchant_id: str, *, kinds: Collection[str], before: str | None, limit: int
) -> list[AuditLogEntry]:
    """A page of a merchant's entries of these kinds, the latest first; `before` is the last one of the page before."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM audit_log
        WHERE merchant_id = $1 AND action = ANY($2::text[]) AND ($3::text IS NULL OR id < $3)
        ORDER BY id DESC LIMIT $4
        """,
        merchant_id,
        list(kinds),
        before,
        limit,
    )
    return [_entry(row) for row in rows]


def _entry(row: Row) -> AuditLogEntry:
    return AuditLogEntry(
        row["id"],
        row["created_at"],
        row["actor"],
        row["address"],
        row["action"],
        row["merchant_id"],
        _decode(row["details"]),
        row["os_user"],
    )
