"""A failed request is logged without its secrets."""

import asyncio
import base64
import io
import logging
from collections.abc import Callable, Iterator

import pytest

from malipo import log
from malipo.networks.connector import Connector
from malipo.networks.http.client import HttpClient
from tests.networks import airtel_money_spec, azampay_spec, clickpesa_spec, halopesa_spec, mpesa_spec, tigo_pesa_spec
from tests.networks.payment_calls import CALLS, NO_ENTRY, Call, connect_airtel, connect_azampay, connect_mpesa
from tests.networks.scripted_server import After, Reply, Request, Saying, ScriptedServer, http

CALLBACK_KEY = "a1Rtel-callback-private-key"
PIN = "90817263"  # long enough to be found
SECRETS = [
    *(mpesa_spec.API_KEY, mpesa_spec.SESSION_ID, mpesa_spec.NEXT_SESSION_ID),
    *(airtel_money_spec.CLIENT_SECRET, airtel_money_spec.TOKEN, airtel_money_spec.NEXT_TOKEN, CALLBACK_KEY, PIN),
    *(tigo_pesa_spec.PASSWORD, tigo_pesa_spec.PIN, tigo_pesa_spec.TOKEN, tigo_pesa_spec.NEXT_TOKEN),
    *(halopesa_spec.PASSWORD, halopesa_spec.SECRET_KEY),
    *(clickpesa_spec.API_KEY, clickpesa_spec.TOKEN, clickpesa_spec.NEXT_TOKEN, clickpesa_spec.CHECKSUM_KEY),
    *(azampay_spec.CLIENT_SECRET, azampay_spec.TOKEN, azampay_spec.NEXT_TOKEN),
]


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
        clickpesa_checksum_key=clickpesa_spec.CHECKSUM_KEY,
    )


def assert_discreet(text: str, server: ScriptedServer) -> None:
    """Neither a secret, nor its base64, nor a sealed one: whoever has that can use it as it is."""
    sealed = [
        value for request in server.requests for name, value in request.headers if name.lower() == "authorization"
    ]
    for secret in (*SECRETS, *(each.partition(" ")[2] for each in sealed)):
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode().rstrip("=") not in text


def repeated(request: Request) -> Reply:
    """Gateways in debug mode do that: a page with every header, and the body."""
    return http("502 Bad Gateway", b"<pre>" + request.raw + b"</pre>", media_type="text/html")


FAILURES: dict[str, Saying] = {
    "reset": Reply(after=After.RESET),
    "closed": Reply(b"HTTP/1.1 2", After.CLOSE),
    "silence": Reply(after=After.HANG),
    "error": http("500 Internal Server Error", '{"output_error":"no","status":{"message":"no"},"message":"no"}'),
    "page": http("502 Bad Gateway", "<html>trouble</html>", media_type="text/html"),
    "page that repeats the request": repeated,
    "nonsense": http("200 OK", "{{{{<<<<"),
    "refused": http(
        "400 Bad Request",
        '{"output_ResponseCode":"INS-21","output_ResponseDesc":"Parameter validation failed",'
        '"status":{"response_code":"ROUTER116","success":false,"message":"Wrongly encrypted"},'
        '"message":"No","ResponseCode":"DebitMandate-10-3000-E","ResponseStatus":false,"error":"no"}',
    ),
    "unauthorised": http(
        "401 Unauthorized", '{"output_error":"Session expired","message":"No","error":"invalid_grant"}'
    ),
}


@pytest.mark.parametrize("what", FAILURES)
async def test_a_call_that_fails_reveals_no_secret(
    http_client: HttpClient, lines: io.StringIO, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    async def fail(call: Call, place: str) -> None:
        async with ScriptedServer.opened() as server:
            call.let_in(server)
            server.always(place, FAILURES[what])
            connector = connect(call, server.port, http_client, timeout_seconds=1 if what == "silence" else 10)
            answer = await call.make(connector)
            log.info("payment.sent", answer=answer, connector=repr(connector), text=str(connector))
            log.flush()
            assert_discreet(lines.getvalue() + repr(answer) + repr(connector), server)

    places = [(call, call.line) for call in CALLS]
    places += [(call, call.entry.line) for call in CALLS if call.entry is not NO_ENTRY]
    await asyncio.gather(*(fail(call, place) for call, place in places))
    assert lines.getvalue().count("payment.sent") == len(places)
    written = capfd.readouterr()
    assert not any(secret in written.out + written.err for secret in SECRETS)


async def test_a_refused_connection_reveals_no_secret(http_client: HttpClient, lines: io.StringIO) -> None:
    async with ScriptedServer.opened() as server:
        pass
    for call in CALLS:
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
        (connect_azampay, {"azampay_public_key": public_key}),
    ]
    for build, changes in attempts:
        with pytest.raises(Exception) as refusal:  # noqa: PT011 - whichever it is, a person must read it
            build(9, http_client, **changes)
        assert not any(secret in repr(refusal.value) for secret in SECRETS)
