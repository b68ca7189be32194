"""An owner vouches for somebody whom another has invited or reset."""

from starlette.responses import Response

from malipo.dashboard import form_errors
from malipo.dashboard.merchant import people as people_pages
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Tx
from malipo.errors import Refusal
from malipo.merchants import four_eyes
from malipo.merchants.store import people

PATH = "/dashboard/settings/vouch"


async def vouch(request: MerchantRequest) -> Response:
    form = await request.form()
    email, last_seen, now = form.text("email"), form.text("reset"), request.parts.clock()

    async def act(tx: Tx) -> None:
        person = await people.find_by_email(tx, email)
        if person is None or person.merchant_id != request.merchant_id:
            raise four_eyes.NothingOpen
        await four_eyes.vouch(tx, person, request.person, actor=request.actor, now=now, last_seen=last_seen)

    try:
        await request.parts.queries.write(act)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await people_pages.page_of_all(request, problem=problem, status=form_errors.status_of(refusal))
    return request.go(people_pages.PATH, "person-vouched-for")
