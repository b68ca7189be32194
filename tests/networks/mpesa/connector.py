"""The start of each test of M-Pesa's connector: its connection, and the payments that it sends."""

from collections.abc import Callable

import pytest

from malipo.networks.connector import Type
from malipo.networks.mpesa.connector import Mpesa

Connect = Callable[..., Mpesa]

TYPES = pytest.mark.parametrize("type_", list(Type))
