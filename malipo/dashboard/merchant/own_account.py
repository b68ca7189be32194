"""Your own settings: password, language, and where you are logged in."""

from collections.abc import Mapping

from starlette.responses import Response

from malipo.dashboard import cookies, form_errors, render
from malipo.dashboard.forms import typed_in
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.sessions import find
from malipo.dashboard.trusted_browser_pages import find_browsers
from malipo.errors import Refusal, TooMany
from malipo.http.user_agents import device_of

PATH = "/dashboard/settings"
# Which field a refusal is about, by its code; others are about the current password.
_FIELDS = {
    "password_weak": "password",
    "second_factor_required": "code",
    "second_factor_wrong": "code",
    "too_many_codes": "code",
}
_NOT_THE_SAME = "This is not the same password."


async def show(request: MerchantRequest) -> Response:
    return await _page(request, {})


async def change_password(request: MerchantRequest) -> Response:
    """Every session ends, this one too: the old password may be known to others."""
    form = await request.form()
    current, new = form.secret("current"), form.secret("password")
    missing = {
        name: form_errors.sentence(request.words, "field_required")
        for name in ("current", "password")
        if not form.secret(name)
    }
    if missing:
        return await _page(request, missing)
    if new != form.secret("again"):
        return await _page(request, {"again": request.words(_NOT_THE_SAME)})
    try:
        await request.parts.accounts.login.change_password(
            request.person,
            current,
            new,
            typed_in(form.text("code")),
            address=request.address,
            browser=request.browser,
            now=request.parts.clock(),
        )
    except Refusal as refusal:
        field = _FIELDS.get(refusal.code, "current")
        status = 429 if isinstance(refusal, TooMany) else 400
        return await _page(request, {field: form_errors.of_refusal(request.words, refusal)}, status=status)
    response = request.go("/dashboard/login", "password-chosen")
    cookies.SESSION.end(response)
    return response


async def _page(request: MerchantRequest, problems: Mapping[str, str], *, status: int = 400) -> Response:
    assert request.session is not None
    sessions, more_sessions = await find(request)
    return render.page(
        request,
        "merchant/settings/own.html",
        status=status if problems else 200,
        problems=problems,
        sessions=[(each, device_of(each.user_agent)) for each in sessions],
        more_sessions=more_sessions,
        this=request.session.id,
        has_second_factor=request.has_second_factor,
        browsers=await find_browsers(request) if request.has_second_factor else [],
    )
