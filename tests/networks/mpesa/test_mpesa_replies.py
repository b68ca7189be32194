"""M-Pesa's replies, cell by cell of its tables: what is made of each.

The tables are read by the pure functions; where the connector itself has a part in it, the reply comes over the wire.
"""

from collections.abc import Callable

import pytest

from malipo.networks.connector import Answer, Type, Verdict
from malipo.networks.mpesa import replies as mpesa_replies
from malipo.networks.mpesa.connector import Mpesa
from tests.networks.mpesa_spec import (
    CODES,
    COLLECT,
    COLLECTION,
    COMPLETED,
    DISBURSEMENT,
    ORDERS,
    PAID_REPLIES,
    PAY,
    QUERY,
    QUERY_CODES,
    RECEIPT,
    SESSION,
    SESSION_GIVEN,
    STATUS_WORDS,
    coded,
    query_reply,
)
from tests.networks.scripted_server import Reply, ScriptedServer, http, received
from tests.networks.verdict_words import FAIL_CFG, PENDING, SUCCESS, UNKNOWN, Outcome

Connect = Callable[..., Mpesa]

TYPES = pytest.mark.parametrize("type_", list(Type))


@TYPES
@pytest.mark.parametrize("status", ["200 OK", "201 Created"])
async def test_a_receipt_says_that_the_money_moved(
    server: ScriptedServer, mpesa: Connect, type_: Type, status: str
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    body = PAID_REPLIES[type_].sent.partition(b"\r\n\r\n")[2]
    server.expect(PAY[type_], http(status, body))
    answer = await mpesa().send(ORDERS[type_])
    SUCCESS.check(answer)
    assert (answer.provider_reference, answer.code) == (RECEIPT, "INS-0")


@TYPES
@pytest.mark.parametrize(
    "receipt", ["", '"output_TransactionID":"N/A",', '"output_TransactionID":"",', '"output_TransactionID":null,']
)
async def test_without_a_receipt_it_is_only_accepted(
    server: ScriptedServer, mpesa: Connect, type_: Type, receipt: str
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(
        PAY[type_],
        http(
            "201 Created",
            '{"output_ResponseCode":"INS-0","output_ResponseDesc":"Request processed successfully",'
            f'{receipt}"output_ConversationID":"4f1b5c0d9e8a47f3b2a1c6d7e8f90123",'
            f'"output_ThirdPartyConversationID":"{ORDERS[type_].key}"}}',
        ),
    )
    answer = await mpesa().send(ORDERS[type_])
    PENDING.check(answer)
    assert answer.provider_reference is None


@pytest.mark.parametrize(("code", "status", "collection", "disbursement"), CODES)
def test_the_code_decides_and_not_the_http_status(
    code: str, status: int, collection: Outcome, disbursement: Outcome
) -> None:
    for order, outcome in ((COLLECTION, collection), (DISBURSEMENT, disbursement)):
        for each in (status, 201, 401, 409, 422):
            reply = received(coded(each, code, key=order.key))
            assert mpesa_replies.of_refused_session(reply) is None, "it is no session that ended"
            answer = mpesa_replies.of_payment(reply, order)
            outcome.check(answer)
            assert answer.provider_reference is None
            if outcome.verdict is Verdict.REFUSED:
                assert answer.code == code
                assert "Words for people" in answer.detail


async def test_a_transaction_that_failed_with_401_is_not_a_session_that_ended(
    server: ScriptedServer, mpesa: Connect
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(COLLECT, coded(401, "INS-6", key=COLLECTION.key))
    assert (await mpesa().send(COLLECTION)).verdict is Verdict.REFUSED


@TYPES
@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found"])
async def test_a_gateway_that_names_an_error_took_nothing_in(
    server: ScriptedServer, mpesa: Connect, type_: Type, status: str
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(PAY[type_], http(status, '{"output_error":"Requested resource not found"}'))
    answer = await mpesa().send(ORDERS[type_])
    FAIL_CFG.check(answer)
    assert "Requested resource not found" in answer.detail


@TYPES
@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("408 Request Timeout", "Request timed out"),
        ("409 Conflict", "Duplicate transaction"),
        ("425 Too Early", "Try again"),
    ],
)
async def test_an_error_that_may_come_after_the_money_moved_is_no_refusal(
    server: ScriptedServer, mpesa: Connect, type_: Type, status: str, text: str
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(PAY[type_], http(status, f'{{"output_error":"{text}"}}'))
    UNKNOWN.check(await mpesa().send(ORDERS[type_]))


@TYPES
async def test_too_many_requests_are_no_refusal(server: ScriptedServer, mpesa: Connect, type_: Type) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(PAY[type_], http("429 Too Many Requests", '{"output_error":"Too many requests"}'))
    assert (await mpesa().send(ORDERS[type_])).verdict in (Verdict.UNSENT, Verdict.UNKNOWN)


@TYPES
@pytest.mark.parametrize("receipt", ["0", "false", "0.0", "[]", "{}"])
async def test_a_receipt_is_text_or_there_is_none(
    server: ScriptedServer, mpesa: Connect, type_: Type, receipt: str
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    body = PAID_REPLIES[type_].sent.partition(b"\r\n\r\n")[2]
    server.expect(PAY[type_], http("201 Created", body.replace(b'"0YZ1XQ7BC4DE"', receipt.encode())))
    assert (await mpesa().send(ORDERS[type_])).verdict is Verdict.WAITING


@TYPES
@pytest.mark.parametrize("error", ["0", "1", "false", "true", "null", "[]", "{}", '""'])
async def test_an_error_without_words_is_no_refusal(
    server: ScriptedServer, mpesa: Connect, type_: Type, error: str
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(PAY[type_], http("400 Bad Request", f'{{"output_error":{error}}}'))
    UNKNOWN.check(await mpesa().send(ORDERS[type_]))


@pytest.mark.parametrize("text", ["Requested resource not found", "Session has expired"])
async def test_a_gateway_in_trouble_that_names_an_error_is_not_believed(
    server: ScriptedServer, mpesa: Connect, text: str
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(COLLECT, http("500 Internal Server Error", f'{{"output_error":"{text}"}}'))
    answer = await mpesa().send(COLLECTION)
    UNKNOWN.check(answer)
    assert answer.is_fault


@pytest.mark.parametrize(("word", "more", "outcome"), STATUS_WORDS)
def test_a_query_is_read_by_its_status_word(word: object, more: dict[str, object], outcome: Outcome) -> None:
    outcome.check(mpesa_replies.of_query(received(query_reply(word, **more))))


async def test_a_query_that_names_the_receipt_brings_it_home(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(
        QUERY,
        COMPLETED,
        query_reply("Completed"),
        query_reply("Completed", output_OriginalTransactionID="N/A", output_Reversed="N/A"),
    )
    connector = mpesa()
    assert (await connector.query(COLLECTION)).provider_reference == RECEIPT
    assert (await connector.query(COLLECTION)).provider_reference is None
    assert (await connector.query(COLLECTION)).provider_reference is None


async def test_a_query_answered_without_a_word_says_nothing(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(QUERY, http("200 OK", '{"output_ResponseCode":"INS-0","output_TransactionID":"0YZ1XQ7BC4DE"}'))
    UNKNOWN.check(await mpesa().query(COLLECTION))


@pytest.mark.parametrize(("code", "status", "outcome"), QUERY_CODES)
def test_a_query_that_failed_says_nothing_of_the_payment(code: str, status: int, outcome: Outcome) -> None:
    def read(reply: Reply) -> Answer:
        assert mpesa_replies.of_refused_session(received(reply)) is None, "it is no session that ended"
        return mpesa_replies.of_query(received(reply))

    for each in (status, 200, 401):
        said = (
            f'{{"output_ResponseCode":"{code}","output_ResponseDesc":"Words","output_ResponseTransactionStatus":"%s"}}'
        )
        answer = read(http(f"{each} Whatever", said % "N/A"))
        if each >= 500:
            UNKNOWN.check(answer)
        else:
            outcome.check(answer)
        # And one that contradicts itself says nothing at all.
        assert read(http(f"{each} Whatever", said % "Completed")).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "404 Not Found"])
async def test_a_gateways_error_to_a_query_says_nothing_of_the_payment(
    server: ScriptedServer, mpesa: Connect, status: str
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(QUERY, http(status, '{"output_error":"Requested resource not found"}'))
    UNKNOWN.check(await mpesa().query(DISBURSEMENT))
