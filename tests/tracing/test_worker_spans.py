"""Spans of a worker: it knows the payment's id, and nothing else of who created it."""

from contextvars import copy_context

import pytest

from malipo import tracing
from malipo.tracing.payment_trace import ids_of
from tests.tracing.collected_spans import collected_spans


def _call() -> None:
    assert tracing.active is not None
    tracing.active.begin_call("txn_1", connector="mpesa", channel="MPESA", type_="COLLECTION", act="send")
    tracing.active.end_call(verdict="waiting", code="INS-0", is_fault=False)
    tracing.active.end()


@pytest.mark.parametrize(("ratio", "kept"), [(1.0, 1), (0.0, 0)])
def test_a_worker_keeps_the_calls_of_the_payments_that_the_api_keeps(ratio: float, kept: int) -> None:
    with collected_spans(ratio) as spans:
        copy_context().run(_call)
    assert len(spans("send mpesa")) == kept
    assert all(
        each.parent is not None and (each.parent.trace_id, each.parent.span_id) == ids_of("txn_1") for each in spans()
    )
