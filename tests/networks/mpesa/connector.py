"""What a test of M-Pesa's connector starts from: how it is connected, what it is called with."""

from collections.abc import Callable

import pytest

from malipo.networks.connector import Type
from malipo.networks.mpesa.connector import Mpesa

Connect = Callable[..., Mpesa]

TYPES = pytest.mark.parametrize("type_", list(Type))
