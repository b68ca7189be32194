"""The particulars of HaloPesa's push: its time, its checksum, its settings; and the meaning of its reply."""

import contextlib
import datetime
import hashlib
import re

import pytest

from malipo.networks.connector import Answer, Type, Verdict
from malipo.networks.halopesa.connector import Halopesa
from malipo.networks.http.client import HttpClient
from malipo.settings import Settings
from tests.networks.halopesa.connector import Connect, order, sent
from tests.networks.halopesa.connector import halopesa as halopesa
from tests.networks.halopesa_spec import (
    ACCEPTED,
    CODES,
    COLLECTION,
    DISBURSEMENT,
    NOW,
    RECEIPT,
    SECRET_KEY,
    SERVICE,
    enveloped,
    fields,
    reply,
    settings,
)
from tests.networks.scripted_server import Reply, ScriptedServer, http
from tests.networks.verdict_words import PENDING, UNKNOWN, Outcome

# What is sent.


async def test_a_business_number_and_another_function_are_settings(server: ScriptedServer, halopesa: Connect) -> None:
    server.expect(SERVICE, ACCEPTED)
    await halopesa(halopesa_business_number="401122", halopesa_function_code="PAY_BY_PUSH").send(COLLECTION)
    assert [name for name, _ in sent(server.requests[0])] == [
        "requestid",
        "username",
        "password",
        "request_time",
        "amount",
        "sender_msisdn",
        "beneficiary_accountid",
        "referenceid",
        "business_no",
        "function_code",
        "addition_data",
        "check_sum",
    ]
    said = dict(sent(server.requests[0]))
    assert (said["business_no"], said["function_code"]) == ("401122", "PAY_BY_PUSH")
    # Neither is part of the sum.
    assert said["check_sum"] == "6de0a51ee82436f93282f6caf24486bab904a301cbd86ed66ba3ef78ec8c7ca4"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (datetime.datetime(2026, 1, 31, 21, 0, 0, tzinfo=datetime.UTC), "20260201000000"),
        (datetime.datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=datetime.UTC), "20270101025959"),
        (
            datetime.datetime(2026, 7, 1, 9, 5, 6, tzinfo=datetime.timezone(datetime.timedelta(hours=-4))),
            "20260701160506",
        ),
    ],
)
async def test_the_time_is_that_of_dar_es_salaam(
    server: ScriptedServer, halopesa: Connect, now: datetime.datetime, said: str
) -> None:
    server.expect(SERVICE, ACCEPTED)
    await halopesa(now=now).send(COLLECTION)
    assert dict(sent(server.requests[0]))["request_time"] == said


async def test_the_sum_is_of_what_was_sent(server: ScriptedServer, http_client: HttpClient) -> None:
    """Even if the clock moves between two looks at it, and whatever the credentials are made of."""
    ticks = iter(NOW + datetime.timedelta(seconds=n) for n in range(1000))
    changes = {"halopesa_password": "<&>\"'=+%", "halopesa_username": "m&m", "halopesa_account": "A.b-1 2"}
    connector = Halopesa(Settings(**settings(server.port) | changes), http_client, clock=lambda: next(ticks))
    server.always(SERVICE, ACCEPTED)
    for amount in (500, 9_999_999):
        await connector.send(order(amount=amount))
        said = dict(sent(server.requests[-1]))
        assert (said["password"], said["username"], said["amount"]) == ("<&>\"'=+%", "m&m", str(amount))
        names = "requestid username password request_time amount sender_msisdn beneficiary_accountid referenceid"
        whole = "".join(said[name] for name in names.split()) + SECRET_KEY
        assert said["check_sum"] == hashlib.sha256(whole.encode()).hexdigest()
    assert SECRET_KEY.encode() not in server.requests[0].raw


# What its reply means.


async def pushed(server: ScriptedServer, halopesa: Connect, said: Reply) -> Answer:
    server.expect(SERVICE, said)
    return await halopesa().send(COLLECTION)


@pytest.mark.parametrize(("code", "outcome", "_last"), CODES)
async def test_a_reply_is_read_by_its_code(
    server: ScriptedServer, halopesa: Connect, code: str, outcome: Outcome, _last: Outcome
) -> None:
    outcome.check(await pushed(server, halopesa, reply(code)))


async def test_an_accepted_push_is_not_yet_paid_even_if_it_says_that_it_is_the_last_word(
    server: ScriptedServer, halopesa: Connect
) -> None:
    answer = await pushed(server, halopesa, reply("0", response_type="FIN", addition_data=RECEIPT))
    PENDING.check(answer)


@pytest.mark.parametrize(("soap", "own"), [("S", "ns2"), ("soap", "ns1"), ("SOAP-ENV", "a"), ("env", "tns")])
async def test_a_reply_is_read_whatever_its_prefixes(
    server: ScriptedServer, halopesa: Connect, soap: str, own: str
) -> None:
    for inside in (fields("0"), re.sub("<(/?)", rf"<\1{own}:", fields("0"))):
        said = http("200 OK", enveloped(inside, soap=soap, own=own), media_type="text/xml")
        PENDING.check(await pushed(server, halopesa, said))


async def test_a_reply_in_a_default_namespace_is_read(server: ScriptedServer, halopesa: Connect) -> None:
    body = (
        '<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><HaloPesaServiceAPIResponse '
        f'xmlns="http://ws.merchant.vmoney.viettel.com/"><return xmlns="">{fields("0")}</return>'
        "</HaloPesaServiceAPIResponse></Body></Envelope>"
    )
    PENDING.check(await pushed(server, halopesa, http("200 OK", body, media_type="text/xml")))


@pytest.mark.parametrize(
    "body",
    [
        enveloped("<message>Accepted</message>"),
        enveloped("<response_code>0</response_code><response_code>9009</response_code>"),
        '<!DOCTYPE a [<!ENTITY z "0">]><a><response_code>&z;</response_code></a>',
        "<soap:Envelope><soap:Body>",
        '{"response_code":"0"}',
        "<html><body>Accepted</body></html>",
        '<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><S:Fault><faultcode>S:Server</faultcode>'
        "<faultstring>trouble</faultstring></S:Fault></S:Body></S:Envelope>",
    ],
)
async def test_a_reply_without_a_code_says_nothing(server: ScriptedServer, halopesa: Connect, body: str) -> None:
    for status in ("200 OK", "400 Bad Request", "500 Internal Server Error"):
        UNKNOWN.check(await pushed(server, halopesa, http(status, body, media_type="text/xml")))


async def test_no_payout_is_ever_sent_as_a_push(server: ScriptedServer, halopesa: Connect) -> None:
    """It would take the money from the one who should get it."""
    with contextlib.suppress(AssertionError):  # a programmer's mistake may be called one
        answer = await halopesa().send(DISBURSEMENT)
        if answer.verdict not in (Verdict.UNSENT, Verdict.REFUSED):
            pytest.fail(repr(answer))
    assert server.requests == []


async def test_there_is_nothing_to_ask(server: ScriptedServer, halopesa: Connect) -> None:
    connector = halopesa()
    for type_ in Type:
        assert not connector.can_query(type_)
    UNKNOWN.check(await connector.query(COLLECTION))
    assert server.requests == []
