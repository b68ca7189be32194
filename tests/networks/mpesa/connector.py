"""What a test of M-Pesa's connector starts from: how it is connected, what it is called with, what it bears."""

from collections.abc import Callable

import pytest

from malipo.networks.connector import Order, Type
from malipo.networks.mpesa import Mpesa
from tests.networks import rsa_keys
from tests.networks.mpesa_spec import COLLECTION
from tests.networks.scripted_server import Request

Connect = Callable[..., Mpesa]

TYPES = pytest.mark.parametrize("type_", list(Type))
HARMLESS = {"accept", "accept-encoding", "connection", "host", "user-agent"}


def bearer(request: Request) -> str:
    scheme, _, sealed = request.header("Authorization").partition(" ")
    assert scheme == "Bearer"
    return rsa_keys.opened(rsa_keys.MPESA, sealed)


def order(**changes: object) -> Order:
    said = {name: getattr(COLLECTION, name) for name in COLLECTION.__struct_fields__}
    return Order(**(said | changes))
