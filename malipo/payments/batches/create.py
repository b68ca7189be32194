"""Makes batches: all items are written, nothing is reserved."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo.audit_log import store as audit_log
from malipo.clock import Clock
from malipo.db import Contention, Tx
from malipo.errors import Invalid, Refusal
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.payments import network_keys
from malipo.payments.batches import duplicate_warnings
from malipo.payments.batches.batch import Batch, BatchItem, BatchStatus, Requester
from malipo.payments.batches.store import batches, items
from malipo.payments.fees import fee_of
from malipo.payments.idempotency import refusal_of
from malipo.payments.limits import batch_key_limits
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type
from malipo.restore.installation import Installation, IntakeClosed
from malipo.restore.store import installation


class BatchDraft(msgspec.Struct, frozen=True):
    """The fields of a batch without mistakes. Its items get their fees and network keys when it is created."""

    id: str
    name: str
    items: Sequence[BatchItem]
    created_at: datetime


class BatchRequest(msgspec.Struct, frozen=True):
    """A request for a batch. If its fields are wrong there is no draft, and `problem` says why."""

    merchant_id: str
    draft: BatchDraft | None
    problem: Invalid | None
    key: str | None  # Idempotency-Key
    request_hash: bytes
    requester: Requester


class MadeBatch(msgspec.Struct, frozen=True):
    batch: Batch
    is_replay: bool = False


class CreateBatch:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def __call__(
        self, tx: Tx, requests: Sequence[BatchRequest], /, *, again: bool
    ) -> list[MadeBatch | Refusal | IntakeClosed]:
        return [await self._make(tx, request, again=again) for request in requests]

    async def _make(self, tx: Tx, request: BatchRequest, *, again: bool) -> MadeBatch | Refusal | IntakeClosed:
        state = await installation.get(tx)
        if state.takes_no_payments:
            earlier = await _find_made(tx, request) if again else None
            return earlier if earlier is not None else state.refusal
        if (found := await _find_made(tx, request)) is not None:
            return found
        if request.draft is None:
            assert request.problem is not None
            return request.problem
        if (refusal := batch_key_limits.refusal_at_creation(request.requester, request.draft.items)) is not None:
            return refusal
        batch, lines = await _completed(tx, request, request.draft, state)
        if not await batches.insert(tx, batch, key=request.key, request_hash=request.request_hash):
            # Another commit has used the key since we looked, or an earlier try of ours was still committing.
            if (found := await _find_made(tx, request)) is not None:
                return found
            raise Contention("a batch with this key was there and is gone")
        await items.insert(tx, batch, lines)
        if request.requester.actor is not None:
            await audit_log.append(
                tx,
                request.requester.actor,
                "batch.created",
                now=self._clock(),
                merchant_id=batch.merchant_id,
                batch=batch.id,
                items=batch.item_count,
                amount=batch.amount,
            )
        facts = {"name": batch.name, "by": batch.maker or "", "path": f"/dashboard/batches/{batch.id}"}
        await write.to_people(
            tx,
            MessageKind.BATCH_WAITING,
            batch.merchant_id,
            facts,
            amount=batch.amount,
            except_email=batch.maker,
            now=batch.created_at,
        )
        return MadeBatch(batch)


async def _find_made(tx: Tx, request: BatchRequest) -> MadeBatch | Refusal | None:
    """The batch of this key; or the batch of this id, which an earlier try wrote whose commit was not confirmed to
    us."""
    if request.draft is not None and (ours := await batches.get(tx, request.merchant_id, request.draft.id)) is not None:
        return MadeBatch(ours)
    if request.key is None or (used := await batches.find_by_key(tx, request.merchant_id, request.key)) is None:
        return None
    return refusal_of(request.request_hash, used.request_hash) or MadeBatch(used.batch, is_replay=True)


async def _completed(
    tx: Tx, request: BatchRequest, draft: BatchDraft, state: Installation
) -> tuple[Batch, list[BatchItem]]:
    """The batch and its items, with fees and network keys."""
    places = {(request.merchant_id, Type.DISBURSEMENT, str(item.channel)) for item in draft.items}
    bands = await tariffs.find_for(tx, places)
    keys = _network_keys(state.key_secret, request, draft)
    lines = [
        replace(
            item,
            fee=fee_of(item.amount, bands.get((request.merchant_id, Type.DISBURSEMENT, item.channel), ())),
            network_key=key,
        )
        for item, key in zip(draft.items, keys, strict=True)
    ]
    batch = Batch(
        merchant_id=request.merchant_id,
        id=draft.id,
        name=draft.name,
        status=BatchStatus.AWAITING_APPROVAL,
        item_count=len(lines),
        amount=sum(item.amount for item in lines),
        fee=sum(item.fee for item in lines),
        created_at=draft.created_at,
        created_by=request.requester.id,
        maker=request.requester.person,
        warnings=await duplicate_warnings.find(tx, request.merchant_id, lines, now=draft.created_at),
    )
    return batch, lines


def _network_keys(secret: bytes, request: BatchRequest, draft: BatchDraft) -> list[str]:
    """Derive the network keys of a batch: the same request gets the same keys, also if the database was restored and
    has lost the first one.

    A key belongs to what is paid to whom, and not to a place in the request: lines in another order are the same lines.
    Of lines that are alike each has its own.
    """
    scope = ("batch of key", request.key) if request.key is not None else ("batch", draft.id)
    alike: Counter[tuple[str, ...]] = Counter()
    keys = []
    for item in draft.items:
        parts = (item.channel, item.phone, str(item.amount), item.refund_of or "")
        alike[parts] += 1
        keys.append(network_keys.derive(secret, request.merchant_id, *scope, *parts, str(alike[parts])))
    return keys
