"""What a test of M-Pesa's connector starts from: how it is connected, what it is called with, what it bears."""

from collections.abc import Callable

import pytest

from malipo.networks.contract import Order, Type
from malipo.networks.mpesa import Mpesa
from tests.networks import keys
from tests.networks.mpesa_sheet import (
    COLLECTION,
)
from tests.networks.teller import Request

Connect = Callable[..., Mpesa]

TYPES = pytest.mark.parametrize("type_", list(Type))
HARMLESS = {"accept", "accept-encoding", "connection", "host", "user-agent"}


def bearer(request: Request) -> str:
    scheme, _, sealed = request.header("Authorization").partition(" ")
    assert scheme == "Bearer"
    return keys.opened(keys.MPESA, sealed)


def order(**changes: object) -> Order:
    said = {name: getattr(COLLECTION, name) for name in COLLECTION.__struct_fields__}
    return Order(**(said | changes))
