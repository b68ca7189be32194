"""Blocked phone numbers: operators block a number whose owner complains about prompts, and unblock it. Pay pages send
no prompt to it."""

from contextlib import suppress
from http import HTTPStatus

from starlette.responses import Response

from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.errors import Conflict
from malipo.links import block_number
from malipo.links.store import blocked_numbers
from malipo.validation.fields import Fields
from malipo.validation.typed_values import phone_of

PATH = "/operator/numbers"
_MOST_SHOWN = 200
_MOST_REASON = 300


async def show(request: OperatorRequest) -> Response:
    return await _page(request, {})


async def block(request: OperatorRequest) -> Response:
    form = await request.form()
    typed = {"phone": form.text("phone"), "reason": form.text("reason")}
    fields = Fields({"phone": phone_of(typed["phone"]) or None, "reason": typed["reason"] or None})
    phone, reason = fields.phone("phone"), fields.required_text("reason", most=_MOST_REASON, is_line=True)
    if fields.mistakes:
        return await _page(request, typed, form_errors.in_words(request.words, fields), status=HTTPStatus.BAD_REQUEST)
    now = request.parts.clock()
    try:
        await request.parts.queries.write(
            lambda tx: block_number.block(tx, phone, reason, actor=request.actor, now=now)
        )
    except Conflict as refused:
        problem = {"phone": form_errors.of_refusal(request.words, refused)}
        return await _page(request, typed, problem, status=HTTPStatus.CONFLICT)
    return request.go(PATH, "number-blocked")


async def unblock(request: OperatorRequest) -> Response:
    """Unblock a number. If it was unblocked meanwhile, that is no error."""
    form = await request.form()
    now, phone = request.parts.clock(), form.text("phone")
    with suppress(Conflict):
        await request.parts.queries.write(lambda tx: block_number.unblock(tx, phone, actor=request.actor, now=now))
    return request.go(PATH, "number-unblocked")


async def _page(
    request: OperatorRequest,
    typed: dict[str, str],
    problems: dict[str, str] | None = None,
    *,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    found = await request.parts.queries.read(lambda connection: blocked_numbers.find_all(connection, limit=_MOST_SHOWN))
    return render.page(
        request,
        "operator/numbers.html",
        status=status,
        numbers=found,
        typed=typed,
        problems=problems or {},
        most=_MOST_SHOWN,
    )
