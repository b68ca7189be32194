"""One library in one scene: what it understood of each step."""

import asyncio
import time
from itertools import count
from typing import Any

from tests.simulator.processes import Sim
from tests.third_party_clients.client_library import Library, Understood
from tests.third_party_clients.conftest import Asking
from tests.third_party_clients.scenarios import AMOUNT, Scene, steps_of

_STARTS = {
    "MPESA": "255754123",
    "AIRTEL_MONEY": "255684123",
    "TIGO_PESA": "255714123",
    "CLICKPESA": "255621123",
    "AZAMPAY": "255622123",
}
_SECRETS = {
    "MPESA": "apiKey",
    "AIRTEL_MONEY": "clientSecret",
    "TIGO_PESA": "password",
    "CLICKPESA": "apiKey",
    "AZAMPAY": "clientSecret",
}
_numbers = count(1)


def new_reference() -> str:
    # Tigo wants the merchant's code before it; the others do not mind.
    return f"DEMO{next(_numbers):016}"


def phone_of(library: Library, digits: str) -> str:
    return _STARTS[library.channel] + digits


async def prepare(sim: Sim, library: Library) -> None:
    """The merchant as the library takes it to be: one of the two cannot take checksums."""
    await sim.control(channels={"CLICKPESA": {"checksum": "off" if library.name == "clickpesa" else "canonical"}})


async def play(sim: Sim, library: Library, scene: Scene, ask: Asking) -> list[Understood]:
    await prepare(sim, library)
    fields = {"phone": phone_of(library, scene.digits), "amount": _amount(library)}
    reference, understood = new_reference(), []
    credentials = _wrong(sim, library) if scene.has_wrong_credentials else sim.credentials
    for step in steps_of(library, scene):
        with_ = {"reference": reference} | ({} if step.startswith("query") else fields)
        understood.append(ask(step, credentials=credentials, **with_))
        await settled(sim, library.channel, reference)
    return understood


def _amount(library: Library) -> object:
    """M-Pesa's amounts are text."""
    return str(AMOUNT) if library.channel == "MPESA" else AMOUNT


def _wrong(sim: Sim, library: Library) -> dict[str, Any]:
    keys = sim.credentials[library.channel]
    return {library.channel: keys | {_SECRETS[library.channel]: "somebody-elses"}}


async def settled(sim: Sim, channel: str, reference: str) -> Any:
    """The payment when it has been decided; an error if the network never took it."""
    deadline = time.monotonic() + 240
    while True:
        found = await sim("GET", f"/api/transactions/{channel}/{reference}", status=None)
        if found.get("state") != "pending":
            return found
        assert time.monotonic() < deadline, "It was never decided."
        await asyncio.sleep(0.02)


async def moved(sim: Sim, phone: str, awaited: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """What the phone's book shows; money that is on its way is waited for."""
    deadline = time.monotonic() + 240
    while True:
        found = await sim.charged(phone)
        if found == awaited or time.monotonic() > deadline:
            return found
        await asyncio.sleep(0.02)
