"""Asks users for their password again: before a sensitive act, and after a long time. The same on both sites.

Where there is a second factor, it asks for a code too.

A link leads to the page `…/confirm` and from there back. A form is kept: the page that asks holds its fields and sends
them to where they were sent, together with the password. So nothing is typed twice, and no form is lost.
"""

from http import HTTPStatus
from urllib.parse import quote

from starlette.responses import Response

from malipo.accounts.reauthentication import SensitiveAct, is_confirmed_in_browser
from malipo.accounts.second_factor.check_code import CodeRequired, TooManyCodes, WrongCode
from malipo.dashboard import form_errors, render
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.forms import Form, typed_in
from malipo.errors import Refusal, TooMany

_TEMPLATE = "confirm.html"
_PASSWORD = "confirm_password"  # noqa: S105 - the name of a field that no other form has
_CODE = "confirm_code"
# A hidden field can be read in the page's source, by anybody at the screen.
_NOT_KEPT = ("token", "username", _PASSWORD, _CODE, "password", "again", "current")


async def show(request: BrowserRequest) -> Response:
    return _page(request, action=f"{request.root}/confirm", next_=request.http.query_params.get("next"))


async def confirm(request: BrowserRequest) -> Response:
    form = await request.form()
    try:
        await request.confirm(form.secret(_PASSWORD), typed_in(form.text(_CODE)))
    except Refusal as refusal:
        return _page(request, action=f"{request.root}/confirm", next_=form.text("next"), refusal=refusal)
    return request.go(request.inside(form.text("next")))


async def ask(request: BrowserRequest, act: SensitiveAct | None) -> Response | None:
    """Return the page that asks for the password; None if no confirmation is needed, or if the form contains the right
    password."""
    path = request.http.url.path
    if path in (f"{request.root}/confirm", f"{request.root}/logout") or is_confirmed(request, act):
        return None
    if request.http.method != "POST":
        return request.go(f"{request.root}/confirm?next={quote(request.place)}")
    form = await request.form()
    if not form.all(_PASSWORD):
        return _page(request, action=path, kept=form)
    try:
        await request.confirm(form.secret(_PASSWORD), typed_in(form.text(_CODE)))
    except Refusal as refusal:
        return _page(request, action=path, kept=form, refusal=refusal)
    request.keep_form(form.without(_PASSWORD, _CODE, "username"))
    return None


def is_confirmed(request: BrowserRequest, act: SensitiveAct | None) -> bool:
    confirmed_at, last_used_at = request.confirmed_at, request.last_used_at
    now = request.parts.clock()
    return is_confirmed_in_browser(act, confirmed_at=confirmed_at, last_used_at=last_used_at, now=now)


def _page(
    request: BrowserRequest,
    *,
    action: str,
    next_: str | None = None,
    kept: Form | None = None,
    refusal: Refusal | None = None,
) -> Response:
    is_about_code = isinstance(refusal, CodeRequired | WrongCode | TooManyCodes)
    response = render.page(
        request,
        _TEMPLATE,
        status=_status(refusal, is_form=kept is not None),
        is_refused=refusal is not None,
        action=action,
        field=_PASSWORD,
        code_field=_CODE if request.has_second_factor else None,
        fields=[] if kept is None else kept.pairs_without(*_NOT_KEPT),
        next=request.inside(next_) if kept is None else None,
        problem=None if refusal is None or is_about_code else form_errors.of_refusal(request.words, refusal),
        code_problem=form_errors.of_refusal(request.words, refusal) if refusal is not None and is_about_code else None,
    )
    if isinstance(refusal, TooMany):
        response.headers["Retry-After"] = str(refusal.retry_after_seconds)
    return response


def _status(refusal: Refusal | None, *, is_form: bool) -> HTTPStatus:
    if refusal is None:
        return HTTPStatus.FORBIDDEN if is_form else HTTPStatus.OK
    return HTTPStatus.TOO_MANY_REQUESTS if isinstance(refusal, TooMany) else HTTPStatus.BAD_REQUEST
