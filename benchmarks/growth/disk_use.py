"""What every table and every index takes on disk, as PostgreSQL says."""

from collections.abc import Mapping
from dataclasses import dataclass

import asyncpg

# A table's row has no index. It has what is too long for its rows, and the maps of free and visible pages, with it.
_SIZES = """
    SELECT c.relname AS table, i.relname AS index,
           CASE WHEN i.oid IS NULL THEN pg_table_size(c.oid) ELSE pg_relation_size(i.oid) END AS bytes
    FROM pg_class c
    CROSS JOIN LATERAL (
        SELECT NULL::oid AS oid, NULL::name AS relname
        UNION ALL SELECT x.indexrelid, ic.relname FROM pg_index x JOIN pg_class ic ON ic.oid = x.indexrelid
        WHERE x.indrelid = c.oid
    ) i
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
"""


@dataclass(frozen=True)
class Relation:
    """A table without its indexes or, with a name, one of its indexes."""

    table: str
    index: str | None = None


# How often an index was read, and how often a row was written anew without an entry in any index (HOT).
_SCANS = "SELECT relname AS table, indexrelname AS index, idx_scan AS scans FROM pg_stat_user_indexes"
_UPDATES = "SELECT relname AS table, n_tup_upd AS updates, n_tup_hot_upd AS hot FROM pg_stat_user_tables"


@dataclass(frozen=True)
class Statistics:
    scans: dict[Relation, int]  # of each index
    updates: dict[str, tuple[int, int]]  # of each table, and how many of them were HOT


async def read_statistics(connection: asyncpg.Connection) -> Statistics:
    await connection.execute("SELECT pg_stat_force_next_flush()")
    return Statistics(
        {Relation(row["table"], row["index"]): row["scans"] for row in await connection.fetch(_SCANS)},
        {row["table"]: (row["updates"], row["hot"]) for row in await connection.fetch(_UPDATES)},
    )


async def read(connection: asyncpg.Connection) -> dict[Relation, int]:
    return {Relation(row["table"], row["index"]): row["bytes"] for row in await connection.fetch(_SIZES)}


def growth(before: Mapping[Relation, int], after: Mapping[Relation, int], payments: int) -> dict[Relation, float]:
    """Bytes a payment of each relation, the largest table first, each followed by its indexes. Pure."""
    each = {relation: (after[relation] - before.get(relation, 0)) / payments for relation in after}
    tables: dict[str, float] = {}
    for relation, size in each.items():
        tables[relation.table] = tables.get(relation.table, 0) + size
    order = sorted(each, key=lambda one: (-tables[one.table], one.table, one.index is not None, -each[one]))
    return {relation: each[relation] for relation in order}
