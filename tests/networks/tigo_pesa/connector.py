"""The start of each test of Tigo Pesa's connector: its connection, and the payments that it sends."""

from collections.abc import Callable
from typing import Any

import pytest

from malipo.networks.http.client import HttpClient
from malipo.networks.tigo_pesa.connector import TigoPesa
from malipo.settings import Settings
from tests.networks.scripted_server import ScriptedServer
from tests.networks.tigo_pesa_spec import settings

Connect = Callable[..., TigoPesa]


@pytest.fixture
def tigo(server: ScriptedServer, http_client: HttpClient) -> Connect:
    def connect(**changes: Any) -> TigoPesa:
        return TigoPesa(Settings(**settings(server.port) | changes), http_client)

    return connect


@pytest.fixture
def offline() -> Connect:
    """One that only reads: nobody is at the other end."""

    def connect(**changes: Any) -> TigoPesa:
        return TigoPesa(Settings(**settings(9) | changes), HttpClient())

    return connect


def is_nobodys(amount: int | None) -> bool:
    """An amount that no payment is of: whatever was said, it was not what was asked for."""
    return amount is not None and amount < 1
