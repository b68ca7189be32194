"""Callbacks about payments that we do not have: somebody may have paid, and nobody knows whom."""

from starlette.responses import Response

from malipo.dashboard import draw
from malipo.dashboard.operator.visit import OperatorVisit
from malipo.payments.store import unknown_callbacks

_MOST_SHOWN = 200


async def show(visit: OperatorVisit) -> Response:
    found = await visit.service.read(lambda connection: unknown_callbacks.find(connection, most=_MOST_SHOWN))
    return draw.page(visit, "operator/callbacks.html", callbacks=found, is_cut=len(found) == _MOST_SHOWN)
