"""Search: transactions with a term in reference, phone or name, by n-grams and by reading the backlog."""

import dataclasses

from malipo.db import Conn, Row
from malipo.db.where_clause import Conditions
from malipo.payments.listing.filters import TransactionFilter, add_sort, add_span, is_sorted, where_of
from malipo.payments.rollups.backlog import UNCOUNTED
from malipo.payments.search.ngrams import LEAST, clues_of
from malipo.payments.store.transactions import find_by_ids
from malipo.payments.transaction import Transaction


async def page(
    connection: Conn, merchant_id: str, wanted: TransactionFilter, term: str, *, offset: int, limit: int
) -> tuple[int, list[Transaction]]:
    await _plan_for_the_term(connection)
    matching, values = _matching(merchant_id, dataclasses.replace(wanted, before=None), term)
    row = await connection.fetchrow(
        f"""
        WITH {matching}
        SELECT (SELECT count(*) FROM matching) AS total,
               ARRAY(SELECT id FROM matching WHERE ${len(values) + 1}::text IS NULL OR id < ${len(values) + 1}
                     ORDER BY id DESC LIMIT {limit:d} OFFSET {offset:d}) AS ids
        """,
        *values,
        wanted.before,
    )
    assert row is not None
    return row["total"], await find_by_ids(connection, merchant_id, row["ids"])


async def beside(
    connection: Conn,
    merchant_id: str,
    wanted: TransactionFilter,
    term: str,
    key: str | None,
    *,
    is_upwards: bool,
    limit: int,
) -> list[Transaction]:
    """The matches next to a transaction, without itself: the newer ones, oldest first; or the older ones."""
    await _plan_for_the_term(connection)
    matching, values = _matching(merchant_id, wanted, term)
    beyond, order = (">", "ASC") if is_upwards else ("<", "DESC")
    rows = await connection.fetch(
        f"""
        WITH {matching}
        SELECT id FROM matching WHERE ${len(values) + 1}::text IS NULL OR id {beyond} ${len(values) + 1}
        ORDER BY id {order} LIMIT {limit:d}
        """,
        *values,
        key,
    )
    found = await find_by_ids(connection, merchant_id, [row["id"] for row in rows])
    return found[::-1] if is_upwards else found


SUMS = "SELECT t.type, t.status, count(*) AS count, sum(t.amount) AS amount"


async def sums(connection: Conn, merchant_id: str, wanted: TransactionFilter, term: str) -> list[Row]:
    """The number and the sum of the matches of each type and status."""
    await _plan_for_the_term(connection)
    matching, values = _matching(merchant_id, dataclasses.replace(wanted, before=None), term)
    return await connection.fetch(
        f"""
        WITH {matching}
        {SUMS} FROM matching JOIN transactions t ON t.merchant_id = ${len(values) + 1} AND t.id = matching.id
        GROUP BY 1, 2
        """,
        *values,
        merchant_id,
    )


async def _plan_for_the_term(connection: Conn) -> None:
    """The best plan depends on the term, so a generic plan would be a bad one."""
    await connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")


def _matching(merchant_id: str, wanted: TransactionFilter, term: str) -> tuple[str, list[object]]:
    """The beginning of a statement, which defines `matching`; and its values."""
    if len(term) < LEAST:
        where = where_of(merchant_id, wanted)
        return f"matching AS MATERIALIZED (SELECT t.id FROM transactions t WHERE {where})", where.values
    holds = Conditions("t.merchant_id = {}", merchant_id)
    holds.add("strpos(t.search_text, {}) > 0", term)
    add_span(holds, wanted)
    clues = clues_of(merchant_id, term)
    places = range(len(holds.values) + 1, len(holds.values) + len(clues) + 1)
    has_a_clue = " OR ".join(
        f"t.ngrams {'&&' if clue.is_any else '@>'} ${place}::integer[]"
        for place, clue in zip(places, clues, strict=True)
    )
    values = [*holds.values, *(list(clue.ngrams) for clue in clues)]
    sort = Conditions("t.merchant_id = {}", merchant_id, after=values)
    add_sort(sort, wanted)
    fits = f"JOIN transactions t USING (id) WHERE {sort}" if is_sorted(wanted) else ""
    return (
        f"""
        {UNCOUNTED}, holding AS (
            SELECT t.id FROM search_index t WHERE {holds} AND ({has_a_clue})
            UNION ALL
            SELECT t.id FROM uncounted t WHERE {holds}
        ), matching AS MATERIALIZED (SELECT id FROM holding {fits})
        """,
        sort.values if fits else values,
    )
