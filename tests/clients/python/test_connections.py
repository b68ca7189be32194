"""The connections of both clients: kept open, never shared by two calls at once, and HTTP as servers really speak it."""

import asyncio
import gc
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from malipo_client import AsyncMalipo, ConnectionFailed, Malipo, MalipoError

from tests.clients.python.conftest import Both
from tests.clients.python.misbehaving_service import TRANSACTION, MisbehavingService, answer, misbehaving
from tests.webhooks.certificates import authority

JSON = answer().partition(b"\r\n\r\n")[2]
CHUNKS = (
    b"".join(b"%x;x=1\r\n%s\r\n" % (len(part), part) for part in (JSON[:10], JSON[10:])) + b"0\r\nTrailer: 1\r\n\r\n"
)
FORMS = {
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "until the end": b"HTTP/1.1 200 OK\r\n\r\n" + JSON,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(JSON), JSON),
    "after a 100": b"HTTP/1.1 100 Continue\r\n\r\n" + answer(),
    "closed afterwards": answer(Connection="close"),
}


def test_calls_share_a_connection(service: MisbehavingService, call: Both) -> None:
    for _ in range(3):
        assert call("payments.get", "txn_1").reference == "MLP-1"
    assert len({each.connection for each in service.received}) == 1
    headers = service.received[0].headers
    assert headers["x-api-key"] == "mlp_live_key"
    assert headers["user-agent"].startswith("malipo-client-python")


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_an_answer_is_read_in_every_form_of_http(
    service: MisbehavingService, connect: Callable[..., Both], form: bytes
) -> None:
    service.answers = [form]
    call = connect(retries=0)
    assert [call("payments.get", "txn_1").id for _ in range(2)] == ["txn_1"] * 2


def test_over_tls_too_and_a_stranger_is_told_nothing(connect: Callable[..., Both]) -> None:
    ours, strange = authority(), authority("A stranger")
    with misbehaving(ours.server("127.0.0.1")) as service:
        call = connect(base_url=service.url, tls=ours.trusted(), retries=0)
        assert [call("payments.get", "txn_1").id for _ in range(3)] == ["txn_1"] * 3
        assert len({each.connection for each in service.received}) == 1
    for context in (strange.server("127.0.0.1"), ours.server("pay.example.com"), ours.server("127.0.0.1", days=-1)):
        with misbehaving(context) as service:
            for tls in (ours.trusted(), None):
                with pytest.raises(ConnectionFailed) as refused:
                    connect(base_url=service.url, tls=tls, retries=0)("payments.get", "txn_1")
                assert not refused.value.was_sent
            assert service.received == []


def test_a_connection_that_was_closed_meanwhile_costs_no_attempt(
    service: MisbehavingService, connect: Callable[..., Both]
) -> None:
    call = connect(retries=0)
    for _ in range(3):
        call("payments.get", "txn_1")
        service.hang_up()
        call("payments.disburse", amount=1000, channel="MPESA", recipient_phone="+255754000001")
        service.hang_up()
    assert len(service.received) == 6


def test_threads_and_tasks_get_their_own_answers(service: MisbehavingService) -> None:
    service.echoes = True
    ids = [f"txn_{number}" for number in range(200)]
    with Malipo("key", service.url) as malipo, ThreadPoolExecutor(16) as threads:
        assert [each.id for each in threads.map(malipo.payments.get, ids)] == ids

    async def ask() -> list[str]:
        async with AsyncMalipo("key", service.url) as malipo:
            return [each.id for each in await asyncio.gather(*map(malipo.payments.get, ids))]

    service.received.clear()
    assert asyncio.run(ask()) == ids
    assert len({each.connection for each in service.received}) <= 100, "however many tasks there are"


def test_a_child_process_does_not_read_the_answers_of_its_parent(service: MisbehavingService) -> None:
    malipo = Malipo("key", service.url, retries=0)
    malipo.payments.get("txn_1")
    child = os.fork()
    if not child:
        os._exit(0 if malipo.payments.get("txn_1").id == "txn_1" else 1)
    assert os.waitpid(child, 0)[1] == 0
    malipo.payments.get("txn_1")
    ours, childs, ours_again = (each.connection for each in service.received)
    assert ours == ours_again != childs
    malipo.close()


def test_a_call_that_was_cancelled_leaves_no_answer_for_the_next(service: MisbehavingService) -> None:
    service.echoes = True

    async def ask() -> str:
        async with AsyncMalipo("key", service.url) as malipo:
            await malipo.payments.get("txn_0")
            service.delay_seconds = 0.2
            cancelled = asyncio.ensure_future(malipo.payments.get("txn_1"))
            await asyncio.to_thread(service.until_received, 2)
            cancelled.cancel()
            await asyncio.wait([cancelled])
            return (await malipo.payments.get("txn_2")).id

    assert asyncio.run(ask()) == "txn_2"


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # A loop that has ended closes nothing.
def test_a_client_outlives_its_event_loop(service: MisbehavingService) -> None:
    malipo = AsyncMalipo("key", service.url, retries=0)

    async def ask(malipo: AsyncMalipo) -> str:
        return (await malipo.payments.get("txn_1")).id

    assert [asyncio.run(ask(malipo)) for _ in range(2)] == ["txn_1", "txn_1"]
    del malipo
    gc.collect()


