"""Failed payouts of a batch are paid again: as a draft, once, and only those that still count as failed."""

import asyncio
import re
import secrets

from malipo.app.assemble import Service
from malipo.networks.connector import Verdict
from malipo.payments.batches.batch import BatchStatus
from malipo.payments.dispatch import AnswerSource
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import transactions
from malipo.payments.transaction import Cause, Transaction
from tests.conftest import Running, make_merchant
from tests.dashboard.merchant.batches.batch_pages import Office, inputs_in, office
from tests.dashboard.page_client import Seen, add_person, surfing
from tests.payments.payment_steps import PaymentSteps
from tests.status_changes import change_status

__all__ = ["office"]

LINES = (
    b"Name,Phone,Network,Amount,Reference\n"
    b"Asha Juma,0754000101,M-Pesa,1000,E-1\n"
    b"Baraka Mushi,0655000102,Tigo,2000,E-2\n"
    b"Celina Mrema,0754000103,M-Pesa,3000,E-3\n"
)
FAILED, PAID, OPEN, STOPPED = Cause.REFUSED, Cause.CONFIRMED, Cause.SUBMITTED, Cause.WITHDRAWN


async def ended(office: Office, service: Service, *causes: Cause) -> str:
    """The page of a batch whose payouts have come so far."""
    page = await office.submitted(LINES)
    assert (await office.owner.post(f"{page}/approve")).status == 303
    for payout, cause in zip(await payouts(office), causes, strict=True):
        for each in dict.fromkeys((cause,) if cause is STOPPED else (Cause.SUBMITTED, cause)):
            code = "not_registered" if each is Cause.REFUSED else None
            await change_status(
                service,
                StatusChange(merchant_id=office.merchant_id, transaction_id=payout.id, cause=each, failure_code=code),
            )
    return page


async def payouts(office: Office) -> list[Transaction]:
    async with office.database.read() as connection:
        ids = await connection.fetch(
            "SELECT id FROM transactions WHERE merchant_id = $1 ORDER BY id", office.merchant_id
        )
        found = [await transactions.get(connection, office.merchant_id, row[0]) for row in ids]
    return [each for each in found if each is not None]


def draft_id(page: Seen) -> str:
    found = re.search(r'name="draft" value="(drf_\w+)"', page.text)
    assert found is not None, page.words
    return found[1]


async def again(office: Office, page: str) -> Seen:
    return await office.clerk.post(f"{page}/again", {"draft": draft_id(await office.clerk.get(page))})


async def test_the_failed_ones_become_a_draft_that_is_mended_submitted_and_approved(
    office: Office, service: Service
) -> None:
    page = await ended(office, service, FAILED, PAID, FAILED)
    assert "1 of 3 paid" in (await office.clerk.get("/dashboard/batches")).words
    assert "Pay the 2 failed ones again…" in (await office.clerk.get(page)).words
    draft = (await again(office, page)).to
    shown = await office.clerk.get(draft)
    assert "These payouts have failed, and their money is back in your wallet." in shown.words
    assert ("Asha Juma" in shown.words, "Baraka" in shown.words) == (True, False)
    assert "TZS 4,000" in shown.words

    inputs = inputs_in(await office.clerk.get(f"{draft}?show=all&edit=3"))
    await office.clerk.post(draft, inputs | {"phone-3": "0754000199", "show": "all"})
    changed = await office.clerk.get(draft)
    assert "In that batch: +255754000103. You typed: 0754000199." in changed.words
    assert (await office.submit(draft)).status == 303
    assert len(await payouts(office)) == 3, "nothing is paid before it is approved"

    new, _ = await office.made()
    assert (new.item_count, new.amount, new.status) == (2, 4000, BatchStatus.AWAITING_APPROVAL)
    assert (await office.owner.post(f"/dashboard/batches/{new.id}/approve")).status == 303
    first, second = (await payouts(office))[3:]
    assert [(each.phone, each.order_reference) for each in (first, second)] == [
        ("+255754000101", "E-1"),
        ("+255754000199", "E-3"),
    ]
    assert first.network_key not in {each.network_key for each in (await payouts(office))[:3]}
    assert "What failed was submitted again: see that batch" in (await office.clerk.get(page)).words


async def test_what_has_not_ended_is_never_paid_again(office: Office, service: Service) -> None:
    page = await ended(office, service, FAILED, PAID, OPEN)
    assert "again…" not in (await office.clerk.get(page)).words
    assert (await office.clerk.post(f"{page}/again", {"draft": "drf_0"})).to == page


