"""Approves and cancels a batch. Each has a page that shows its effect; approving asks for the password again."""

from collections.abc import Awaitable

from starlette.responses import Response

from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant.batches.batch_detail import BatchData, look, page_of
from malipo.dashboard.merchant.batches.line_names import look_up_items
from malipo.dashboard.merchant.batches.upload import PATH
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import id_in
from malipo.db import Conn
from malipo.errors import Missing, Refusal, Unavailable
from malipo.payments.batches.approve import Approval
from malipo.payments.batches.batch import Batch, BatchItem, BatchStatus, Requester
from malipo.payments.batches.cancel import BatchCancellation
from malipo.payments.batches.store import items
from malipo.restore.installation import IntakeClosed

SENTENCES = ("We do not know whether this was done. Look at it again.",)
(_IN_DOUBT,) = SENTENCES
_LARGEST_SHOWN = 5


async def confirm_approve(request: MerchantRequest) -> Response:
    async def find(connection: Conn) -> tuple[BatchData, list[BatchItem]]:
        found = await look(connection, request, None, 1)
        return found, await items.find_all(connection, found.batch)

    found, all_items = await request.parts.queries.read_snapshot(find)
    batch = found.batch
    if batch.status is not BatchStatus.AWAITING_APPROVAL or not found.may_be_approved_by(request.person):
        return request.go(f"{PATH}/{batch.id}")
    by_channel: dict[str, tuple[int, int]] = {}
    for item in all_items:
        count, amount = by_channel.get(item.channel, (0, 0))
        by_channel[item.channel] = count + 1, amount + item.amount
    names = await look_up_items(request, batch, all_items)
    return render.page(
        request,
        "merchant/batches/approve.html",
        batch=batch,
        wallet=found.wallet,
        by_channel=sorted(by_channel.items()),
        other_names=names.other_names,
        unregistered=names.unregistered,
        largest=sorted(all_items, key=lambda item: (-item.amount, item.index))[:_LARGEST_SHOWN],
    )


async def approve(request: MerchantRequest) -> Response:
    await request.form()
    approval = Approval(request.merchant_id, id_in(request), requester_of(request))
    return await _decide(request, request.parts.batches.approve(approval), "batch-approved")


async def confirm_cancel(request: MerchantRequest) -> Response:
    found = await request.parts.queries.read_snapshot(lambda connection: look(connection, request, None, 1))
    return render.page(request, "merchant/batches/cancel.html", batch=found.batch, counts=found.counts)


async def cancel(request: MerchantRequest) -> Response:
    await request.form()
    cancellation = BatchCancellation(request.merchant_id, id_in(request), requester_of(request))
    return await _decide(request, request.parts.batches.cancel(cancellation), "batch-cancelled")


async def _decide(request: MerchantRequest, decision: Awaitable[Batch], notice: str) -> Response:
    try:
        batch = await decision
    except IntakeClosed as closed:
        return await page_of(request, problem=form_errors.sentence(request.words, closed.code), code=503)
    except Unavailable:
        return await page_of(request, problem=request.words(_IN_DOUBT), code=503)
    except Missing:
        raise
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await page_of(request, problem=problem, code=form_errors.status_of(refusal))
    return request.go(f"{PATH}/{batch.id}", notice)


def requester_of(request: MerchantRequest) -> Requester:
    """A person counts as themselves."""
    return Requester(request.person.email, request.person.email, request.actor)
