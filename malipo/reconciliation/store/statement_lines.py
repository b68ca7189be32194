"""The SQL that stores the lines of a statement: quickly if all of them are new, else by comparing."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import chain, islice

import asyncpg
import msgspec

from malipo.db import Tx
from malipo.network_statements.statement_line import Line
from malipo.reconciliation.statement_file import StatementFile

# In the order of the fields of a line.
_COLUMNS = (
    *("row", "receipt", "moved_at", "amount", "kind", "details", "key", "phone", "linked", "balance"),
    *("cents", "balance_cents"),
)
_LINES_A_COPY = 20_000  # A line that is known is noticed at the end of each.
_LINES_A_TURN = 1000  # Then other work of the process has its turn.

Record = tuple[object, ...]


async def copy_new(tx: Tx, file: StatementFile, lines: Iterator[Line]) -> bool:
    """Store lines of which none is known, nor twice in the file. Else nothing is stored, and the answer is False.

    PostgreSQL stores them while the next ones are read, and needs no memory for them.
    """
    same_for_all = (file.id, file.channel, file.account, 1)
    await tx.execute("SAVEPOINT before_lines")
    try:
        for first in lines:
            some = chain((first,), islice(lines, _LINES_A_COPY - 1))
            await tx.copy_records_to_table(
                "statement_lines",
                records=_by_turns(same_for_all + msgspec.structs.astuple(line) for line in some),
                columns=["file_id", "channel", "account", "nth", *_COLUMNS],
            )
    except asyncpg.UniqueViolationError:
        await tx.execute("ROLLBACK TO SAVEPOINT before_lines")
        return False
    await tx.execute("RELEASE SAVEPOINT before_lines")
    return True


async def has_both_kinds(tx: Tx, file: StatementFile, is_fetched: bool, fetched_profiles: Sequence[str]) -> bool:
    """Whether the account has statements that were fetched by the network's API, and files too."""
    return bool(
        await tx.fetchval(
            """
            SELECT EXISTS (
                SELECT FROM statement_files
                WHERE channel = $1 AND account = $2 AND id <> $3 AND ($4 OR profile = ANY ($5))
            )
            """,
            file.channel,
            file.account,
            file.id,
            is_fetched,
            fetched_profiles,
        )
    )


async def stage(tx: Tx, lines: Iterator[Line]) -> None:
    """Copy lines into a table of this transaction, to compare them there."""
    await tx.execute(
        """
        CREATE TEMPORARY TABLE staged_lines (
            row integer, receipt text COLLATE "C", moved_at timestamptz, amount bigint, kind text COLLATE "C",
            details text, key text, phone text, linked text, balance bigint,
            cents smallint, balance_cents smallint
        ) ON COMMIT DROP
        """
    )
    records = _by_turns(map(msgspec.structs.astuple, lines))
    await tx.copy_records_to_table("staged_lines", records=records, columns=list(_COLUMNS))


async def insert_unless_equal(tx: Tx, file: StatementFile) -> int:
    """Insert the staged lines that no file has yet; how many."""
    return _count(await tx.execute(_INSERT_STAGED.format(where=""), file.id, file.channel, file.account))


async def insert_unless_near(tx: Tx, file: StatementFile, is_fetched: bool, fetched_profiles: Sequence[str]) -> int:
    """The same, where what a network's API says of a payment and what its files say may differ by seconds.

    So between the two, a line is the same if its time is near.
    """
    statement = _INSERT_STAGED.format(where=_NOT_NEAR)
    return _count(await tx.execute(statement, file.id, file.channel, file.account, is_fetched, fetched_profiles))


_INSERT_STAGED = """
    INSERT INTO statement_lines (
        file_id, row, channel, account, receipt, moved_at, amount, kind, nth, key, phone, linked, balance, details,
        cents, balance_cents
    )
    SELECT $1, row, $2, $3, receipt, moved_at, amount, kind, nth, key, phone, linked, balance, details,
           cents, balance_cents
    FROM (
        SELECT *, row_number() OVER (PARTITION BY receipt, moved_at, amount, kind ORDER BY row) AS nth
        FROM staged_lines
    ) AS staged
    {where}
    ON CONFLICT ON CONSTRAINT statement_lines_once DO NOTHING
"""
_NOT_NEAR = """
    WHERE NOT EXISTS (
        SELECT FROM statement_lines AS known JOIN statement_files ON statement_files.id = known.file_id
        WHERE known.channel = $2 AND known.account = $3 AND known.receipt = staged.receipt
            AND known.moved_at BETWEEN staged.moved_at - interval '1 day' AND staged.moved_at + interval '1 day'
            AND known.amount = staged.amount AND known.kind = staged.kind AND known.nth = staged.nth
            AND (statement_files.profile = ANY ($5)) <> $4
    )
"""


def _count(status: str) -> int:
    return int(status.split()[-1])


async def _by_turns(records: Iterable[Record]) -> AsyncIterator[Record]:
    for number, record in enumerate(records, 1):
        yield record
        if number % _LINES_A_TURN == 0:
            await asyncio.sleep(0)
