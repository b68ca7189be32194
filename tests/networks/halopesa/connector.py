"""The start of each test of HaloPesa's connector: its connection, and the requests that it sent."""

import datetime
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from malipo.networks.connector import PaymentInstruction
from malipo.networks.halopesa.connector import Halopesa
from malipo.networks.http.client import HttpClient
from malipo.settings import Settings
from tests.networks.halopesa_spec import COLLECTION, NOW, settings
from tests.networks.scripted_server import Request, ScriptedServer

Connect = Callable[..., Halopesa]

SOAP = "{http://schemas.xmlsoap.org/soap/envelope/}"
OWN = "{http://ws.merchant.vmoney.viettel.com/}"


@pytest.fixture
def halopesa(server: ScriptedServer, http_client: HttpClient) -> Connect:
    def connect(now: datetime.datetime = NOW, **changes: Any) -> Halopesa:
        return Halopesa(Settings(**settings(server.port) | changes), http_client, clock=lambda: now)

    return connect


@pytest.fixture
def offline() -> Connect:
    """One that only reads: nobody is at the other end."""

    def connect(**changes: Any) -> Halopesa:
        return Halopesa(Settings(**settings(9) | changes), HttpClient(), clock=lambda: NOW)

    return connect


def order(**changes: object) -> PaymentInstruction:
    said = {name: getattr(COLLECTION, name) for name in COLLECTION.__struct_fields__}
    return PaymentInstruction(**(said | changes))


def sent(request: Request) -> list[tuple[str, str]]:
    """The elements of the request, in their order; the envelope around them must be SOAP 1.1 and nothing else."""
    envelope = ElementTree.fromstring(request.body)  # noqa: S314 - our own words
    assert envelope.tag == f"{SOAP}Envelope"
    assert [each.tag for each in envelope if each.tag != f"{SOAP}Header"] == [f"{SOAP}Body"]
    (call,) = envelope[-1]
    assert call.tag == f"{OWN}HaloPesaServiceAPI"
    (inside,) = call
    assert inside.tag == "request"
    assert all(len(each) == 0 for each in inside)
    return [(each.tag, each.text or "") for each in inside]
