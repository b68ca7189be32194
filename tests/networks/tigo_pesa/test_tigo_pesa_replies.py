"""The meaning of Tigo Pesa's replies to a push and to a payout, and which of them decide nothing."""

from typing import Any

import pytest

from malipo.networks.connector import Answer, Verdict
from malipo.networks.tigo_pesa import replies as tigo_pesa_replies
from tests.networks.scripted_server import Reply, ScriptedServer, http, received
from tests.networks.tigo_pesa.connector import Connect
from tests.networks.tigo_pesa.connector import tigo as tigo
from tests.networks.tigo_pesa_spec import (
    CASH_IN,
    CASH_IN_CODES,
    CODE,
    COLLECTION,
    DISBURSEMENT,
    PUSH_CODES,
    RECEIPT,
    cash_in_reply,
    command,
    push_reply,
)
from tests.networks.verdict_words import UNKNOWN, Outcome

# What a push's reply means.


def pushed(reply: Reply) -> Answer:
    return tigo_pesa_replies.of_push(received(reply), f"{CODE}{COLLECTION.key}")


@pytest.mark.parametrize("http_status", [200, 400])
@pytest.mark.parametrize(("code", "outcome"), PUSH_CODES)
def test_a_refused_push_is_read_by_its_code(code: str, outcome: Outcome, http_status: int) -> None:
    outcome.check(pushed(push_reply(code, http_status=http_status)))


@pytest.mark.parametrize("status", [False, "false", None, "", 0])
def test_an_accepting_code_that_says_it_was_refused_decides_nothing(status: object) -> None:
    UNKNOWN.check(pushed(push_reply("BILLER-18-0000-S", status=status)))


@pytest.mark.parametrize("code", ["BILLER-18-3019-E", "DebitMandate-10-2005-E", "DebitMandate-10-3000-E"])
def test_a_refusing_code_that_says_it_was_accepted_decides_nothing(code: str) -> None:
    answer = pushed(push_reply(code, status=True))
    UNKNOWN.check(answer)
    assert not answer.refuses_us


@pytest.mark.parametrize("code", [None, 0, True, [], {}, "BILLER-18-0000-X", "biller", "0000"])
def test_a_push_with_a_strange_code_is_never_definite(code: object) -> None:
    for status in (True, False):
        assert not pushed(push_reply(code, status=status)).verdict.is_definite


@pytest.mark.parametrize(
    "more",
    [
        {"ResponseDescription": "Duplicate ReferenceID"},
        {"ResponseDescription": "duplicate reference id MLP0K3ABCDEFGHJ1234"},
        {"ResponseDescription": "", "Message": "DuplicateRefID"},
    ],
)
@pytest.mark.parametrize("code", ["", "DebitMandate-10-2020-V", "BILLER-18-9999-E"])
def test_a_duplicate_is_asked_about_and_never_refused(code: str, more: dict[str, Any]) -> None:
    """The first of the two may have been paid."""
    UNKNOWN.check(pushed(push_reply(code, **more)))


@pytest.mark.parametrize("status", ["403 Forbidden", "404 Not Found", "409 Conflict", "408 Request Timeout"])
def test_an_error_without_a_code_says_nothing(status: str) -> None:
    for body in ("<html></html>", "{}", '{"Message":"No"}', ""):
        UNKNOWN.check(pushed(http(status, body)))


# What a payout's reply means.


def paid_out(reply: Reply) -> Answer:
    return tigo_pesa_replies.of_payout(received(reply), f"{CODE}{DISBURSEMENT.key}")


@pytest.mark.parametrize(("code", "outcome"), CASH_IN_CODES)
def test_a_payout_is_read_by_its_status(code: str, outcome: Outcome) -> None:
    outcome.check(paid_out(cash_in_reply(code)))


def test_a_payout_without_a_status_is_unknown() -> None:
    for reply in (
        command(TYPE="RESMFICI", REFERENCEID="MLP0K3ABCDEFGHJ5678", TXNID=RECEIPT, MESSAGE="OK"),
        command(TYPE="RESMFICI"),
        command(),
        command(STATUS="0", RESULTCODE="0"),
    ):
        UNKNOWN.check(paid_out(reply))


@pytest.mark.parametrize(
    "body",
    [
        "<COMMAND><TXNSTATUS>0</TXNSTATUS><TXNSTATUS>60019</TXNSTATUS></COMMAND>",
        "<COMMAND><TXNSTATUS>60019</TXNSTATUS><txnstatus>0</txnstatus></COMMAND>",
        '<!DOCTYPE COMMAND [<!ENTITY a "0">]><COMMAND><TXNSTATUS>&a;</TXNSTATUS></COMMAND>',
        "<COMMAND><TXNSTATUS>0</TXNSTATUS>",
        "<COMMAND><TXNSTATUS>0</TXNSTATUS></COMMAND><COMMAND/>",
        "TXNSTATUS=0",
        '{"TXNSTATUS":"0","TXNID":"7501236540"}',
    ],
)
def test_a_payout_reply_that_is_not_plain_xml_is_unknown(body: str) -> None:
    answer = paid_out(http("200 OK", body, media_type="text/xml"))
    UNKNOWN.check(answer)
    assert answer.is_fault


async def test_an_unauthorised_payout_is_not_sent_again(server: ScriptedServer, tigo: Connect) -> None:
    """It has no token to renew."""
    for status in ("401 Unauthorized", "403 Forbidden", "404 Not Found", "429 Too Many Requests"):
        server.expect(CASH_IN, http(status, "<html></html>", media_type="text/html"))
        assert (await tigo().send(DISBURSEMENT)).verdict in (Verdict.UNKNOWN, Verdict.UNSENT)
    assert len(server.requests) == 4
