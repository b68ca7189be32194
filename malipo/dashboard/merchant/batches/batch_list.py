"""The batches of a merchant, the newest first, and the uploads that somebody has not submitted yet."""

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.merchant.batches.upload import PATH
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import number_in
from malipo.db import Conn
from malipo.merchants.roles import Right
from malipo.payments.batches.batch import BatchStatus, Progress
from malipo.payments.batches.store import batches, drafts, payouts
from malipo.payments.batches.store.drafts import Summary

PER_PAGE = 20


async def show(request: MerchantRequest) -> Response:
    page = number_in(request, "page", 1)

    async def find(connection: Conn) -> tuple[int, list[Progress], list[Summary]]:
        total, found = await batches.find_page(connection, request.merchant_id, page=page, limit=PER_PAGE)
        counted = [
            Progress(each, await payouts.count_by_status(connection, each) if _is_running(each.status) else {})
            for each in found
        ]
        uploads = (
            await drafts.find_open(connection, request.merchant_id, request.person.email)
            if page == 1 and request.may(Right.OPERATE)
            else []
        )
        return total, counted, uploads

    total, found, uploads = await request.service.read_snapshot(find)
    return render.page(
        request,
        "merchant/batches/list.html",
        batches=found,
        uploads=uploads,
        newer=f"{PATH}?page={page - 1}" if page > 1 else None,
        older=f"{PATH}?page={page + 1}" if total > page * PER_PAGE else None,
    )


def _is_running(status: BatchStatus) -> bool:
    return status is BatchStatus.RUNNING
