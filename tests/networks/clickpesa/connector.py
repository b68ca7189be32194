"""The start of each test of ClickPesa's connector: its connection, and the payments that it sends."""

from collections.abc import Callable
from typing import Any

import pytest

from malipo.networks.clickpesa.connector import Clickpesa
from malipo.networks.connector import Answer, Type
from malipo.networks.http.client import HttpClient
from malipo.settings import Settings
from tests.networks.clickpesa_spec import ASK, GET_TOKEN, ORDERS, PAY, TOKEN_GIVEN, settings
from tests.networks.scripted_server import Reply, ScriptedServer

Connect = Callable[..., Clickpesa]

TYPES = pytest.mark.parametrize("type_", list(Type))


@pytest.fixture
def clickpesa(server: ScriptedServer, http_client: HttpClient) -> Connect:
    def connect(**changes: Any) -> Clickpesa:
        return Clickpesa(Settings(**settings(server.port) | changes), http_client)

    return connect


@pytest.fixture
def offline() -> Connect:
    """One that only reads: nobody is at the other end."""

    def connect(**changes: Any) -> Clickpesa:
        return Clickpesa(Settings(**settings(9) | changes), HttpClient())

    return connect


async def sent(server: ScriptedServer, clickpesa: Connect, type_: Type, said: Reply, **changes: Any) -> Answer:
    server.always(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PAY[type_], said)
    return await clickpesa(**changes).send(ORDERS[type_])


async def asked(server: ScriptedServer, clickpesa: Connect, type_: Type, said: Reply) -> Answer:
    server.always(GET_TOKEN, TOKEN_GIVEN)
    server.expect(ASK[type_], said)
    return await clickpesa().query(ORDERS[type_])