def test_an_answer_that_does_not_come_in_time_is_no_answer(
    service: MisbehavingService, connect: Callable[..., Both]
) -> None:
    silent = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"  # and never a chunk
    service.answers = [silent]
    with pytest.raises(ConnectionFailed) as failed:
        connect(retries=0, timeout=0.2)("payments.get", "txn_1")
    assert failed.value.was_sent


@pytest.mark.parametrize("id_", ["", "..", "a/b", "a?b=1", "é", "a b", "a\r\nx: y", "x" * 65])
def test_an_id_that_would_ask_for_something_else_is_not_sent(service: MisbehavingService, call: Both, id_: str) -> None:
    with pytest.raises(ValueError, match="id must be an id"):
        call("payments.get", id_)
    with pytest.raises(ValueError, match="id must be an id"):
        call("payments.wait_until_ended", id_)
    assert service.received == []


@pytest.mark.parametrize("key", ["a b", "é", "a\r\nx-other: y", "x" * 256])
def test_a_key_that_no_header_takes_is_not_sent(service: MisbehavingService, call: Both, key: str) -> None:
    with pytest.raises(ValueError, match="idempotency_key"):
        call("payments.refund", "txn_1", idempotency_key=key)
    assert service.received == []


def test_what_is_needed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALIPO_API_KEY", raising=False)
    monkeypatch.delenv("MALIPO_URL", raising=False)
    with pytest.raises(ValueError, match="MALIPO_API_KEY"):
        Malipo()
    for kind in (Malipo, AsyncMalipo):
        for missing in (None, "", "/"):
            with pytest.raises(ValueError, match=r"set MALIPO_URL, or give base_url"):
                kind("key", missing)
    for url in ("pay.example.com", "ftp://pay.example.com", "https://pay.example.com/?x=1", "https://u:p@x.example"):
        with pytest.raises(ValueError, match="base_url"):
            Malipo("key", url)
    with pytest.raises(ValueError, match="header"):
        Malipo("key\r\nx-other: y", "https://pay.example.com")
    monkeypatch.setenv("MALIPO_API_KEY", "mlp_live_secret")
    monkeypatch.setenv("MALIPO_URL", "https://pay.example.com/malipo/")
    assert repr(Malipo()) == "Malipo('https://pay.example.com/malipo')"


def test_filters_are_encoded_and_a_language_is_sent(service: MisbehavingService, connect: Callable[..., Both]) -> None:
    service.answers = [answer(200, {"transactions": [TRANSACTION]})]
    found = connect(language="sw")("payments.list", from_="2026-11-15T00:00:00+03:00", search="Asha & Juma")
    assert [each.id for each in found] == ["txn_1"]
    [received] = service.received
    assert "from=2026-11-15T00%3A00%3A00%2B03%3A00&search=Asha+%26+Juma&view=full&limit=100" in received.line
    assert received.headers["accept-language"] == "sw"


def test_every_page_of_a_list_is_read_once(service: MisbehavingService, call: Both) -> None:
    def listed(*numbers: int) -> bytes:
        return answer(200, {"transactions": [{**TRANSACTION, "id": f"txn_{number}"} for number in numbers]})

    service.answers = [listed(5, 4), listed(3, 2), listed(1)]
    assert [each.id for each in call("payments.list", page_size=2)] == [f"txn_{number}" for number in (5, 4, 3, 2, 1)]
    assert [each.line.partition("before=")[2] for each in service.received] == ["", "txn_4 HTTP/1.1", "txn_2 HTTP/1.1"]


def test_a_service_that_does_not_hold_its_answer_is_asked_once_a_second_at_most(
    service: MisbehavingService, call: Both
) -> None:
    ended = answer(200, {"transaction": {**TRANSACTION, "status": "COMPLETED"}})
    service.answers = [answer(), ended]
    assert call("payments.wait_until_ended", "txn_1").status == "COMPLETED"
    first, second = (each.at for each in service.received)
    assert second - first > 0.9


def test_an_entry_that_slides_to_the_next_page_is_shown_once(service: MisbehavingService, call: Both) -> None:
    def listed(*lines: int) -> bytes:
        return answer(200, {"entries": [{"line": line} for line in lines], "pagination": {"pages": 3}})

    service.answers = [listed(6, 5, 4), listed(5, 4, 3), listed(2, 1)]
    assert [each.line for each in call("wallet.entries")] == [6, 5, 4, 3, 2, 1]


def test_no_error_of_the_client_is_of_another_kind(service: MisbehavingService, connect: Callable[..., Both]) -> None:
    call = connect(retries=0)
    for strange in (
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nx" + b"x" * 200_000 + b": y\r\n\r\n",
        answer(200, []),
        answer(200, {"transaction": None}),
        answer(200, {}),
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe",
    ):
        service.answers = [strange]
        with pytest.raises(MalipoError):
            call("payments.get", "txn_1")
