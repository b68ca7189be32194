"""Changes the status of payments without a network, through `status_writer.py`."""

from collections.abc import Sequence

from malipo.app.assemble import Service
from malipo.db import Tx
from malipo.db.group_commit import GroupCommit
from malipo.payments import status_writer
from malipo.payments.status_writer import StatusChange, StatusOutcome

_groups: dict[int, tuple[Service, GroupCommit[StatusChange, StatusOutcome | None]]] = {}


async def change_status(service: Service, change: StatusChange) -> StatusOutcome | None:
    """Who happens together shares a commit, as everywhere."""
    if id(service) not in _groups:

        async def act(tx: Tx, changes: Sequence[StatusChange], /, *, again: bool) -> list[StatusOutcome | None]:
            return await status_writer.advance(tx, changes, now=service.clock())

        _groups[id(service)] = (service, GroupCommit(service.queries.database, act, patience_seconds=60))
    return await _groups[id(service)][1](change)
