"""Signs the checkpoints of the receipt log: each is flushed in this host's state folder, then published. So are the
keys, before they sign.

One worker signs at a time. If it stops between two steps, the next turn continues: a checkpoint that was flushed and
not published is followed by one that extends it.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from malipo import log
from malipo.db import Database, Tx
from malipo.db.database_time import database_now
from malipo.encryption import Encryption
from malipo.receipts import checkpoint, log_keys, tree_store
from malipo.receipts.checkpoint import TreeHead
from malipo.receipts.genesis import genesis_of
from malipo.receipts.log_keys import OwedHandover
from malipo.receipts.signing_decision import Act, Decision, SignedHead, SigningRefusal, Situation, decide
from malipo.receipts.state_file import StateFile
from malipo.receipts.store import facts, logs
from malipo.receipts.store.logs import Log, Published
from malipo.restore.store import installation

# The pause between two checkpoints, if there are new leaves.
CHECKPOINT_SECONDS = 60.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _nothing(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class _SignerState:
    """The data of one turn from the database and the state folder, and the situation that follows from it."""

    log: Log | None
    published: Published | None
    note: str | None  # the last one in this host's state folder
    situation: Situation
    owed: OwedHandover | None

    @property
    def last_note(self) -> str | None:
        """The later one of the flushed and the published checkpoint."""
        published = None if self.published is None else self.published.note
        if self.note is None or published is None:
            return self.note or published
        return max(self.note, published, key=lambda each: _signed_head(checkpoint.head_of(each)))


class CheckpointSigner:
    """`mark` is called at each named point, so that a test can stop the process there."""

    def __init__(
        self,
        database: Database,
        state_dir: Path,
        encryption: Encryption,
        *,
        worker_id: Callable[[], str],
        log_name: str | None,
        seconds: float = CHECKPOINT_SECONDS,
        mark: Callable[[str], None] = _nothing,
    ) -> None:
        self._database = database
        self._state_dir = state_dir
        self._encryption = encryption
        self._worker_id = worker_id
        self._log_name = log_name
        self._seconds = timedelta(seconds=seconds)
        self._mark = mark
        self._file: StateFile | None = None
        self._first_seen: SignedHead | None = None  # what was published when this worker began to look
        self._recorded: SigningRefusal | bool | None = False
        self._quiet: logs.Outline | None = None  # nothing is to be done while this is the same

    async def turn(self) -> bool:
        """Take the next step. Returns whether more may be due."""
        async with self._database.read() as connection:
            outline = await logs.find_outline(connection)
        if outline == self._quiet:
            return False
        await self._store_tiles()
        async with self._database.begin() as tx:
            if not await logs.try_lock_signer(tx):
                return False
            await self._keep_keys(tx)
            state = await self._look(tx)
            decision = decide(state.situation)
            await self._record_signer(tx, decision)
            is_more = await self._act(tx, decision.act, state)
        if decision.act is Act.NOTHING:
            self._quiet = outline
        return is_more

    async def _store_tiles(self) -> None:
        is_more = True
        while is_more:
            async with self._database.begin() as tx:
                if not await logs.try_lock_signer(tx):
                    return
                latest = await logs.find_latest(tx)
                if latest is None or latest.genesis is None:
                    return
                is_more = await tree_store.store_complete_tiles(tx, latest)

    async def _look(self, tx: Tx) -> _SignerState:
        assert self._file is not None
        state = await installation.get(tx)
        latest, published = await logs.find_latest(tx), await logs.find_published(tx)
        note = await asyncio.to_thread(self._file.read)
        published_head = None if published is None else SignedHead(published.log, published.size)
        if self._first_seen is None:
            self._first_seen = published_head or SignedHead(0, 0)
        is_of_epoch = latest is not None and latest.installation_epoch == state.epoch
        covered = published.size if published is not None and latest and published.log == latest.number else 1
        current = latest if is_of_epoch else None
        flushed = None if note is None else checkpoint.head_of(note)
        owed = await log_keys.find_owed_handover(tx, self._encryption, note)
        situation = Situation(
            is_fenced=state.is_fenced,
            log=None if current is None else current.number,
            size=0 if current is None else current.size,
            is_begun=current is not None and current.genesis is not None,
            is_by_operator=current is not None and current.begun_by is not None,
            published=published_head,
            flushed=None if flushed is None else _signed_head(flushed),
            has_flushed_root=await _has(tx, current, flushed),
            has_published_root=await _has(
                tx, current, None if published is None else checkpoint.head_of(published.note)
            ),
            is_compared=await installation.is_compared(tx),
            is_left_open=latest is not None and not is_of_epoch and latest.size > covered,
            is_key_to_change=current is not None and current.is_key_to_change,
            has_signed_more=owed is not None,
            has_seen_news=published_head is not None and published_head > self._first_seen,
        )
        return _SignerState(current, published, note, situation, owed)

    async def _keep_keys(self, tx: Tx) -> None:
        """Keep every key in the state folder before it signs, and put those that a restore has lost back."""
        if self._file is None:
            self._file = StateFile(self._state_dir, (await installation.get(tx)).id)
        kept = await asyncio.to_thread(self._file.read_keys)
        known = await log_keys.restore_lost(tx, self._encryption, kept, now=await database_now(tx))
        if known != kept:
            await asyncio.to_thread(self._file.write_keys, known)

    async def _record_signer(self, tx: Tx, decision: Decision) -> None:
        """Store who signs, or why nobody does, so that operators see it on every host."""
        if decision.refusal is self._recorded:
            return
        await logs.record_signer(tx, self._worker_id(), socket.gethostname(), decision.refusal)
        if decision.refusal is not None:
            log.error("receipt_log.refused", None, reason=decision.refusal)
        self._recorded = decision.refusal

    async def _act(self, tx: Tx, act: Act, state: _SignerState) -> bool:
        """Act on the decision. Returns whether more may be due at once."""
        match act:
            case Act.MAKE:
                await logs.lock_appending(tx)
                await logs.make(tx, self._log_name)
            case Act.WIDEN:
                # In a commit of its own: what this host flushes next takes the place of the checkpoint that shows it.
                assert state.owed is not None
                await logs.set_handover(tx, *state.owed)
                log.info("receipt_log.handover_widened", key=state.owed.key_id)
            case Act.BEGIN:
                await self._begin(tx, state)
            case Act.FOLLOW:
                assert state.published is not None
                await self._flush(state.published.note)
            case Act.CHANGE_KEY:
                await self._change_key(tx, state)
            case Act.SIGN:
                await self._sign(tx, state, now=await database_now(tx))
                return False
            case _:
                return False
        return True

    async def _begin(self, tx: Tx, state: _SignerState) -> None:
        """Write the first entry and the key. Leaves that no published checkpoint covers are appended after it."""
        assert state.log is not None
        await logs.lock_appending(tx)
        previous = state.last_note
        await logs.begin(tx, state.log.number, genesis_of(previous))
        moved = await facts.take_over(tx, state.log.number)
        await log_keys.make_key(tx, self._encryption, state.log, previous, now=await database_now(tx))
        log.info("receipt_log.begun", origin=state.log.origin, moved=moved)

    async def _change_key(self, tx: Tx, state: _SignerState) -> None:
        """Change the key. The old one counts up to the largest size that it has signed on this host, published or
        not."""
        assert state.log is not None
        assert state.note is not None
        await log_keys.make_key(tx, self._encryption, state.log, state.note, now=await database_now(tx))
        await logs.set_key_to_change(tx, state.log.number, to_change=False)
        log.info("receipt_log.key_changed", origin=state.log.origin)

    async def _sign(self, tx: Tx, state: _SignerState, *, now: datetime) -> None:
        assert state.log is not None
        published = state.published
        if published is not None and published.log == state.log.number and self._is_soon(now - published.signed_at):
            return
        if await tree_store.store_complete_tiles(tx, state.log):
            return  # Many have come meanwhile: the next turn stores their tiles in pieces.
        head = TreeHead(state.log.origin, state.log.size, await tree_store.find_root(tx, state.log, state.log.size))
        key = await log_keys.find_current(tx, self._encryption, state.log.number)
        # No checkpoint is older than the one that it extends.
        time = max((now - _EPOCH) // timedelta(seconds=1), checkpoint.time_of(state.last_note))
        note = checkpoint.sign(head, key, time=time)
        self._mark("signed")
        await self._flush(note)
        self._mark("flushed")
        await logs.publish(tx, Published(state.log.number, head.size, note, _EPOCH + timedelta(seconds=time)))
        log.info("receipt_log.signed", origin=head.origin, size=head.size)

    def _is_soon(self, since: timedelta) -> bool:
        """After the last checkpoint. A clock that was set back does not count."""
        return timedelta(0) <= since < self._seconds

    async def _flush(self, note: str) -> None:
        assert self._file is not None
        await asyncio.to_thread(self._file.write, note)


async def _has(tx: Tx, current: Log | None, head: TreeHead | None) -> bool:
    """Whether the log has the root of this head, if it is one of this log."""
    if current is None or head is None or head.origin != current.origin:
        return True
    return head.size <= current.size and await tree_store.find_root(tx, current, head.size) == head.root


def _signed_head(head: TreeHead) -> SignedHead:
    return SignedHead(checkpoint.log_number(head.origin), head.size)
