"""What a test of Airtel Money's connector starts from: how it is connected, what it is called with."""

from collections.abc import Callable

import pytest

from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.connector import Type

Connect = Callable[..., AirtelMoney]

TYPES = pytest.mark.parametrize("type_", list(Type))
