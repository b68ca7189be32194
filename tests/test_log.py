import io
import json
import logging
from collections.abc import Iterator
from contextvars import copy_context

import pytest

from malipo import log


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    before = log._Output.stream, log._Output.threshold
    handlers, level = logging.root.handlers[:], logging.root.level
    log.configure(level="info", stream=stream)
    yield stream
    log._Output.stream, log._Output.threshold = before
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def test_a_line_is_json_with_time_level_event_and_fields(lines: io.StringIO) -> None:
    log.info("payment.settled", transaction="txn_1", amount=1000)
    line = json.loads(lines.getvalue())
    assert (line["level"], line["event"], line["transaction"], line["amount"]) == (
        "info",
        "payment.settled",
        "txn_1",
        1000,
    )
    assert line["at"].endswith("Z")


def test_a_phone_number_is_masked_wherever_it_stands(lines: io.StringIO) -> None:
    try:
        raise ValueError("invalid input: '+255754123456'")
    except ValueError as error:
        log.error("request.broke", error, phone="+255754123456", nested={"to": ["255754123456"]})
    logging.getLogger("library").error("sent to %s", "+255754123456")
    assert "754123456" not in lines.getvalue()
    assert lines.getvalue().count("\n") == 2
    assert "+2557*****456" in lines.getvalue()


def test_what_is_below_the_level_is_not_written(lines: io.StringIO) -> None:
    log.debug("database.away")
    assert lines.getvalue() == ""


def test_a_line_carries_the_request_it_belongs_to(lines: io.StringIO) -> None:
    def one_request() -> None:
        log.bind(request="req_1")
        log.add(transaction="txn_1")
        log.info("payment.created")

    copy_context().run(one_request)
    log.info("worker.started")
    first, second = map(json.loads, lines.getvalue().splitlines())
    assert (first["request"], first["transaction"]) == ("req_1", "txn_1")
    assert "request" not in second
