"""Errors as HTTP responses: which error has which status. Every error has one shape: `{error, details?}`.

The machine-readable code goes into the header `X-Error-Code`.
"""

from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from malipo import log
from malipo.db import ConnectionLost, Contention
from malipo.errors import (
    BodyTooSlow,
    Conflict,
    Forbidden,
    Invalid,
    Missing,
    OutcomeUnknown,
    Refusal,
    TooMany,
    Unauthorized,
    Unavailable,
)
from malipo.words.say import say


class TooLarge(Refusal):
    code = "body_too_large"


STATUSES: dict[type[Refusal], HTTPStatus] = {
    Invalid: HTTPStatus.BAD_REQUEST,
    Unauthorized: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    Missing: HTTPStatus.NOT_FOUND,
    BodyTooSlow: HTTPStatus.REQUEST_TIMEOUT,
    Conflict: HTTPStatus.CONFLICT,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    TooMany: HTTPStatus.TOO_MANY_REQUESTS,
    Refusal: HTTPStatus.CONFLICT,  # any other
}

# Our sentences for refusals that the framework gives by status alone.
_FRAMEWORK = {
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not take this method."),
}


def answer_to(error: BaseException) -> Response:
    """The answer to anything that can go wrong."""
    if isinstance(error, Refusal):
        return _refused(error)
    if isinstance(error, HTTPException):
        code, message = _FRAMEWORK.get(error.status_code, ("bad_request", "The request could not be read."))
        return response(error.status_code, code, message, headers=dict(error.headers or {}))
    if isinstance(error, ConnectionLost | Contention):
        error = OutcomeUnknown() if isinstance(error, ConnectionLost) and error.in_doubt else Unavailable()
    if isinstance(error, Unavailable):
        headers = {"Retry-After": str(error.retry_after_seconds)}
        return response(HTTPStatus.SERVICE_UNAVAILABLE, error.code, error.message, headers=headers)
    log.error("request.broke", error)
    return response(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", "Something went wrong on our side.")


def _refused(refusal: Refusal) -> Response:
    status = next(STATUSES[kind] for kind in type(refusal).__mro__ if kind in STATUSES)
    headers = {}
    if isinstance(refusal, Unauthorized):
        headers["WWW-Authenticate"] = refusal.scheme
    if isinstance(refusal, TooMany):
        headers["Retry-After"] = str(refusal.retry_after_seconds)
    return response(status, refusal.code, say(refusal), details=refusal.details, headers=headers)


def response(
    status: int, code: str, message: str, *, details: object = None, headers: dict[str, str] | None = None
) -> Response:
    body = {"error": message} if details is None else {"error": message, "details": details}
    return Response(
        msgspec.json.encode(body),
        status,
        headers={"X-Error-Code": code} | (headers or {}),
        media_type="application/json",
    )
