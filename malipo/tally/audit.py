"""Holds counts against the things they count. It reads, and never mends."""

from dataclasses import dataclass

from malipo.db import Conn, Row
from malipo.tally.store import Book
from malipo.tally.tree import TOP


@dataclass(frozen=True, slots=True)
class Wrong:
    where: str
    stored: int | None
    computed: int | None


async def check(connection: Conn, book: Book, things: str) -> list[Wrong]:
    """`things` selects merchant_id, bucket (of the leaves) and cell of everything that must be counted."""
    return [*await _wrong_leaves(connection, book, things), *await _wrong_sums(connection, book)]


async def _wrong_leaves(connection: Conn, book: Book, things: str) -> list[Wrong]:
    """By the sum of fingerprints first; only if that differs, somebody has to say where."""
    stored = f"""
        SELECT merchant_id, bucket, cell::integer AS cell, count
        FROM tallies, unnest(counts) WITH ORDINALITY AS c (count, cell)
        WHERE book = '{book}' AND level = 0 AND count <> 0
    """
    fingerprint = "hash_record_extended(ROW(merchant_id, bucket, cell), 0)"
    expected = await connection.fetchval(f"SELECT sum({fingerprint}) FROM ({things}) AS things")
    found = await connection.fetchval(f"SELECT sum(count * {fingerprint}::numeric) FROM ({stored}) AS stored")
    if expected == found:
        return []
    rows = await connection.fetch(
        f"""
        SELECT merchant_id, 0 AS level, bucket, cell, e.count AS computed, s.count AS stored
        FROM (SELECT merchant_id, bucket, cell, count(*) AS count FROM ({things}) AS things GROUP BY 1, 2, 3) e
        FULL JOIN ({stored}) s USING (merchant_id, bucket, cell)
        WHERE e.count IS DISTINCT FROM s.count ORDER BY 1, 3, 4 LIMIT 100
        """
    )
    return [_wrong(row) for row in rows]


async def _wrong_sums(connection: Conn, book: Book) -> list[Wrong]:
    """Every bucket above the leaves is the sum of those below it."""
    cells = f"""
        SELECT merchant_id, level, bucket, cell, count
        FROM tallies, unnest(counts) WITH ORDINALITY AS c (count, cell) WHERE book = '{book}'
    """
    rows = await connection.fetch(
        f"""
        SELECT merchant_id, level, bucket, cell, lower.count AS computed, upper.count AS stored
        FROM (SELECT merchant_id, level + 1 AS level, bucket >> 5 AS bucket, cell, sum(count)::bigint AS count
              FROM ({cells}) c WHERE level < {TOP} GROUP BY 1, 2, 3, 4) lower
        FULL JOIN (SELECT * FROM ({cells}) c WHERE level > 0) upper USING (merchant_id, level, bucket, cell)
        WHERE coalesce(lower.count, 0) <> coalesce(upper.count, 0) ORDER BY 1, 2, 3, 4 LIMIT 100
        """
    )
    return [_wrong(row) for row in rows]


def _wrong(row: Row) -> Wrong:
    where = f"{row['merchant_id']} level {row['level']} bucket {row['bucket']} cell {row['cell']}"
    return Wrong(where, row["stored"], row["computed"])
