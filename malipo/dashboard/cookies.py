"""The cookies of both sites: the session, the language, a flash message for the next page. No script can read them."""

from starlette.responses import Response

SESSION = "malipo_session"
OPERATOR = "malipo_operator"
LANGUAGE = "malipo_language"
NOTICE = "malipo_notice"

_SESSION_SECONDS = 30 * 86_400
_OPERATOR_SECONDS = 12 * 3600
_LANGUAGE_SECONDS = 365 * 86_400
_NOTICE_SECONDS = 60


def set_session(response: Response, value: str, *, is_secure: bool) -> None:
    _set(response, SESSION, value, _SESSION_SECONDS, path="/dashboard", is_secure=is_secure)


def end_session(response: Response) -> None:
    response.delete_cookie(SESSION, path="/dashboard", httponly=True, samesite="lax")


def set_operator(response: Response, value: str, *, is_secure: bool) -> None:
    _set(response, OPERATOR, value, _OPERATOR_SECONDS, path="/operator", is_secure=is_secure)


def end_operator(response: Response) -> None:
    response.delete_cookie(OPERATOR, path="/operator", httponly=True, samesite="lax")


def set_language(response: Response, value: str, *, path: str) -> None:
    _set(response, LANGUAGE, value, _LANGUAGE_SECONDS, path=path)


def set_notice(response: Response, value: str, *, path: str) -> None:
    """The sentence itself is not in it, only its name: nobody can put text on our pages."""
    _set(response, NOTICE, value, _NOTICE_SECONDS, path=path)


def clear_notice(response: Response, *, path: str) -> None:
    response.delete_cookie(NOTICE, path=path, httponly=True, samesite="lax")


def _set(response: Response, name: str, value: str, seconds: int, *, path: str, is_secure: bool = False) -> None:
    response.set_cookie(name, value, max_age=seconds, path=path, httponly=True, samesite="lax", secure=is_secure)
