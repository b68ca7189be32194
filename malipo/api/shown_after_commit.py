"""The answer of a request that shows what its commit has changed, as it is read then.

Between the commit and the read, the database may go away, or be replaced by one that has lost the commit: a standby
that lagged behind, or a backup. Then neither "nothing was done" nor the state of before is the answer.
"""

from collections.abc import Awaitable
from typing import TypeVar

from malipo.db import ConnectionLost, Contention
from malipo.errors import Missing, OutcomeUnknown, Unavailable

Found = TypeVar("Found")


async def read_after_commit(found: Awaitable[Found]) -> Found:
    """Await a read. If it cannot be read, or is not there, it is unknown whether the commit stays."""
    try:
        return await found
    except (ConnectionLost, Contention, Unavailable, Missing) as error:
        raise OutcomeUnknown from error


def require_changed(is_changed: bool) -> None:
    """Refuse to show a state from before the commit."""
    if not is_changed:
        raise OutcomeUnknown
