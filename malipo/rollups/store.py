"""The SQL of the rollups. Adding to a rollup locks its position: the number up to which everything is counted."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

import msgspec

from malipo.db import Conn, Tx
from malipo.rollups.bucket_tree import Bucket, Piece, Tree, pick, pieces_of

_encode = msgspec.json.Encoder().encode


class Rollup(StrEnum):
    PAYMENTS = "payments"
    STATEMENT = "statement"


Row = tuple[int, int, int]  # level, first bucket, last bucket
# Of a merchant's bucket: how many in each category, up to the last one that it has.
BucketCounts = Mapping[tuple[str, Bucket], Sequence[int]]


async def find(
    connection: Conn, merchant_id: str, rollup: Rollup, rows: Sequence[Row], categories: Collection[int]
) -> dict[Bucket, int]:
    """The counts of these buckets, of these categories. Empty buckets are left out."""
    found = await connection.fetch(
        """
        SELECT level, bucket, count FROM (
            SELECT t.level, t.bucket, (SELECT sum(t.counts[cell]) FROM unnest($6::integer[]) AS cell) AS count
            FROM unnest($3::smallint[], $4::bigint[], $5::bigint[]) AS r (level, first, last)
            JOIN rollup_counts t ON t.merchant_id = $1 AND t.rollup = $2 AND t.level = r.level
                          AND t.bucket BETWEEN r.first AND r.last
        ) counted WHERE count > 0
        """,
        merchant_id,
        rollup,
        *([row[place] for row in rows] for place in range(3)),
        list(categories),
    )
    return {Bucket(row["level"], row["bucket"]): row["count"] for row in found}


async def walk(
    connection: Conn,
    merchant_id: str,
    rollup: Rollup,
    tree: Tree,
    categories: Collection[int],
    pieces: Sequence[Piece],
    *,
    skip: int,
    take: int,
    apart: Sequence[int] = (),
) -> tuple[list[Piece], int]:
    """Walk down to the leaves that contain the things after the first `skip`; and how many to skip inside those.

    `apart` are the numbers, in order, of things that are not in the counts.
    """
    picked, skip = pick(pieces, skip=skip, take=take)
    while rows := [tree.children_of(each.bucket) for each in picked if each.bucket and each.bucket.level]:
        found = await find(connection, merchant_id, rollup, rows, categories)
        inner = [
            child
            for piece in picked
            for child in (
                pieces_of(tree, tree.children_of(piece.bucket), found, apart)
                if piece.bucket and piece.bucket.level
                else [piece]
            )
        ]
        picked, skip = pick(inner, skip=skip, take=take)
    return picked, skip


async def add(tx: Tx, rollup: Rollup, counted: BucketCounts) -> None:
    rows = [
        {"merchant_id": merchant_id, "level": bucket.level, "bucket": bucket.number, "counts": counts}
        for (merchant_id, bucket), counts in sorted(counted.items())
    ]
    await tx.execute(
        """
        INSERT INTO rollup_counts AS t (merchant_id, rollup, level, bucket, counts)
        SELECT merchant_id, $1, level, bucket, counts
        FROM json_to_recordset($2) AS new (merchant_id text, level smallint, bucket bigint, counts integer[])
        ON CONFLICT (merchant_id, rollup, level, bucket) DO UPDATE
        SET counts = ARRAY(SELECT coalesce(old, 0) + coalesce(new, 0)
                           FROM unnest(t.counts, excluded.counts) WITH ORDINALITY AS both_ (old, new, n) ORDER BY n)
        """,
        rollup,
        _encode(rows).decode(),
    )


async def find_position(connection: Conn, merchant_id: str, rollup: Rollup) -> int:
    """The number up to which a merchant's things are counted."""
    position = await connection.fetchval(
        "SELECT position FROM rollup_positions WHERE merchant_id = $1 AND rollup = $2", merchant_id, rollup
    )
    return position or 0


async def lock_positions(tx: Tx, rollup: Rollup, merchant_ids: Collection[str]) -> dict[str, int]:
    """The positions of these merchants. Those that another worker has locked are left out."""
    await tx.execute(
        """
        INSERT INTO rollup_positions (merchant_id, rollup, position)
        SELECT merchant_id, $2, 0 FROM unnest($1::text[]) AS merchant_id ON CONFLICT DO NOTHING
        """,
        sorted(merchant_ids),
        rollup,
    )
    rows = await tx.fetch(
        """
        SELECT merchant_id, position FROM rollup_positions WHERE merchant_id = ANY($1::text[]) AND rollup = $2
        ORDER BY merchant_id FOR UPDATE SKIP LOCKED
        """,
        sorted(merchant_ids),
        rollup,
    )
    return {row["merchant_id"]: row["position"] for row in rows}


async def set_positions(tx: Tx, rollup: Rollup, positions: Mapping[str, int]) -> None:
    await tx.execute(
        """
        UPDATE rollup_positions m SET position = new.position
        FROM unnest($1::text[], $2::bigint[]) AS new (merchant_id, position)
        WHERE m.merchant_id = new.merchant_id AND m.rollup = $3
        """,
        list(positions),
        list(positions.values()),
        rollup,
    )
