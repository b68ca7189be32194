"""Counts statement lines by their kind, after they were written. Readers read uncounted lines themselves."""

from malipo.db import Conn, Tx
from malipo.ledger.accounts import Account
from malipo.ledger.statement import CATEGORIES, KINDS, TREE
from malipo.rollups import store as rollups
from malipo.rollups.bucket_tree import add_up
from malipo.rollups.store import Rollup

_MERCHANTS = 50
_LINES = 2000


async def count(tx: Tx, *, least: int) -> bool:
    """Count for the merchants with the most uncounted lines. Returns whether more may be left."""
    behind = await _find_behind(tx, least=least)
    if not behind:
        return False
    positions = await rollups.lock_positions(tx, Rollup.STATEMENT, behind)
    each = max(_LINES // len(behind), least)
    # Another worker may have counted since we looked, but a position never goes back.
    new_positions = {
        merchant_id: max(position, min(behind[merchant_id], position + each))
        for merchant_id, position in positions.items()
    }
    rows = await tx.fetch(
        """
        SELECT m.merchant_id, m.statement_line, m.source, m.target
        FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS span (merchant_id, after, last)
        JOIN moves m ON m.merchant_id = span.merchant_id
                    AND m.statement_line > span.after AND m.statement_line <= span.last
        """,
        list(positions),
        list(positions.values()),
        list(new_positions.values()),
    )
    things = (
        (row["merchant_id"], row["statement_line"], CATEGORIES[KINDS[Account(row["source"]), Account(row["target"])]])
        for row in rows
    )
    await rollups.add(tx, Rollup.STATEMENT, add_up(TREE, things))
    await rollups.set_positions(tx, Rollup.STATEMENT, new_positions)
    return new_positions != positions


async def _find_behind(connection: Conn, *, least: int) -> dict[str, int]:
    """The merchants with at least so many lines that are not counted, and their last line."""
    rows = await connection.fetch(
        """
        SELECT w.merchant_id, w.statement_lines FROM wallets w
        LEFT JOIN rollup_positions m ON m.merchant_id = w.merchant_id AND m.rollup = $1
        WHERE w.statement_lines - coalesce(m.position, 0) >= $2
        ORDER BY w.statement_lines - coalesce(m.position, 0) DESC LIMIT $3
        """,
        Rollup.STATEMENT,
        least,
        _MERCHANTS,
    )
    return {row["merchant_id"]: row["statement_lines"] for row in rows}
