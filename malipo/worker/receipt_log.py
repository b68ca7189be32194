"""Keeps the receipt log: appends what events report about once a second, and signs checkpoints."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.receipts import sign_checkpoints
from malipo.receipts.append import append_new
from malipo.receipts.sign_checkpoints import CheckpointSigner
from malipo.settings import Settings, state_folder
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import RARE_LOOK_SECONDS, run_forever, step_seconds

# Many events share one append: by itself each commit costs as much as many facts (decision 57).
_APPEND_PAUSE_SECONDS = 1.0
# Between pieces of what was lacking for long, so that others have their turn.
_PIECE_PAUSE_SECONDS = 0.05
_SIGN_PAUSE_SECONDS = 5.0
_LOOK_SECONDS = RARE_LOOK_SECONDS


class ReceiptLog:
    """Where it is switched off, nothing is appended, and nothing runs."""

    def __init__(self, service: Service, worker_id: Callable[[], str]) -> None:
        settings = service.settings
        self._settings: Settings = settings
        self._database: Database = service.queries.database
        self._log_name = settings.receipt_log_name
        self._has_events = asyncio.Event()
        self._has_facts = asyncio.Event()
        folder = state_folder(settings)
        self._signer = (
            None
            if folder is None
            else CheckpointSigner(
                self._database,
                folder,
                service.encryption,
                worker_id=worker_id,
                log_name=settings.receipt_log_name,
                seconds=sign_checkpoints.CHECKPOINT_SECONDS,
            )
        )

    def note_numbered(self) -> None:
        self._has_events.set()

    def loops(self, health: LoopHealth) -> list[Coroutine[Any, Any, None]]:
        seconds = step_seconds(self._settings)
        loops = [
            run_forever(
                "receipts",
                self._append,
                self._has_events,
                seconds=seconds,
                pause_seconds=_APPEND_PAUSE_SECONDS,
                look_seconds=_LOOK_SECONDS,
                loops=health,
            )
        ]
        if self._signer is not None:
            loops.append(
                run_forever(
                    "checkpoints",
                    self._signer.turn,
                    self._has_facts,
                    seconds=seconds,
                    pause_seconds=_SIGN_PAUSE_SECONDS,
                    look_seconds=_LOOK_SECONDS,
                    loops=health,
                )
            )
        return loops

    async def _append(self) -> bool:
        is_more = await append_new(self._database, log_name=self._log_name)
        self._has_facts.set()
        if is_more:
            await asyncio.sleep(_PIECE_PAUSE_SECONDS)
        return is_more
