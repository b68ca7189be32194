"""A call to one of the networks that came later fails, and tells no secret."""

import base64
import io
from collections.abc import Iterator

import pytest

from malipo import log
from malipo.networks.wire import Wire
from tests.networks import clickpesa_sheet, halopesa_sheet, tigo_pesa_sheet
from tests.networks.faults.test_secrets_wire import lines as lines
from tests.networks.other_calls import OTHER_CALLS
from tests.networks.teller import After, Reply, Request, Teller, http

SECRETS = [
    *(tigo_pesa_sheet.PASSWORD, tigo_pesa_sheet.PIN, tigo_pesa_sheet.TOKEN),
    *(halopesa_sheet.PASSWORD, halopesa_sheet.SECRET_KEY),
    *(clickpesa_sheet.API_KEY, clickpesa_sheet.TOKEN, clickpesa_sheet.CHECKSUM_KEY),
]
FAILURES = {
    "reset": Reply(after=After.RESET),
    "error": http("500 Internal Server Error", '{"message":"trouble"}'),
    "nonsense": http("200 OK", "{{{{<<<<"),
    "refused": http(
        "400 Bad Request",
        '{"message":"No","ResponseCode":"DebitMandate-10-3000-E","ResponseStatus":false,"error":"no"}',
    ),
    "unauthorised": http("401 Unauthorized", '{"message":"No","error":"invalid_grant"}'),
}


def repeated(request: Request) -> Reply:
    """Gateways in debug mode do that: a page with every header, and the body."""
    return http("502 Bad Gateway", b"<pre>" + request.raw + b"</pre>", media_type="text/html")


def assert_discreet(text: str) -> None:
    for secret in SECRETS:
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode().rstrip("=") not in text


@pytest.fixture
def secretive(lines: io.StringIO) -> Iterator[io.StringIO]:
    yield lines
    log.flush()
    assert_discreet(lines.getvalue())


@pytest.mark.parametrize("what", [*FAILURES, "a page that repeats the request"])
async def test_a_call_that_fails_tells_no_secret(wire: Wire, secretive: io.StringIO, what: str) -> None:
    for call in OTHER_CALLS:
        for place in (call.line, call.entry):
            async with Teller.opened() as teller:
                call.let_in(teller)
                teller.always(place, FAILURES.get(what, repeated))
                teller.always(call.line, FAILURES.get(what, repeated))
                connector = call.connect(teller.port, wire, clickpesa_checksum_key=clickpesa_sheet.CHECKSUM_KEY)
                answer = await call.make(connector)
                log.info("payment.sent", answer=answer, connector=repr(connector), text=str(connector))
                assert_discreet(repr(answer) + repr(connector))
    log.flush()
    assert "payment.sent" in secretive.getvalue()
