"""Log-in and log-out of operators."""

from http import HTTPStatus

from starlette.responses import Response

from malipo.client_address import is_secure
from malipo.dashboard import cookies, form_errors, render
from malipo.dashboard.browser_request import Form
from malipo.dashboard.operator.request import OperatorRequest
from malipo.errors import Refusal, TooMany

SENTENCES = {"operator_unknown": "The name or the password is not right."}


async def show(request: OperatorRequest) -> Response:
    inside = request.inside(request.http.query_params.get("next"))
    if request.session is not None:
        return request.go(inside)
    return render.page(request, "operator/login.html", name="", problem=None, next=inside)


async def log_in(request: OperatorRequest) -> Response:
    """A session of its own for every log-in: the one that the browser came with ends."""
    former, request.session = request.session, None
    form = await request.form()
    operators, now = request.service.operators, request.service.clock()
    try:
        session_id = await operators.begin(form.text("name"), form.secret("password"), address=request.address, now=now)
    except Refusal as refusal:
        return _log_in_again(request, form, refusal)
    if former is not None:
        await operators.log_out(former, address=request.address, now=now)
    response = request.go(request.inside(form.text("next")))
    is_over_tls = is_secure(request.http, request.service.settings.trusted_proxies)
    cookies.set_operator(response, request.service.cookies.make(session_id), is_secure=is_over_tls)
    return response


def _log_in_again(request: OperatorRequest, form: Form, refusal: Refusal) -> Response:
    response = render.page(
        request,
        "operator/login.html",
        status=HTTPStatus.TOO_MANY_REQUESTS if isinstance(refusal, TooMany) else HTTPStatus.BAD_REQUEST,
        name=form.text("name"),
        problem=form_errors.of_refusal(request.words, refusal),
        next=request.inside(form.text("next")),
    )
    if isinstance(refusal, TooMany):
        response.headers["Retry-After"] = str(refusal.retry_after_seconds)
    return response


async def log_out(request: OperatorRequest) -> Response:
    await request.form()
    assert request.session is not None
    await request.service.operators.log_out(request.session, address=request.address, now=request.service.clock())
    response = request.go("/operator/login", "logged-out")
    cookies.end_operator(response)
    return response
