"""CSRF: a form that another site sent in a user's name is refused, by its origin and by the token in it."""

from starlette.requests import Request

from malipo import randomness
from malipo.accounts.signed_cookies import Cookies
from malipo.errors import Forbidden

_MASKED_LENGTH = 128  # in hexadecimal: twice the 32 bytes of a token


class ForgedForm(Forbidden):
    code = "form_forged"
    sentence = "This form was not sent from here, or you have logged in again since. Try once more."

    def __init__(self) -> None:
        super().__init__(self.sentence)


def check_origin(request: Request) -> None:
    """Refuse a form whose origin is another site, before anything else of it is read."""
    if request.method == "POST" and not _is_same_origin(request):
        raise ForgedForm


def _is_same_origin(request: Request) -> bool:
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    return origin.partition("://")[2] == request.headers.get("host")


def token_of(cookies: Cookies, session_id: str | None) -> str:
    """The token for the forms of one page; without a session there is nothing to protect. It is another text on each
    page, so that the lengths of many compressed pages do not reveal it."""
    return masked(cookies.form_token(session_id)) if session_id is not None else ""


def check_token(cookies: Cookies, session_id: str | None, token: str) -> None:
    if session_id is not None and not cookies.is_form_token(session_id, unmasked(token)):
        raise ForgedForm


def masked(token: str) -> str:
    """Random bytes, and the token's bytes XOR these."""
    plain = bytes.fromhex(token)
    pad = randomness.token_bytes(len(plain))
    return (pad + _xor(pad, plain)).hex()


def unmasked(token: str) -> str:
    """A token of a page from before tokens were masked is itself."""
    try:
        both = bytes.fromhex(token)
    except ValueError:
        return token
    half = len(both) // 2
    return _xor(both[:half], both[half:]).hex() if len(token) == _MASKED_LENGTH else token


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
