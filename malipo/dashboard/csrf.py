"""CSRF: a form that another site sent in a user's name is refused, by its origin and by the token in it."""

from starlette.requests import Request

from malipo.accounts.signed_cookies import Cookies
from malipo.errors import Forbidden


class ForgedForm(Forbidden):
    code = "form_forged"
    sentence = "This form was not sent from here, or you have logged in again since. Try once more."

    def __init__(self) -> None:
        super().__init__(self.sentence)


def check_origin(request: Request) -> None:
    """Browsers send the origin of a form. One of another site is refused, before anything else is read."""
    if request.method == "POST" and not _is_same_origin(request):
        raise ForgedForm


def _is_same_origin(request: Request) -> bool:
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    return origin.partition("://")[2] == request.headers.get("host")


def token_of(cookies: Cookies, session_id: str | None) -> str:
    """The token in every form of a session; without a session there is nothing to protect."""
    return cookies.form_token(session_id) if session_id is not None else ""


def check_token(cookies: Cookies, session_id: str | None, token: str) -> None:
    if session_id is not None and not cookies.is_form_token(session_id, token):
        raise ForgedForm
