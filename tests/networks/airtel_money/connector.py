"""What a test of Airtel Money's connector starts from: how it is connected, what it is called with, its headers."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from malipo.networks.airtel_money import AirtelMoney
from malipo.networks.connector import Order, Type
from tests.networks.airtel_money_spec import ACCEPTED, COLLECTION
from tests.networks.scripted_server import Reply, Request

Connect = Callable[..., AirtelMoney]

TYPES = pytest.mark.parametrize("type_", list(Type))
HARMLESS = {"accept-encoding", "connection", "host", "user-agent"}
PAGE = "<!DOCTYPE html><html><body>Not here</body></html>"


def order(**changes: object) -> Order:
    said = {name: getattr(COLLECTION, name) for name in COLLECTION.__struct_fields__}
    return Order(**(said | changes))


def echo(request: Request) -> Reply:
    """Accepted, in the name of whoever asked."""
    key = json.loads(request.body)["transaction"]["id"]
    return replace(ACCEPTED, sent=ACCEPTED.sent.replace(b"0K3ABCDEFGHJ1234", key.encode()))


def assert_headers(request: Request, token: str) -> None:
    assert request.header("Authorization") == f"Bearer {token}"
    assert request.header("Content-Type") == "application/json"
    assert request.header("Accept") == "*/*"
    assert request.header("X-Country") == "TZ"
    assert request.header("X-Currency") == "TZS"
    assert len(request.header_names) == len(set(request.header_names))
    own = {"authorization", "content-type", "accept", "x-country", "x-currency"}
    assert set(request.header_names) - HARMLESS - {"content-length"} == own
