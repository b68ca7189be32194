"""The columns of a statement, and the statement as a CSV file. Pure."""

from collections.abc import AsyncIterator

from malipo import clock
from malipo.csv_export import csv_lines
from malipo.ledger.statement import Line

COLUMNS = ("line", "kind", "amount", "balanceAfter", "causeId", "reference", "createdAt")


def row_of(line: Line) -> tuple[int | str, ...]:
    """A line under COLUMNS."""
    return (line.number, line.kind, line.change, line.balance, line.cause_id, line.reference, clock.iso(line.at))


async def csv_of(pieces: AsyncIterator[list[Line]]) -> AsyncIterator[str]:
    """The statement as a file, piece by piece, however long it is."""
    yield csv_lines([COLUMNS])
    async for lines in pieces:
        yield csv_lines(row_of(line) for line in lines)
