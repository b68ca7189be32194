"""The SQL of the sources of lines: which files have a fact of a line, and which operators matched it."""

from malipo.db import Conn
from malipo.payments.network_keys import ending_sql
from malipo.reconciliation.matching.line_sources import FactSource
from malipo.reconciliation.statements.statement_file import FETCHED_BY
from malipo.reconciliation.statements.store.statements import authors_sql

_AUTHORS = authors_sql("f")


def _has_fact(match: str, line: str) -> str:
    """A condition: whether the copy `k` of a line contains the fact by which the line was matched.

    Several files may have a line, and each may add facts. The operator who imported a file with the key, or with the
    reversed receipt, answers for that fact. If no copy contains it, an operator who brought a copy does.
    """
    return f"""
        CASE WHEN {match}.role = 'reversal' THEN k.kind = 'reversal' AND k.linked = {line}.linked
             WHEN {match}.how = 'key' THEN {ending_sql("k.key")} = (
                 SELECT p.network_key FROM transactions p
                 WHERE p.merchant_id = {match}.merchant_id AND p.id = {match}.transaction_id)
             ELSE true END
    """


HAS_FACT = _has_fact("m", "l")


def is_reported_by_worker_sql(match: str, line: str, *, is_by_key: bool = False) -> str:
    """A condition: whether a fetched file has the fact by which the line was matched. If an operator matched it, or
    with `is_by_key`, that fact is the payment's key."""

    def names(copy: str) -> str:
        is_named = f"{ending_sql(f'{copy}.key')} = t.network_key"
        return is_named if is_by_key else f"({match}.how <> 'operator' OR {is_named})"

    return f"""
        (CASE WHEN EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = {line}.id) THEN EXISTS (
            SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND n.imported_by = '{FETCHED_BY}' AND n.withdrawn_at IS NULL
              AND {_has_fact(match, line)} AND {names("k")})
         ELSE EXISTS (SELECT FROM statement_files n WHERE n.id = {line}.file_id AND n.imported_by = '{FETCHED_BY}')
              AND {names(line)} END)
    """


def is_by_two_sql(match: str) -> str:
    """A condition: whether two operators, or the only operator, matched the line."""
    return f"""
        ({match}.how = 'operator' AND EXISTS (
            SELECT FROM reconciliation_exceptions e JOIN exception_resolutions r ON r.exception_id = e.id
            WHERE e.line_id = {match}.line_id AND r.action IN ('match', 'book', 'adopt') AND r.is_approved
              AND r.undone_by IS NULL AND (r.decided_by <> r.requested_by OR EXISTS (
                  SELECT FROM proposals p WHERE p.id = r.id AND p.is_single_operator))))
    """


def source_sql(match: str, line: str, *, rather_by: str = "''") -> str:
    """The file that has the fact by which the line was matched; preferably one that this operator imported."""
    fact = _has_fact(match, line)
    return f"""
        coalesce((
            SELECT n.id FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND n.withdrawn_at IS NULL
            ORDER BY ({fact}) DESC, n.imported_by = {rather_by} DESC, NOT ({fact}) AND n.imported_by = '{FETCHED_BY}',
                     k.linked = {line}.linked DESC, n.imported_at, n.id LIMIT 1), {line}.file_id)
    """


# A file `n` that no operator could have invented alone with a few lines: it was fetched, or is complete.
IS_FETCHED_OR_WHOLE = f"""
    (n.withdrawn_at IS NULL AND (n.imported_by = '{FETCHED_BY}'
        OR n.problems = '{{}}' AND n.opening IS NOT NULL AND n.closing IS NOT NULL AND n.begins_at IS NOT NULL))
"""


def is_in_fetched_or_whole_file_sql(line: str, has_fact: str = "true") -> str:
    """A condition: whether such a file has the line, with a copy `k` that fulfils `has_fact`."""
    return f"""
        CASE WHEN EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = {line}.id) THEN EXISTS (
            SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND {has_fact} AND {IS_FETCHED_OR_WHOLE})
        ELSE EXISTS (SELECT FROM statement_files n WHERE n.id = {line}.file_id AND {IS_FETCHED_OR_WHOLE}) END
    """


def is_shown_sql(match: str) -> str:
    """A condition: whether a payment's matched line shows that the payment is in a statement: a complete or fetched
    file has the fact by which it was matched, or operators answer for it. (One operator could invent a line.)"""
    return f"""
        EXISTS (
            SELECT FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id
            WHERE m.line_id = {match}.line_id
              AND (m.is_counted OR m.how = 'operator' OR {is_in_fetched_or_whole_file_sql("l", HAS_FACT)}))
    """


async def find_shown_facts(connection: Conn, line_id: int) -> list[FactSource]:
    """The facts that are shown of a line (kind, key, phone, linked receipt, words), each with the files that have
    it."""
    rows = await connection.fetch(
        f"""
        WITH copies AS MATERIALIZED (
            SELECT k.file_id, k.kind, k.key, k.phone, k.linked, k.details FROM statement_line_copies k
            WHERE k.line_id = $1
            UNION ALL
            SELECT l.file_id, l.kind, l.key, l.phone, l.linked, l.details FROM statement_lines l
            WHERE l.id = $1 AND NOT EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = $1)
        )
        SELECT t.fact, f.imported_by, {_AUTHORS} AS authors
        FROM statement_lines l CROSS JOIN copies c
        CROSS JOIN LATERAL (
            VALUES ('kind', c.kind, l.kind), ('key', {ending_sql("c.key")}, {ending_sql("l.key")}),
                   ('phone', c.phone, l.phone), ('linked', c.linked, l.linked), ('details', c.details, l.details)
        ) AS t (fact, stated, shown)
        JOIN statement_files f ON f.id = c.file_id
        WHERE l.id = $1 AND t.stated <> '' AND t.stated = t.shown AND f.withdrawn_at IS NULL
        """,
        line_id,
    )
    return [FactSource(row["fact"], row["imported_by"], tuple(row["authors"])) for row in rows]
