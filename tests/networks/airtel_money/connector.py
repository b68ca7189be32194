"""The start of each test of Airtel Money's connector: its connection, and the payments that it sends."""

from collections.abc import Callable

import pytest

from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.connector import Type

Connect = Callable[..., AirtelMoney]

TYPES = pytest.mark.parametrize("type_", list(Type))
