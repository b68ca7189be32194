"""What M-Pesa tells us unasked, and how much of it is believed."""

import json
from collections.abc import Callable

import pytest

from malipo.networks.connector import Callback, Verdict
from malipo.networks.mpesa.connector import Mpesa
from tests.networks.hostile_bodies import NO_KEYS, UNREADABLE, WRONG_SHAPES
from tests.networks.mpesa_spec import RECEIPT
from tests.networks.verdict_words import assert_fit_to_keep

Connect = Callable[..., Mpesa]


RESULT = (
    b'{"input_OriginalConversationID":"4f1b5c0d9e8a47f3b2a1c6d7e8f90123","input_TransactionID":"0YZ1XQ7BC4DE",'
    b'"input_ResultCode":"INS-0","input_ResultDesc":"Request processed successfully",'
    b'"input_ThirdPartyConversationID":"0K3ABCDEFGHJ1234"}'
)


def callback(body: bytes) -> Callback:
    return Callback({"content-type": "application/json"}, body)


@pytest.mark.parametrize("code", ["INS-0", "0"])
async def test_a_result_is_a_hint_that_the_money_moved(mpesa: Connect, code: str) -> None:
    news = mpesa().read(callback(RESULT.replace(b'"INS-0"', f'"{code}"'.encode())))
    assert news is not None
    assert (news.key, news.is_signed) == ("0K3ABCDEFGHJ1234", False)
    assert (news.answer.verdict, news.answer.provider_reference) == (Verdict.CONFIRMED, RECEIPT)


async def test_a_result_without_a_receipt_has_none(mpesa: Connect) -> None:
    news = mpesa().read(callback(RESULT.replace(b"0YZ1XQ7BC4DE", b"N/A")))
    assert news is not None
    assert (news.answer.verdict, news.answer.provider_reference) == (Verdict.CONFIRMED, None)


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("INS-5", Verdict.REFUSED),
        ("INS-6", Verdict.REFUSED),
        ("INS-2006", Verdict.REFUSED),
        ("INS-2051", Verdict.REFUSED),
        ("INS-1", Verdict.UNKNOWN),
        ("INS-9", Verdict.UNKNOWN),
        ("INS-10", Verdict.UNKNOWN),
        ("INS-77777", Verdict.UNKNOWN),
        ("N/A", Verdict.UNKNOWN),
        ("00", Verdict.UNKNOWN),
        ("1", Verdict.UNKNOWN),
    ],
)
async def test_a_result_with_another_code_never_says_that_the_money_moved(
    mpesa: Connect, code: str, verdict: Verdict
) -> None:
    news = mpesa().read(callback(RESULT.replace(b'"INS-0"', f'"{code}"'.encode())))
    assert news is not None
    assert (news.answer.verdict, news.is_signed) == (verdict, False)
    assert (news.answer.failure_code is not None) == (verdict is Verdict.REFUSED)


async def test_a_result_is_acknowledged_in_these_bytes(mpesa: Connect) -> None:
    connector = mpesa()
    news = connector.read(callback(RESULT))
    acknowledgement = connector.acknowledge(callback(RESULT), news)
    assert (acknowledgement.status, acknowledgement.media_type) == (200, "application/json")
    assert acknowledgement.body == (
        b'{"output_OriginalConversationID":"4f1b5c0d9e8a47f3b2a1c6d7e8f90123","output_ResponseCode":"0",'
        b'"output_ResponseDesc":"Successfully Accepted Result","output_ThirdPartyConversationID":"0K3ABCDEFGHJ1234"}'
    )


async def test_an_acknowledgement_repeats_ids_as_json_and_not_as_they_stand(mpesa: Connect) -> None:
    connector = mpesa()
    body = RESULT.replace(b"4f1b5c0d9e8a47f3b2a1c6d7e8f90123", rb"a\",\"output_ResponseCode\":\"9")
    acknowledgement = connector.acknowledge(callback(body), connector.read(callback(body)))
    assert json.loads(acknowledgement.body) == {
        "output_OriginalConversationID": 'a","output_ResponseCode":"9',
        "output_ResponseCode": "0",
        "output_ResponseDesc": "Successfully Accepted Result",
        "output_ThirdPartyConversationID": "0K3ABCDEFGHJ1234",
    }


MALFORMED = (
    UNREADABLE
    | WRONG_SHAPES
    | NO_KEYS
    | {
        "no id": b'{"input_ResultCode":"INS-0","input_TransactionID":"0YZ1XQ7BC4DE"}',
        "an empty id": RESULT.replace(b"0K3ABCDEFGHJ1234", b""),
        "an id that is null": RESULT.replace(b'"0K3ABCDEFGHJ1234"', b"null"),
        "an id that is a list": RESULT.replace(b'"0K3ABCDEFGHJ1234"', b'["0K3ABCDEFGHJ1234"]'),
        "an id that no key can be": RESULT.replace(b"0K3ABCDEFGHJ1234", rb"0K3ABCDE\u0000GHJ123"),
        "an id that is half a surrogate": RESULT.replace(b"0K3ABCDEFGHJ1234", rb"\ud800"),
        "a code that is an object": RESULT.replace(b'"INS-0"', b"{}"),
        "an empty code": RESULT.replace(b'"INS-0"', b'""'),
        "no code": b'{"input_ThirdPartyConversationID":"0K3ABCDEFGHJ1234"}',
        "cut short": RESULT[:-10],
        "twice": RESULT + RESULT,
    }
)


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_callback_that_cannot_be_understood_is_refused(mpesa: Connect, name: str) -> None:
    connector = mpesa()
    assert connector.read(callback(MALFORMED[name])) is None
    assert connector.acknowledge(callback(MALFORMED[name]), None).status == 400


@pytest.mark.parametrize(
    "receipt", [b"12345", b"null", b'"' + b"9" * 100_000 + b'"', rb'"\u0000"', b'{"a":"b"}', b"[]", b"1e999", b"true"]
)
async def test_a_strange_receipt_in_a_callback_harms_nobody(mpesa: Connect, receipt: bytes) -> None:
    news = mpesa().read(callback(RESULT.replace(b'"0YZ1XQ7BC4DE"', receipt)))
    if news is not None:
        assert_fit_to_keep(news.answer)
