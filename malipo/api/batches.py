"""/v1/payments/disburse/batches: make, read, approve and cancel batches of payouts."""

import asyncio
from collections.abc import AsyncIterator

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.request_credentials import actor_of, header_of
from malipo.api.responses import AnswerForm, pagination, replayed, success
from malipo.api.shown_after_commit import read_after_commit, require_changed
from malipo.api.urls import id_in
from malipo.http.body_limit import MOST_BATCH_BYTES
from malipo.merchants.check_api_key import Caller
from malipo.payments import idempotency
from malipo.payments.batches import batch_json, progress
from malipo.payments.batches.approve import Approval
from malipo.payments.batches.batch import BatchLine, BatchProgress, BatchStatus, NoSuchBatch, Requester
from malipo.payments.batches.cancel import BatchCancellation
from malipo.payments.batches.create import BatchRequest
from malipo.payments.batches.request import batch_request_of
from malipo.payments.batches.store import batches
from malipo.validation.fields import Fields

# So many items are read in a moment. More are read in a thread, so that other requests are answered meanwhile.
_MOST_READ_AT_ONCE = 200


async def create(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(await object_of(request, most_bytes=MOST_BATCH_BYTES))
    parts.queries.begin_waiting()  # A long body takes its time: that is not the database's.
    key, requester, now = header_of(request, idempotency.HEADER), _requester(caller), parts.clock()

    def read() -> BatchRequest:
        return batch_request_of(
            fields,
            caller.merchant_id,
            key=key,
            terms=parts.payments.terms,
            now=now,
            requester=requester,
            is_key_required=caller.requires_idempotency_key,
        )

    items = fields.raw("items")
    is_long = isinstance(items, list) and len(items) > _MOST_READ_AT_ONCE
    result = await parts.batches.create(await asyncio.to_thread(read) if is_long else read())
    headers = replayed(result.batch.status) if result.is_replay else None
    return success({"batch": batch_json.created(result.batch)}, status=201, headers=headers)


async def list_(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    status = fields.choice("status", BatchStatus)
    page, limit = fields.page(), fields.limit()
    fields.check()
    total, found = await parts.queries.read_snapshot(
        lambda connection: batches.find_page(connection, caller.merchant_id, status=status, page=page, limit=limit)
    )
    shown = [batch_json.listed(each) for each in found]
    return success({"batches": shown, "pagination": pagination(total, page=page, limit=limit)})


async def retrieve(parts: ApiParts, caller: Caller, request: Request) -> Response:
    return _shown(await _find(parts, caller, id_in(request, NoSuchBatch)))


async def list_items(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    form = fields.choice("format", AnswerForm) or AnswerForm.JSON
    page, limit = fields.page(), fields.limit()
    fields.check()
    batch = (await _find(parts, caller, id_in(request, NoSuchBatch))).batch
    if form is AnswerForm.CSV:
        pieces = progress.stream(parts.queries.read_part, batch)
        headers = {"Content-Disposition": f'attachment; filename="{batch.id}.csv"'}
        return StreamingResponse(_csv(pieces), media_type="text/csv; charset=utf-8", headers=headers)
    first = (page - 1) * limit
    lines: list[BatchLine] = []
    if first < batch.item_count:
        lines = await parts.queries.read_snapshot(
            lambda connection: progress.find_lines(connection, batch, first=first, limit=limit)
        )
    shown = [batch_json.item(each) for each in lines]
    return success({"items": shown, "pagination": pagination(batch.item_count, page=page, limit=limit)})


async def approve(parts: ApiParts, caller: Caller, request: Request) -> Response:
    # The audit log also names a key that approves, not only a person: the approval sends the money.
    requester = replace(_requester(caller), actor=actor_of(parts, caller, request))
    approval = Approval(caller.merchant_id, id_in(request, NoSuchBatch), requester)
    approved = await parts.batches.approve(approval)
    return await _shown_changed(parts, caller, approved.id)


async def cancel(parts: ApiParts, caller: Caller, request: Request) -> Response:
    cancellation = BatchCancellation(caller.merchant_id, id_in(request, NoSuchBatch), _requester(caller))
    cancelled = await parts.batches.cancel(cancellation)
    return await _shown_changed(parts, caller, cancelled.id)


async def _shown_changed(parts: ApiParts, caller: Caller, batch_id: str) -> Response:
    """A batch that was approved or cancelled."""
    found = await read_after_commit(_find(parts, caller, batch_id))
    require_changed(found.batch.status is not BatchStatus.AWAITING_APPROVAL)
    return _shown(found)


def _shown(found: BatchProgress) -> Response:
    return success({"batch": batch_json.retrieved(found.batch, found.counts)})


async def _find(parts: ApiParts, caller: Caller, batch_id: str) -> BatchProgress:
    found = await parts.queries.read_snapshot(
        lambda connection: progress.find(connection, caller.merchant_id, batch_id)
    )
    if found is None:
        raise NoSuchBatch
    return found


def _requester(caller: Caller) -> Requester:
    return Requester(caller.key_id, caller.key_maker, payout_limits=caller.payout_limits)


async def _csv(pieces: AsyncIterator[list[BatchLine]]) -> AsyncIterator[str]:
    is_first = True
    async for piece in pieces:
        yield batch_json.csv_of(piece, is_first=is_first)
        is_first = False
