"""The SQL of the queue: lines that are neither matched nor booked yet."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo import ids
from malipo.db import Tx
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.exception import (
    ID_PREFIX,
    ExceptionKind,
    FoundException,
)


class UnbookedLine(msgspec.Struct, frozen=True, kw_only=True):
    line_id: int
    channel: Channel
    account: str
    amount: int

    def as_exception(self, kind: ExceptionKind, *, now: datetime) -> FoundException:
        return FoundException(
            id=ids.mint(ID_PREFIX, now),
            kind=kind,
            channel=self.channel,
            account=self.account,
            line_id=self.line_id,
            amount=self.amount,
        )


async def find_lines(tx: Tx, line_ids: Sequence[int]) -> list[UnbookedLine]:
    rows = await tx.fetch(
        "SELECT id AS line_id, channel, account, amount FROM statement_lines WHERE id = ANY($1) ORDER BY id",
        list(line_ids),
    )
    return [msgspec.convert(dict(row), UnbookedLine) for row in rows]


async def find_still_open(tx: Tx, line_ids: Sequence[int]) -> list[UnbookedLine]:
    """The lines that are in the queue."""
    rows = await tx.fetch(
        """
        SELECT l.id AS line_id, l.channel, l.account, l.amount
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id WHERE l.id = ANY($1) ORDER BY l.id
        """,
        list(line_ids),
    )
    return [msgspec.convert(dict(row), UnbookedLine) for row in rows]


async def close_line(tx: Tx, line_id: int) -> bool:
    """Take a line from the queue. Returns whether it was there."""
    return bool(await tx.execute("DELETE FROM open_statement_lines WHERE line_id = $1", line_id) == "DELETE 1")


async def reopen_line(tx: Tx, line_id: int) -> None:
    await tx.execute(
        "INSERT INTO open_statement_lines (line_id, channel) SELECT id, channel FROM statement_lines WHERE id = $1",
        line_id,
    )


async def reopen_lines(tx: Tx, line_ids: list[int]) -> None:
    """Put lines back into the queue."""
    await tx.execute(
        """
        INSERT INTO open_statement_lines (line_id, channel)
        SELECT id, channel FROM statement_lines WHERE id = ANY($1) ON CONFLICT DO NOTHING
        """,
        line_ids,
    )


async def forget_rejections(tx: Tx, proposal_id: str) -> None:
    """Forget that lines were rejected, so that lines that another file has are matched again, as that file's."""
    await tx.execute("UPDATE open_statement_lines SET rejected_in = NULL WHERE rejected_in = $1", proposal_id)
