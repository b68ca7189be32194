"""The batches of a merchant, the newest first, and the uploads that somebody has not submitted yet."""

from urllib.parse import urlencode

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.merchant.batches.upload import PATH
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import number_in
from malipo.db import Conn
from malipo.merchants.roles import Right
from malipo.payments.batches import progress
from malipo.payments.batches.batch import Batch, BatchProgress, BatchStatus
from malipo.payments.batches.store import batches, drafts
from malipo.payments.batches.store.drafts import DraftSummary

PER_PAGE = 20


async def show(request: MerchantRequest) -> Response:
    page = number_in(request, "page", 1)
    status = _status(request)

    async def find(connection: Conn) -> tuple[int, list[BatchProgress], list[DraftSummary]]:
        total, found = await batches.find_page(
            connection, request.merchant_id, status=status, page=page, limit=PER_PAGE
        )
        counted = [await _progress(connection, each) for each in found]
        uploads = (
            await drafts.find_open(connection, request.merchant_id, request.person.email)
            if page == 1 and status is None and request.may(Right.OPERATE)
            else []
        )
        return total, counted, uploads

    total, found, uploads = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "merchant/batches/list.html",
        batches=found,
        uploads=uploads,
        chosen=status,
        newer=_link(status, page - 1) if page > 1 else None,
        older=_link(status, page + 1) if total > page * PER_PAGE else None,
    )


def _status(request: MerchantRequest) -> BatchStatus | None:
    text = request.http.query_params.get("status", "")
    return BatchStatus(text) if text in BatchStatus.__members__.values() else None


def _link(status: BatchStatus | None, page: int) -> str:
    query = ({} if status is None else {"status": status.value}) | {"page": str(page)}
    return f"{PATH}?{urlencode(query)}"


async def _progress(connection: Conn, batch: Batch) -> BatchProgress:
    """Only of what is being paid: the others do not change."""
    is_running = batch.status is BatchStatus.RUNNING
    found = await progress.find(connection, batch.merchant_id, batch.id) if is_running else None
    return found or BatchProgress(batch, {})
