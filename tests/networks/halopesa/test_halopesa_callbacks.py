"""HaloPesa's unsigned callbacks: read by their code, and acknowledged."""

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from malipo.networks.connector import Callback as Heard
from malipo.networks.connector import CallbackReport, Verdict
from tests.networks.halopesa.connector import Connect
from tests.networks.halopesa.connector import offline as offline
from tests.networks.halopesa_spec import CODES, RECEIPT, enveloped, fields
from tests.networks.verdict_words import SUCCESS, UNKNOWN, Outcome, assert_fit_to_keep

SHAPES: dict[str, Callable[[str], str]] = {
    "bare": lambda inside: f"<return>{inside}</return>",
    "bare, with a declaration": lambda inside: (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<response>{inside}</response>\n'
    ),
    "enveloped": enveloped,
    "enveloped, with other prefixes": lambda inside: enveloped(inside, soap="S", own="ns2"),
    "enveloped, with another name for the reference": lambda inside: enveloped(
        inside.replace("referenceid", "ReferenceID")
    ),
    "in capitals": lambda inside: re.sub("</?[a-z_]+>", lambda tag: tag[0].upper(), f"<return>{inside}</return>"),
}
EACH_SHAPE = pytest.mark.parametrize("shape", SHAPES)


def a_callback(body: str) -> Heard:
    return Heard({"content-type": "text/xml"}, body.encode())


def report_of(halopesa: Connect, body: str) -> CallbackReport:
    report = halopesa().read(a_callback(body))
    assert report is not None
    assert not report.is_signed
    assert report.key == "0K3ABCDEFGHJ1234"
    assert_fit_to_keep(report.answer)
    return report


@pytest.mark.parametrize(("code", "_first", "outcome"), [row for row in CODES if row[0].strip()])
def test_the_last_word_is_read_by_its_code(offline: Connect, code: str, _first: Outcome, outcome: Outcome) -> None:
    for shape in SHAPES.values():
        report = report_of(offline, shape(fields(code, response_type="FIN", addition_data=RECEIPT)))
        outcome.check(report.answer)
        if outcome is SUCCESS:
            assert report.answer.provider_reference == RECEIPT


@pytest.mark.parametrize("kind", ["", "RES", "INT", "ACK", "FINAL", "NOTFIN", "F"])
def test_a_word_that_is_not_the_last_decides_nothing(offline: Connect, kind: str) -> None:
    for shape in SHAPES.values():
        for code in ("0", "9009", "9003"):
            assert report_of(offline, shape(fields(code, response_type=kind))).answer.verdict is Verdict.WAITING
        assert report_of(offline, shape(fields("9013", response_type=kind))).answer.verdict is Verdict.UNKNOWN


def test_a_callback_without_a_kind_or_a_code_decides_nothing(offline: Connect) -> None:
    for inside in (
        "<response_code>0</response_code><referenceid>0K3ABCDEFGHJ1234</referenceid>",
        "<response_type>FIN</response_type><referenceid>0K3ABCDEFGHJ1234</referenceid>",
        fields("", response_type="FIN"),
        fields("  ", response_type="FIN"),
        fields("", response_type=""),
    ):
        report = offline().read(a_callback(f"<return>{inside}</return>"))
        assert report is None or not report.answer.verdict.is_definite


@pytest.mark.parametrize("code", ["00", "000", "OK", "SUCCESS", "0.0", "null", "09009", "9009x"])
def test_a_last_word_that_nobody_has_listed_decides_nothing(offline: Connect, code: str) -> None:
    """There is no query that could correct it."""
    UNKNOWN.check(report_of(offline, SHAPES["bare"](fields(code, response_type="FIN"))).answer)


def test_a_success_without_a_receipt_is_one(offline: Connect) -> None:
    report = report_of(offline, SHAPES["bare"](fields("0", response_type="FIN")))
    SUCCESS.check(report.answer)
    assert report.answer.provider_reference is None


