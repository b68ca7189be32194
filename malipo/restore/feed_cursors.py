"""Cursors of the feed: written, parsed, and refused if they point at events that a restore has lost."""

import re

from malipo.db import Conn
from malipo.errors import Invalid
from malipo.restore.store import installation

# After a restore, cursors begin with their epoch.
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
    """The text of a cursor. Before the first restore it is a plain number."""
    return str(number) if epoch == 1 else f"{epoch}-{number}"


def parse(cursor: str) -> tuple[int, int] | None:
    """The epoch and the number of a cursor; None if the text is no cursor."""
    match = _CURSOR.fullmatch(cursor)
    return (int(match[1] or 1), int(match[2])) if match else None


async def find_epoch(connection: Conn) -> int:
    return (await installation.get(connection)).epoch


async def require_kept(connection: Conn, merchant_id: str, *, epoch: int, of_epoch: int, number: int) -> None:
    """Refuse a cursor beyond the point to which its feed was restored.

    A cursor of a later epoch comes from a database that was replaced unnoticed. Where the two feeds differ is unknown,
    so the reader continues from the beginning of this epoch.
    """
    if of_epoch == epoch:
        return
    if of_epoch > epoch:
        began = await installation.find_restore_point(connection, merchant_id, after_epoch=epoch - 1)
        raise CursorLost(cursor_of(epoch, began))
    last = await installation.find_restore_point(connection, merchant_id, after_epoch=of_epoch)
    if number > last:
        raise CursorLost(cursor_of(epoch, last))
