"""ClickPesa's webhooks: signed by a checksum, read by their event, and harmless whatever stands in them."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from malipo.networks.connector import Callback as Heard
from malipo.networks.connector import Type, Verdict
from tests.networks.clickpesa.connector import Connect
from tests.networks.clickpesa.connector import offline as offline
from tests.networks.clickpesa_spec import CHECKSUM_KEY, COLLECTION, DISBURSEMENT, RECEIPT, STATUSES, body
from tests.networks.verdict_words import assert_fit_to_keep

RECEIVED = (
    '{"event":"PAYMENT RECEIVED","data":{"status":"SUCCESS","paymentReference":"HP2611150001","id":"LCP27DE15",'
    '"orderReference":"0K3ABCDEFGHJ1234","collectedAmount":"1500","collectedCurrency":"TZS","message":"Payment received",'
    '"customer":{"customerPhoneNumber":"255621000001","customerName":"Müller & Sons / \\"Juma\\"",'
    '"customerEmail":"a@b.tz"},"paymentPhoneNumber":"255621000001","channel":"HALOPESA","clientId":"IDabc"}'
)
# printf %s '{"data":{"channel":"HALOPESA","clientId":"IDabc","collectedAmount":"1500","collectedCurrency":"TZS",
#   "customer":{"customerEmail":"a@b.tz","customerName":"Müller & Sons / \"Juma\"","customerPhoneNumber":"255621000001"},
#   "id":"LCP27DE15","message":"Payment received","orderReference":"0K3ABCDEFGHJ1234","paymentPhoneNumber":"255621000001",
#   "paymentReference":"HP2611150001","status":"SUCCESS"},"event":"PAYMENT RECEIVED"}'   (on one line)
#   | openssl dgst -sha256 -hmac CHKclickpesa7f3a
RECEIVED_CHECKSUM = "2512c6797c3dc2af00cff2cbb82462c6609134201002615f04c93a555fe56fe3"
REVERSED = (
    '{"data":{"orderReference":"0K3ABCDEFGHJ5678","status":"REVERSED","id":"PO1","fee":1500,"currency":"TZS","amount":251500,'
    '"order":{"currency":"TZS","amount":250000},"beneficiary":{"amount":250000,"accountNumber":"255692345678",'
    '"accountName":"JUMA"}},"event":"PAYOUT REVERSED"'
)
# printf %s '{"data":{"amount":251500,"beneficiary":{"accountName":"JUMA","accountNumber":"255692345678","amount":250000},
#   "currency":"TZS","fee":1500,"id":"PO1","order":{"amount":250000,"currency":"TZS"},"orderReference":"0K3ABCDEFGHJ5678",
#   "status":"REVERSED"},"event":"PAYOUT REVERSED"}'   (on one line) | openssl dgst -sha256 -hmac CHKclickpesa7f3a
REVERSED_CHECKSUM = "0a27048becdf2313572bb794c118f0b6a1811264897c11127b01a07991175642"


def a_callback(text: str) -> Heard:
    return Heard({"content-type": "application/json"}, text.encode())


@pytest.mark.parametrize("method", ["", ',"checksumMethod":"canonical"'])
@pytest.mark.parametrize(
    ("said", "checksum", "key", "verdict", "amount", "phone"),
    [
        (RECEIVED, RECEIVED_CHECKSUM, COLLECTION.key, Verdict.CONFIRMED, 1500, "+255621000001"),
        (REVERSED, REVERSED_CHECKSUM, DISBURSEMENT.key, Verdict.REFUSED, 250000, "+255692345678"),
    ],
)
def test_a_webhook_with_the_right_checksum_is_signed(
    offline: Connect, said: str, checksum: str, key: str, verdict: Verdict, amount: int, phone: str, method: str
) -> None:
    connector = offline(clickpesa_checksum_key=CHECKSUM_KEY)
    report = connector.read(a_callback(f'{said},"checksum":"{checksum}"{method}}}'))
    assert report is not None
    assert report.is_signed
    assert (report.key, report.answer.verdict, report.answer.amount, report.answer.phone) == (
        key,
        verdict,
        amount,
        phone,
    )
    acknowledgement = connector.acknowledge(a_callback(said), report)
    assert acknowledgement.status == 200


@pytest.mark.parametrize(
    "text",
    [
        f'{RECEIVED},"checksum":"{REVERSED_CHECKSUM}"}}',
        f'{RECEIVED},"checksum":"{"0" * 64}"}}',
        f'{RECEIVED},"checksum":"{RECEIVED_CHECKSUM[:-1]}"}}',
        f'{RECEIVED},"checksum":"é"}}',
        f'{RECEIVED},"x":1,"checksum":"{RECEIVED_CHECKSUM}"}}',
        f'{RECEIVED.replace("1500", "1501")},"checksum":"{RECEIVED_CHECKSUM}"}}',
        f'{RECEIVED.replace("1234", "1235")},"checksum":"{RECEIVED_CHECKSUM}"}}',
        f'{RECEIVED.replace("a@b.tz", "b@b.tz")},"checksum":"{RECEIVED_CHECKSUM}"}}',
        f'{RECEIVED.replace("RECEIVED", "FAILED")},"checksum":"{RECEIVED_CHECKSUM}"}}',
    ],
)
def test_a_webhook_with_a_wrong_checksum_is_not_read(offline: Connect, text: str) -> None:
    for form in ("canonical", "concatenated"):
        connector = offline(clickpesa_checksum_key=CHECKSUM_KEY, clickpesa_checksum=form)
        assert connector.read(a_callback(text)) is None
        assert connector.acknowledge(a_callback(text), None).status in range(400, 500)


@pytest.mark.parametrize("checksum", ["1", "true", "[]", "{}", f'["{RECEIVED_CHECKSUM}"]'])
def test_a_checksum_that_is_not_text_signs_nothing(offline: Connect, checksum: str) -> None:
    report = offline(clickpesa_checksum_key=CHECKSUM_KEY).read(a_callback(f'{RECEIVED},"checksum":{checksum}}}'))
    assert report is None or not report.is_signed


# printf %s 'PAYMENT RECEIVED' | openssl dgst -sha256 -hmac CHKclickpesa7f3a
EVENT_CHECKSUM = "24298c950429370c847cd29ece6124090679123efca88bde26dc74d42336a37e"


def test_a_checksum_of_the_event_alone_does_not_sign_the_payment(offline: Connect) -> None:
    """In the older form the values are joined: those inside of `data` are what it is about."""
    connector = offline(clickpesa_checksum_key=CHECKSUM_KEY, clickpesa_checksum="concatenated")
    for said in (RECEIVED, RECEIVED.replace("1234", "9999")):
        report = connector.read(a_callback(f'{said},"checksum":"{EVENT_CHECKSUM}"}}'))
        assert report is None or not report.is_signed


def test_a_webhook_without_a_checksum_or_a_key_to_check_it_is_a_hint(offline: Connect) -> None:
    for connector, text in (
        (offline(), f"{RECEIVED}}}"),
        (offline(clickpesa_checksum_key=CHECKSUM_KEY), f"{RECEIVED}}}"),
        (offline(), f'{RECEIVED},"checksum":"{RECEIVED_CHECKSUM}"}}'),
        (offline(), f'{RECEIVED},"checksum":"nonsense"}}'),
    ):
        report = connector.read(a_callback(text))
        assert report is not None
        assert (report.key, report.is_signed, report.answer.verdict) == (COLLECTION.key, False, Verdict.CONFIRMED)
        assert report.answer.provider_reference == RECEIPT


DONE_WORDS, FAILED_WORDS = ("SUCCESS", "SETTLED"), ("FAILED", "REFUNDED", "REVERSED")
NOTHING = ("", None)


@pytest.mark.parametrize("status", [status for status, _ in STATUSES])
@pytest.mark.parametrize(
    ("event", "verdict", "unless"),
    [
        ("PAYMENT RECEIVED", Verdict.CONFIRMED, (*DONE_WORDS, *NOTHING)),
        ("PAYMENT FAILED", Verdict.REFUSED, (*FAILED_WORDS, *NOTHING)),
        ("PAYOUT INITIATED", Verdict.WAITING, None),
        ("PAYOUT REVERSED", Verdict.REFUSED, None),
        ("PAYOUT REFUNDED", Verdict.REFUSED, None),
        ("DEPOSIT RECEIVED", Verdict.UNKNOWN, None),
        ("PAYOUT COMPLETED", Verdict.UNKNOWN, None),
        ("", Verdict.UNKNOWN, None),
    ],
)
def test_a_webhook_is_read_by_its_event_and_never_by_the_status_beside_it(
    offline: Connect, event: str, verdict: Verdict, unless: tuple[str, ...] | None, status: str
) -> None:
    """The vendor's own sample of a payout that was begun says SUCCESS. Where the two disagree, a question is asked."""
    said = json.dumps({"event": event, "data": body(Type.COLLECTION, status=status)})
    report = offline().read(a_callback(said))
    assert report is not None
    expected = verdict if unless is None or status in unless else Verdict.UNKNOWN
    assert (report.key, report.answer.verdict) == (COLLECTION.key, expected)
    assert (report.answer.failure_code is not None) == (expected is Verdict.REFUSED)
    assert report.answer.lacks_amount == (expected is Verdict.CONFIRMED)


