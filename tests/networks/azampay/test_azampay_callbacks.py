"""AzamPay's callbacks: never signed, so only hints; read in both of their forms, and harmless whatever stands in them."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from malipo.networks.connector import Callback as Heard
from malipo.networks.connector import Verdict
from tests.networks.azampay.connector import Connect
from tests.networks.azampay.connector import offline as offline
from tests.networks.azampay_spec import (
    CALLED_BACK,
    CALLED_BACK_AS_COLLECTION,
    DISBURSEMENT,
    NETWORK_ID,
    RECEIPT,
    STATUSES,
)
from tests.networks.verdict_words import assert_fit_to_keep

FORMS = {"status": CALLED_BACK, "transactionstatus": CALLED_BACK_AS_COLLECTION}
EACH = pytest.mark.parametrize("word", FORMS)


def a_callback(body: str | bytes) -> Heard:
    return Heard({"content-type": "application/json"}, body if isinstance(body, bytes) else body.encode())


@EACH
def test_a_callback_says_what_became_of_a_payout_and_is_not_signed(offline: Connect, word: str) -> None:
    connector = offline()
    report = connector.read(a_callback(FORMS[word]))
    assert report is not None
    assert (report.key, report.is_signed) == (DISBURSEMENT.key, False)
    answer = report.answer
    assert (answer.verdict, answer.amount, answer.provider_reference) == (Verdict.CONFIRMED, 250000, RECEIPT)
    assert not answer.lacks_amount
    # It may name another payout's, so that it is shown, and never asked for.
    assert answer.network_id is None
    assert NETWORK_ID in answer.detail
    acknowledged = connector.acknowledge(a_callback(FORMS[word]), report)
    assert (acknowledged.status, json.loads(acknowledged.body)) == (200, {"success": True})


@EACH
@pytest.mark.parametrize(("status", "verdict"), STATUSES)
def test_it_is_read_by_its_status(offline: Connect, word: str, status: str, verdict: Verdict) -> None:
    report = offline().read(a_callback(json.dumps(json.loads(FORMS[word]) | {word: status})))
    assert report is not None
    assert report.answer.verdict is verdict


@EACH
def test_a_success_without_an_amount_lacks_it(offline: Connect, word: str) -> None:
    said = json.loads(FORMS[word])
    del said["amount"]
    report = offline().read(a_callback(json.dumps(said)))
    assert report is not None
    assert report.answer.lacks_amount


VALUES: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.just(["x"]) | st.just({})
)


@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(st.sampled_from(sorted(json.loads(CALLED_BACK))), VALUES))
def test_no_field_brings_it_down(offline: Connect, changes: dict[str, object]) -> None:
    report = offline().read(a_callback(json.dumps(json.loads(CALLED_BACK) | changes)))
    if report is not None:
        assert_fit_to_keep(report.answer)
        assert not report.is_signed
