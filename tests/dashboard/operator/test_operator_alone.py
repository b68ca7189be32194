"""Where only one operator exists, the pages let them approve alone what the table of acts allows, and the audit log keeps
it. And no page approves what has changed since it was shown."""

from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status
from tests.dashboard.operator.operator_pages import COLLECTION, PAYOUT, OperatorPages, proposal_on, seen_on
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.own_database import database, database_url, running, service
from tests.dashboard.operator.test_operator_floats import _booking, _row, _transfer
from tests.payments.payment_steps import PaymentSteps

__all__ = ["database", "database_url", "running", "service"]

ALONE = "You are the only operator, so you decide alone."
FLOATS = "/operator/floats"


async def _kept(operator_pages: OperatorPages) -> list[str]:
    async with operator_pages.service.queries.database.read() as connection:
        rows = await connection.fetch("SELECT action FROM audit_log WHERE details ->> 'alone' = 'true' ORDER BY id")
    return [row["action"] for row in rows]


async def test_the_only_operator_approves_alone_on_the_pages(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    collection = await operator_pages.late(COLLECTION, 2_500_000)
    assert (await asha.propose(collection, "completed")).status == 303
    page = await asha.look(collection)
    assert (ALONE in page.words, await operator_pages.status(collection)) == (True, Status.PROCESSING)
    fields = {"proposal": proposal_on(page), "seen": seen_on(page), "alone": "yes"}
    path = f"/operator/cases/{collection.reference}/approve"
    assert (await asha.surfer.post(path, fields | {"alone": ""})).status == 403
    assert (await asha.surfer.post(path, fields)).status == 303
    assert await operator_pages.status(collection) is Status.COMPLETED

    assert (await _transfer(asha, "2,500,000", "NMB-alone")).to == FLOATS
    shown = await asha.surfer.get(FLOATS)
    booking = _booking(_row(shown, "NMB-alone"))
    assert ALONE in shown.words
    assert (await asha.surfer.post(f"{FLOATS}/approve", {"booking": booking, "alone": "yes"})).to == FLOATS
    assert await _kept(operator_pages) == ["payment.resolved", "float.from_bank"]


async def test_what_always_takes_two_and_a_second_operator_leave_nobody_alone(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    payout = await operator_pages.late()
    await asha.propose(payout, "failed")
    page = await asha.look(payout)
    assert ALONE not in page.words
    path = f"/operator/cases/{payout.reference}/approve"
    juma = await operator_pages.operator("juma")
    theirs = await juma.look(payout)
    alone = await juma.surfer.post(path, {"proposal": proposal_on(theirs), "seen": seen_on(theirs), "alone": "yes"})
    assert (alone.status, "always takes two operators" in alone.words) == (403, True)
    assert await _kept(operator_pages) == []


async def test_a_page_does_not_approve_a_payment_that_was_reported_as_paid_since(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    steps = PaymentSteps(operator_pages.service, operator_pages.merchant.id)
    payout = await steps.processing(PAYOUT)
    await asha.propose(payout, "failed", despiteWaiting="yes")
    page = await juma.look(payout)
    fields = {"proposal": proposal_on(page), "seen": seen_on(page)}
    await steps.report(payout, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)
    path = f"/operator/cases/{payout.reference}/approve"
    for wrong in (fields, fields | {"seen": ""}):
        refused = await juma.surfer.post(path, wrong)
        assert (refused.status, "has changed since you saw it" in refused.words) == (409, True)
    assert await operator_pages.status(payout) is Status.PROCESSING
    assert (await juma.approve(payout)).status == 303, "what stands there now"
