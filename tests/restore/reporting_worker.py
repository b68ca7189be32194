"""A worker that has compared the database, and reports what it carries."""

from collections.abc import Sequence

from malipo.db import Tx
from malipo.restore.store import send_counts


async def note_worker(tx: Tx, routes: Sequence[str] | None, *, worker_id: str = "wrk_1") -> None:
    state = await send_counts.find_database_state(tx)
    looks = await send_counts.note_running(tx, worker_id, "till", routes, server_id=state.server_id, is_waiting=False)
    assert looks is not None
