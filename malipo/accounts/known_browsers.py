"""Known browsers: browsers in which an account has logged in before. Pure; the SQL is in `store/browsers.py`.

A browser has a cookie with a random token, and gets a new one with every log-in, so that nobody can plant a token that
they know. malipo keeps its hash, beside each account that has logged in there.
"""

from dataclasses import dataclass

from malipo.accounts.tokens import hash_of, make_secret


@dataclass(frozen=True, slots=True)
class Browser:
    """The browser of a log-in: the token in its cookie now, and the next one. A program has neither."""

    token: str | None = None
    next_token: str | None = None
    user_agent: str = ""

    @property
    def hash(self) -> bytes | None:
        return hash_of(self.token) if self.token is not None else None


def with_next_token(token: str | None, user_agent: str) -> Browser:
    return Browser(token, make_secret("mbr_"), user_agent[:200])
