"""Unknown callbacks: callbacks about payments that we do not have."""

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.payments.store import unknown_callbacks

_MOST_SHOWN = 200


async def show(request: OperatorRequest) -> Response:
    found = await request.parts.queries.read(
        lambda connection: unknown_callbacks.find_unknown_callbacks(connection, most=_MOST_SHOWN)
    )
    return render.page(request, "operator/callbacks.html", callbacks=found, is_cut=len(found) == _MOST_SHOWN)
