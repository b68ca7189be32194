"""Error pages: what went wrong, in the reader's language, and the way back."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response

from malipo import log
from malipo.dashboard import render
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.csrf import ForgedForm
from malipo.dashboard.form_errors import SENTENCES as SPOKEN
from malipo.dashboard.form_errors import of_refusal
from malipo.dashboard.language import Translator
from malipo.db import ConnectionLost, Contention
from malipo.errors import BodyTooSlow, Forbidden, Missing, QueryTimeout, Refusal, TooMany, Unavailable
from malipo.restore.installation import IntakeClosed
from malipo.table_files.reader_queue import FilesBeingRead, OwnFileBeingRead

_TITLES = {
    HTTPStatus.BAD_REQUEST: "That did not work",
    HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.METHOD_NOT_ALLOWED: "Not this way",
    HTTPStatus.REQUEST_TIMEOUT: "Too slow",
    HTTPStatus.TOO_MANY_REQUESTS: "Too often",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not at the moment",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something went wrong",
}


_NOT_YOURS = "Your role does not allow this. Ask an owner of your business."
_NOTHING = "There is nothing here. It may be another person's, or it never existed."
_WRONG_WAY = "This page does not take that."
_TOO_SLOW = "The form did not arrive in time. Send it again."
_NOT_NOW = "We cannot do this at the moment. Try again in a minute."
_OURS = "Something went wrong on our side. Nothing of yours is lost."

SENTENCES = (*_TITLES.values(), _NOT_YOURS, _NOTHING, _WRONG_WAY, _TOO_SLOW, _NOT_NOW, _OURS, ForgedForm.sentence)


class NotAllowed(Forbidden):
    code = "role_insufficient"

    def __init__(self) -> None:
        super().__init__(_NOT_YOURS)


def page_for(request: BrowserRequest, error: Exception) -> Response:
    words = request.words
    status, sentence = _meaning(words, error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("dashboard.broke", error)
    response = render.page(
        request,
        "error.html",
        status=status,
        is_refused=False,  # Its title is the error.
        code=int(status),
        title=words(_TITLES[status]),
        sentence=sentence,
    )
    if isinstance(error, TooMany | Unavailable):
        response.headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


def _meaning(words: Translator, error: Exception) -> tuple[HTTPStatus, str]:
    match error:
        case Missing() | HTTPException(status_code=404):
            return HTTPStatus.NOT_FOUND, words(_NOTHING)
        case HTTPException(status_code=405):
            return HTTPStatus.METHOD_NOT_ALLOWED, words(_WRONG_WAY)
        case Forbidden():
            return HTTPStatus.FORBIDDEN, of_refusal(words, error)
        case BodyTooSlow():
            return HTTPStatus.REQUEST_TIMEOUT, words(_TOO_SLOW)
        case OwnFileBeingRead():
            return HTTPStatus.TOO_MANY_REQUESTS, words(SPOKEN[error.spoken])
        case FilesBeingRead():
            return HTTPStatus.SERVICE_UNAVAILABLE, words(SPOKEN[error.spoken])
        case TooMany():
            return HTTPStatus.TOO_MANY_REQUESTS, of_refusal(words, error)
        case Refusal():
            return HTTPStatus.BAD_REQUEST, of_refusal(words, error)
        case IntakeClosed() | QueryTimeout():
            return HTTPStatus.SERVICE_UNAVAILABLE, words(SPOKEN[error.code])
        case Unavailable() | ConnectionLost() | Contention():
            return HTTPStatus.SERVICE_UNAVAILABLE, words(_NOT_NOW)
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR, words(_OURS)
