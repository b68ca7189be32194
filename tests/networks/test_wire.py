"""What is sent to each network, byte for byte: a row for every request, written from the network's documents.

What only one network has (its signature, its settings, its names) is in its own folder.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from malipo.networks.connector import Connector
from malipo.networks.halopesa.connector import Halopesa
from malipo.networks.http.client import HttpClient
from malipo.settings import Settings
from tests.networks import airtel_money_spec as airtel
from tests.networks import azampay_spec as azam
from tests.networks import clickpesa_spec as click
from tests.networks import halopesa_spec as halo
from tests.networks import mpesa_spec as mpesa
from tests.networks import rsa_keys
from tests.networks import tigo_pesa_spec as tigo
from tests.networks.azampay.connector import assert_checksum
from tests.networks.payment_calls import (
    AIRTEL,
    AIRTEL_COLLECTION,
    AIRTEL_COLLECTION_QUERY,
    AIRTEL_PAYOUT,
    AIRTEL_QUERY,
    AZAM,
    AZAM_PAYOUT,
    AZAM_QUERY,
    CLICK,
    CLICK_COLLECTION_QUERY,
    CLICK_PAYOUT,
    CLICK_PUSH,
    CLICK_QUERY,
    HALO_PUSH,
    MPESA,
    MPESA_COLLECTION,
    MPESA_COLLECTION_QUERY,
    MPESA_PAYOUT,
    MPESA_QUERY,
    PAYMENTS,
    TIGO,
    TIGO_PAYOUT,
    TIGO_PUSH,
    TIGO_QUERY,
    Call,
    Entry,
)
from tests.networks.scripted_server import Request, ScriptedServer

# Every HTTP client sends these; they differ from one to the next.
OF_EVERY_CLIENT = {"host", "connection", "user-agent", "accept-encoding", "content-length"}
OF_EVERY_REQUEST = {"accept": "*/*"}


def unsealed_pin(request: Request) -> bytes:
    sealed = json.loads(request.body)["pin"]
    return request.body.replace(sealed.encode(), rsa_keys.opened(rsa_keys.AIRTEL_MONEY, sealed).encode())


def without_azampays_date_and_checksum(request: Request) -> bytes:
    """The date is that of the request, and the checksum is taken over it."""
    said = json.loads(request.body)
    checksum, date = said["checksum"], said["transferDetails"]["dateInEpoch"]
    assert abs(date - time.time()) < 60
    assert_checksum(checksum, f"1000000164255622345678TZS250000{date}0K3ABCDEFGHJ5678")
    return request.body.replace(str(date).encode(), b"0").replace(checksum.encode(), b"")


@dataclass(frozen=True)
class Sent:
    """What a request is: its target, its headers beside those of every request, and its body."""

    call: Call
    target: str
    headers: dict[str, str]
    body: bytes = b""
    # A part that is new in every request, in the target or in the body: what it looks like.
    new: bytes | None = None
    plain: Callable[[Request], bytes] = lambda request: request.body  # with secrets opened
    changes: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return repr(self.call)


MPESA_HEADERS = {
    "authorization": mpesa.SESSION_ID,
    "content-type": "application/json",
    "origin": "pay.example.co.tz",
}
AIRTEL_HEADERS = {
    "authorization": f"Bearer {airtel.TOKEN}",
    "content-type": "application/json",
    "x-country": "TZ",
    "x-currency": "TZS",
}
TIGO_XML = {"content-type": "text/xml;charset=UTF-8"}
CLICK_HEADERS = {"authorization": f"Bearer {click.TOKEN}", "content-type": "application/json"}
AZAM_HEADERS = {"authorization": f"Bearer {azam.TOKEN}", "content-type": "application/json"}
MPESA_QUESTION = (
    f"{mpesa.PREFIX}queryTransactionStatus/?input_QueryReference={{}}&input_ServiceProviderCode=000000"
    "&input_ThirdPartyConversationID=NEW&input_Country=TZN"
)
MPESA_OWN_ID = rb"(?<=input_ThirdPartyConversationID=)[0-9a-f]{32}"

CALLS = [
    Sent(
        MPESA_COLLECTION,
        f"{mpesa.PREFIX}c2bPayment/singleStage/",
        MPESA_HEADERS,
        b'{"input_Amount":"1500","input_CustomerMSISDN":"255754000001","input_Country":"TZN","input_Currency":"TZS",'
        b'"input_ServiceProviderCode":"000000","input_TransactionReference":"0K3ABCDEFGHJ1234",'
        b'"input_ThirdPartyConversationID":"0K3ABCDEFGHJ1234","input_PurchasedItemsDesc":"Order 12 thanks"}',
    ),
    Sent(
        MPESA_PAYOUT,
        f"{mpesa.PREFIX}b2cPayment/",
        MPESA_HEADERS,
        b'{"input_Amount":"250000","input_CustomerMSISDN":"255765432109","input_Country":"TZN","input_Currency":"TZS",'
        b'"input_ServiceProviderCode":"541234","input_TransactionReference":"0K3ABCDEFGHJ5678",'
        b'"input_ThirdPartyConversationID":"0K3ABCDEFGHJ5678","input_PaymentItemsDesc":"Wages week 7 Juma"}',
        changes={"mpesa_service_provider_code": "541234"},
    ),
    Sent(MPESA_QUERY, MPESA_QUESTION.format("0K3ABCDEFGHJ5678"), MPESA_HEADERS, new=MPESA_OWN_ID),
    Sent(MPESA_COLLECTION_QUERY, MPESA_QUESTION.format("0K3ABCDEFGHJ1234"), MPESA_HEADERS, new=MPESA_OWN_ID),
    Sent(
        AIRTEL_COLLECTION,
        "/merchant/v1/payments/",
        AIRTEL_HEADERS,
        b'{"reference":"Order 12 thanks","subscriber":{"country":"TZ","currency":"TZS","msisdn":"684000001"},'
        b'"transaction":{"amount":1500,"country":"TZ","currency":"TZS","id":"0K3ABCDEFGHJ1234"}}',
    ),
    Sent(
        AIRTEL_PAYOUT,
        "/standard/v1/disbursements/",
        AIRTEL_HEADERS,
        b'{"payee":{"msisdn":"692345678"},"reference":"0K3ABCDEFGHJ5678","pin":"4731",'
        b'"transaction":{"amount":250000,"id":"0K3ABCDEFGHJ5678"}}',
        plain=unsealed_pin,
    ),
    Sent(AIRTEL_QUERY, "/standard/v1/disbursements/0K3ABCDEFGHJ5678", AIRTEL_HEADERS),
    Sent(AIRTEL_COLLECTION_QUERY, "/standard/v1/payments/0K3ABCDEFGHJ1234", AIRTEL_HEADERS),
    Sent(
        TIGO_PUSH,
        "/MALIPO2DM-PushBillpay",
        {
            "authorization": f"bearer {tigo.TOKEN}",
            "username": tigo.USERNAME,
            "password": tigo.PASSWORD,
            "content-type": "application/json",
            "cache-control": "no-cache",
        },
        b'{"CustomerMSISDN":"255652000001","BillerMSISDN":"255710000009","Amount":1500,'
        b'"Remarks":"Order 12 thanks","ReferenceID":"MLP0K3ABCDEFGHJ1234"}',
    ),
    Sent(
        TIGO_PAYOUT,
        "/MALIPO2DM-MFICashIn",
        TIGO_XML,
        b'<?xml version="1.0"?><COMMAND><TYPE>REQMFICI</TYPE><REFERENCEID>MLP0K3ABCDEFGHJ5678</REFERENCEID>'
        b"<MSISDN>255710000008</MSISDN><PIN>80917263</PIN><MSISDN1>255712345678</MSISDN1><AMOUNT>250000</AMOUNT>"
        b"<LANGUAGE1>en</LANGUAGE1></COMMAND>",
    ),
    Sent(
        TIGO_QUERY,
        "/MALIPO2DM-TQS",
        TIGO_XML,
        b'<?xml version="1.0"?><COMMAND><TYPE>MTPGGetSODetails</TYPE><REFERENCEID>NEW</REFERENCEID>'
        b"<MSISDN>255710000009</MSISDN><PIN>80917263</PIN>"
        b"<EXTERNALREFID>MLP0K3ABCDEFGHJ1234</EXTERNALREFID></COMMAND>",
        # Asked twice under one id, the second may be refused as a duplicate.
        new=rb"(?<=<REFERENCEID>)[A-Za-z0-9]{1,20}",
    ),
    Sent(
        HALO_PUSH,
        "/ServiceAPI",
        {"content-type": "text/xml;charset=UTF-8", "soapaction": '""'},
        b'<?xml version="1.0" encoding="UTF-8"?>'
        b'<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"'
        b' xmlns:ws="http://ws.merchant.vmoney.viettel.com/"><soapenv:Header/><soapenv:Body><ws:HaloPesaServiceAPI>'
        b"<request><requestid>0K3ABCDEFGHJ1234</requestid><username>malipo</username><password>hP-9f2Kq7Wz</password>"
        b"<request_time>20261115113207</request_time><amount>1500</amount><sender_msisdn>255621000001</sender_msisdn>"
        b"<beneficiary_accountid>80012345</beneficiary_accountid><referenceid>0K3ABCDEFGHJ1234</referenceid>"
        b"<function_code>ASYNC_PAYMENT_USSD_PUSH</function_code><addition_data></addition_data>"
        # printf %s '0K3ABCDEFGHJ1234malipohP-9f2Kq7Wz202611151132071500255621000001800123450K3ABCDEFGHJ1234s3cr3t-Key/Ha1o' \
        #   | openssl dgst -sha256
        b"<check_sum>6de0a51ee82436f93282f6caf24486bab904a301cbd86ed66ba3ef78ec8c7ca4</check_sum></request>"
        b"</ws:HaloPesaServiceAPI></soapenv:Body></soapenv:Envelope>",
    ),
    # A collection's amount is text, a payout's a number.
    Sent(
        CLICK_PUSH,
        "/third-parties/payments/initiate-ussd-push-request",
        CLICK_HEADERS,
        b'{"amount":"1500","currency":"TZS","orderReference":"0K3ABCDEFGHJ1234","phoneNumber":"255621000001"}',
    ),
    Sent(
        CLICK_PAYOUT,
        "/third-parties/payouts/create-mobile-money-payout",
        CLICK_HEADERS,
        b'{"amount":250000,"currency":"TZS","orderReference":"0K3ABCDEFGHJ5678","phoneNumber":"255692345678"}',
    ),
    Sent(CLICK_QUERY, "/third-parties/payouts/0K3ABCDEFGHJ5678", CLICK_HEADERS),
    Sent(CLICK_COLLECTION_QUERY, "/third-parties/payments/0K3ABCDEFGHJ1234", CLICK_HEADERS),
    Sent(
        AZAM_PAYOUT,
        "/api/v1/azampay/disburse",
        AZAM_HEADERS,
        b'{"source":{"countryCode":"TZ","fullName":"Duka la Asha Ltd","bankName":"Azampesa",'
        b'"accountNumber":"1000000164","currency":"TZS"},"destination":{"countryCode":"TZ",'
        b'"fullName":"Juma Nyerere Mwinyi","bankName":"Halotel","accountNumber":"255622345678","currency":"TZS"},'
        b'"transferDetails":{"type":"FUND","amount":250000,"dateInEpoch":0},'
        b'"externalReferenceId":"0K3ABCDEFGHJ5678","remarks":"Wages week 7 Juma","checksum":""}',
        plain=without_azampays_date_and_checksum,
    ),
    Sent(
        AZAM_QUERY,
        f"/api/v1/azampay/transactionstatus?pgReferenceId={azam.NETWORK_ID}&bankName=Halotel",
        AZAM_HEADERS,
    ),
]

# How a token or a session is asked for: the target, the headers and the body.
TOKENS: dict[Entry, tuple[str, dict[str, str], bytes]] = {
    MPESA: (
        f"{mpesa.PREFIX}getSession/",
        {"authorization": mpesa.API_KEY, "content-type": "application/json", "origin": "pay.example.co.tz"},
        b"",
    ),
    AIRTEL: (
        "/auth/oauth2/token",
        {"content-type": "application/json"},
        f'{{"client_id":"{airtel.CLIENT_ID}","client_secret":"{airtel.CLIENT_SECRET}",'
        '"grant_type":"client_credentials"}'.encode(),
    ),
    TIGO: (
        "/MALIPO2DM-GetToken",
        {"content-type": "application/x-www-form-urlencoded", "cache-control": "no-cache"},
        b"username=malipo_user&password=p%40ss%26w0rd%3D%2B%25%2F%3F&grant_type=password",
    ),
    CLICK: (
        "/third-parties/generate-token",
        {"client-id": click.CLIENT_ID, "api-key": click.API_KEY},
        b"",
    ),
    AZAM: (
        "/auth/AppRegistration/GenerateToken",
        {"content-type": "application/json"},
        f'{{"appName":"{azam.APP_NAME}","clientId":"{azam.CLIENT_ID}","clientSecret":"{azam.CLIENT_SECRET}"}}'.encode(),
    ),
}


def connected(call: Call, port: int, http_client: HttpClient, **changes: Any) -> Connector:
    if call is HALO_PUSH:  # Its request has the time in it.
        return Halopesa(Settings(**halo.settings(port) | changes), http_client, clock=lambda: halo.NOW)
    return call.connect(port, http_client, **changes)


def headers_of(request: Request, entry: Entry) -> dict[str, str]:
    """Each once, and those of every client left out; M-Pesa's bearer is opened."""
    assert len(request.header_names) == len(set(request.header_names))
    if request.body:
        assert request.header("Content-Length") == str(len(request.body))
    headers = {name.lower(): value for name, value in request.headers if name.lower() not in OF_EVERY_CLIENT}
    if entry is MPESA:
        assert headers["authorization"].startswith("Bearer ")
        headers["authorization"] = entry.bearer(request)
    return headers


