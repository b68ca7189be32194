"""Proposals that nobody approves."""

from malipo.db import Tx


async def end_proposed_release(tx: Tx, release_id: str) -> None:
    """The audit log keeps what was proposed, by whom, and who rejected it."""
    await tx.execute("DELETE FROM restore_releases WHERE id = $1 AND approved_at IS NULL", release_id)
