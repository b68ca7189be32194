"""Airtel Money's callbacks, and how far each is trusted."""

from collections.abc import Callable

import pytest

from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.connector import Callback, CallbackReport, FailureCode, Verdict
from tests.networks.airtel_money_spec import CALLED_BACK as PLAIN
from tests.networks.airtel_money_spec import COLLECTION, RECEIPT

Connect = Callable[..., AirtelMoney]


PRIVATE_KEY = "a1Rtel-callback-private-key"
# printf %s '{"transaction":'"$PLAIN"'}' | openssl dgst -sha256 -hmac a1Rtel-callback-private-key -binary | base64
PLAIN_WRAPPED_HASH = "9Yn97MIUm7D7x0FLkVWZHpTbSF1zlfa8l3FAKM1v3uw="
# printf %s "$PLAIN" | openssl dgst -sha256 -hmac a1Rtel-callback-private-key -binary | base64
PLAIN_OBJECT_HASH = "XJ4Z2B1IBp/F2DcVVqZOv2SHJRtxIgT3KJkoavQrU9I="
# Blanks, escapes and a number that no program would write again in the same way.
ODD = (
    rb'{ "airtel_money_id" : "MP210603.1234.L06941","status_code": "TS",  "message":"Caf\u00e9 \/ Duka" , '
    rb'"id":"0K3ABCDEFGHJ1234", "fee": 1.50 }'
)
ODD_WRAPPED_HASH = "Xg5pll14+nYR7mlWlZYC8wcxBZJTxM6+poKKJru4sm8="
ODD_OBJECT_HASH = "ArDVbfm7kpv7QRhIBg2p4t9GomBsU4m22TVYjRlkrDw="
FAILED = (
    b'{"id":"0K3ABCDEFGHJ1234","message":"Insufficient balance","status_code":"TF",'
    b'"airtel_money_id":"MP210603.1234.L06942"}'
)
FAILED_WRAPPED_HASH = "QTz9N5Ruz1At+59fukAPxOBW7OjbP6ITAVPbesPFM3c="


def callback(body: bytes, **headers: str) -> Callback:
    return Callback({"content-type": "application/json"} | headers, body)


def signed(transaction: bytes, hash_: str) -> bytes:
    return b'{"transaction":' + transaction + b',"hash":"' + hash_.encode() + b'"}'


@pytest.mark.parametrize(
    ("transaction", "hash_", "accepted_by"),
    [
        (PLAIN, PLAIN_WRAPPED_HASH, {"either", "wrapped"}),
        (PLAIN, PLAIN_OBJECT_HASH, {"either", "object"}),
        (ODD, ODD_WRAPPED_HASH, {"either", "wrapped"}),
        (ODD, ODD_OBJECT_HASH, {"either", "object"}),
        (PLAIN, ODD_WRAPPED_HASH, set()),
        (PLAIN, FAILED_WRAPPED_HASH, set()),
        (FAILED, PLAIN_WRAPPED_HASH, set()),
        (PLAIN, PLAIN_WRAPPED_HASH.lower(), set()),
        (PLAIN, PLAIN_WRAPPED_HASH[:-1], set()),
        (PLAIN, PLAIN_WRAPPED_HASH[:20], set()),
        (PLAIN, "A" * 43 + "=", set()),
        (PLAIN, "not base64 at all", set()),
        (PLAIN, "\u00e9\u00e9\u00e9\u00e9", set()),
    ],
)
@pytest.mark.parametrize("form", ["either", "wrapped", "object"])
async def test_a_hash_is_checked_over_the_bytes_as_they_came(
    airtel: Connect, transaction: bytes, hash_: str, accepted_by: set[str], form: str
) -> None:
    connector = airtel(airtel_money_callback_key=PRIVATE_KEY, airtel_money_callback_hash=form)
    in_body = callback(signed(transaction, hash_))
    in_header = callback(b'{"transaction":' + transaction + b"}", hash=hash_)
    for request in (in_body, in_header):
        report = connector.read(request)
        acknowledgement = connector.acknowledge(request, report)
        if form in accepted_by:
            assert report is not None
            assert (report.key, report.is_signed, report.answer.verdict) == (
                "0K3ABCDEFGHJ1234",
                True,
                Verdict.CONFIRMED,
            )
            assert report.answer.provider_reference == RECEIPT
            assert 200 <= acknowledgement.status < 300
        else:
            assert report is None
            assert 400 <= acknowledgement.status < 500


