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


def fingerprints(columns: str) -> str:
    """The sum of rows' fingerprints, each as often as its `count` says. Whole numbers are quicker than decimals."""
    one = f"hash_record_extended(ROW({columns}), 0)"
    return f"""
        coalesce(sum({one}) FILTER (WHERE count = 1), 0)
        + coalesce(sum(count * {one}::numeric) FILTER (WHERE count <> 1), 0)
    """


async def check(connection: Conn, book: Book, things: str) -> list[Wrong]:
    """`things` selects merchant_id, bucket (of the leaves), cell and count of what must be counted, in any order."""
    wrong: list[Wrong] = []
    expected = things
    for level in range(TOP + 1):
        stored = f"""
            SELECT merchant_id, bucket, cell::integer AS cell, count
            FROM tallies, unnest(counts) WITH ORDINALITY AS c (count, cell)
            WHERE book = '{book}' AND level = {level} AND count <> 0
        """
        wrong += await _differences(connection, level, expected, stored)
        # What stands above the leaves is the sum of what stands below it.
        expected = f"SELECT merchant_id, bucket >> 5 AS bucket, cell, count FROM ({stored}) AS lower"
    return wrong


async def _differences(connection: Conn, level: int, expected: str, stored: str) -> list[Wrong]:
    """By the sums of fingerprints first; only if those differ, somebody has to say where."""
    sums = [
        await connection.fetchval(f"SELECT {fingerprints('merchant_id, bucket, cell')} FROM ({counted}) AS counted")
        for counted in (expected, stored)
    ]
    if sums[0] == sums[1]:
        return []
    rows = await connection.fetch(
        f"""
        SELECT merchant_id, {level} AS level, bucket, cell, e.count AS computed, s.count AS stored
        FROM (SELECT merchant_id, bucket, cell, sum(count)::bigint AS count FROM ({expected}) AS things
              GROUP BY 1, 2, 3 HAVING sum(count) <> 0) e
        FULL JOIN ({stored}) s USING (merchant_id, bucket, cell)
        WHERE e.count IS DISTINCT FROM s.count ORDER BY 1, 3, 4 LIMIT 100
        """
    )
    return [_wrong(row) for row in rows]


def _wrong(row: Row) -> Wrong:
    where = f"{row['merchant_id']} level {row['level']} bucket {row['bucket']} cell {row['cell']}"
    return Wrong(where, row["stored"], row["computed"])
