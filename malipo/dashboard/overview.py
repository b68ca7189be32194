"""The first page: money in and out, how the channels fare, the wallet, and what needs attention."""

from starlette.responses import Response

from malipo.dashboard import draw
from malipo.dashboard.visit import Visit


async def show(visit: Visit) -> Response:
    return draw.page(visit, "overview.html")
