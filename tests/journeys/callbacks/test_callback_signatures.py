"""Callbacks that are signed end a payment by themselves, and a wrong signature changes nothing."""

import base64
import hashlib
import hmac

import pytest

from tests.journeys.callbacks.square import Square, same_rows
from tests.journeys.callbacks.square import square as square


def _forms(square: Square, key: str) -> dict[str, tuple[bytes, dict[str, str]]]:
    raw = square.airtel(key, signed=False)[len(b'{"transaction":') : -1]
    secret = square.town.environment["MALIPO_AIRTEL_MONEY_CALLBACK_KEY"].encode()

    def hashed(data: bytes) -> str:
        return base64.b64encode(hmac.new(secret, data, hashlib.sha256).digest()).decode()

    wrapped = b'{"transaction":%b}' % raw
    return {
        "over the wrapped object": (square.sign(raw), {}),
        "over the object": (b'{"transaction":%b,"hash":"%b"}' % (raw, hashed(raw).encode()), {}),
        "before it": (b'{"hash":"%b","transaction":%b}' % (hashed(wrapped).encode(), raw), {}),
        "in a header": (wrapped, {"hash": hashed(wrapped)}),
    }


@pytest.mark.parametrize("form", ["over the wrapped object", "over the object", "before it", "in a header"])
@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_signed_success_ends_a_payment_by_itself(square: Square, type_: str, form: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", type_)
    body, headers = _forms(square, await square.key(id_))[form]

    status, _, _ = await square.tell("airtel_money", body, headers=headers)

    row = await square.row(id_)
    assert (status, row["status"], row["provider_reference"]) == (200, "COMPLETED", "MP1.A")
    assert row["dispatch"] is None
    assert [step for step, *_ in row["moves"]] == (["end"] if type_ == "COLLECTION" else ["open", "end"])


@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_signed_failure_ends_a_payment_by_itself(square: Square, type_: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", type_)

    body = square.airtel(
        await square.key(id_), "TF", code="DP00800001007" if type_ == "COLLECTION" else "DP00900001009"
    )
    status, _, _ = await square.tell("airtel_money", body)

    row = await square.row(id_)
    failure = "insufficient_funds" if type_ == "COLLECTION" else "invalid_recipient"
    assert (status, row["status"], row["failure_code"]) == (200, "FAILED", failure)


@pytest.mark.parametrize("letters", ["TIP", "TA", "", "TS ", "SUCCESS", "ts?"])
async def test_signed_letters_that_say_nothing_end_nothing(square: Square, letters: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", "DISBURSEMENT")

    await square.tell("airtel_money", square.airtel(await square.key(id_), letters))

    assert await square.status(id_) == ("COMPLETED" if letters.strip() == "TS" else "PROCESSING")


def _forged(square: Square, key: str) -> dict[str, bytes]:
    good = square.airtel(key)
    raw = square.airtel(key, signed=False)[len(b'{"transaction":') : -1]
    other = square.airtel(key, "TF", signed=False)[len(b'{"transaction":') : -1]
    return {
        "another secret": square.sign(raw, "not the secret"),
        "no secret": square.sign(raw, "x" * 16),
        "another body": good.replace(b"TS", b"TF"),
        "another hash": square.sign(other).replace(other, raw),
        "a hash that is no text": b'{"transaction":%b,"hash":1}' % raw,
        "a hash in another alphabet": b'{"transaction":%b,"hash":"%b"}' % (raw, "é".encode()),
    }


@pytest.mark.parametrize(
    "forgery",
    [
        "another secret",
        "no secret",
        "another body",
        "another hash",
        "a hash that is no text",
        "a hash in another alphabet",
    ],
)
async def test_a_wrong_hash_changes_nothing(square: Square, forgery: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", "COLLECTION")
    before = await square.row(id_)

    status, _, _ = await square.tell("airtel_money", _forged(square, before["network_key"])[forgery])

    assert 400 <= status < 500
    assert same_rows(await square.row(id_), before)


@pytest.mark.parametrize("form", ["plain", "wrapped", "null hash", "empty hash"])
async def test_without_a_hash_even_airtel_only_hints(square: Square, form: str) -> None:
    id_ = await square.stuck("AIRTEL_MONEY", "DISBURSEMENT")
    plain = square.airtel(await square.key(id_), signed=False)
    body = {
        "plain": plain,
        "wrapped": b'{"country":"TZ","mno":"AIRTEL","payload":%b}' % plain,
        "null hash": plain[:-1] + b',"hash":null}',
        "empty hash": plain[:-1] + b',"hash":""}',
    }[form]

    status, _, _ = await square.tell("airtel_money", body)

    row = await square.row(id_)
    assert (status, row["status"], row["dispatch"]["is_due"]) == (200, "PROCESSING", True)
