"""Operators in and out."""

from http import HTTPStatus

from starlette.responses import Response

from malipo.dashboard import cookies, draw, mistakes
from malipo.dashboard.operator.visit import OperatorVisit
from malipo.dashboard.visit import Form
from malipo.errors import Refusal, TooMany
from malipo.origin import is_secure

SENTENCES = {"operator_unknown": "The name or the password is not right."}


async def show(visit: OperatorVisit) -> Response:
    inside = visit.inside(visit.request.query_params.get("next"))
    if visit.session is not None:
        return visit.go(inside)
    return draw.page(visit, "operator/login.html", name="", problem=None, next=inside)


async def log_in(visit: OperatorVisit) -> Response:
    """A session of its own for every log-in: the one that the browser came with ends."""
    former, visit.session = visit.session, None
    form = await visit.form()
    operators, now = visit.service.operators, visit.service.clock()
    try:
        session_id = await operators.begin(form.text("name"), form.secret("password"), address=visit.address, now=now)
    except Refusal as refusal:
        return _log_in_again(visit, form, refusal)
    if former is not None:
        await operators.log_out(former, address=visit.address, now=now)
    response = visit.go(visit.inside(form.text("next")))
    is_over_tls = is_secure(visit.request, visit.service.settings.trusted_proxies)
    cookies.set_operator(response, visit.service.cookies.make(session_id), is_secure=is_over_tls)
    return response


def _log_in_again(visit: OperatorVisit, form: Form, refusal: Refusal) -> Response:
    response = draw.page(
        visit,
        "operator/login.html",
        status=HTTPStatus.TOO_MANY_REQUESTS if isinstance(refusal, TooMany) else HTTPStatus.BAD_REQUEST,
        name=form.text("name"),
        problem=mistakes.of_refusal(visit.words, refusal),
        next=visit.inside(form.text("next")),
    )
    if isinstance(refusal, TooMany):
        response.headers["Retry-After"] = str(refusal.retry_after_seconds)
    return response


async def log_out(visit: OperatorVisit) -> Response:
    await visit.form()
    assert visit.session is not None
    await visit.service.operators.log_out(visit.session, address=visit.address, now=visit.service.clock())
    response = visit.go("/operator/login", "logged-out")
    cookies.end_operator(response)
    return response