@pytest.mark.parametrize("reference", ["", " ", "a b", "../x", "0K3ABCDEFGHJ1234'--", "A" * 10_000, "\u0660"])
def test_a_reference_that_cannot_be_ours_is_nobodys(offline: Connect, reference: str) -> None:
    connector = offline()
    for shape in SHAPES.values():
        assert connector.read(a_callback(shape(fields("0", response_type="FIN", referenceid=reference)))) is None


@pytest.mark.parametrize(
    "body",
    [
        f"<return>{fields('0', response_type='FIN')}<response_code>9009</response_code></return>",
        f"<return>{fields('9009', response_type='FIN')}<Response_Code>0</Response_Code></return>",
        f"<return>{fields('0', response_type='FIN')}<referenceid>0K3ABCDEFGHJ9999</referenceid></return>",
        f"<!DOCTYPE return><return>{fields('0', response_type='FIN')}</return>",
        f'<!DOCTYPE r [<!ENTITY k "0K3ABCDEFGHJ1234">]><r>{fields("0", response_type="FIN", referenceid="&k;")}</r>',
        f'<!DOCTYPE r SYSTEM "http://127.0.0.1:9/x.dtd"><r>{fields("0", response_type="FIN")}</r>',
        f"<return>{fields('0', response_type='FIN')}",
    ],
)
def test_a_callback_that_plays_tricks_is_not_read(offline: Connect, body: str) -> None:
    assert offline().read(a_callback(body)) is None


def acknowledged(body: bytes) -> dict[str, str]:
    """By local name; it must be XML."""
    root = ElementTree.fromstring(body)  # noqa: S314 - our own words
    return {each.tag.rpartition("}")[2]: each.text or "" for each in root.iter() if len(each) == 0}


@EACH_SHAPE
def test_a_callback_is_acknowledged(offline: Connect, shape: str) -> None:
    connector = offline()
    for code, kind in (("0", "FIN"), ("9009", "FIN"), ("0", "RES")):
        callback = a_callback(SHAPES[shape](fields(code, response_type=kind)))
        acknowledgement = connector.acknowledge(callback, connector.read(callback))
        assert acknowledgement.status == 200
        assert "xml" in acknowledgement.media_type
        said = acknowledged(acknowledgement.body)
        assert {"responseType", "response_code", "message", "ReferenceID", "ResponseTime"} <= set(said)
        assert (said["response_code"], said["ReferenceID"]) == ("0", "0K3ABCDEFGHJ1234")
        assert said["message"]
        assert said["responseType"]
        assert said["ResponseTime"]


words = st.sampled_from(["0", "9009", "9004", "FIN", "RES", "0K3ABCDEFGHJ1234", "", "&amp;", "&lt;", "&#0;", "<a/>"])
bodies = st.dictionaries(
    st.sampled_from(["response_code", "response_type", "referenceid", "ReferenceID", "addition_data", "message", "x"]),
    words | st.text(max_size=20),
).map(lambda said: "".join(f"<{name}>{text}</{name}>" for name, text in said.items()))


@hypothesis_settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.one_of(
        st.binary(max_size=200),
        bodies.map(lambda inside: f"<r>{inside}</r>".encode("utf-8", "surrogatepass")),
        bodies.map(lambda inside: enveloped(inside).encode("utf-8", "surrogatepass")),
    )
)
def test_no_callback_brings_it_down(offline: Connect, body: bytes) -> None:
    connector = offline()
    callback = Heard({}, body)
    report = connector.read(callback)
    acknowledgement = connector.acknowledge(callback, report)
    acknowledged(acknowledgement.body)
    if report is not None:
        assert not report.is_signed
        assert_fit_to_keep(report.answer)
        if report.answer.verdict is Verdict.CONFIRMED:
            assert re.search(rb"<response_code>\s*0\s*</response_code>", body)
            assert b"<response_type>FIN" in body
