"""What went wrong, as a page that says so in the reader's language and shows the way back."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response

from malipo import log
from malipo.dashboard import draw
from malipo.dashboard.visit import Visit
from malipo.db import ConnectionLost, Contention
from malipo.errors import Forbidden, Missing, Refusal, TooMany, Unavailable


class NotAllowed(Forbidden):
    code = "role_insufficient"

    def __init__(self) -> None:
        super().__init__("Your role does not allow this. Ask an owner of your business.")


def page_for(visit: Visit, error: Exception) -> Response:
    status, sentence = _meaning(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.SERVICE_UNAVAILABLE:
        log.error("dashboard.broke", error)
    return draw.page(visit, "problem.html", status=status, code=int(status), sentence=visit.words(sentence))


def _meaning(error: Exception) -> tuple[HTTPStatus, str]:
    match error:
        case Missing() | HTTPException(status_code=404):
            return HTTPStatus.NOT_FOUND, "There is nothing here. It may belong to somebody else, or never have been."
        case HTTPException(status_code=405):
            return HTTPStatus.METHOD_NOT_ALLOWED, "This page does not take that."
        case Forbidden():
            return HTTPStatus.FORBIDDEN, error.message
        case TooMany():
            return HTTPStatus.TOO_MANY_REQUESTS, error.message
        case Refusal():
            return HTTPStatus.BAD_REQUEST, error.message
        case Unavailable() | ConnectionLost() | Contention():
            return HTTPStatus.SERVICE_UNAVAILABLE, "We cannot do this at the moment. Try again in a minute."
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong on our side. Nothing of yours is lost."
