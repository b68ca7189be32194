"""The deliveries to a merchant's endpoints, with the receivers' answers. An operator can send one again: it moves no
money, and a receiver may get each event twice anyway, with the same id and the same bytes."""

from urllib.parse import urlencode

from starlette.responses import Response

from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.merchants import PATH, get
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.urls import id_in, key_in
from malipo.db import Conn
from malipo.errors import Missing, Refusal
from malipo.merchants.store.merchants import Merchant
from malipo.webhooks import resend
from malipo.webhooks.delivery_state import DeliveryState
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.store import delivery_history, endpoints
from malipo.webhooks.store.delivery_history import DeliveryHistory

_PER_PAGE = 25


class NoSuchEndpoint(Missing):
    def __init__(self) -> None:
        super().__init__("There is no endpoint with this id.")


async def show(request: OperatorRequest) -> Response:
    return await _page(request)


async def send_again(request: OperatorRequest) -> Response:
    await request.form()
    parts = request.parts
    merchant_id, endpoint_id, event_id = (id_in(request, each) for each in ("merchant", "endpoint", "event"))
    try:
        await parts.queries.write(
            lambda tx: resend.redeliver(tx, merchant_id, endpoint_id, event_id, actor=request.actor, now=parts.clock())
        )
    except Missing:
        raise
    except Refusal as refusal:
        return await _page(request, refusal)
    parts.webhooks.wake_sender()
    return request.go(f"{PATH}/{merchant_id}/deliveries/{endpoint_id}", "delivery-again")


async def _page(request: OperatorRequest, refusal: Refusal | None = None) -> Response:
    merchant_id, endpoint_id, before = id_in(request, "merchant"), id_in(request, "endpoint"), key_in(request)
    wanted = request.http.query_params.get("state", "")
    state = DeliveryState(wanted) if wanted in DeliveryState.__members__.values() else None

    async def find(connection: Conn) -> tuple[Merchant, Endpoint, list[DeliveryHistory]]:
        merchant = await get(connection, merchant_id)
        endpoint = await endpoints.get(connection, merchant_id, endpoint_id)
        if endpoint is None:
            raise NoSuchEndpoint
        found = await delivery_history.page(connection, endpoint.id, state=state, before=before, limit=_PER_PAGE + 1)
        return merchant, endpoint, found

    merchant, endpoint, found = await request.parts.queries.read_snapshot(find)
    path, kept = f"{PATH}/{merchant_id}/deliveries/{endpoint_id}", {"state": state.value} if state else {}
    has_more = len(found) > _PER_PAGE
    return render.page(
        request,
        "operator/merchants/deliveries.html",
        status=200 if refusal is None else form_errors.status_of(refusal),
        problem=None if refusal is None else form_errors.of_refusal(request.words, refusal),
        merchant=merchant,
        endpoint=endpoint,
        deliveries=found[:_PER_PAGE],
        state=state or "",
        path=path,
        older=f"{path}?{urlencode({**kept, 'before': found[_PER_PAGE - 1].event_id})}" if has_more else None,
        newest=f"{path}?{urlencode(kept)}" if before else None,
    )
