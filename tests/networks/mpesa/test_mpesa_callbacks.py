"""M-Pesa's callbacks, and how far each is trusted."""

import json
from collections.abc import Callable

import pytest

from malipo.networks.connector import Callback, Verdict
from malipo.networks.mpesa.connector import Mpesa
from tests.networks.mpesa_spec import CALLED_BACK, RECEIPT

Connect = Callable[..., Mpesa]


def callback(body: bytes) -> Callback:
    return Callback({"content-type": "application/json"}, body)


@pytest.mark.parametrize("code", ["INS-0", "0"])
async def test_a_result_is_a_hint_that_the_money_moved(mpesa: Connect, code: str) -> None:
    report = mpesa().read(callback(CALLED_BACK.replace(b'"INS-0"', f'"{code}"'.encode())))
    assert report is not None
    assert (report.key, report.is_signed) == ("0K3ABCDEFGHJ1234", False)
    assert (report.answer.verdict, report.answer.provider_reference) == (Verdict.CONFIRMED, RECEIPT)


async def test_a_result_without_a_receipt_has_none(mpesa: Connect) -> None:
    report = mpesa().read(callback(CALLED_BACK.replace(b"0YZ1XQ7BC4DE", b"N/A")))
    assert report is not None
    assert (report.answer.verdict, report.answer.provider_reference) == (Verdict.CONFIRMED, None)


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
    report = mpesa().read(callback(CALLED_BACK.replace(b'"INS-0"', f'"{code}"'.encode())))
    assert report is not None
    assert (report.answer.verdict, report.is_signed) == (verdict, False)
    assert (report.answer.failure_code is not None) == (verdict is Verdict.REFUSED)


async def test_an_acknowledgement_repeats_ids_as_json_and_not_as_they_stand(mpesa: Connect) -> None:
    connector = mpesa()
    body = CALLED_BACK.replace(b"4f1b5c0d9e8a47f3b2a1c6d7e8f90123", rb"a\",\"output_ResponseCode\":\"9")
    acknowledgement = connector.acknowledge(callback(body), connector.read(callback(body)))
    assert json.loads(acknowledgement.body) == {
        "output_OriginalConversationID": 'a","output_ResponseCode":"9',
        "output_ResponseCode": "0",
        "output_ResponseDesc": "Successfully Accepted Result",
        "output_ThirdPartyConversationID": "0K3ABCDEFGHJ1234",
    }
