"""Two-step log-in of a merchant's people: their own, another's that is reset, and whether everybody needs it."""

from datetime import datetime

from starlette.responses import Response

from malipo.dashboard import form_errors
from malipo.dashboard.merchant import people as people_pages
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.second_factor_pages import SecondFactorPages
from malipo.dashboard.urls import id_in
from malipo.db import Tx
from malipo.errors import Conflict
from malipo.merchants import second_factor
from malipo.merchants.four_eyes import NotVouchedFor


class MerchantSecondFactorPages(SecondFactorPages[MerchantRequest]):
    path = "/dashboard/settings/second-factor"
    back = "/dashboard/settings"

    async def _changed(self, tx: Tx, request: MerchantRequest, now: datetime) -> None:
        assert request.session is not None
        await second_factor.changed(tx, request.person, request.session.id, now=now)


OWN = MerchantSecondFactorPages()


async def reset(request: MerchantRequest) -> Response:
    """Reset the second factor of another person. People remove their own with a code."""
    await request.form()
    now = request.parts.clock()

    async def act(tx: Tx) -> None:
        person = await people_pages.get(tx, request)
        if person.id == request.person.id:
            raise second_factor.NotOneself
        await second_factor.reset(tx, person, actor=request.actor, now=now)

    try:
        await request.parts.queries.write(act)
    except (Conflict, NotVouchedFor) as refusal:
        return await people_pages.refused(request, refusal)
    return request.go(f"{people_pages.PATH}/{id_in(request)}", "second-factor-reset")


async def require(request: MerchantRequest) -> Response:
    form = await request.form()
    is_required, now = form.text("required") == "yes", request.parts.clock()
    try:
        await request.parts.queries.write(
            lambda tx: second_factor.set_required(
                tx, request.person, is_required=is_required, actor=request.actor, now=now
            )
        )
    except Conflict as refusal:
        return await people_pages.page_of_all(
            request, problem=form_errors.of_refusal(request.words, refusal), status=409
        )
    return request.go(people_pages.PATH, "second-factor-required" if is_required else "second-factor-optional")
