"""The page of the switches: the value of each for each network, and which were changed. Scripts change them."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from malipo_simulator.control import Control
from malipo_simulator.pages import render
from malipo_simulator.simulator import Simulator
from malipo_simulator.switch_descriptions import WORDS


async def control(simulator: Simulator, request: Request) -> Response:
    now, untouched = simulator.network.control.shown(), Control().shown()
    return render.page(
        "control.html",
        speed=now["speed"],
        seed=now["seed"],
        rows=[_row(name, now["channels"], untouched["channels"]) for name in WORDS],
    )


def _row(name: str, channels: dict[str, Any], untouched: dict[str, Any]) -> dict[str, Any]:
    values = {
        channel: (_text(switches[name]), switches[name] != untouched[channel][name])
        for channel, switches in channels.items()
        if name in switches
    }
    # Where all say the same, it is said once.
    is_same = len(values) == len(channels) and len(set(values.values())) == 1
    return {
        "name": name,
        "words": WORDS[name],
        "values": [(channel, *value) for channel, value in values.items()],
        "is_same": is_same,
        "is_changed": any(is_changed for _, is_changed in values.values()),
    }


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else msgspec.json.encode(value).decode()
