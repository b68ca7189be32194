"""The SQL that stores the lines of a statement: fast if all of them are new, else by comparing.

A known line is not stored again. Two lines are the same line if their account, receipt and amount are equal, and their
times are within a day of each other, whatever their precision. Of several equal lines, the n-th is the same as the
n-th.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import chain, islice

import asyncpg
import msgspec

from malipo import clock
from malipo.db import Tx
from malipo.network_statements.statement_line import StatementLine
from malipo.reconciliation.statements.statement_file import FETCHED_BY, StatementFile

# In the order of the fields of a line.
_COLUMNS = (
    *("row", "receipt", "moved_at", "amount", "kind", "details", "key", "phone", "linked", "balance"),
    *("cents", "balance_cents", "word"),
)
_LINES_A_COPY = 20_000  # of one COPY, after which a known line is noticed
_LINES_A_TURN = 1000  # after which other work of the process has its turn

# The nearest first: same moment, same minute (a layout without seconds), same day, across midnight.
_NEARNESS = (
    "moved_at",
    "date_trunc('minute', moved_at)",
    clock.day_sql("moved_at"),
    "true",
)
_NEAREST_WITHOUT_RECEIPT = 2  # without a receipt, equal amounts of a day prove nothing

Record = tuple[object, ...]


async def copy_new(tx: Tx, file: StatementFile, lines: Iterator[StatementLine]) -> bool:
    """Store lines, none of which is known by its exact time or occurs twice in the file. Otherwise it returns False,
    and the caller rolls back to `begin`.

    PostgreSQL stores lines while the next ones are read, so they need no memory.
    """
    same_for_all = (file.id, file.channel, file.account, 1)
    try:
        for first in lines:
            some = chain((first,), islice(lines, _LINES_A_COPY - 1))
            await tx.copy_records_to_table(
                "statement_lines",
                records=_by_turns(same_for_all + msgspec.structs.astuple(line) for line in some),
                columns=["file_id", "channel", "account", "nth", *_COLUMNS],
            )
    except asyncpg.UniqueViolationError:
        return False
    return True


async def begin(tx: Tx) -> None:
    """Set a savepoint, to which `roll_back` rolls back."""
    await tx.execute("SAVEPOINT before_lines")


async def roll_back(tx: Tx) -> None:
    await tx.execute("ROLLBACK TO SAVEPOINT before_lines")


async def has_known(tx: Tx, file: StatementFile, apart: Sequence[str]) -> bool:
    """Whether a line that was just stored is in another file too, with another time of about the same day."""
    span = await tx.fetchrow(
        "SELECT min(moved_at) - interval '1 day', max(moved_at) + interval '1 day' FROM statement_lines "
        "WHERE file_id = $1",
        file.id,
    )
    assert span is not None
    others = "channel = $2 AND account = $3 AND file_id <> $1 AND file_id <> ALL($4) AND moved_at BETWEEN $5 AND $6"
    values = (file.id, file.channel, file.account, list(apart), *span)
    if not await tx.fetchval(f"SELECT EXISTS (SELECT FROM statement_lines WHERE {others})", *values):
        return False
    # The query goes from each new line to known ones by their index, whatever the planner's statistics.
    return bool(
        await tx.fetchval(
            f"""
            SELECT EXISTS (
                SELECT FROM statement_lines l CROSS JOIN LATERAL (
                    SELECT FROM statement_lines WHERE {others} AND receipt = l.receipt AND amount = l.amount
                        AND cents = l.cents AND abs(date_part('epoch', moved_at - l.moved_at)) <= 86400 OFFSET 0
                ) known
                WHERE l.file_id = $1
            )
            """,
            *values,
        )
    )


async def stage(tx: Tx, lines: Iterator[StatementLine]) -> None:
    """Copy lines into a table of this transaction, to compare them there."""
    await tx.execute(
        """
        CREATE TEMPORARY TABLE staged_lines (
            row integer, receipt text COLLATE "C", moved_at timestamptz, amount bigint, kind text COLLATE "C",
            details text, key text, phone text, linked text, balance bigint,
            cents smallint, balance_cents smallint, word text, line_id bigint
        ) ON COMMIT DROP
        """
    )
    records = _by_turns(map(msgspec.structs.astuple, lines))
    await tx.copy_records_to_table("staged_lines", records=records, columns=list(_COLUMNS))
    await tx.execute("ANALYZE staged_lines")


async def insert_staged(tx: Tx, file: StatementFile, apart: Sequence[str]) -> int:
    """Insert the staged lines that no file has yet, and note that this file has the others too. Returns the number of
    new lines.

    `apart` are files that cannot share lines with this one: both are complete, and their times do not overlap.
    """
    await _pair_staged(tx, file, apart)
    inserted = _count(await tx.execute(_INSERT_STAGED, file.id, file.channel, file.account))
    await tx.execute(_KEEP_FIRST_VERSION)
    await tx.execute(_KEEP_VERSION, file.id)
    await merge_copies_of(tx, "staged_lines")
    return inserted


async def _pair_staged(tx: Tx, file: StatementFile, apart: Sequence[str]) -> None:
    await tx.execute(
        """
        CREATE TEMPORARY TABLE known_lines (
            id bigint, receipt text COLLATE "C", moved_at timestamptz, amount bigint, cents smallint,
            kind text COLLATE "C", balance bigint, is_paired boolean
        ) ON COMMIT DROP
        """
    )
    left = _count(
        await tx.execute(
            """
            INSERT INTO known_lines
            SELECT l.* FROM (
                SELECT receipt, amount, cents, min(moved_at) AS first, max(moved_at) AS last
                FROM staged_lines GROUP BY 1, 2, 3
            ) s CROSS JOIN LATERAL (
                SELECT l.id, l.receipt, l.moved_at, l.amount, l.cents, l.kind, l.balance, false FROM statement_lines l
                WHERE l.channel = $1 AND l.account = $2 AND l.receipt = s.receipt AND l.amount = s.amount
                  AND l.cents = s.cents
                  AND l.moved_at >= s.first - interval '1 day' AND l.moved_at <= s.last + interval '1 day'
                  AND l.file_id <> ALL($3) OFFSET 0
            ) l
            """,
            file.channel,
            file.account,
            list(apart),
        )
    )
    await tx.execute("ANALYZE known_lines")
    # Two lines of different kinds, as two layouts read them, are the same line if no other line of the same kind fits.
    for kind in ("kind", "''"):
        for number, nearness in enumerate(_NEARNESS, 1):
            if not left:
                return
            receipts = "" if number <= _NEAREST_WITHOUT_RECEIPT else "AND receipt <> ''"
            left -= _count(await tx.execute(_PAIR.format(kind=kind, nearness=nearness, receipts=receipts)))


_PAIR = """
    WITH staged AS (
        SELECT row, receipt, moved_at, amount, cents, balance, {kind} AS same_kind, {nearness} AS near,
               row_number() OVER (
                   PARTITION BY receipt, amount, cents, {kind}, {nearness} ORDER BY kind = 'fee', moved_at, row) AS nth
        FROM staged_lines WHERE line_id IS NULL {receipts}
    ), known AS (
        SELECT id, receipt, moved_at, amount, cents, balance, {kind} AS same_kind, {nearness} AS near,
               row_number() OVER (
                   PARTITION BY receipt, amount, cents, {kind}, {nearness} ORDER BY kind = 'fee', moved_at, id) AS nth
        FROM known_lines WHERE NOT is_paired {receipts}
    ), pairs AS (
        SELECT staged.row, known.id FROM staged JOIN known USING (receipt, amount, cents, same_kind, near, nth)
        WHERE abs(date_part('epoch', staged.moved_at - known.moved_at)) <= 86400
          AND (receipt <> '' OR staged.balance IS NULL OR known.balance IS NULL OR staged.balance = known.balance)
    ), paired AS (
        UPDATE known_lines SET is_paired = true FROM pairs WHERE known_lines.id = pairs.id
    )
    UPDATE staged_lines SET line_id = pairs.id FROM pairs WHERE staged_lines.row = pairs.row