async def test_pressed_twice_and_by_two_people_it_is_one_batch(office: Office, service: Service) -> None:
    page = await ended(office, service, FAILED, FAILED, FAILED)
    first = draft_id(await office.clerk.get(page))
    answers = await asyncio.gather(*(office.clerk.post(f"{page}/again", {"draft": first}) for _ in range(4)))
    assert {each.to for each in answers} == {f"/dashboard/batches/drafts/{first}"}
    of_clerk = answers[0].to
    of_owner = (await office.owner.post(f"{page}/again", {"draft": draft_id(await office.owner.get(page))})).to
    assert of_owner != of_clerk
    submitted = await office.submit(of_clerk)
    assert (await office.owner.get(of_owner)).to == submitted.to
    assert (await office.owner.post(f"{page}/again", {})).to == submitted.to
    assert len(await office.made()) == 2


async def test_after_that_batch_was_cancelled_they_can_be_paid_again(office: Office, service: Service) -> None:
    page = await ended(office, service, FAILED, PAID, PAID)
    submitted = await office.submit((await again(office, page)).to)
    await office.clerk.post(f"{submitted.to}/cancel")
    once_more = await office.submit((await again(office, page)).to)
    assert (once_more.status, once_more.to == submitted.to) == (303, False)
    assert len(await office.made()) == 3


async def test_what_its_network_has_corrected_is_not_paid_again(office: Office, service: Service) -> None:
    page = await ended(office, service, FAILED, FAILED, PAID)
    draft = (await again(office, page)).to
    first, *_ = await payouts(office)
    steps = PaymentSteps(service, office.merchant_id)
    await steps.report(first, Verdict.CONFIRMED)
    assert await steps.correction(first) is not None
    refused = await office.submit(draft)
    assert refused.status == 409
    assert "Leave out rows 1." in refused.words
    assert len(await office.made()) == 1
    await steps.report(first, Verdict.REFUSED, AnswerSource.CALLBACK, is_trusted=False)
    assert (await steps.report(first, Verdict.REFUSED)).is_contradiction, "it may say a third thing"
    other = (await again(office, page)).to
    assert "Asha Juma" not in (await office.clerk.get(other)).words


async def test_what_its_network_corrects_before_the_approval_is_not_paid_again(
    office: Office, service: Service
) -> None:
    page = await ended(office, service, FAILED, FAILED, PAID)
    submitted = (await office.submit((await again(office, page)).to)).to
    _, second, _ = await payouts(office)
    await PaymentSteps(service, office.merchant_id).report(second, Verdict.CONFIRMED)

    refused = await office.owner.post(f"{submitted}/approve")

    assert refused.status == 409
    assert "the failed payouts that lines 2 pay again were paid after all" in refused.words
    assert len(await payouts(office)) == 3, "nothing was opened"
    assert (await office.clerk.post(f"{submitted}/cancel")).status == 303
    anew = (await office.submit((await again(office, page)).to)).to
    assert (await office.owner.post(f"{anew}/approve")).status == 303
    assert [each.phone for each in (await payouts(office))[3:]] == ["+255754000101"]


async def test_what_was_stopped_is_not_paid_again(office: Office, service: Service) -> None:
    page = await ended(office, service, FAILED, STOPPED, PAID)
    assert "Pay the failed one again…" in (await office.clerk.get(page)).words
    shown = await office.clerk.get((await again(office, page)).to)
    assert ("Asha Juma" in shown.words, "Baraka" in shown.words) == (True, False)


async def test_a_refund_is_not_paid_again_as_a_payout(office: Office, service: Service) -> None:
    """Its collection is refunded again."""
    page = await ended(office, service, FAILED, FAILED, PAID)
    async with office.database.begin() as tx:
        await tx.execute(
            "UPDATE batch_items SET refund_of = 'txn_1' WHERE merchant_id = $1 AND item_index = 0", office.merchant_id
        )
    shown = await office.clerk.get((await again(office, page)).to)
    assert ("Asha Juma" in shown.words, "Baraka" in shown.words) == (False, True)


async def test_another_merchants_batch_is_not_there(office: Office, service: Service, running: Running) -> None:
    page = await ended(office, service, FAILED, PAID, PAID)
    other = await make_merchant(office.database)
    stranger = await add_person(office.database, other.id, f"owner+{secrets.token_hex(6)}@example.com")
    async with surfing(running.url, seen_from=f"10.63.0.{secrets.randbelow(250) + 1}") as surfer:
        await surfer.log_in(stranger.email)
        assert (await surfer.get(page)).status == 404
        for path in (page, "/dashboard/batches/bat_nowhere"):
            assert (await surfer.post(f"{path}/again", {"draft": "drf_0"})).status == 404
