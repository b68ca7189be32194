"""A batch is approved by another person with the password, cancelled, followed and downloaded."""

import asyncio
import csv
import io
from datetime import timedelta

from malipo import clock
from malipo.app.assemble import Service
from malipo.payments.batches.batch import BatchStatus
from tests.dashboard.merchant.batches.batch_pages import Office, office
from tests.dashboard.page_client import PASSWORD

__all__ = ["office"]


async def test_the_page_says_who_may_approve_and_the_maker_may_not(office: Office) -> None:
    page = await office.submitted()
    shown = await office.clerk.get(page)
    assert "2 payouts wait for approval. Nothing has been paid." in shown.words
    assert "One of these approves it: Juma Owner." in shown.words
    assert "Approve…" not in shown.words
    assert (await office.clerk.get(f"{page}/approve")).status == 403
    assert (await office.clerk.post(f"{page}/approve")).status == 403
    assert await office.payouts() == []


async def test_another_person_approves_and_the_payouts_are_there(office: Office) -> None:
    page = await office.submitted()
    asked = await office.owner.get(f"{page}/approve")
    assert asked.status == 200
    assert "TZS 3,000" in asked.words
    assert "Leaves your wallet TZS 3,300" in asked.words
    assert "Your wallet afterwards TZS 96,700" in asked.words
    done = await office.owner.post(f"{page}/approve")
    assert (done.status, done.to) == (303, page)
    assert await office.payouts() == [("+255754000101", "PENDING", 1000), ("+255655000102", "PENDING", 2000)]
    shown = await office.owner.get(page)
    assert "0 of 2 paid" in shown.words
    assert office.owner_person.email in shown.words


async def test_approving_takes_the_password_again(office: Office) -> None:
    page = await office.submitted()
    await _log_in_long_ago(office)
    asked = await office.owner.get(f"{page}/approve")
    assert asked.to.startswith("/dashboard/confirm?next=")
    refused = await office.owner.post(f"{page}/approve")
    assert refused.status == 403
    assert await office.payouts() == []
    done = await office.owner.post(f"{page}/approve", {"confirm_password": PASSWORD})
    assert done.status == 303
    assert len(await office.payouts()) == 2


async def _log_in_long_ago(office: Office) -> None:
    async with office.database.begin() as tx:
        await tx.execute(
            "UPDATE sessions SET confirmed_at = $2 WHERE person_id = $1",
            office.owner_person.id,
            clock.now() - timedelta(hours=1),
        )


async def test_approved_many_times_at_once_it_is_paid_once(office: Office) -> None:
    page = await office.submitted()
    await asyncio.gather(*(office.owner.post(f"{page}/approve") for _ in range(5)))
    assert len(await office.payouts()) == 2


async def test_without_the_money_nothing_happens_and_the_page_says_why(office: Office) -> None:
    page = await office.submitted(b"Phone,Amount\n0754000101,90000\n0655000102,20000\n")
    assert "Top it up before it is approved" in (await office.owner.get(page)).words
    refused = await office.owner.post(f"{page}/approve")
    assert refused.status == 400
    assert "The wallet does not hold enough for this." in refused.words
    assert await office.payouts() == []


async def test_the_maker_approves_where_the_owner_has_switched_the_second_person_off(office: Office) -> None:
    page = await office.submitted()
    await office.owner.post("/dashboard/settings/approval", {"takesTwo": "no", "above": ""})
    await office.wait_for_rules()
    assert (await office.clerk.post(f"{page}/approve")).status == 403, "staff still need to be allowed it"
    await office.owner.post(f"/dashboard/settings/people/{await _clerk_id(office)}/approval", {"allowed": "yes"})
    assert (await office.clerk.post(f"{page}/approve")).status == 303
    assert len(await office.payouts()) == 2


async def _clerk_id(office: Office) -> str:
    async with office.database.read() as connection:
        found: str = await connection.fetchval("SELECT id FROM people WHERE email = $1", office.clerk_email)
    return found


async def test_a_batch_that_awaits_approval_can_be_cancelled_by_who_made_it(office: Office) -> None:
    page = await office.submitted()
    assert "Nothing of it was paid, and nothing will be." in (await office.clerk.get(f"{page}/cancel")).words
    assert (await office.clerk.post(f"{page}/cancel")).status == 303
    assert [each.status for each in await office.made()] == [BatchStatus.CANCELLED]
    refused = await office.owner.post(f"{page}/approve")
    assert refused.status == 409
    assert "It no longer awaits approval." in refused.words


async def test_cancelling_an_approved_batch_cancels_the_payouts_that_were_not_sent(office: Office) -> None:
    page = await office.submitted()
    await office.owner.post(f"{page}/approve")
    assert "2 payouts were not sent yet" in (await office.clerk.get(f"{page}/cancel")).words
    await office.clerk.post(f"{page}/cancel")
    assert {status for _, status, _ in await office.payouts()} == {"CANCELLED"}
    shown = await office.clerk.get(f"{page}?status=CANCELLED")
    assert "0 of 2 paid · 2 not paid" in shown.words


async def test_the_results_are_a_file(office: Office) -> None:
    page = await office.submitted()
    await office.owner.post(f"{page}/approve")
    sent = await office.clerk.get(f"{page}/result.csv")
    assert sent.headers["Content-Disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(sent.text)))
    assert [(row["recipientName"], row["amount"], row["status"]) for row in rows] == [
        ("Asha Juma", "1000", "PENDING"),
        ("Baraka Mushi", "2000", "PENDING"),
    ]


async def test_the_results_can_be_sent_again_as_a_spreadsheet(office: Office) -> None:
    page = await office.submitted()
    await office.owner.post(f"{page}/approve")
    sent = await office.clerk.get(f"{page}/result.csv")
    shown = await office.clerk.get(await office.draft(sent.text.encode(), name="again.csv"))
    assert "Paid to this number, the same amount, within 30 days" in shown.words
    assert "2 lines cannot" not in shown.words


async def test_another_merchants_batch_is_not_there(office: Office, service: Service) -> None:
    async with office.database.read() as connection:
        other = await connection.fetchval("SELECT id FROM batches WHERE merchant_id <> $1 LIMIT 1", office.merchant_id)
    other = other or "bat_nowhere"
    for path in ("", "/approve", "/cancel", "/result.csv"):
        assert (await office.owner.get(f"/dashboard/batches/{other}{path}")).status == 404
    for path in ("/approve", "/cancel"):
        assert (await office.owner.post(f"/dashboard/batches/{other}{path}")).status == 404


async def test_the_list_has_every_batch_with_its_status(office: Office) -> None:
    page = await office.submitted()
    shown = await office.owner.get("/dashboard/batches")
    assert "Wages" in shown.words
    assert "Awaits approval" in shown.words
    await office.owner.post(f"{page}/approve")
    assert "0 of 2 ended" in (await office.owner.get("/dashboard/batches")).words


async def test_a_long_batch_is_shown_in_pages(office: Office) -> None:
    content = b"Phone,Amount\n" + b"".join(b"07540%05d,%d\n" % (number, 600) for number in range(120))
    page = await office.submitted(content)
    first, last = await office.owner.get(page), await office.owner.get(f"{page}?page=3")
    assert "+255 754 000 000" in first.words
    assert "+255 754 000 119" in last.words
    assert "+255 754 000 119" not in first.words
