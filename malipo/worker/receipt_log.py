"""Keeps the receipt log: appends what events tell where they are numbered, catches up, and signs checkpoints.

Where appending fails, events get their numbers without it for a while: the feed and webhooks do not wait for the log.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from malipo import log
from malipo.app.assemble import Service
from malipo.clock import loop_time
from malipo.db import ConnectionLost, Contention, Database, Tx
from malipo.outbox.store import AnyEvent
from malipo.receipts.append import append_numbered
from malipo.receipts.catch_up import catch_up
from malipo.receipts.sign_checkpoints import CheckpointSigner
from malipo.settings import Settings, state_folder
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import RARE_LOOK_SECONDS, run_forever, step_seconds

# Events are numbered all the time. What is new in the log is looked at together.
_PAUSE_SECONDS = 5.0
# Between pieces of what is appended afterwards, so that events get their numbers meanwhile.
_PIECE_PAUSE_SECONDS = 0.05
# After an append that failed. What is numbered meanwhile is appended by catching up.
_APPEND_PAUSE_SECONDS = 60.0


class ReceiptLog:
    """Where it is switched off, nothing is appended, and nothing runs."""

    def __init__(self, service: Service, worker_id: Callable[[], str]) -> None:
        settings = service.settings
        self._settings: Settings = settings
        self._database: Database = service.queries.database
        self._log_name = settings.receipt_log_name
        self._is_behind = asyncio.Event()
        self._has_news = asyncio.Event()
        self._appends_from = 0.0  # by the clock of the event loop
        folder = state_folder(settings)
        self._signer = (
            None
            if folder is None
            else CheckpointSigner(
                self._database, folder, service.encryption, worker_id=worker_id, log_name=settings.receipt_log_name
            )
        )

    async def append(self, tx: Tx, events: Sequence[AnyEvent]) -> None:
        if loop_time() < self._appends_from:
            self._is_behind.set()
            return
        try:
            is_whole = await append_numbered(tx, events, log_name=self._log_name)
        except (ConnectionLost, Contention):
            raise
        except Exception as error:
            # The numbers of this turn are rolled back with it. The next turn gives them without the log.
            self._appends_from = loop_time() + _APPEND_PAUSE_SECONDS
            log.error("receipt_log.append_failed", error)
            raise
        if not is_whole:
            self._is_behind.set()

    def note_numbered(self) -> None:
        self._has_news.set()

    def loops(self, health: LoopHealth) -> list[Coroutine[Any, Any, None]]:
        seconds = step_seconds(self._settings)
        loops = [
            run_forever(
                "receipts behind",
                self._catch_up,
                self._is_behind,
                seconds=seconds,
                look_seconds=RARE_LOOK_SECONDS,
                loops=health,
            )
        ]
        if self._signer is not None:
            loops.append(
                run_forever(
                    "checkpoints",
                    self._signer.turn,
                    self._has_news,
                    seconds=seconds,
                    pause_seconds=_PAUSE_SECONDS,
                    look_seconds=RARE_LOOK_SECONDS,
                    loops=health,
                )
            )
        return loops

    async def _catch_up(self) -> bool:
        is_more = await catch_up(self._database, log_name=self._log_name)
        if is_more:
            await asyncio.sleep(_PIECE_PAUSE_SECONDS)
        return is_more
