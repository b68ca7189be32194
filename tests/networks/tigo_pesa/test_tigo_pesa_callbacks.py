"""Tigo Pesa's unsigned callbacks: their meaning, and how they are acknowledged."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from malipo.networks.connector import Callback as Heard
from malipo.networks.connector import CallbackReport, Verdict
from tests.networks.tigo_pesa.connector import Connect, is_nobodys
from tests.networks.tigo_pesa.connector import offline as offline
from tests.networks.tigo_pesa_spec import CALLED_BACK as PAID
from tests.networks.tigo_pesa_spec import RECEIPT
from tests.networks.verdict_words import DECLINED, EXPIRED, INSUFFICIENT, REJECTED, SUCCESS, Outcome, assert_fit_to_keep


def a_callback(said: object) -> Heard:
    return Heard({"content-type": "application/json"}, json.dumps(said).encode())


def report_of(tigo: Connect, **changes: object) -> CallbackReport:
    report = tigo().read(a_callback(PAID | changes))
    assert report is not None
    assert not report.is_signed
    assert_fit_to_keep(report.answer)
    return report


@pytest.mark.parametrize("status", [True, "true", "True", "TRUE"])
def test_a_success_is_received(offline: Connect, status: object) -> None:
    report = report_of(offline, Status=status)
    SUCCESS.check(report.answer)
    assert (report.key, report.answer.provider_reference, report.answer.amount) == ("0K3ABCDEFGHJ1234", RECEIPT, 1500)


@pytest.mark.parametrize("status", [False, "false", "False", "FALSE"])
@pytest.mark.parametrize(
    ("description", "outcome"),
    [
        ("Insufficient balance", INSUFFICIENT),
        ("Customer has insufficient funds", INSUFFICIENT),
        ("Request expired", EXPIRED),
        ("Transaction timeout", EXPIRED),
        ("Customer declined the request", DECLINED),
        ("Cancelled by user", DECLINED),
        ("Something else", REJECTED),
        ("", REJECTED),
        (None, REJECTED),
        (["declined"], REJECTED),
    ],
)
def test_a_failure_is_received_with_its_reason(
    offline: Connect, status: object, description: object, outcome: Outcome
) -> None:
    report = report_of(offline, Status=status, Description=description, MFSTransactionID=None)
    outcome.check(report.answer)
    assert report.key == "0K3ABCDEFGHJ1234"


@pytest.mark.parametrize("status", [None, "", 1, 0, "yes", "1", "truely", "not true", [], {}, [True], "success"])
def test_a_status_that_is_neither_decides_nothing(offline: Connect, status: object) -> None:
    report = offline().read(a_callback(PAID | {"Status": status}))
    assert report is None or not report.answer.verdict.is_definite


def test_a_callback_without_a_status_decides_nothing(offline: Connect) -> None:
    report = offline().read(a_callback({name: value for name, value in PAID.items() if name != "Status"}))
    assert report is None or not report.answer.verdict.is_definite


@pytest.mark.parametrize(
    ("said", "amount"), [("1500", 1500), (1500, 1500), ("1500.00", 1500), (1500.0, 1500), ("7", 7)]
)
def test_a_callback_has_the_amount(offline: Connect, said: object, amount: int) -> None:
    assert report_of(offline, Amount=said).answer.amount == amount


@pytest.mark.parametrize("said", ["abc", "1500.50", "-1500", "1e9", "1 500", "0x5dc", "1500TZS", 0.5, "9" * 400])
def test_an_amount_that_is_none_is_nobodys(offline: Connect, said: object) -> None:
    assert is_nobodys(report_of(offline, Amount=said).answer.amount)


@pytest.mark.parametrize("said", ["", "  ", None, True, [], {}, ["1500"], {"a": 1500}])
def test_a_success_without_an_amount_matches_none(offline: Connect, said: object) -> None:
    """Nothing else vouches for it where there is no question to put."""
    for status in (True, False):
        answer = report_of(offline, Amount=said, Status=status).answer
        assert (answer.amount, answer.lacks_amount) == (None, True)
    assert not report_of(offline).answer.lacks_amount


@pytest.mark.parametrize(
    "reference",
    [
        "0K3ABCDEFGHJ1234",
        "XYZ0K3ABCDEFGHJ1234",
        "MLP",
        "",
        None,
        7,
        True,
        [],
        {},
        ["MLP0K3ABCDEFGHJ1234"],
        "MLP0K3ABCDEFGHJ1234'--",
        "MLP../../x",
        "MLP" + "A" * 10_000,
        "MLP\x00",
        "MLP\u0660\u0661",
    ],
)
def test_a_reference_that_is_not_ours_is_nobodys(offline: Connect, reference: object) -> None:
    connector = offline()
    callback = a_callback(PAID | {"ReferenceID": reference})
    assert connector.read(callback) is None
    assert connector.acknowledge(callback, None).status == 400


def test_without_a_biller_code_the_reference_is_the_key(offline: Connect) -> None:
    report = offline(tigo_pesa_biller_code="").read(a_callback(PAID | {"ReferenceID": "0K3ABCDEFGHJ1234"}))
    assert report is not None
    assert report.key == "0K3ABCDEFGHJ1234"


@pytest.mark.parametrize("receipt", ["", None, [], {}, 0])
def test_a_receipt_is_text_or_there_is_none(offline: Connect, receipt: object) -> None:
    assert report_of(offline, MFSTransactionID=receipt).answer.provider_reference is None


@pytest.mark.parametrize("code", ["BILLER-30-0000-S", "BILLER-18-0000-S"])
def test_a_callback_is_acknowledged(offline: Connect, code: str) -> None:
    connector = offline(tigo_pesa_acknowledgement=code)
    for status in (True, False):
        callback = a_callback(PAID | {"Status": status})
        acknowledgement = connector.acknowledge(callback, connector.read(callback))
        assert (acknowledgement.status, acknowledgement.media_type) == (200, "application/json")
        assert json.loads(acknowledgement.body) == {
            "ResponseCode": code,
            "ResponseStatus": True,
            "ResponseDescription": "Callback successful",
            "ReferenceID": "MLP0K3ABCDEFGHJ1234",
        }


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["true", "MLP0K3"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@hypothesis_settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.fixed_dictionaries({}, optional=dict.fromkeys(PAID, values)),
    raw=st.binary(max_size=99),
    is_ours=st.booleans(),
)
def test_no_callback_brings_it_down(offline: Connect, said: dict[str, object], raw: bytes, is_ours: bool) -> None:
    connector = offline()
    for body in (json.dumps(said | ({"ReferenceID": "MLP0K3ABCDEFGHJ1234"} if is_ours else {})).encode(), raw):
        callback = Heard({}, body)
        report = connector.read(callback)
        acknowledgement = connector.acknowledge(callback, report)
        json.loads(acknowledgement.body)
        assert acknowledgement.status == (400 if report is None else 200)
        if report is not None:
            assert_fit_to_keep(report.answer)
            assert not report.is_signed
            is_true = said.get("Status") is True or str(said.get("Status")).strip().lower() == "true"
            assert report.answer.verdict is not Verdict.CONFIRMED or is_true