"""
_INSERT_STAGED = """
    INSERT INTO statement_lines (
        file_id, row, channel, account, receipt, moved_at, amount, kind, nth, key, phone, linked, balance, details,
        cents, balance_cents, word
    )
    SELECT $1, row, $2, $3, s.receipt, s.moved_at, s.amount, s.kind,
           row_number() OVER (PARTITION BY s.receipt, s.moved_at, s.amount, s.kind ORDER BY row) + coalesce(k.nth, 0),
           key, phone, linked, balance, details, cents, balance_cents, word
    FROM staged_lines s LEFT JOIN LATERAL (
        SELECT max(l.nth) AS nth FROM statement_lines l
        WHERE l.channel = $2 AND l.account = $3 AND l.receipt = s.receipt AND l.moved_at = s.moved_at
          AND l.amount = s.amount AND l.kind = s.kind
    ) k ON true
    WHERE s.line_id IS NULL
"""
_KEEP_FIRST_VERSION = """
    INSERT INTO statement_line_copies
    SELECT l.id, l.file_id, l.row, l.moved_at, l.kind, l.key, l.phone, l.linked, l.balance, l.details, l.word
    FROM staged_lines s JOIN statement_lines l ON l.id = s.line_id ON CONFLICT DO NOTHING
"""
_KEEP_VERSION = """
    INSERT INTO statement_line_copies
    SELECT line_id, $1, row, moved_at, kind, key, phone, linked, balance, details, word
    FROM staged_lines WHERE line_id IS NOT NULL ON CONFLICT DO NOTHING
