"""Idempotency keys: the same request sent twice is one payment. Pure.

A key belongs to a merchant and a route. With it we keep a hash of the request: the known fields as they
were sent, after defaults, so that neither the order of fields nor an unknown one makes a difference.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from malipo.errors import Conflict, Invalid, OutcomeUnknown
from malipo.payments.transaction import Transaction
from malipo.validation.fields import Fields

HEADER = "Idempotency-Key"

_KEY = re.compile(r"[!-~]{1,255}")
_encode = msgspec.json.Encoder(order="deterministic", enc_hook=str).encode


class KeyReused(Conflict):
    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was already used for a request with other parameters.")


def problem_with(key: str) -> str | None:
    """What is wrong with a key, in words; None if nothing is."""
    if _KEY.fullmatch(key):
        return None
    return f"{HEADER} must be 1 to 255 visible ASCII characters, without spaces."


def key_in(fields: Fields, key: str | None, *, is_required: bool) -> str | None:
    """The key of a request that moves money. None if there is none, or if it is wrong; `fields` then has the
    mistake."""
    if key is None and is_required:
        message = f"Your business requires an {HEADER} for every request that moves money."
        fields.wrong(HEADER, "idempotency_key_required", message)
    if key is not None and (problem := problem_with(key)):
        fields.wrong(HEADER, "idempotency_key_invalid", problem)
        return None
    return key


def request_hash(known_fields: Mapping[str, Any]) -> bytes:
    try:
        return hashlib.sha256(_encode(known_fields)).digest()
    except RecursionError:
        raise Invalid("The body is nested too deeply.", code="json_invalid") from None


# A request repeats a payment whose own request is not known only if these are equal.
_SAME = ("type", "channel", "amount", "refund_of", "phone")


class NotTheAdoptedPayment(OutcomeUnknown):
    """Operators adopted another payment than this request is for, or mistook its merchant, channel or number.

    The network has paid it, so the answer must not be "not created": the merchant would pay it again.
    """


def refusal_of_repeat(draft: Transaction, found: Transaction, *, is_adopted: bool) -> KeyReused | OutcomeUnknown | None:
    """Why a request is refused that has the network key of an existing payment; None if it repeats that payment. The
    request of that payment was lost, so the payment itself is compared."""
    wanted = draft if draft.amount else replace(draft, amount=found.amount)  # a refund of what is left
    differs = [name for name in ("merchant_id", *_SAME) if getattr(wanted, name) != getattr(found, name)]
    if not differs:
        return None
    # The amount is what the network paid. Operators entered everything else, and may be wrong.
    return NotTheAdoptedPayment() if is_adopted and "amount" not in differs else KeyReused()


def refusal_of(request_hash: bytes, first_hash: bytes) -> KeyReused | None:
    """Why a used key is refused: it was used for another request. None if the request is the same."""
    return None if request_hash == first_hash else KeyReused()
