"""The start of each test of AzamPay's connector: its connection, and the payments that it sends."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import padding

from malipo.networks.azampay.connector import Azampay
from malipo.networks.connector import Answer, PaymentInstruction
from malipo.networks.http.client import HttpClient
from malipo.settings import Settings
from tests.networks.azampay_spec import (
    ACCEPTED_ORDER,
    ASK,
    DISBURSEMENT,
    GET_TOKEN,
    PAY_OUT,
    PRIVATE_KEY,
    TOKEN_GIVEN,
    settings,
)
from tests.networks.rsa_keys import unpacked
from tests.networks.scripted_server import Reply, Request, ScriptedServer

Connect = Callable[..., Azampay]


@pytest.fixture
def azampay(server: ScriptedServer, http_client: HttpClient) -> Connect:
    def connect(**changes: Any) -> Azampay:
        return Azampay(Settings(**settings(server.port) | changes), http_client)

    return connect


@pytest.fixture
def offline() -> Connect:
    """One that only reads: nobody is at the other end."""

    def connect(**changes: Any) -> Azampay:
        return Azampay(Settings(**settings(9) | changes), HttpClient())

    return connect


async def sent(
    server: ScriptedServer, azampay: Connect, said: Reply, order: PaymentInstruction = DISBURSEMENT, **changes: Any
) -> Answer:
    server.always(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PAY_OUT, said)
    return await azampay(**changes).send(order)


async def asked(
    server: ScriptedServer, azampay: Connect, said: Reply, order: PaymentInstruction = ACCEPTED_ORDER
) -> Answer:
    server.always(GET_TOKEN, TOKEN_GIVEN)
    server.expect(ASK, said)
    return await azampay().query(order)


def assert_checksum(checksum: str, text: str) -> None:
    """It is the SHA-512 of this text, 64 raw bytes, for the holder of the private key."""
    digest = PRIVATE_KEY.decrypt(unpacked(PRIVATE_KEY, checksum), padding.PKCS1v15())
    assert digest == hashlib.sha512(text.encode()).digest()


def assert_headers(request: Request, token: str) -> None:
    assert request.header("Authorization") == f"Bearer {token}"
    assert request.method == "GET" or request.header("Content-Type") == "application/json"
    assert len(request.header_names) == len(set(request.header_names))