@pytest.mark.parametrize(
    "body",
    [
        b'{"transaction" :\r\n ' + PLAIN + b' , "hash" : "' + PLAIN_WRAPPED_HASH.encode() + b'"}',
        b'{"hash":"' + PLAIN_WRAPPED_HASH.encode() + b'","transaction":' + PLAIN + b"}",
        b'\n {"hash":"' + PLAIN_OBJECT_HASH.replace("/", "\\/").encode() + b'","transaction":' + PLAIN + b"}\n",
    ],
)
async def test_a_hash_does_not_depend_on_what_stands_around_the_transaction(airtel: Connect, body: bytes) -> None:
    report = airtel(airtel_money_callback_key=PRIVATE_KEY).read(callback(body))
    assert report is not None
    assert report.is_signed


FORGED = b'{"id":"0K3ABCDEFGHJ9999","message":"Paid","status_code":"TS","airtel_money_id":"MP000000.0000.L00000"}'
HASH = b'"hash":"' + PLAIN_WRAPPED_HASH.encode() + b'"'


@pytest.mark.parametrize(
    "body",
    [
        b'{"transaction":' + FORGED + b',"transaction":' + PLAIN + b"," + HASH + b"}",
        b'{"transaction":' + PLAIN + b',"transaction":' + FORGED + b"," + HASH + b"}",
        b'{"transaction":' + PLAIN + b"," + HASH + b',"transaction":' + FORGED + b"}",
        b'{"transaction":' + PLAIN + b"," + HASH + b',"payload":{"transaction":' + FORGED + b"}}",
        b'{"payload":{"transaction":' + FORGED + b'},"transaction":' + PLAIN + b"," + HASH + b"}",
        b'{"transaction":' + FORGED + b',"payload":{"transaction":' + PLAIN + b"," + HASH + b"}}",
        b'{"payload":{"transaction":' + PLAIN + b"," + HASH + b'},"transaction":' + FORGED + b"}",
        b'{"payload":{"transaction":' + PLAIN + b',"transaction":' + FORGED + b"," + HASH + b"}}",
        b'{"x":{"transaction":' + PLAIN + b'},"transaction":' + FORGED + b"," + HASH + b"}",
        b'{"message":"\\"transaction\\":' + b'","transaction":' + FORGED + b"," + HASH + b"}",
    ],
)
async def test_a_hash_vouches_for_nothing_but_the_transaction_it_covers(airtel: Connect, body: bytes) -> None:
    report = airtel(airtel_money_callback_key=PRIVATE_KEY).read(callback(body))
    assert (
        report is None
        or not report.is_signed
        or (report.key, report.answer.provider_reference) == (COLLECTION.key, RECEIPT)
    )


async def test_a_wrong_hash_is_not_saved_by_another_in_the_header(airtel: Connect) -> None:
    connector = airtel(airtel_money_callback_key=PRIVATE_KEY)
    report = connector.read(callback(signed(FORGED, PLAIN_WRAPPED_HASH), hash=PLAIN_WRAPPED_HASH))
    assert report is None


@pytest.mark.parametrize(
    ("hash_", "is_read"),
    [(b"null", True), (b'""', True), (b"7", False), (b"true", False), (b"[]", False), (b"{}", False)],
)
async def test_a_hash_that_is_no_text_vouches_for_nothing(airtel: Connect, hash_: bytes, is_read: bool) -> None:
    """Without one it is a hint; anything else in its place is no callback."""
    body = b'{"transaction":' + PLAIN + b',"hash":' + hash_ + b"}"
    report = airtel(airtel_money_callback_key=PRIVATE_KEY).read(callback(body))
    assert (report is not None) == is_read
    assert report is None or not report.is_signed


async def test_without_a_hash_it_is_only_a_hint(airtel: Connect) -> None:
    connector = airtel(airtel_money_callback_key=PRIVATE_KEY)
    report = connector.read(callback(b'{"transaction":' + PLAIN + b"}"))
    assert report is not None
    assert (report.key, report.is_signed, report.answer.verdict) == (COLLECTION.key, False, Verdict.CONFIRMED)
    assert report.answer.provider_reference == RECEIPT
    assert 200 <= connector.acknowledge(callback(b'{"transaction":' + PLAIN + b"}"), report).status < 300


