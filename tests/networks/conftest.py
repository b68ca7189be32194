from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.http.client import HttpClient
from malipo.networks.mpesa.connector import Mpesa
from malipo.settings import Settings
from tests.networks import airtel_money_spec, mpesa_spec
from tests.networks.scripted_server import ScriptedServer


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Every request must have been expected, and every expected one must have come."""
    async with ScriptedServer.opened() as server:
        yield server
    assert server.unexpected == []
    assert server.unsaid == []


@pytest.fixture
async def http_client() -> AsyncIterator[HttpClient]:
    async with HttpClient.opened() as http_client:
        yield http_client


@pytest.fixture
def mpesa(server: ScriptedServer, http_client: HttpClient) -> Callable[..., Mpesa]:
    def connect(**changes: Any) -> Mpesa:
        return Mpesa(Settings(**mpesa_spec.settings(server.port) | changes), http_client)

    return connect


@pytest.fixture
def airtel(server: ScriptedServer, http_client: HttpClient) -> Callable[..., AirtelMoney]:
    def connect(**changes: Any) -> AirtelMoney:
        return AirtelMoney(Settings(**airtel_money_spec.settings(server.port) | changes), http_client)

    return connect
