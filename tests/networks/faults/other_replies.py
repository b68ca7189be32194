"""The calls of the networks that came later, and what must be made of a broken reply to one."""

import pytest

from malipo.networks.connector import Answer, Verdict
from tests.networks.other_payment_calls import (
    AIRTEL_PAYOUT,
    AZAM_PAYOUT,
    AZAM_QUERY,
    CLICK_PUSH,
    CLICK_QUERY,
    OTHER_CALLS,
    TIGO_PUSH,
)
from tests.networks.payment_calls import Call
from tests.networks.scripted_server import Reply
from tests.networks.verdict_words import UNKNOWN, assert_fit_to_keep

EACH = pytest.mark.parametrize("call", OTHER_CALLS, ids=str)
WITH_A_DOOR = [TIGO_PUSH, CLICK_PUSH, CLICK_QUERY, AZAM_PAYOUT, AZAM_QUERY, AIRTEL_PAYOUT]


def split(reply: Reply) -> tuple[bytes, bytes]:
    head, _, body = reply.sent.partition(b"\r\n\r\n")
    return head, body


def check_lost(answer: Answer, call: Call) -> None:
    UNKNOWN.check(answer)
    assert answer.is_fault, (call, answer)


def check_nothing_sent(call: Call, answer: Answer) -> None:
    assert answer.verdict is (Verdict.UNSENT if call.is_payment else Verdict.UNKNOWN), (call, answer)
    assert answer.is_fault, (call, answer)
    assert answer.failure_code is None
    assert_fit_to_keep(answer)
