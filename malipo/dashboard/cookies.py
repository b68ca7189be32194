"""The cookies: the session, the language, and a sentence for the next page. None is readable for a script."""

from starlette.responses import Response

SESSION = "malipo_session"
LANGUAGE = "malipo_language"
NOTICE = "malipo_notice"

_SESSION_SECONDS = 30 * 86_400
_LANGUAGE_SECONDS = 365 * 86_400
_NOTICE_SECONDS = 60


def set_session(response: Response, value: str, *, is_secure: bool) -> None:
    _set(response, SESSION, value, _SESSION_SECONDS, is_secure=is_secure)


def end_session(response: Response) -> None:
    response.delete_cookie(SESSION, path="/dashboard", httponly=True, samesite="lax")


def set_language(response: Response, value: str) -> None:
    _set(response, LANGUAGE, value, _LANGUAGE_SECONDS)


def set_notice(response: Response, value: str) -> None:
    """The sentence itself is not in it, only its name: nobody can put words on our pages."""
    _set(response, NOTICE, value, _NOTICE_SECONDS)


def clear_notice(response: Response) -> None:
    response.delete_cookie(NOTICE, path="/dashboard", httponly=True, samesite="lax")


def _set(response: Response, name: str, value: str, seconds: int, *, is_secure: bool = False) -> None:
    response.set_cookie(
        name, value, max_age=seconds, path="/dashboard", httponly=True, samesite="lax", secure=is_secure
    )
