"""Compares rollups with the things they count. It only reads, and repairs nothing."""

from dataclasses import dataclass

from malipo.db import Conn, Row
from malipo.db.key_range import EVERYTHING, KeyRange
from malipo.rollups.bucket_tree import TOP
from malipo.rollups.store import Rollup


@dataclass(frozen=True, slots=True)
class CountDifference:
    where: str
    stored: int | None
    computed: int | None


async def check(
    connection: Conn, rollup: Rollup, entries: str | None, within: KeyRange = EVERYTHING
) -> list[CountDifference]:
    """`things` is SQL that selects merchant_id, bucket (of the leaves), cell (the category) and count, in any order.

    None, if the leaves are known to be right. `within` is a range of merchants; `things` must be of the same.
    """
    wrong = await _differences(connection, 0, entries, _stored(rollup, 0, within), within) if entries else []
    for level in range(1, TOP + 1):
        # A bucket above the leaves is the sum of its children.
        children = _stored(rollup, level - 1, within)
        below = f"SELECT merchant_id, bucket >> 5 AS bucket, cell, count FROM ({children}) AS below"
        wrong += await _differences(connection, level, below, _stored(rollup, level, within), within)
    return wrong


def _stored(rollup: Rollup, level: int, within: KeyRange) -> str:
    return f"""
        SELECT merchant_id, bucket, cell::integer AS cell, count
        FROM rollup_counts, unnest(counts) WITH ORDINALITY AS c (count, cell)
        WHERE rollup = '{rollup}' AND level = {level} AND count <> 0 AND {within.holds("merchant_id")}
    """


async def stored_leaves(connection: Conn, rollup: Rollup, within: KeyRange = EVERYTHING) -> int:
    """The sum of the fingerprints (merchant, leaf, category) of all that is counted."""
    return await _sum(connection, _stored(rollup, 0, within), within)


async def _sum(connection: Conn, counted: str, within: KeyRange) -> int:
    """A count of n things is n times the fingerprint of its place. (Whole numbers are quicker than decimals.)"""
    one = "hash_record_extended(ROW(merchant_id, bucket, cell), 0)"
    # `fetch`, though it is one row: for `fetchrow` PostgreSQL uses no parallel workers.
    ((sum_,),) = await connection.fetch(
        f"""
        SELECT coalesce(sum({one}) FILTER (WHERE count = 1), 0)
               + coalesce(sum(count * {one}::numeric) FILTER (WHERE count <> 1), 0)
        FROM ({counted}) AS counted
        """,
        *within.values,
    )
    return int(sum_)


async def _differences(
    connection: Conn, level: int, expected: str, stored: str, within: KeyRange
) -> list[CountDifference]:
    """Compares the sums of fingerprints first; only if those differ, a join finds where."""
    if await _sum(connection, expected, within) == await _sum(connection, stored, within):
        return []
    rows = await connection.fetch(
        f"""
        SELECT merchant_id, {level} AS level, bucket, cell, e.count AS computed, s.count AS stored
        FROM (SELECT merchant_id, bucket, cell, sum(count)::bigint AS count FROM ({expected}) AS things
              GROUP BY 1, 2, 3 HAVING sum(count) <> 0) e
        FULL JOIN ({stored}) s USING (merchant_id, bucket, cell)
        WHERE e.count IS DISTINCT FROM s.count ORDER BY 1, 3, 4 LIMIT 100
        """,
        *within.values,
    )
    return [_wrong(row) for row in rows]


def _wrong(row: Row) -> CountDifference:
    where = f"{row['merchant_id']} level {row['level']} bucket {row['bucket']} cell {row['cell']}"
    return CountDifference(where, row["stored"], row["computed"])
