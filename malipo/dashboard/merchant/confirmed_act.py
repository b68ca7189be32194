"""Does what a confirmation page asked for."""

from collections.abc import Awaitable, Callable

from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import id_in


async def act_on(request: MerchantRequest, act: Callable[..., Awaitable[object]]) -> str:
    """Does it to the thing in the path, and returns its id."""
    await request.form()
    id_ = id_in(request)
    await request.parts.queries.write(
        lambda tx: act(tx, request.merchant_id, id_, actor=request.actor, now=request.parts.clock())
    )
    return id_
