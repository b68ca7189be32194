"""The cookie by which a browser sees the payment that it has begun at a link. Pure.

It holds the payment's id, signed together with the link's code. It is sent to the pages of that link only, and no
script can read it. A browser with the link and without the cookie sees nothing about a customer. A browser that pressed
with a number for which another browser had begun the payment is a guest: it sees whether the payment is paid, and
otherwise only what was typed in it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from starlette.responses import Response

from malipo.accounts.signed_cookies import Cookies

NAME = "malipo_pay"
_SECONDS = 30 * 86_400


class KnownAttempt(NamedTuple):
    transaction_id: str
    is_guest: bool = False

    @property
    def text(self) -> str:
        return f"{self.transaction_id}-{'guest' if self.is_guest else 'own'}"

    @classmethod
    def of(cls, text: str) -> "KnownAttempt":
        transaction_id, _, whose = text.partition("-")
        return cls(transaction_id, whose == "guest")


def attempt_in(signed: Cookies, code: str, cookies: Mapping[str, str]) -> KnownAttempt | None:
    """The attempt in the cookie; None if there is none, or if it is another link's or not signed by us."""
    text = signed.attempt_of(code, cookies.get(NAME, ""))
    return None if text is None else KnownAttempt.of(text)


def set_attempt(response: Response, signed: Cookies, code: str, attempt: KnownAttempt, *, is_secure: bool) -> None:
    response.set_cookie(
        NAME,
        signed.make_attempt(code, attempt.text),
        max_age=_SECONDS,
        path=f"/pay/{code}",
        httponly=True,
        samesite="lax",
        secure=is_secure,
    )
