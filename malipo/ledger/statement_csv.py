"""The columns of a statement, and the statement as a CSV file. Pure."""

import csv
import io
from collections.abc import AsyncIterator

from malipo import clock
from malipo.ledger.statement import Line

COLUMNS = ("line", "kind", "amount", "balanceAfter", "causeId", "reference", "createdAt")


def row_of(line: Line) -> tuple[int | str, ...]:
    """A line under COLUMNS."""
    return (line.number, line.kind, line.change, line.balance, line.cause_id, line.reference, clock.iso(line.at))


async def csv_of(pieces: AsyncIterator[list[Line]]) -> AsyncIterator[str]:
    """The statement as a file, piece by piece, however long it is."""
    yield ",".join(COLUMNS) + "\r\n"
    async for lines in pieces:
        text = io.StringIO()
        csv.writer(text).writerows(row_of(line) for line in lines)
        yield text.getvalue()
