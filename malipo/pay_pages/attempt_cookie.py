"""The cookie by which a browser sees the payment that it has begun at a link. Pure.

It holds the payment's id, signed together with the link's code. It is sent to the pages of that link only, and no
script can read it. A browser with the link and without the cookie sees nothing about a customer.
"""

from collections.abc import Mapping

from starlette.responses import Response

from malipo.accounts.signed_cookies import Cookies

NAME = "malipo_pay"
_SECONDS = 30 * 86_400


def attempt_in(signed: Cookies, code: str, cookies: Mapping[str, str]) -> str | None:
    """The id of the payment in the cookie; None if there is none, or if it is another link's or not signed by us.

    Cookies of earlier versions say whose payment it is: that of another browser is not shown any more."""
    transaction_id, _, whose = (signed.attempt_of(code, cookies.get(NAME, "")) or "").partition("-")
    return None if whose == "guest" else transaction_id or None


def set_attempt(response: Response, signed: Cookies, code: str, transaction_id: str, *, is_secure: bool) -> None:
    response.set_cookie(
        NAME,
        signed.make_attempt(code, transaction_id),
        max_age=_SECONDS,
        path=f"/pay/{code}",
        httponly=True,
        samesite="lax",
        secure=is_secure,
    )
