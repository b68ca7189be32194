"""Time-based one-time passwords (TOTP, RFC 6238): six digits, a new code every 30 seconds. Pure.

A code is valid for its own step and, because clocks differ, for one step before and after. The step of a code that was
used is stored: a code of the same step, or of an earlier one, is refused afterwards.
"""

import base64
import hmac
from datetime import datetime

import pyotp

from malipo import clock, randomness

_STEP_MILLISECONDS = 30_000
_DRIFT = 1  # steps either way
_DIGITS = 6
_SECRET_BYTES = 20  # as long as the HMAC's hash, as RFC 4226 recommends


def new_secret() -> str:
    """A new secret in base32, as apps take it."""
    return base64.b32encode(randomness.token_bytes(_SECRET_BYTES)).decode()


def step_at(now: datetime) -> int:
    return clock.milliseconds(now) // _STEP_MILLISECONDS


def code_at(secret: str, step: int) -> str:
    return pyotp.TOTP(secret, digits=_DIGITS).generate_otp(step)


def step_of(secret: str, code: str, *, now: datetime) -> int | None:
    """The step of this code; None if it is not valid now.

    If two steps have the same code, the later one, so that the code is used up for both.
    """
    typed, present = _digits(code), step_at(now)
    good = [
        step
        for step in range(present - _DRIFT, present + _DRIFT + 1)
        if hmac.compare_digest(code_at(secret, step).encode(), typed.encode())
    ]
    return max(good, default=None)


def uri(secret: str, *, issuer: str, name: str) -> str:
    """The URI in the QR code."""
    return pyotp.TOTP(secret, digits=_DIGITS).provisioning_uri(name=name, issuer_name=issuer)


def in_groups(secret: str) -> str:
    """The secret in groups of four, for typing."""
    return " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))


def _digits(code: str) -> str:
    """The entered digits, without the spaces that apps show."""
    return "".join(code.split())
