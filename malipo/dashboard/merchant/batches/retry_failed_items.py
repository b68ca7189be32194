"""Makes a draft of the failed payouts of a batch. A person reviews, submits and approves it like any other draft.

The form contains the draft's id, so pressing twice makes one draft. If several people submit such drafts, only one
batch is made, because its idempotency key names the batch whose payouts have failed.
"""

import re

from starlette.responses import Response

from malipo import ids
from malipo.dashboard.merchant.batches.line_names import look_up_lines
from malipo.dashboard.merchant.batches.upload import DRAFTS, PATH
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import id_in
from malipo.db import Conn
from malipo.payments.batches.batch import Batch, NoSuchBatch
from malipo.payments.batches.retry_failed_items import BatchRetry, FailedPayout, find_attempt, find_failed
from malipo.payments.batches.spreadsheet.draft import BatchDraft, Edits, sheet_of
from malipo.payments.batches.store import batches, drafts

_DRAFT_ID = re.compile(r"drf_[0-9A-Za-z]{1,60}")


def new_draft_id(request: MerchantRequest) -> str:
    return ids.mint("drf_", request.parts.clock())


async def pay_again(request: MerchantRequest) -> Response:
    form = await request.form()
    draft_id = form.text("draft")
    if not _DRAFT_ID.fullmatch(draft_id):
        draft_id = new_draft_id(request)

    async def find(connection: Conn) -> tuple[Batch, list[FailedPayout], BatchRetry]:
        batch = await batches.get(connection, request.merchant_id, id_in(request))
        if batch is None:
            raise NoSuchBatch
        return (
            batch,
            await find_failed(connection, request.merchant_id, batch.id),
            await find_attempt(connection, request.merchant_id, batch.id),
        )

    batch, failed, attempt = await request.parts.queries.read_snapshot(find)
    if attempt.made is not None:
        return request.go(f"{PATH}/{attempt.made.id}", "batch-again")
    if not failed:
        return request.go(f"{PATH}/{batch.id}", "nothing-failed")
    draft = BatchDraft(
        id=draft_id,
        merchant_id=request.merchant_id,
        person=request.person.email,
        filename=batch.name or batch.id,
        sheet=sheet_of([each.item for each in failed]),
        edits=Edits(again=attempt.again),
        created_at=request.parts.clock(),
    )
    await request.parts.queries.write(lambda tx: drafts.insert(tx, draft))
    await look_up_lines(request, draft)
    return request.go(f"{DRAFTS}/{draft.id}")
