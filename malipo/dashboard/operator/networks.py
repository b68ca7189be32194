"""Which connector carries what, and whether it is up."""

from collections.abc import Mapping
from typing import NamedTuple

from starlette.responses import Response

from malipo.dashboard import draw
from malipo.dashboard.operator.visit import OperatorVisit
from malipo.networks import store
from malipo.networks.connect import Networks
from malipo.networks.contract import Channel, Type
from malipo.networks.store import Down


class Row(NamedTuple):
    channel: Channel
    type: Type
    carrier: str | None
    trouble: Down | None
    is_called_back: bool


async def show(visit: OperatorVisit) -> Response:
    down = await visit.service.read(store.find_down)
    return draw.page(visit, "operator/networks.html", rows=rows_of(visit.service.networks, down))


def rows_of(networks: Networks, down: Mapping[str, Down]) -> list[Row]:
    """Each channel and type, in the order of the catalogue."""
    carriers = {(channel, type_): networks.routes.get((channel, type_)) for channel in Channel for type_ in Type}
    return [
        Row(channel, type_, carrier, down.get(carrier) if carrier else None, carrier in networks.gates)
        for (channel, type_), carrier in carriers.items()
    ]
