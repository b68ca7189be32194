"""A call to one of the networks that came later fails, and tells no secret."""

import base64
import io
from collections.abc import Iterator

import pytest

from malipo import log
from malipo.networks.http.client import HttpClient
from tests.networks import azampay_spec, clickpesa_spec, halopesa_spec, tigo_pesa_spec
from tests.networks.faults.test_secrets_wire import lines as lines
from tests.networks.other_payment_calls import OTHER_CALLS
from tests.networks.scripted_server import After, Reply, Request, ScriptedServer, http

SECRETS = [
    *(tigo_pesa_spec.PASSWORD, tigo_pesa_spec.PIN, tigo_pesa_spec.TOKEN),
    *(halopesa_spec.PASSWORD, halopesa_spec.SECRET_KEY),
    *(azampay_spec.CLIENT_SECRET, azampay_spec.TOKEN),
    *(clickpesa_spec.API_KEY, clickpesa_spec.TOKEN, clickpesa_spec.CHECKSUM_KEY),
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
async def test_a_call_that_fails_tells_no_secret(http_client: HttpClient, secretive: io.StringIO, what: str) -> None:
    for call in OTHER_CALLS:
        for place in (call.line, call.entry):
            async with ScriptedServer.opened() as server:
                call.let_in(server)
                server.always(place, FAILURES.get(what, repeated))
                server.always(call.line, FAILURES.get(what, repeated))
                connector = call.connect(server.port, http_client, clickpesa_checksum_key=clickpesa_spec.CHECKSUM_KEY)
                answer = await call.make(connector)
                log.info("payment.sent", answer=answer, connector=repr(connector), text=str(connector))
                assert_discreet(repr(answer) + repr(connector))
    log.flush()
    assert "payment.sent" in secretive.getvalue()
