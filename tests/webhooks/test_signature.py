"""What is signed with which key, held against values that others have computed."""

import base64
import re
from datetime import UTC, datetime

import pytest

from malipo.webhooks.signature import headers_of, new_secret

# The Standard Webhooks' own example.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
BODY = b'{"test": 2432232314}'
NOW = datetime.fromtimestamp(1614265330, UTC)
STANDARD = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
# openssl dgst -sha256 -hmac "$SECRET", of the body alone.
HEX = "80ec8a89ce3cd22133a1066caecb4d04fea7467657c8514d717ec42c38a5c94c"

OTHER_SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
OTHER_HEX = "a784b4427aec451370423b6e56b99b94184ff794ad15fc9425d658298f39b3b1"


def _headers(*keys: str, word: str = "Service", now: datetime = NOW, body: bytes = BODY) -> dict[str, str]:
    return headers_of(
        word=word, event="payment.completed", event_id=ID, attempt_id="att_1", body=body, keys=keys, now=now
    )


def test_a_webhook_carries_both_families_of_headers() -> None:
    assert _headers(SECRET) == {
        "Content-Type": "application/json",
        "X-Service-Event": "payment.completed",
        "X-Service-Delivery": "att_1",
        "X-Service-Signature": HEX,
        "webhook-id": ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": STANDARD,
    }


def test_while_a_secret_is_changed_the_old_one_comes_first_and_the_new_one_beside_it() -> None:
    both = _headers(SECRET, OTHER_SECRET)
    new = _headers(OTHER_SECRET)

    assert both["X-Service-Signature"] == HEX
    assert both["X-Service-Signature-Next"] == new["X-Service-Signature"] == OTHER_HEX
    assert both["webhook-signature"] == f"{STANDARD} {new['webhook-signature']}"
    assert "X-Service-Signature-Next" not in new


def test_an_operators_own_word_stands_in_the_headers() -> None:
    assert {name for name in _headers(SECRET, OTHER_SECRET, word="Duka") if name.startswith("X-")} == {
        "X-Duka-Event",
        "X-Duka-Delivery",
        "X-Duka-Signature",
        "X-Duka-Signature-Next",
    }


def test_the_time_is_in_whole_seconds_and_part_of_what_is_signed() -> None:
    late = _headers(SECRET, now=NOW.replace(microsecond=999_000))
    later = _headers(SECRET, now=datetime.fromtimestamp(1614265331, UTC))

    assert late == _headers(SECRET)
    assert later["webhook-timestamp"] == "1614265331"
    assert later["webhook-signature"] != STANDARD
    assert later["X-Service-Signature"] == HEX, "the specification's is of the body alone"


@pytest.mark.parametrize("body", [b"", b"\xff\0", "habari, Zoë".encode(), b"x" * 100_000])
def test_any_bytes_can_be_signed_and_each_differently(body: bytes) -> None:
    signed = _headers(SECRET, body=body)

    assert re.fullmatch("[0-9a-f]{64}", signed["X-Service-Signature"])
    assert signed["X-Service-Signature"] != HEX
    assert signed["webhook-signature"] != STANDARD


def test_a_secret_is_32_random_bytes_behind_its_prefix() -> None:
    secrets = {new_secret() for _ in range(100)}

    assert len(secrets) == 100
    for secret in secrets:
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