@pytest.mark.parametrize("hash_", [PLAIN_WRAPPED_HASH, "wrong"])
async def test_without_a_key_to_check_it_a_hash_makes_no_difference(airtel: Connect, hash_: str) -> None:
    report = airtel().read(callback(signed(PLAIN, hash_)))
    assert report is not None
    assert (report.key, report.is_signed, report.answer.verdict) == (COLLECTION.key, False, Verdict.CONFIRMED)


def wrapped(transaction: bytes, *more: bytes) -> bytes:
    return b'{"country":"TZ","mno":"AIRTEL","payload":{"transaction":' + b",".join([transaction, *more]) + b"}}"


async def test_a_callback_may_come_in_an_envelope(airtel: Connect) -> None:
    report = airtel(airtel_money_callback_key=PRIVATE_KEY).read(callback(wrapped(PLAIN)))
    assert report is not None
    assert (report.key, report.is_signed, report.answer.verdict) == (COLLECTION.key, False, Verdict.CONFIRMED)


async def test_an_envelope_may_be_signed(airtel: Connect) -> None:
    connector = airtel(airtel_money_callback_key=PRIVATE_KEY)
    outside = wrapped(PLAIN)[:-1] + b"," + HASH + b"}"
    for report in (
        connector.read(callback(wrapped(PLAIN), hash=PLAIN_WRAPPED_HASH)),
        connector.read(callback(outside)),
    ):
        assert report is not None
        assert (report.key, report.is_signed) == (COLLECTION.key, True)
    assert connector.read(callback(wrapped(FAILED), hash=PLAIN_WRAPPED_HASH)) is None


@pytest.mark.parametrize(
    ("letters", "verdict"),
    [
        ("TS", Verdict.CONFIRMED),
        ("TS ", Verdict.CONFIRMED),
        ("TF", Verdict.REFUSED),
        ("TE", Verdict.REFUSED),
        ("TIP", Verdict.WAITING),
        ("TA", Verdict.UNKNOWN),
    ],
)
async def test_a_callback_is_read_by_its_letters(airtel: Connect, letters: str, verdict: Verdict) -> None:
    report = airtel().read(callback(b'{"transaction":' + PLAIN.replace(b'"TS"', f'"{letters}"'.encode()) + b"}"))
    assert report is not None
    assert (report.answer.verdict, report.is_signed) == (verdict, False)
    assert (report.answer.failure_code is not None) == (verdict is Verdict.REFUSED)
    if verdict is not Verdict.CONFIRMED:
        assert report.answer.provider_reference in (None, RECEIPT)


@pytest.mark.parametrize("letters", ["SUCCESS", "TX", "", "200", "ts?"])
async def test_a_callback_in_other_letters_says_nothing_definite(airtel: Connect, letters: str) -> None:
    report: CallbackReport | None = airtel().read(
        callback(b'{"transaction":' + PLAIN.replace(b'"TS"', f'"{letters}"'.encode()) + b"}")
    )
    assert report is None or not report.answer.verdict.is_definite


@pytest.mark.parametrize(
    ("code", "failure_code"),
    [
        ("DP00800001007", FailureCode.INSUFFICIENT_FUNDS),
        ("DP00900001009", FailureCode.INVALID_RECIPIENT),
    ],
)
async def test_a_newer_callback_has_a_code_too(airtel: Connect, code: str, failure_code: FailureCode) -> None:
    coded = FAILED.replace(b'"status_code"', b'"code":"%b","status_code"' % code.encode())
    report = airtel().read(callback(b'{"transaction":' + coded + b"}"))
    assert report is not None
    assert (report.answer.verdict, report.answer.failure_code) == (Verdict.REFUSED, failure_code)


@pytest.mark.parametrize(
    "transaction",
    [
        b'{"id":"0K3ABCDEFGHJ1234","airtel_money_id":"MP210603.1234.L06941"}',
        PLAIN.replace(b'"TS"', b"200"),
        PLAIN.replace(b'"TS"', b'["TS"]'),
        PLAIN.replace(b'"TS"', b"true"),
        PLAIN.replace(b'"TS"', b"null"),
        PLAIN.replace(b'"TS"', b'{"TS":"TS"}'),
    ],
)
async def test_a_callback_without_letters_is_at_most_a_reason_to_ask(airtel: Connect, transaction: bytes) -> None:
    report = airtel().read(callback(b'{"transaction":' + transaction + b"}"))
    assert report is None or (report.answer.verdict, report.key) == (Verdict.UNKNOWN, COLLECTION.key)
