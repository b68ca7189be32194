"""The cookies of both sites: the session, the language, a flash message for the next page. No script can read them."""

from dataclasses import dataclass

from starlette.responses import Response

LANGUAGE = "malipo_language"
NOTICE = "malipo_notice"

_LANGUAGE_SECONDS = 365 * 86_400
_NOTICE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class SessionCookie:
    name: str
    path: str
    seconds: int

    def set(self, response: Response, value: str, *, is_secure: bool) -> None:
        _set(response, self.name, value, self.seconds, path=self.path, is_secure=is_secure)

    def end(self, response: Response) -> None:
        _end(response, self.name, path=self.path)


_PENDING_SECONDS = 600

SESSION = SessionCookie("malipo_session", "/dashboard", 30 * 86_400)
# An id of the browser, so that guesses from another browser cannot lock the owner out.
BROWSER = SessionCookie("malipo_browser", "/dashboard", 365 * 86_400)
OPERATOR_BROWSER = SessionCookie("malipo_browser", "/operator", 365 * 86_400)
OPERATOR = SessionCookie("malipo_operator", "/operator", 12 * 3600)
# A log-in that waits for a code. It is no session.
PENDING = SessionCookie("malipo_login", "/dashboard/login", _PENDING_SECONDS)
OPERATOR_PENDING = SessionCookie("malipo_operator_login", "/operator/login", _PENDING_SECONDS)


def set_language(response: Response, value: str, *, path: str) -> None:
    _set(response, LANGUAGE, value, _LANGUAGE_SECONDS, path=path)


def set_notice(response: Response, value: str, *, path: str) -> None:
    """It holds the name of a sentence and not the sentence, so that no text can be injected into our pages."""
    _set(response, NOTICE, value, _NOTICE_SECONDS, path=path)


def clear_notice(response: Response, *, path: str) -> None:
    _end(response, NOTICE, path=path)


def _set(response: Response, name: str, value: str, seconds: int, *, path: str, is_secure: bool = False) -> None:
    response.set_cookie(name, value, max_age=seconds, path=path, httponly=True, samesite="lax", secure=is_secure)


def _end(response: Response, name: str, *, path: str) -> None:
    response.delete_cookie(name, path=path, httponly=True, samesite="lax")
