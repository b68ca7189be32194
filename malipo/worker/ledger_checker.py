"""The ledger checker: runs the ledger check on a schedule, a piece at a time, in one of several workers.

After each piece it stores the result and the next position. If a worker is killed, another one continues at that
position when the lease has ended. The checker works a quarter of the time and pauses for the rest.
"""

import asyncio
from typing import Any

import msgspec

from malipo import clock as clocks
from malipo import ids, log
from malipo.db import Database
from malipo.ledger.check import LedgerFinding
from malipo.ledger.store import checks
from malipo.ledger.store.checks import LedgerCheck
from malipo.payments.check.check_in_pieces import START, CheckPosition, check_piece
from malipo.settings import Settings
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import RARE_LOOK_SECONDS, run_forever

# Longer than a piece takes; shorter than the lease, so that no two workers have the same piece.
PIECE_SECONDS = 240.0
_LEASE_SECONDS = 300.0
# A check with findings is repeated soon, so that the alarm stops once they are corrected.
_AGAIN_SECONDS = 600.0
_PAUSE_SHARE = 3.0
_FEWEST_LOGGED = 10


class LedgerChecker:
    """It has its own connections: those for payments have a short statement timeout."""

    def __init__(self, database: Database, settings: Settings, *, lease_seconds: float = _LEASE_SECONDS) -> None:
        self._database = database
        self._every_seconds = settings.ledger_check_seconds
        self._lease_seconds = lease_seconds
        self._claim_id = ids.random("clm_")

    async def run(self, loops: LoopHealth) -> None:
        """Run until cancelled. If the schedule is 0, nothing is checked."""
        if self._every_seconds:
            await run_forever(
                "ledger_check",
                self.step,
                seconds=PIECE_SECONDS * (1 + _PAUSE_SHARE),
                look_seconds=min(self._every_seconds, RARE_LOOK_SECONDS),
                loops=loops,
            )

    async def step(self) -> bool:
        """Check one piece, if a check is due or running and no other worker has it. Returns whether there are more
        pieces."""
        async with self._database.begin() as tx:
            claim = await checks.claim(
                tx,
                ids.random("chk_"),
                self._claim_id,
                every_seconds=self._every_seconds,
                again_seconds=min(self._every_seconds, _AGAIN_SECONDS),
                lease_seconds=self._lease_seconds,
            )
        if claim is None:
            return False
        began = clocks.monotonic()
        async with asyncio.timeout(PIECE_SECONDS), self._database.snapshot() as connection:
            found, place = await check_piece(connection, _place_of(claim.next_piece))
        seconds = clocks.monotonic() - began
        _log_findings(found)
        async with self._database.begin() as tx:
            after = None if place is None else list(place)
            done = await checks.record_piece(tx, claim.check_id, self._claim_id, found, after, seconds=seconds)
        if done is None or done.finished_at is not None:
            await self._end(done)
            return False
        await asyncio.sleep(seconds * _PAUSE_SHARE)
        return True

    async def _end(self, done: LedgerCheck | None) -> None:
        if done is None:
            log.warning("ledger_check.taken_over", message="Another worker has continued it.")
            return
        async with self._database.begin() as tx:
            await checks.prune(tx)
        fields: dict[str, Any] = {
            "check": done.id,
            "pieces": done.piece_count,
            "busy_seconds": round(done.busy_seconds, 3),
        }
        newer = [each.newer_schema for each in done.findings if each.newer_schema is not None]
        if done.finding_count:
            log.error("ledger_check.not_clean", findings=done.finding_count, **fields)
        elif newer:
            log.warning("ledger_check.needs_newer_version", unknown=len(newer), schema=max(newer), **fields)
        else:
            log.info("ledger_check.clean", **fields)


def _place_of(stored: list[object] | None) -> CheckPosition:
    """The position to continue at. If another version stored one that this version does not know, the check starts
    again."""
    try:
        return START if stored is None else msgspec.convert(stored, CheckPosition)
    except msgspec.ValidationError:
        return START


def _log_findings(found: list[LedgerFinding]) -> None:
    """Log each difference at once, before the check has ended."""
    for each in [each for each in found if each.is_wrong][:_FEWEST_LOGGED]:
        log.error(
            "ledger_check.difference", what=each.what, where=each.where, stored=each.stored, computed=each.computed
        )
