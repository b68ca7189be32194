"""Networks: which connector carries which channel and type, and whether it is up."""

from collections.abc import Mapping
from typing import NamedTuple

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.networks import circuit_store
from malipo.networks.circuit_store import Outage
from malipo.networks.connector import Channel, Type
from malipo.networks.routing import Networks


class Row(NamedTuple):
    channel: Channel
    type: Type
    carrier: str | None
    trouble: Outage | None
    is_called_back: bool


async def show(request: OperatorRequest) -> Response:
    down = await request.parts.queries.read(circuit_store.find_down)
    return render.page(request, "operator/networks.html", rows=rows_of(request.parts.networks, down))


def rows_of(networks: Networks, down: Mapping[str, Outage]) -> list[Row]:
    """Each channel and type, in the order of the catalogue."""
    carriers = {(channel, type_): networks.routes.get((channel, type_)) for channel in Channel for type_ in Type}
    return [
        Row(channel, type_, carrier, down.get(carrier) if carrier else None, carrier in networks.callback_access)
        for (channel, type_), carrier in carriers.items()
    ]
