from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from malipo.networks.airtel_money import AirtelMoney
from malipo.networks.mpesa import Mpesa
from malipo.networks.wire import Wire
from malipo.settings import Settings
from tests.networks import airtel_money_sheet, mpesa_sheet
from tests.networks.teller import Teller


@pytest.fixture
async def teller() -> AsyncIterator[Teller]:
    """Every request must have been expected, and every expected one must have come."""
    async with Teller.opened() as teller:
        yield teller
    assert teller.unexpected == []
    assert teller.unsaid == []


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with Wire.opened() as wire:
        yield wire


@pytest.fixture
def mpesa(teller: Teller, wire: Wire) -> Callable[..., Mpesa]:
    def connect(**changes: Any) -> Mpesa:
        return Mpesa(Settings(**mpesa_sheet.settings(teller.port) | changes), wire)

    return connect


@pytest.fixture
def airtel(teller: Teller, wire: Wire) -> Callable[..., AirtelMoney]:
    def connect(**changes: Any) -> AirtelMoney:
        return AirtelMoney(Settings(**airtel_money_sheet.settings(teller.port) | changes), wire)

    return connect