def test_a_payment_received_without_a_status_is_received(offline: Connect) -> None:
    for status in ({}, {"status": None}, {"status": ""}):
        data_ = body(Type.COLLECTION, collectedAmount="1500") | status
        report = offline().read(a_callback(json.dumps({"event": "PAYMENT RECEIVED", "data": data_})))
        assert report is not None
        assert (report.answer.verdict, report.answer.amount, report.answer.lacks_amount) == (
            Verdict.CONFIRMED,
            1500,
            False,
        )
    for strange in ("[]", "{}", "7", "true", '["SUCCESS"]'):
        data_ = body(Type.COLLECTION, collectedAmount="1500", status=json.loads(strange))
        report = offline().read(a_callback(json.dumps({"event": "PAYMENT RECEIVED", "data": data_})))
        assert report is not None
        assert report.answer.verdict is Verdict.UNKNOWN


def test_an_event_about_data_of_the_other_type_says_nothing(offline: Connect) -> None:
    payout = {"beneficiary": {"accountNumber": "255692345678"}, "order": {"amount": 250000}}
    for event, status, more in (
        ("PAYMENT RECEIVED", "SUCCESS", payout),
        ("PAYMENT FAILED", "FAILED", payout),
        ("PAYOUT REVERSED", "REVERSED", {"collectedAmount": "1500"}),
        ("PAYOUT INITIATED", "SUCCESS", {"collectedAmount": "1500"}),
    ):
        data_ = body(Type.COLLECTION, status=status) | more
        report = offline().read(a_callback(json.dumps({"event": event, "data": data_})))
        assert report is not None
        assert report.answer.verdict is Verdict.UNKNOWN


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["SUCCESS", "FAILED", "PAYMENT RECEIVED", COLLECTION.key, RECEIVED_CHECKSUM]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
data = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("orderReference", "status", "collectedAmount", "order", "beneficiary", "paymentPhoneNumber", "id", "checksum"),
        values,
    ),
)


@hypothesis_settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.fixed_dictionaries({}, optional={"event": values, "data": data | values, "checksum": values}),
    raw=st.binary(max_size=99),
    form=st.sampled_from(["canonical", "concatenated"]),
)
def test_no_webhook_brings_it_down(offline: Connect, said: dict[str, object], raw: bytes, form: str) -> None:
    connector = offline(clickpesa_checksum_key=CHECKSUM_KEY, clickpesa_checksum=form)
    for content in (json.dumps(said).encode(), raw):
        report = connector.read(Heard({}, content))
        connector.acknowledge(Heard({}, content), report)
        if report is not None:
            assert not report.is_signed
            assert_fit_to_keep(report.answer)
            inside = said["data"]
            assert isinstance(inside, dict)
            if report.answer.verdict is Verdict.CONFIRMED:
                assert str(said["event"]).strip().upper() == "PAYMENT RECEIVED"
                assert inside.get("status") in (*DONE_WORDS, *NOTHING)
