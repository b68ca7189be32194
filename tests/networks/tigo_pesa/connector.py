"""What a test of Tigo Pesa's connector starts from: how it is connected, what it is called with, its headers."""

from collections.abc import Callable
from typing import Any

import pytest

from malipo.networks.http.client import HttpClient
from malipo.networks.tigo_pesa.connector import TigoPesa
from malipo.settings import Settings
from tests.networks.scripted_server import Request, ScriptedServer
from tests.networks.tigo_pesa_spec import PASSWORD, USERNAME, settings

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


def assert_push_headers(request: Request, token: str) -> None:
    assert request.header("Authorization") == f"bearer {token}"
    assert request.header("Username") == USERNAME
    assert request.header("Password") == PASSWORD
    assert request.header("Content-Type") == "application/json"
    assert request.header("Cache-Control") == "no-cache"
    assert len(request.header_names) == len(set(request.header_names))


def is_nobodys(amount: int | None) -> bool:
    """An amount that no payment is of: whatever was said, it was not what was asked for."""
    return amount is not None and amount < 1