@pytest.mark.parametrize("sent", CALLS, ids=repr)
async def test_a_request_is_these_bytes(server: ScriptedServer, http_client: HttpClient, sent: Sent) -> None:
    call = sent.call
    call.let_in(server)
    server.expect(call.line, call.reply, call.reply)
    connector = connected(call, server.port, http_client, **sent.changes)
    new = set()
    for _ in range(2):
        call.outcome.check(await call.make(connector))
        request = server.requests[-1]
        target, body = request.target.encode(), sent.plain(request)
        if sent.new is not None:
            (found,) = re.findall(sent.new, target + b"\n" + body)
            new.add(found)
            target, body = (re.sub(sent.new, b"NEW", each) for each in (target, body))
        assert (target.decode(), body) == (sent.target, sent.body)
        assert headers_of(request, call.entry) == OF_EVERY_REQUEST | sent.headers
        assert request.header("Host") == f"127.0.0.1:{server.port}"
    assert sent.new is None or len(new) == 2


@pytest.mark.parametrize("entry", TOKENS, ids=repr)
async def test_a_token_is_asked_for_with_these_bytes(
    server: ScriptedServer, http_client: HttpClient, entry: Entry
) -> None:
    """It carries no token, and no secret stands in its address."""
    call = PAYMENTS[entry]
    server.expect(entry.line, entry.given)
    server.expect(call.line, call.reply)
    await call.make(call.connect(server.port, http_client))
    request = server.requests[0]
    target, headers, body = TOKENS[entry]
    assert (request.target, request.body) == (target, body)
    assert headers_of(request, entry) == OF_EVERY_REQUEST | headers
