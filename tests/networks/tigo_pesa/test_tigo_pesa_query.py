"""Tigo Pesa asked about a payment: what its answer means, and where there is nothing to ask."""

import pytest

from malipo.networks.connector import Answer, FailureCode, Resubmit, Type, Verdict
from malipo.settings.environment import BadSettings, read
from tests.networks.scripted_server import Reply, ScriptedServer, http
from tests.networks.tigo_pesa.connector import Connect, is_nobodys
from tests.networks.tigo_pesa.connector import tigo as tigo
from tests.networks.tigo_pesa_spec import COLLECTION, DISBURSEMENT, POSTED, QUERY, RECEIPT, command, query_reply
from tests.networks.verdict_words import MISSING, SUCCESS, UNKNOWN


async def test_there_is_no_question_about_a_payout(server: ScriptedServer, tigo: Connect) -> None:
    connector = tigo()
    assert not connector.can_query(Type.DISBURSEMENT)
    answer = await connector.query(DISBURSEMENT)
    UNKNOWN.check(answer)
    assert "no query" in answer.code + answer.detail
    assert connector.resubmit(Type.DISBURSEMENT) is Resubmit.UNSAFE
    assert server.requests == []


async def test_without_an_address_there_is_no_question_about_a_collection(
    server: ScriptedServer, tigo: Connect
) -> None:
    connector = tigo(tigo_pesa_query_url=None)
    assert not connector.can_query(Type.COLLECTION)
    assert tigo().can_query(Type.COLLECTION)
    UNKNOWN.check(await connector.query(COLLECTION))
    assert server.requests == []


async def asked(server: ScriptedServer, tigo: Connect, reply: Reply) -> Answer:
    server.expect(QUERY, reply)
    return await tigo().query(COLLECTION)


async def test_a_posted_collection_is_confirmed(server: ScriptedServer, tigo: Connect) -> None:
    answer = await asked(server, tigo, POSTED)
    SUCCESS.check(answer)
    assert (answer.provider_reference, answer.amount, answer.alert) == (RECEIPT, 1500, None)
    assert answer.phone is None  # whose MSISDN it is, is not said


@pytest.mark.parametrize(
    ("word", "verdict", "failure_code", "has_alert"),
    [
        ("Posted", Verdict.CONFIRMED, None, False),
        ("Refund Declined", Verdict.CONFIRMED, None, True),
        ("Declined", Verdict.REFUSED, FailureCode.REJECTED, False),
        ("Refund", Verdict.REFUSED, FailureCode.REJECTED, True),
        ("", Verdict.UNKNOWN, None, None),
        ("Pending", Verdict.UNKNOWN, None, None),
        ("Not Posted", Verdict.UNKNOWN, None, None),
        ("Unposted", Verdict.UNKNOWN, None, None),
        ("0", Verdict.UNKNOWN, None, None),
        ("Refunded Posted Declined", Verdict.UNKNOWN, None, None),
    ],
)
async def test_a_query_is_read_by_its_status(
    server: ScriptedServer,
    tigo: Connect,
    word: str,
    verdict: Verdict,
    failure_code: FailureCode | None,
    has_alert: bool | None,
) -> None:
    answer = await asked(server, tigo, query_reply("0", word))
    assert (answer.verdict, answer.failure_code) == (verdict, failure_code), answer
    assert has_alert is None or (answer.alert is not None) == has_alert, answer
    assert not (answer.verdict.is_definite and answer.is_fault)


@pytest.mark.parametrize("code", ["GetSOError001", "GetSOError010", "GetSOError011", "GetSOError999", "1", "-1"])
async def test_a_query_with_an_error_says_nothing_of_the_payment(
    server: ScriptedServer, tigo: Connect, code: str
) -> None:
    """It may be our PIN, or that the payment is in progress. No code that says "no such reference" was published."""
    for word in ("", "Posted", "Declined", "N/A"):
        answer = await asked(server, tigo, query_reply(code, word))
        UNKNOWN.check(answer)
        assert not answer.is_fault
        assert not answer.refuses_us


async def test_only_codes_on_the_operators_list_say_that_there_is_no_such_payment(
    server: ScriptedServer, tigo: Connect
) -> None:
    listed = read({"MALIPO_TIGO_PESA_NOT_FOUND_CODES": "GetSOError010, 0404"}).tigo_pesa_not_found_codes
    connector = tigo(tigo_pesa_not_found_codes=listed)
    for code, word, outcome in (
        ("GetSOError010", "", MISSING),
        ("GetSOError010", "N/A", MISSING),
        ("GetSOError010", "Posted", UNKNOWN),  # it contradicts itself
        ("0404", "", MISSING),
        ("404", "", MISSING),
        ("GetSOError01", "", UNKNOWN),
        ("GetSOError0100", "", UNKNOWN),
        ("getsoerror010", "", UNKNOWN),
        ("GetSOError001", "", UNKNOWN),
    ):
        server.expect(QUERY, query_reply(code, word))
        outcome.check(await connector.query(COLLECTION))
    server.expect(QUERY, query_reply("0", "Posted", AMOUNT="1500"))
    SUCCESS.check(await connector.query(COLLECTION))


@pytest.mark.parametrize("value", ["0", "00", "GetSOError010,0", "a b", "x" * 41, "é"])
def test_a_list_of_codes_that_cannot_say_so_is_refused(value: str) -> None:
    with pytest.raises(BadSettings, match="MALIPO_TIGO_PESA_NOT_FOUND_CODES must be codes other than 0"):
        read({"MALIPO_TIGO_PESA_NOT_FOUND_CODES": value})


@pytest.mark.parametrize("code", ["00", "000"])
async def test_a_result_of_many_noughts_is_not_an_error(server: ScriptedServer, tigo: Connect, code: str) -> None:
    """A collection that is missing three times has failed."""
    answer = await asked(server, tigo, query_reply(code, "Posted"))
    assert answer.verdict in (Verdict.CONFIRMED, Verdict.UNKNOWN), answer


async def test_a_query_without_a_result_says_nothing(server: ScriptedServer, tigo: Connect) -> None:
    for reply in (
        command(TYPE="MTPGGetSODetailsResp", TXNSTATUS="Posted", EXTERNALREFID="MLP0K3ABCDEFGHJ1234"),
        query_reply("", "Posted"),
        command(),
        command(TYPE="MTPGGetSODetailsResp"),
        http("200 OK", "<html><body>Posted</body></html>", media_type="text/html"),
        http("404 Not Found", "<html></html>", media_type="text/html"),
        http("200 OK", '{"RESULTCODE":"0","TXNSTATUS":"Posted"}'),
    ):
        UNKNOWN.check(await asked(server, tigo, reply))


@pytest.mark.parametrize(
    ("text", "amount"), [("1500", 1500), ("1500.00", 1500), ("9", 9), ("1500.50", None), ("1e3", None), ("abc", None)]
)
async def test_a_query_has_the_amount(server: ScriptedServer, tigo: Connect, text: str, amount: int | None) -> None:
    answer = await asked(server, tigo, query_reply("0", "Posted", AMOUNT=text))
    assert answer.amount == amount if amount is not None else is_nobodys(answer.amount)


async def test_a_success_by_query_without_the_amount_lacks_it(server: ScriptedServer, tigo: Connect) -> None:
    for word, is_lacking in (("Posted", True), ("Refund Declined", True), ("Declined", False), ("Pending", False)):
        assert (await asked(server, tigo, query_reply("0", word))).lacks_amount == is_lacking
    assert not (await asked(server, tigo, POSTED)).lacks_amount
