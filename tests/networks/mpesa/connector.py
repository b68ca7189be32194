"""What a test of M-Pesa's connector starts from: how it is connected, what it is called with, what it bears."""

from collections.abc import Callable

import pytest

from malipo.networks.connector import Type
from malipo.networks.mpesa.connector import Mpesa
from tests.networks import rsa_keys
from tests.networks.scripted_server import Request

Connect = Callable[..., Mpesa]

TYPES = pytest.mark.parametrize("type_", list(Type))
HARMLESS = {"accept", "accept-encoding", "connection", "host", "user-agent"}


def bearer(request: Request) -> str:
    scheme, _, sealed = request.header("Authorization").partition(" ")
    assert scheme == "Bearer"
    return rsa_keys.opened(rsa_keys.MPESA, sealed)
