"""What a test of Airtel Money's connector starts from: how it is connected, what it is called with, its headers."""

from collections.abc import Callable

import pytest

from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.connector import Type
from tests.networks.scripted_server import Request

Connect = Callable[..., AirtelMoney]

TYPES = pytest.mark.parametrize("type_", list(Type))
HARMLESS = {"accept-encoding", "connection", "host", "user-agent"}


def assert_headers(request: Request, token: str) -> None:
    assert request.header("Authorization") == f"Bearer {token}"
    assert request.header("Content-Type") == "application/json"
    assert request.header("Accept") == "*/*"
    assert request.header("X-Country") == "TZ"
    assert request.header("X-Currency") == "TZS"
    assert len(request.header_names) == len(set(request.header_names))
    own = {"authorization", "content-type", "accept", "x-country", "x-currency"}
    assert set(request.header_names) - HARMLESS - {"content-length"} == own
