"""What fails is written down, and what it was done with is not."""

import asyncio
import base64
import io
import logging
from collections.abc import Callable, Iterator

import pytest

from malipo import log
from malipo.networks.connector import Connector
from malipo.networks.http.client import HttpClient
from tests.networks import airtel_money_spec, mpesa_spec
from tests.networks.payment_calls import CALLS, Call, connect_airtel, connect_mpesa
from tests.networks.scripted_server import After, Reply, Request, ScriptedServer, http

CALLBACK_KEY = "a1Rtel-callback-private-key"
SECRETS = [
    mpesa_spec.API_KEY,
    mpesa_spec.SESSION_ID,
    mpesa_spec.NEXT_SESSION_ID,
    airtel_money_spec.CLIENT_SECRET,
    airtel_money_spec.TOKEN,
    airtel_money_spec.NEXT_TOKEN,
    CALLBACK_KEY,
]
PIN = "90817263"  # long enough to be found


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """All that is logged, libraries and the finest level included."""
    stream = io.StringIO()
    before = log._Output.stream, log._Output.threshold
    handlers, level = logging.root.handlers[:], logging.root.level
    log.configure(level="debug", stream=stream)
    logging.root.setLevel(logging.DEBUG)
    yield stream
    log.flush()
    log._Output.stream, log._Output.threshold = before
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def connect(call: Call, port: int, http_client: HttpClient, timeout_seconds: int = 10) -> Connector:
    return call.connect(
        port,
        http_client,
        timeout_seconds=timeout_seconds,
        airtel_money_pin=PIN,
        airtel_money_callback_key=CALLBACK_KEY,
    )


def assert_discreet(text: str, server: ScriptedServer) -> None:
    """Neither a secret, nor its base64, nor a sealed one: whoever has that can use it as it is."""
    sealed = [value for request in server.heard for name, value in request.headers if name.lower() == "authorization"]
    for secret in (*SECRETS, PIN, *(each.partition(" ")[2] for each in sealed)):
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode().rstrip("=") not in text


FAILURES = {
    "reset": Reply(after=After.RESET),
    "closed": Reply(b"HTTP/1.1 2", After.CLOSE),
    "silence": Reply(after=After.HANG),
    "error": http("500 Internal Server Error", '{"output_error":"trouble","status":{"message":"trouble"}}'),
    "page": http("502 Bad Gateway", "<html>trouble</html>", media_type="text/html"),
    "nonsense": http("200 OK", "{{{{"),
    "refused": http(
        "400 Bad Request",
        '{"output_ResponseCode":"INS-21","output_ResponseDesc":"Parameter validation failed",'
        '"status":{"response_code":"ROUTER116","success":false,"message":"Wrongly encrypted"}}',
    ),
    "unauthorised": http("401 Unauthorized", '{"output_error":"Session expired"}'),
}


@pytest.mark.parametrize("what", FAILURES)
async def test_a_call_that_fails_tells_no_secret(
    http_client: HttpClient, lines: io.StringIO, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    async def fail(call: Call, *, is_at_the_door: bool) -> None:
        async with ScriptedServer.opened() as server:
            call.let_in(server)
            server.always(call.entry if is_at_the_door else call.line, FAILURES[what])
            connector = connect(call, server.port, http_client, timeout_seconds=1 if what == "silence" else 10)
            answer = await call.make(connector)
            log.info("payment.sent", answer=answer, connector=repr(connector), text=str(connector))
            log.flush()
            assert_discreet(lines.getvalue() + repr(answer), server)

    await asyncio.gather(*(fail(call, is_at_the_door=place) for call in CALLS for place in (False, True)))
    assert lines.getvalue().count("payment.sent") == 2 * len(CALLS)
    written = capfd.readouterr()
    assert not any(secret in written.out + written.err for secret in (*SECRETS, PIN))


@pytest.mark.parametrize("call", CALLS, ids=str)
async def test_a_page_that_repeats_the_request_is_not_repeated(
    server: ScriptedServer, http_client: HttpClient, lines: io.StringIO, call: Call
) -> None:
    """Gateways in debug mode do that: a page with every header, and the body."""

    def repeat(request: Request) -> Reply:
        return http("502 Bad Gateway", b"<pre>" + request.raw + b"</pre>", media_type="text/html")

    call.let_in(server)
    server.always(call.line, repeat)
    answer = await call.make(connect(call, server.port, http_client))
    log.info("payment.sent", answer=answer)
    log.flush()
    assert_discreet(lines.getvalue() + repr(answer), server)


@pytest.mark.parametrize("call", [CALLS[0], CALLS[4]], ids=str)
async def test_a_refused_connection_tells_no_secret(http_client: HttpClient, lines: io.StringIO, call: Call) -> None:
    async with ScriptedServer.opened() as server:
        pass
    answer = await call.make(connect(call, server.port, http_client))
    log.info("payment.sent", answer=answer)
    log.flush()
    assert_discreet(lines.getvalue() + repr(answer), server)


@pytest.mark.parametrize("public_key", ["A" * 200, "!", "", "MIIBIjANBgkqhkiG9w0BAQ=="])
async def test_a_public_key_that_is_none_is_refused_without_telling_what_it_was_for(
    http_client: HttpClient, public_key: str
) -> None:
    attempts: list[tuple[Callable[..., Connector], dict[str, str]]] = [
        (connect_mpesa, {"mpesa_public_key": public_key}),
        (connect_airtel, {"airtel_money_public_key": public_key, "airtel_money_pin": PIN}),
    ]
    for build, changes in attempts:
        with pytest.raises(Exception) as refusal:  # noqa: PT011 - whichever it is, a person must read it
            build(9, http_client, **changes)
        assert not any(secret in repr(refusal.value) for secret in (*SECRETS, PIN))
