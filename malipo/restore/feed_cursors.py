"""Cursors of the feed: how they are written and parsed; one from before a restore may point at events that are lost."""

import re

from malipo.db import Conn
from malipo.errors import Invalid
from malipo.restore.store import installation

# Since a restore a cursor begins with its epoch.
_CURSOR = re.compile(r"(?:([0-9]{1,12})-)?([0-9]{1,18})")


class CursorLost(Invalid):
    code = "cursor_lost"

    def __init__(self, go_on: str) -> None:
        message = (
            "The service was restored from a backup, and events up to this cursor are lost. "
            f"Look up the payments of that time, then go on from after={go_on}."
        )
        super().__init__("The cursor lies ahead of a restored backup.", details={"after": [message], "goOn": [go_on]})


def cursor_of(epoch: int, number: int) -> str:
    """Before the first restore a cursor is a plain number."""
    return str(number) if epoch == 1 else f"{epoch}-{number}"


def parse(cursor: str) -> tuple[int, int] | None:
    """Its epoch and its number; None if it is no cursor."""
    match = _CURSOR.fullmatch(cursor)
    return (int(match[1] or 1), int(match[2])) if match else None


async def find_epoch(connection: Conn) -> int:
    return (await installation.get(connection)).epoch


async def require_kept(connection: Conn, merchant_id: str, *, epoch: int, of_epoch: int, number: int) -> None:
    """Refuse a cursor that lies beyond where its feed was restored to.

    A cursor of a later epoch was given by a database that was then replaced without being noticed. Where the two feeds
    differ is not known, so the reader continues from where this epoch began.
    """
    if of_epoch == epoch:
        return
    if of_epoch > epoch:
        began = await installation.find_restore_point(connection, merchant_id, after_epoch=epoch - 1)
        raise CursorLost(cursor_of(epoch, began))
    last = await installation.find_restore_point(connection, merchant_id, after_epoch=of_epoch)
    if number > last:
        raise CursorLost(cursor_of(epoch, last))