"""


async def merge_copies(tx: Tx, line_ids: Sequence[int]) -> None:
    """Merge the facts that all files have of these lines into the lines."""
    await _merge_copies(tx, "SELECT unnest($1::bigint[])", list(line_ids))


async def merge_copies_of(tx: Tx, table: str) -> None:
    """Merge copies, as `merge_copies` does, of the lines in a temporary table, which may be very many."""
    await _merge_copies(tx, f"SELECT line_id FROM {table}")


async def _merge_copies(tx: Tx, lines: str, *values: object) -> None:
    """Merge the facts that all files have of the lines that a SELECT finds.

    Field by field, a fetched file takes precedence over operators' files, which fill fields that the network leaves
    empty. Otherwise the first file that has a fact counts; of phones and words the longest, which is the least
    masked. An unmatched line can become a reversal; a matched or booked line keeps its kind.
    """
    await tx.execute(
        f"""
        WITH copies AS (
            SELECT c.*, f.imported_at, f.id, f.imported_by = '{FETCHED_BY}' AS is_own
            FROM statement_line_copies c JOIN statement_files f ON f.id = c.file_id WHERE c.line_id IN ({lines})
        ), merged AS MATERIALIZED (
            SELECT line_id,
                (array_agg(key ORDER BY key = '', is_own DESC, imported_at, id))[1] AS key,
                (array_agg(phone ORDER BY phone = '', is_own DESC, phone ~ '[*xX]', length(phone) DESC, id))[1]
                    AS phone,
                (array_agg(linked ORDER BY linked = '', is_own DESC, imported_at, id))[1] AS linked,
                (array_agg(balance ORDER BY balance IS NULL, is_own DESC, imported_at, id))[1] AS balance,
                (array_agg(details ORDER BY details = '', is_own DESC, length(details) DESC, imported_at, id))[1]
                    AS details,
                CASE WHEN bool_or(is_own AND kind = 'reversal' AND linked <> '')
                       OR NOT bool_or(is_own) AND bool_or(kind = 'reversal' AND linked <> '') THEN 'reversal'
                     ELSE (array_agg(kind ORDER BY is_own DESC, imported_at, id))[1] END AS kind
            FROM copies GROUP BY 1
        )
        UPDATE statement_lines l
        SET key = m.key, phone = m.phone, linked = m.linked, balance = m.balance, details = m.details,
            kind = CASE WHEN m.kind IN ('money', 'reversal', 'other') AND l.kind IN ('money', 'reversal', 'other')
                             AND NOT EXISTS (SELECT FROM statement_matches s WHERE s.line_id = l.id)
                             AND NOT EXISTS (SELECT FROM house_bookings b WHERE b.line_id = l.id)
                        THEN m.kind ELSE l.kind END
        FROM merged m
        WHERE l.id = m.line_id AND (l.key, l.phone, l.linked, l.balance, l.details, l.kind)
              IS DISTINCT FROM (m.key, m.phone, m.linked, m.balance, m.details, m.kind)
        """,
        *values,
    )


async def count(tx: Tx, file_id: str) -> int:
    """The number of lines that are stored as this file's own."""
    return int(
        await tx.fetchval(
            """
            SELECT (SELECT count(*) FROM statement_line_copies WHERE file_id = $1)
                   + (SELECT count(*) FROM statement_lines l WHERE file_id = $1 AND NOT EXISTS (
                          SELECT FROM statement_line_copies c WHERE c.line_id = l.id AND c.file_id = $1))
            """,
            file_id,
        )
    )


def _count(status: str) -> int:
    return int(status.split()[-1])


async def _by_turns(records: Iterable[Record]) -> AsyncIterator[Record]:
    for number, record in enumerate(records, 1):
        yield record
        if number % _LINES_A_TURN == 0:
            await asyncio.sleep(0)
