"""Refresh tokens and one-time links, and how long these and bearer tokens (`bearer_tokens.py`) are valid. Pure."""

import hashlib
from datetime import timedelta

from malipo import randomness

TOKEN_SECONDS = 3600
LINK_LIFE = timedelta(hours=24)


def make_secret(prefix: str) -> str:
    """A refresh token or a link: 256 random bits, of which we keep the hash."""
    return prefix + randomness.token_urlsafe(32)


def hash_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
