"""Every operator sees whose password or second factor another has reset, and a third one vouches for it."""

import re

from malipo import clock
from malipo.approvals import booking_approval
from malipo.audit_log.actor import operator_at
from malipo.ledger.bookings import Booking, BookingKind
from malipo.operators import login
from malipo.operators import store as operators
from tests.dashboard.operator.operator_pages import Operator, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import Seen

_RESET = re.compile(r'name="name" value="([^"]+)"><input type="hidden" name="reset" value="(crs_[0-9a-z]+)"')


async def _help(operator_pages: OperatorPages, helped: Operator, *, by: Operator) -> None:
    """At the command line: a password for another. They log in with it, as whoever knows it can."""
    async with operator_pages.service.queries.database.begin() as tx:
        found = await operators.find_operator(tx, helped.name)
        assert found is not None
        assert found.password_hash is not None
        actor = operator_at(by.name, "host")
        assert await login.set_password(tx, helped.name, found.password_hash, actor=actor, now=clock.now())
    assert (await helped.log_in()).to == "/operator"


def _form(seen: Seen, name: str) -> dict[str, str] | None:
    return next(({"name": of, "reset": id_} for of, id_ in _RESET.findall(seen.text) if of == name), None)


async def _decide(operator_pages: OperatorPages, proposer: Operator, approver: Operator) -> Seen:
    paper = Booking(BookingKind.TOP_UP, operator_pages.merchant.id, 2_500_000, f"{operator_pages.merchant.id} NMB-1")
    async with operator_pages.service.queries.database.begin() as tx:
        actor = operator_at(proposer.name, "host")
        requested = await booking_approval.request(tx, paper, approval_amount=0, actor=actor, now=clock.now())
    assert requested.proposal is not None
    return await approver.surfer.post("/operator/bookings/approve", {"booking": requested.proposal.id})


async def test_one_operator_who_logs_in_as_another_is_not_two_until_a_third_vouches(
    operator_pages: OperatorPages,
) -> None:
    asha, juma, neema = [await operator_pages.operator(name) for name in ("asha", "juma", "neema")]
    await _help(operator_pages, juma, by=asha)
    refused = await _decide(operator_pages, asha, juma)
    assert (refused.status, "Until a third operator vouches for it" in refused.words) == (403, True)
    assert await operator_pages.available() == 10_000

    for each in (asha, juma, neema):
        seen = await each.surfer.get("/operator/networks")
        assert f"{asha.name} has set the password of {juma.name}." in seen.words
        assert (_form(seen, juma.name) is not None) == (each is neema), "who may vouch has a button"
    fields = _form(await neema.surfer.get("/operator/networks"), juma.name)
    assert fields is not None
    for each in (asha, juma):
        own = await each.surfer.post("/operator/vouch", fields)
        assert (own.status, "A third operator must vouch" in own.words) == (403, True)
    assert (await neema.surfer.post("/operator/vouch", fields)).status == 303
    seen = await neema.surfer.get("/operator/account")
    assert "They count again where a decision takes two operators." in seen.words
    assert f"has set the password of {juma.name}" not in seen.words
    assert (await _decide(operator_pages, asha, juma)).status == 303
    assert await operator_pages.available() == 10_000 + 2_500_000


async def test_nobody_vouches_for_what_they_have_not_seen(operator_pages: OperatorPages) -> None:
    asha, juma, neema = [await operator_pages.operator(name) for name in ("asha", "juma", "neema")]
    await _help(operator_pages, juma, by=asha)
    fields = _form(await neema.surfer.get("/operator/networks"), juma.name)
    assert fields is not None
    await _help(operator_pages, juma, by=asha)
    assert (await neema.surfer.post("/operator/vouch", fields)).status == 400
    assert (await neema.surfer.post("/operator/vouch", fields | {"reset": ""})).status == 400
    assert (await _decide(operator_pages, asha, juma)).status == 403
