"""Callbacks that are signed end a payment by themselves, and a wrong signature changes nothing."""

import base64
import hashlib
import hmac

import pytest

from tests.journeys.callbacks.callback_stack import CallbackStack, same_rows
from tests.journeys.callbacks.callback_stack import callback_stack as callback_stack


def _forms(callback_stack: CallbackStack, key: str) -> dict[str, tuple[bytes, dict[str, str]]]:
    raw = callback_stack.airtel(key, signed=False)[len(b'{"transaction":') : -1]
    secret = callback_stack.full_stack.environment["MALIPO_AIRTEL_MONEY_CALLBACK_KEY"].encode()

    def hashed(data: bytes) -> str:
        return base64.b64encode(hmac.new(secret, data, hashlib.sha256).digest()).decode()

    wrapped = b'{"transaction":%b}' % raw
    return {
        "over the wrapped object": (callback_stack.sign(raw), {}),
        "over the object": (b'{"transaction":%b,"hash":"%b"}' % (raw, hashed(raw).encode()), {}),
        "before it": (b'{"hash":"%b","transaction":%b}' % (hashed(wrapped).encode(), raw), {}),
        "in a header": (wrapped, {"hash": hashed(wrapped)}),
    }


@pytest.mark.parametrize("form", ["over the wrapped object", "over the object", "before it", "in a header"])
@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_signed_success_ends_a_payment_by_itself(callback_stack: CallbackStack, type_: str, form: str) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", type_)
    body, headers = _forms(callback_stack, await callback_stack.key(id_))[form]

    status, _, _ = await callback_stack.send_callback("airtel_money", body, headers=headers)

    row = await callback_stack.row(id_)
    assert (status, row["status"], row["provider_reference"]) == (200, "COMPLETED", "MP1.A")
    assert row["dispatch"] is None
    assert [step for step, *_ in row["moves"]] == (["end"] if type_ == "COLLECTION" else ["open", "end"])


@pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])
async def test_a_signed_failure_ends_a_payment_by_itself(callback_stack: CallbackStack, type_: str) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", type_)

    body = callback_stack.airtel(
        await callback_stack.key(id_), "TF", code="DP00800001007" if type_ == "COLLECTION" else "DP00900001009"
    )
    status, _, _ = await callback_stack.send_callback("airtel_money", body)

    row = await callback_stack.row(id_)
    failure = "insufficient_funds" if type_ == "COLLECTION" else "invalid_recipient"
    assert (status, row["status"], row["failure_code"]) == (200, "FAILED", failure)


@pytest.mark.parametrize("letters", ["TIP", "TA", "", "TS ", "SUCCESS", "ts?"])
async def test_signed_letters_that_say_nothing_end_nothing(callback_stack: CallbackStack, letters: str) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", "DISBURSEMENT")

    await callback_stack.send_callback("airtel_money", callback_stack.airtel(await callback_stack.key(id_), letters))

    assert await callback_stack.status(id_) == ("COMPLETED" if letters.strip() == "TS" else "PROCESSING")


def _forged(callback_stack: CallbackStack, key: str) -> dict[str, bytes]:
    good = callback_stack.airtel(key)
    raw = callback_stack.airtel(key, signed=False)[len(b'{"transaction":') : -1]
    other = callback_stack.airtel(key, "TF", signed=False)[len(b'{"transaction":') : -1]
    return {
        "another secret": callback_stack.sign(raw, "not the secret"),
        "no secret": callback_stack.sign(raw, "x" * 16),
        "another body": good.replace(b"TS", b"TF"),
        "another hash": callback_stack.sign(other).replace(other, raw),
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
async def test_a_wrong_hash_changes_nothing(callback_stack: CallbackStack, forgery: str) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", "COLLECTION")
    before = await callback_stack.row(id_)

    status, _, _ = await callback_stack.send_callback(
        "airtel_money", _forged(callback_stack, before["network_key"])[forgery]
    )

    assert 400 <= status < 500
    assert same_rows(await callback_stack.row(id_), before)


@pytest.mark.parametrize("form", ["plain", "wrapped", "null hash", "empty hash"])
async def test_without_a_hash_even_airtel_only_hints(callback_stack: CallbackStack, form: str) -> None:
    id_ = await callback_stack.stuck("AIRTEL_MONEY", "DISBURSEMENT")
    plain = callback_stack.airtel(await callback_stack.key(id_), signed=False)
    body = {
        "plain": plain,
        "wrapped": b'{"country":"TZ","mno":"AIRTEL","payload":%b}' % plain,
        "null hash": plain[:-1] + b',"hash":null}',
        "empty hash": plain[:-1] + b',"hash":""}',
    }[form]

    status, _, _ = await callback_stack.send_callback("airtel_money", body)

    row = await callback_stack.row(id_)
    assert (status, row["status"], row["dispatch"]["is_due"]) == (200, "PROCESSING", True)
