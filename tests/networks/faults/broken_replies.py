"""Broken replies, each with its expected answer: an unknown outcome, or nothing was sent."""

import gzip

import pytest

from malipo.networks.connector import Answer, Verdict
from tests.networks.payment_calls import CALLS, NO_ENTRY, Call
from tests.networks.scripted_server import After, Reply, http
from tests.networks.verdict_words import UNKNOWN, assert_fit_to_keep

EACH = pytest.mark.parametrize("call", CALLS, ids=str)
CALLS_WITH_A_TOKEN = [call for call in CALLS if call.entry is not NO_ENTRY]
EACH_WITH_A_TOKEN = pytest.mark.parametrize("call", CALLS_WITH_A_TOKEN, ids=str)


def split(reply: Reply) -> tuple[bytes, bytes]:
    head, _, body = reply.sent.partition(b"\r\n\r\n")
    return head, body


def check_lost(answer: Answer, call: Call) -> None:
    """The answer was not heard."""
    UNKNOWN.check(answer)
    assert answer.is_fault, (call, answer)


def check_nothing_sent(call: Call, answer: Answer) -> None:
    """Nothing of a payment was sent. Of one that was sent before, a question that was not put says nothing."""
    assert answer.verdict is (Verdict.UNSENT if call.is_payment else Verdict.UNKNOWN), (call, answer)
    assert answer.is_fault, (call, answer)
    assert answer.failure_code is None
    assert_fit_to_keep(answer)


CUT_HEAD = b"HTTP/1.1 201 Crea"
BROKEN = {
    "hangs up": Reply(after=After.CLOSE),
    "resets": Reply(after=After.RESET),
    "hangs up in the status line": Reply(CUT_HEAD, After.CLOSE),
    "resets in the status line": Reply(CUT_HEAD, After.RESET),
    "is no HTTP": Reply(b"SSH-2.0-OpenSSH_9.2\r\n", After.CLOSE),
    "is another HTTP": Reply(b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\n{}", After.CLOSE),
    "has no number for a status": Reply(b"HTTP/1.1 OK\r\n\r\n{}", After.CLOSE),
    "has a header without a colon": Reply(b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n{}", After.CLOSE),
    "has a header without an end": Reply(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, After.CLOSE),
    "has two lengths": Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", After.CLOSE),
    "is empty": http("200 OK"),
    "has no content": Reply(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "is not modified": Reply(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "is a page": http("200 OK", "<html><body>Welcome</body></html>", media_type="text/html"),
    "is a page of a proxy": http("502 Bad Gateway", "<html><body>Bad gateway</body></html>", media_type="text/html"),
    "is a page of a guard": http("403 Forbidden", "<html><body>Request blocked</body></html>", media_type="text/html"),
    "is an empty error": http("500 Internal Server Error"),
    "is unavailable": http("503 Service Unavailable", "", "Retry-After: 1"),
    "is late at a proxy": http("504 Gateway Time-out", "<html></html>", media_type="text/html"),
    "is no gzip": http("200 OK", b"\x00\x01\x02not gzip", "Content-Encoding: gzip"),
    "is half a gzip": http("200 OK", gzip.compress(b"{}" * 1000)[:-12], "Content-Encoding: gzip"),
}
