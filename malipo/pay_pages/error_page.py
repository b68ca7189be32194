"""The page for customers when a page cannot be shown."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response

from malipo import log
from malipo.dashboard.csrf import ForgedForm
from malipo.db import ConnectionLost, Contention
from malipo.errors import BodyTooSlow, Missing, Refusal, TooMany, Unavailable
from malipo.pay_pages import render
from malipo.pay_pages.idle_presses import TooManyPresses
from malipo.pay_pages.request import PayRequest

_TITLES = {
    HTTPStatus.BAD_REQUEST: "That did not work",
    HTTPStatus.FORBIDDEN: "Not sent from here",
    HTTPStatus.NOT_FOUND: "There is no such link",
    HTTPStatus.METHOD_NOT_ALLOWED: "Not this way",
    HTTPStatus.REQUEST_TIMEOUT: "Too slow",
    HTTPStatus.TOO_MANY_REQUESTS: "Too often",
    HTTPStatus.SERVICE_UNAVAILABLE: "One moment",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something went wrong",
}
_SENTENCES = {
    HTTPStatus.BAD_REQUEST: "The form could not be read. Nothing was charged.",
    HTTPStatus.FORBIDDEN: "This form was not sent from this page. Open the link again. Nothing was charged.",
    HTTPStatus.NOT_FOUND: "Compare the address with the message that you got, or ask for the link again.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This page does not take that.",
    HTTPStatus.REQUEST_TIMEOUT: "The form did not arrive in time. Nothing was charged. Send it again.",
    HTTPStatus.TOO_MANY_REQUESTS: "Too much came from your network in a short time. Wait a minute.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Very many people are paying at this moment. Try again in a few seconds.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something went wrong on our side. If your phone asks for the PIN, the payment "
    "goes on without this page.",
}
_NO_RECEIPT = "There is no such receipt"
_ASK_FOR_RECEIPT = "Compare the address with the message that you got, or ask the shop for the receipt again."
_TOO_MANY_PRESSES = (
    "Too many presses came from your network or at this link in a short time. This one did nothing. If your phone asks "
    "for the PIN, type it there. If not, press again in a minute."
)
SENTENCES = (_TITLES, _SENTENCES, {each: each for each in (_NO_RECEIPT, _ASK_FOR_RECEIPT, _TOO_MANY_PRESSES)})


def page_for(request: PayRequest, error: Exception) -> Response:
    status, words = _status_of(error), request.words
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("pay_pages.broke", error)
    seconds = error.retry_after_seconds if isinstance(error, TooMany | Unavailable) else None
    title, sentence = _TITLES[status], _SENTENCES[status]
    if status == HTTPStatus.NOT_FOUND and request.http.url.path.startswith("/receipt/"):
        title, sentence = _NO_RECEIPT, _ASK_FOR_RECEIPT
    if isinstance(error, TooManyPresses):
        sentence = _TOO_MANY_PRESSES
    is_read = request.http.method in ("GET", "HEAD")
    response = render.page(
        request,
        "error.html",
        merchant=request.remembered_merchant(),
        status=status,
        title=words(title),
        sentence=words(sentence),
        again_seconds=seconds if is_read else None,
    )
    if seconds is not None:
        response.headers["Retry-After"] = str(seconds)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


def _status_of(error: Exception) -> HTTPStatus:
    match error:
        case Missing():
            return HTTPStatus.NOT_FOUND
        case HTTPException(status_code=code) if code in _TITLES:
            return HTTPStatus(code)
        case ForgedForm():
            return HTTPStatus.FORBIDDEN
        case BodyTooSlow():
            return HTTPStatus.REQUEST_TIMEOUT
        case TooMany():
            return HTTPStatus.TOO_MANY_REQUESTS
        case Refusal():
            return HTTPStatus.BAD_REQUEST
        case Unavailable() | ConnectionLost() | Contention():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR
