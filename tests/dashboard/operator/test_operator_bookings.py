"""/operator/bookings: a second operator approves or rejects a large top-up or settlement."""

import re

import pytest

from malipo import clock
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import ProposedBooking
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import operator_at
from malipo.ledger import transfers
from malipo.ledger.bookings import Booking, BookingKind
from malipo.ledger.transfers import Transfer
from tests.dashboard.operator.operator_pages import Operator, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import Seen

PATH = "/operator/bookings"
LARGE = 2_500_000


async def _propose(
    operator_pages: OperatorPages,
    proposer: Operator,
    reference: str,
    amount: int = LARGE,
    kind: BookingKind = BookingKind.TOP_UP,
) -> ProposedBooking:
    """At the command line. References are this merchant's own: the database is shared."""
    paper = Booking(kind, operator_pages.merchant.id, amount, f"{operator_pages.merchant.id} {reference}")
    async with operator_pages.service.queries.database.begin() as tx:
        actor = operator_at(proposer.name, "host")
        requested = await booking_approval.request(tx, paper, approval_amount=0, actor=actor, now=clock.now())
    assert requested.proposal is not None
    return requested.proposal


async def _decide(operator: Operator, act: str, booking: str) -> Seen:
    return await operator.surfer.post(f"{PATH}/{act}", {"booking": booking})


def _row(seen: Seen, proposal: ProposedBooking) -> str:
    [row] = [each for each in re.findall("<tr>.*?</tr>", seen.text, re.DOTALL) if proposal.bank_reference in each]
    return str(row)


async def test_another_operator_sees_and_approves_it(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    proposal = await _propose(operator_pages, asha, "NMB-1")
    seen = await juma.surfer.get(PATH)
    row = _row(seen, proposal)
    for shown in ("Top-up", "2,500,000", asha.name, "Duka &lt;b&gt;la", f"{PATH}/approve", f"{PATH}/reject"):
        assert shown in row
    assert "TZS 1,000,000" in seen.words, "above which it takes two"
    assert (await _decide(juma, "approve", proposal.id)).to == PATH
    after = await juma.surfer.get(PATH)
    assert "It is approved and booked." in after.words
    assert proposal.bank_reference not in after.words
    assert await operator_pages.available() == 10_000 + LARGE
    async with operator_pages.service.queries.database.read() as connection:
        [deed, *_] = await audit_log.find(connection, merchant_id=operator_pages.merchant.id, limit=1)
    assert (deed.action, deed.actor, deed.address) == ("wallet.top_up", f"operator {juma.name}", juma.address)


async def test_the_first_page_lists_what_waits_and_links_to_where_it_is_approved(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    proposal = await _propose(operator_pages, asha, "NMB-1")
    row = _row(await juma.surfer.get("/operator"), proposal)
    for shown in (f'href="{PATH}"', "2,500,000", asha.name):
        assert shown in row
    await _decide(juma, "reject", proposal.id)
    assert proposal.bank_reference not in (await juma.surfer.get("/operator")).words


async def test_a_transfer_between_a_network_and_the_bank_is_decided_there_too(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    paper = Transfer(
        transfers.TransferKind.TO_BANK, "TIGO_PESA", "till 5", LARGE, f"{operator_pages.merchant.id} NMB-T"
    )
    async with operator_pages.service.queries.database.begin() as tx:
        actor = operator_at(asha.name, "host")
        requested = await booking_approval.request(tx, paper, approval_amount=0, actor=actor, now=clock.now())
    assert requested.proposal is not None
    row = _row(await juma.surfer.get(PATH), requested.proposal)
    for shown in ("From the network to the bank", "TIGO_PESA", "till 5", "2,500,000", asha.name):
        assert shown in row
    assert (await _decide(juma, "approve", requested.proposal.id)).to == PATH
    async with operator_pages.service.queries.database.begin() as tx:
        assert await transfers.is_booked(tx, paper)


async def test_whoever_proposed_it_can_only_take_it_back(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    proposal = await _propose(operator_pages, asha, "NMB-1")
    row = _row(await asha.surfer.get(PATH), proposal)
    assert "Take it back" in row
    assert f"{PATH}/approve" not in row
    refused = await _decide(asha, "approve", proposal.id)
    assert (refused.status, "it takes two operators" in refused.words) == (403, True)
    assert await operator_pages.available() == 10_000
    assert (await _decide(asha, "reject", proposal.id)).to == PATH
    assert proposal.bank_reference not in (await asha.surfer.get(PATH)).words
    assert await operator_pages.available() == 10_000


@pytest.mark.parametrize("act", ["approve", "reject"])
async def test_a_form_decides_about_nothing_else_than_what_was_seen(operator_pages: OperatorPages, act: str) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    seen = await _propose(operator_pages, asha, "NMB-1")
    await _decide(asha, "reject", seen.id)
    await _propose(operator_pages, asha, "NMB-1", LARGE * 10)
    for booking in (seen.id, seen.bank_reference, "", "bok_\0", "bok_none"):
        refused = await _decide(juma, act, booking)
        assert (refused.status, "It has changed since you looked." in refused.words) == (409, True), booking
    assert f"{LARGE * 10:,}" in (await juma.surfer.get(PATH)).words
    assert await operator_pages.available() == 10_000


async def test_a_settlement_that_the_wallet_can_no_longer_bear_stays_on_the_list(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    first, second = [await _propose(operator_pages, asha, f"NMB-{n}", 8000, BookingKind.SETTLEMENT) for n in (1, 2)]
    assert (await _decide(juma, "approve", first.id)).status == 303
    refused = await _decide(juma, "approve", second.id)
    assert (refused.status, "The wallet holds only TZS 2,000." in refused.words) == (400, True)
    assert "Settlement" in _row(refused, second)
    assert await operator_pages.available() == 2000


async def test_forged_forms_are_refused(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    proposal = await _propose(operator_pages, asha, "NMB-1")
    for act in ("approve", "reject"):
        fields = {"booking": proposal.id}
        forged = [
            await juma.surfer.post(f"{PATH}/{act}", fields, token=""),
            await juma.surfer.post(f"{PATH}/{act}", fields, token=asha.surfer.token),
            await juma.surfer.post(f"{PATH}/{act}", fields, headers={"Origin": "https://evil.example"}),
        ]
        assert [each.status for each in forged] == [403, 403, 403]
    assert proposal.bank_reference in (await juma.surfer.get(PATH)).words
    assert await operator_pages.available() == 10_000
