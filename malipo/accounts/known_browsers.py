"""Browsers in which somebody has logged in before. Pure; the SQL is in `store/browsers.py`.

A browser has a cookie with a random token, and gets another one with every log-in: nobody can give somebody else's
browser a token that they know. We keep the hash, beside each account that has logged in there.
"""

from dataclasses import dataclass

from malipo.accounts.tokens import hash_of, make_secret


@dataclass(frozen=True, slots=True)
class Browser:
    """The browser that somebody logs in with: what its cookie holds now, and afterwards. A program has neither."""

    token: str | None = None
    next_token: str | None = None
    user_agent: str = ""

    @property
    def hash(self) -> bytes | None:
        return hash_of(self.token) if self.token is not None else None


def with_next_token(token: str | None, user_agent: str) -> Browser:
    return Browser(token, make_secret("mbr_"), user_agent[:200])
