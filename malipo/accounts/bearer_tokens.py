"""Bearer tokens (JWT). Pure.

The token names a session, and the session is looked up on every call: when the session has ended, its token is
refused, however long it would still be valid.
"""

import hmac
from datetime import datetime
from typing import Any

import jwt

from malipo.accounts.tokens import TOKEN_SECONDS

_ALGORITHM = "HS256"
_AUDIENCE = "malipo/merchant"


class Tokens:
    def __init__(self, secret_key: str, *previous: str) -> None:
        # One secret, several uses: each gets a key of its own. A previous one still verifies, and no longer signs.
        self._keys = [
            hmac.digest(each.encode(), b"malipo merchant token", "sha256") for each in (secret_key, *previous)
        ]

    def make(self, session_id: str, *, now: datetime) -> str:
        claims = {
            "aud": _AUDIENCE,
            "sid": session_id,
            "iat": int(now.timestamp()),
            "exp": int(now.timestamp()) + TOKEN_SECONDS,
        }
        return jwt.encode(claims, self._keys[0], algorithm=_ALGORITHM)

    def session_of(self, token: str, *, now: datetime) -> str | None:
        """The session that a token names; None if it is not ours, not whole or too old."""
        claims = next((claims for key in self._keys if (claims := _claims(token, key)) is not None), None)
        if claims is None:
            return None
        session_id, expires = claims["sid"], claims["exp"]
        if not isinstance(session_id, str) or not isinstance(expires, int) or now.timestamp() >= expires:
            return None
        return session_id


def _claims(token: str, key: bytes) -> dict[str, Any] | None:
    try:
        return jwt.decode(
            token,
            key,
            algorithms=[_ALGORITHM],
            audience=_AUDIENCE,
            options={"require": ["exp", "sid"], "verify_exp": False, "verify_iat": False},
        )
    except jwt.InvalidTokenError:
        return None
