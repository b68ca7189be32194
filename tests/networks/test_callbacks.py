"""Callbacks, of every network: what a good one says, how it is acknowledged, and which are refused.

What only one network has (its signature, its codes, its shapes) is in its own folder.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from malipo.networks.connector import Callback, Connector, Verdict
from malipo.networks.http.client import HttpClient
from tests.networks import airtel_money_spec as airtel
from tests.networks import azampay_spec as azam
from tests.networks import clickpesa_spec as click
from tests.networks import halopesa_spec as halo
from tests.networks import mpesa_spec as mpesa
from tests.networks import tigo_pesa_spec as tigo
from tests.networks.hostile_bodies import NO_KEYS, UNREADABLE, WRONG_SHAPES
from tests.networks.payment_calls import (
    connect_airtel,
    connect_azampay,
    connect_clickpesa,
    connect_halopesa,
    connect_mpesa,
    connect_tigo,
)
from tests.networks.verdict_words import assert_fit_to_keep


@dataclass(frozen=True)
class Network:
    name: str
    connect: Callable[..., Connector]
    paid: bytes  # a callback that says that the money moved
    key: str  # of the payment that it names
    reference: bytes  # where it names the payment, as it stands there
    receipt: bytes
    amount: int | None
    accepted: bytes  # how it is acknowledged when it was read,
    refused: bytes  # and a part of the answer when it was not
    malformed: dict[str, bytes] = field(default_factory=dict)
    # Settings and headers with which a callback could be signed.
    signing: dict[str, Any] = field(default_factory=dict)
    signature: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json"

    def __repr__(self) -> str:
        return self.name

    @property
    def is_json(self) -> bool:
        return self.media_type == "application/json"

    def connectors(self) -> Iterator[Connector]:
        for changes in ({}, self.signing) if self.signing else ({},):
            yield self.connect(9, HttpClient(), **changes)

    def callbacks(self, body: bytes) -> Iterator[Callback]:
        for headers in ({}, self.signature) if self.signature else ({},):
            yield Callback({"content-type": self.media_type, **headers}, body)

    def with_reference(self, value: object) -> bytes:
        return self.paid.replace(self.reference, self._written(value))

    def with_receipt(self, value: object) -> bytes:
        return self.paid.replace(self.receipt, self._written(value))

    def _written(self, value: object) -> bytes:
        if isinstance(value, bytes):
            return value
        return json.dumps(value).encode() if self.is_json else str(value).encode()


HALO_PAID = f"<return>{halo.fields('0', response_type='FIN', addition_data=halo.RECEIPT, amount='1500')}</return>"
AIRTEL_PAID = b'{"transaction":' + airtel.CALLED_BACK + b"}"
CLICK_PAID = (
    '{"event":"PAYMENT RECEIVED","data":{"status":"SUCCESS","paymentReference":"HP2611150001","id":"LCP27DE15",'
    '"orderReference":"0K3ABCDEFGHJ1234","collectedAmount":"1500","collectedCurrency":"TZS"}}'
)

NETWORKS = [
    Network(
        "M-Pesa",
        connect_mpesa,
        mpesa.CALLED_BACK,
        "0K3ABCDEFGHJ1234",
        b'"0K3ABCDEFGHJ1234"',
        b'"0YZ1XQ7BC4DE"',
        None,
        b'{"output_OriginalConversationID":"4f1b5c0d9e8a47f3b2a1c6d7e8f90123","output_ResponseCode":"0",'
        b'"output_ResponseDesc":"Successfully Accepted Result","output_ThirdPartyConversationID":"0K3ABCDEFGHJ1234"}',
        b'"output_ResponseCode":"1"',
        {
            "no id": b'{"input_ResultCode":"INS-0","input_TransactionID":"0YZ1XQ7BC4DE"}',
            "a code that is an object": mpesa.CALLED_BACK.replace(b'"INS-0"', b"{}"),
            "an empty code": mpesa.CALLED_BACK.replace(b'"INS-0"', b'""'),
            "no code": b'{"input_ThirdPartyConversationID":"0K3ABCDEFGHJ1234"}',
        },
    ),
    Network(
        "Airtel",
        connect_airtel,
        AIRTEL_PAID,
        "0K3ABCDEFGHJ1234",
        b'"0K3ABCDEFGHJ1234"',
        b'"MP210603.1234.L06941"',
        None,
        b'{"status":"received"}',
        b'{"status":"rejected"}',
        {
            "a transaction that is a list": b'{"transaction":[' + airtel.CALLED_BACK + b"]}",
            "a transaction that is text": b'{"transaction":"TS"}',
            "a transaction that is null": b'{"transaction":null}',
            "an empty transaction": b'{"transaction":{}}',
            "no id": b'{"transaction":{"status_code":"TS","airtel_money_id":"MP210603.1234.L06941"}}',
            "an envelope with nothing in it": b'{"country":"TZ","mno":"AIRTEL","payload":{}}',
            "an envelope with text in it": b'{"country":"TZ","mno":"AIRTEL","payload":"{}"}',
            "an envelope in an envelope": b'{"payload":{"country":"TZ","mno":"AIRTEL","payload":' + AIRTEL_PAID + b"}}",
            "deep inside": b'{"transaction":{"id":"0K3ABCDEFGHJ1234","status_code":"TS","x":'
            + b"[" * 50_000
            + b"]" * 50_000
            + b"}}",
        },
        signing={"airtel_money_callback_key": "a1Rtel-callback-private-key"},
        signature={"hash": "9Yn97MIUm7D7x0FLkVWZHpTbSF1zlfa8l3FAKM1v3uw="},
    ),
    Network(
        "Tigo",
        connect_tigo,
        json.dumps(tigo.CALLED_BACK).encode(),
        "0K3ABCDEFGHJ1234",
        b'"MLP0K3ABCDEFGHJ1234"',
        f'"{tigo.RECEIPT}"'.encode(),
        1500,
        b'{"ResponseCode":"BILLER-30-0000-S","ResponseStatus":true,"ResponseDescription":"Callback successful",'
        b'"ReferenceID":"MLP0K3ABCDEFGHJ1234"}',
        b'{"ResponseCode":"BILLER-30-3030-E","ResponseStatus":false,',
        {"no reference": json.dumps({"Status": True, "Amount": "1500"}).encode()},
    ),
    Network(
        "HaloPesa",
        connect_halopesa,
        HALO_PAID.encode(),
        "0K3ABCDEFGHJ1234",
        b"0K3ABCDEFGHJ1234",
        halo.RECEIPT.encode(),
        1500,
        b'<?xml version="1.0"?><response><responseType>ACK</responseType><response_code>0</response_code>'
        b"<message>Received</message><ReferenceID>0K3ABCDEFGHJ1234</ReferenceID><ResponseTime>20",
        b"<response_code>9001</response_code>",
        media_type="text/xml",
    ),
    Network(
        "ClickPesa",
        connect_clickpesa,
        CLICK_PAID.encode(),
        "0K3ABCDEFGHJ1234",
        b'"0K3ABCDEFGHJ1234"',
        b'"HP2611150001"',
        1500,
        b'{"received":true}',
        b'{"received":false}',
        signing={"clickpesa_checksum_key": click.CHECKSUM_KEY},
    ),
    Network(
        "AzamPay",
        connect_azampay,
        azam.CALLED_BACK.encode(),
        "0K3ABCDEFGHJ5678",
        b'"0K3ABCDEFGHJ5678"',
        f'"{azam.RECEIPT}"'.encode(),
        250000,
        b'{"success":true}',
        b'{"success":false}',
        {
            f"the status {status.decode()}": azam.CALLED_BACK.encode().replace(b'"success"', status)
            for status in (b"null", b"true", b'["success"]')
        },
    ),
]
EACH = pytest.mark.parametrize("network", NETWORKS, ids=repr)


@EACH
async def test_without_a_signature_it_is_a_hint_about_the_payment_that_it_names(network: Network) -> None:
    connector = network.connect(9, HttpClient())
    (callback, *_) = network.callbacks(network.paid)
    report = connector.read(callback)
    assert report is not None
    assert (report.key, report.is_signed) == (network.key, False)
    answer, receipt = report.answer, network.receipt.strip(b'"').decode()
    assert (answer.verdict, answer.provider_reference, answer.amount) == (Verdict.CONFIRMED, receipt, network.amount)
    assert not answer.lacks_amount
    acknowledgement = connector.acknowledge(callback, report)
    assert (acknowledgement.status, acknowledgement.media_type) == (200, network.media_type)
    if network.is_json:
        assert acknowledgement.body == network.accepted
    else:  # It ends with the time.
        assert acknowledgement.body.startswith(network.accepted)


def unreadable(network: Network) -> dict[str, bytes]:
    of_all = UNREADABLE | WRONG_SHAPES | NO_KEYS
    return of_all | network.malformed | {"cut short": network.paid[:-10], "twice": network.paid * 2}


@pytest.mark.parametrize(
    ("network", "name"), [(network, name) for network in NETWORKS for name in unreadable(network)], ids=str
)
async def test_a_callback_that_cannot_be_understood_is_refused(network: Network, name: str) -> None:
    for connector in network.connectors():
        for callback in network.callbacks(unreadable(network)[name]):
            assert connector.read(callback) is None
            acknowledgement = connector.acknowledge(callback, None)
            assert acknowledgement.status == 400
            assert network.refused in acknowledgement.body


TEXTS = ["", " ", "a b", "../x", "../../x", "0K3ABCDEFGHJ1234'--", "A" * 10_000, "x" * 31, "\u0660\u0661"]
NOT_TEXTS: list[object] = [None, 7, True, [], {}, ["0K3ABCDEFGHJ1234"], "0K3ABCDE\x00GHJ123", "\x00", rb'"\ud800"']


@EACH
async def test_a_reference_that_cannot_be_ours_is_nobodys(network: Network) -> None:
    for reference in (*TEXTS, *(NOT_TEXTS if network.is_json else ())):
        for connector in network.connectors():
            for callback in network.callbacks(network.with_reference(reference)):
                assert connector.read(callback) is None, reference
                assert connector.acknowledge(callback, None).status == 400


@EACH
async def test_a_strange_receipt_harms_nobody(network: Network) -> None:
    strange: list[object] = ["9" * 100_000, "x" * 100_000, "\u202e\u200b", "12345", "N/A", ""]
    if network.is_json:
        strange += ["\x00", "a\x00b", 12345, None, {"a": "b"}, [], b"1e999", True]
    for receipt in strange:
        for connector in network.connectors():
            report = connector.read(Callback({}, network.with_receipt(receipt)))
            if report is not None:
                assert not report.is_signed
                assert_fit_to_keep(report.answer)
                assert report.answer.provider_reference is None or len(report.answer.provider_reference) <= 64
