"""A top-up or settlement above an amount takes two operators."""

import asyncio
from datetime import timedelta

import pytest

from malipo import clock
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import NotOpen, NotProposed, ProposedBooking, SeveralProposed
from malipo.audit_log.actor import Actor
from malipo.db import Database, DataError
from malipo.errors import Conflict, Forbidden
from malipo.ledger import check as ledger_check
from malipo.ledger.bookings import Booking, BookingKind, ReferenceReused, WalletTooLow, book
from tests.conftest import Merchant, make_merchant
from tests.operators.booking_steps import ASHA, JUMA, LARGE, LIMIT, NEEMA, Desk


@pytest.fixture
async def desk(database: Database, merchant: Merchant) -> Desk:
    """The merchant's wallet holds TZS 1,000,000."""
    return Desk(database, merchant)


def proposal_in(desk_said: object) -> ProposedBooking:
    assert isinstance(desk_said, ProposedBooking)
    return desk_said


@pytest.mark.parametrize(
    ("amount", "limit", "is_proposed"),
    [(LIMIT, LIMIT, False), (LIMIT + 1, LIMIT, True), (1, 0, True), (1, 1, False), (2, 1, True)],
)
async def test_only_more_than_the_amount_waits_for_another(
    desk: Desk, amount: int, limit: int, is_proposed: bool
) -> None:
    requested = await desk.request(amount, limit=limit)
    assert requested.is_new
    assert (requested.proposal is not None) == is_proposed
    assert await desk.available() == 1_000_000 + (0 if is_proposed else amount)


async def test_many_small_bookings_of_one_operator_are_a_large_one(desk: Desk) -> None:
    async def is_booked(
        amount: int, reference: str, actor: Actor = ASHA, kind: BookingKind = BookingKind.TOP_UP
    ) -> bool:
        return (await desk.request(amount, reference, actor=actor, kind=kind)).proposal is None

    assert await is_booked(LIMIT - 1_000, "NMB-1")
    assert await is_booked(1_000, "NMB-2")
    assert not await is_booked(1, "NMB-3")
    assert not await is_booked(1, "NMB-4", kind=BookingKind.SETTLEMENT)
    assert await is_booked(LIMIT, "NMB-5", actor=JUMA), "others have a sum of their own"
    await desk.approve("NMB-3", actor=NEEMA)
    assert await is_booked(LIMIT, "NMB-6", actor=NEEMA), "what another has proposed is not counted"


async def test_bookings_of_one_operator_at_once_are_counted_together(desk: Desk) -> None:
    said = await asyncio.gather(*(desk.request(LIMIT, f"NMB-{number}") for number in range(5)))
    assert sum(each.proposal is None for each in said) == 1


async def test_bookings_of_the_day_before_are_not_counted(desk: Desk) -> None:
    await desk.request(LIMIT, "NMB-1")
    async with desk.database.begin() as tx:
        later = clock.now() + timedelta(hours=24, minutes=1)
        booking = Booking(BookingKind.TOP_UP, desk.merchant.id, LIMIT, "NMB-2")
        requested = await booking_approval.request(tx, booking, approval_amount=LIMIT, actor=ASHA, now=later)
    assert requested.proposal is None


async def test_a_proposal_moves_nothing_until_another_operator_approves_it(desk: Desk) -> None:
    await desk.request()
    assert (await desk.available(), await desk.open()) == (1_000_000, ["NMB-1"])
    approved = await desk.approve()
    assert (await desk.available(), await desk.open()) == (1_000_000 + LARGE, [])
    assert approved.requested_by == ASHA.name
    assert await desk.deeds() == [("wallet.top_up_proposed", ASHA.name), ("wallet.top_up", JUMA.name)]


async def test_whoever_proposed_it_cannot_approve_it(desk: Desk) -> None:
    await desk.request()
    with pytest.raises(Forbidden):
        await desk.approve(actor=ASHA)
    assert (await desk.available(), await desk.open()) == (1_000_000, ["NMB-1"])
    assert len(await desk.deeds()) == 1


async def test_the_database_itself_refuses_an_approval_by_whoever_proposed_it(desk: Desk) -> None:
    await desk.request()
    with pytest.raises(DataError) as refused:
        async with desk.database.begin() as tx:
            await tx.execute(
                "UPDATE proposals SET is_approved = true, decided_by = requested_by, decided_at = requested_at"
            )
    assert refused.value.constraint == "proposals_take_two"


async def test_the_user_of_a_machine_books_small_sums_and_proposes_approves_and_rejects_nothing(desk: Desk) -> None:
    user = Actor("user root", "host")
    assert (await desk.request(500, "NMB-0", actor=user)).is_new
    with pytest.raises(Forbidden):
        await desk.request(actor=user)
    await desk.request()
    with pytest.raises(Forbidden):
        await desk.approve(actor=user)
    with pytest.raises(Forbidden):
        await desk.reject(actor=user)
    assert (await desk.available(), await desk.open()) == (1_000_500, ["NMB-1"])


async def test_a_rejected_one_moves_nothing_and_may_be_proposed_again_with_what_is_right(desk: Desk) -> None:
    first = (await desk.request(LARGE + 1)).proposal
    await desk.reject()
    assert await desk.available() == 1_000_000
    second = (await desk.request(LARGE)).proposal
    assert proposal_in(first).id != proposal_in(second).id
    await desk.approve()
    assert await desk.available() == 1_000_000 + LARGE
    assert [what for what, _ in await desk.deeds()] == [
        "wallet.top_up_proposed",
        "wallet.top_up_rejected",
        "wallet.top_up_proposed",
        "wallet.top_up",
    ]


async def test_one_may_take_back_what_one_proposed(desk: Desk) -> None:
    await desk.request()
    await desk.reject(actor=ASHA)
    assert await desk.open() == []
    assert (await desk.deeds())[-1] == ("wallet.top_up_rejected", ASHA.name)


async def test_the_same_paper_proposed_again_is_one_proposal_whoever_brings_it(desk: Desk) -> None:
    first = await desk.request()
    for actor in (ASHA, JUMA):
        again = await desk.request(actor=actor)
        assert (again.is_new, again.proposal) == (False, first.proposal)
    assert (await desk.available(), len(await desk.deeds())) == (1_000_000, 1), "a second paper is no approval"
    await desk.approve()
    booked = await desk.request()
    assert (booked.is_new, booked.proposal) == (False, None)
    assert await desk.available() == 1_000_000 + LARGE


async def test_a_reference_that_waits_or_was_booked_takes_no_other_amount_and_no_other_merchant(desk: Desk) -> None:
    other = await make_merchant(desk.database, name="Another")
    await desk.request()
    await desk.request(500, "NMB-2")
    for reference in ("NMB-1", "NMB-2"):
        for amount in (1, LARGE + 1):
            with pytest.raises(ReferenceReused):
                await desk.request(amount, reference)
    with pytest.raises(ReferenceReused):
        await desk.request(merchant=other)
    with pytest.raises(ReferenceReused):
        await desk.request(500, "NMB-2", merchant=other)
    assert (await desk.available(), await desk.open()) == (1_000_500, ["NMB-1"])


async def test_what_waits_still_waits_when_the_setting_is_raised(desk: Desk) -> None:
    await desk.request()
    again = await desk.request(limit=LARGE)
    assert (again.is_new, again.proposal is not None) == (False, True)
    with pytest.raises(Conflict):
        async with desk.database.begin() as tx:
            await book(tx, BookingKind.TOP_UP, desk.merchant.id, LARGE, reference="NMB-1", now=clock.now())
    assert await desk.available() == 1_000_000


async def test_a_settlement_that_could_not_be_borne_is_refused_early(desk: Desk) -> None:
    with pytest.raises(WalletTooLow):
        await desk.request(kind=BookingKind.SETTLEMENT)
    assert await desk.open() == []


async def test_the_funds_of_a_settlement_are_looked_at_again_when_it_is_approved(desk: Desk) -> None:
    await desk.request(900_000, kind=BookingKind.SETTLEMENT, limit=0)
    await desk.request(200_000, "NMB-2", kind=BookingKind.SETTLEMENT)
    with pytest.raises(WalletTooLow):
        await desk.approve()
    assert (await desk.available(), await desk.open()) == (800_000, ["NMB-1"]), "it waits until the wallet can bear it"
    await desk.request(100_000, "NMB-3")
    await desk.approve()
    assert await desk.available() == 0


async def test_a_top_up_and_a_settlement_with_one_reference_differ_by_id(desk: Desk) -> None:
    top_up = proposal_in((await desk.request(limit=0)).proposal)
    await desk.request(1000, kind=BookingKind.SETTLEMENT, limit=0)
    with pytest.raises(SeveralProposed, match=top_up.id):
        await desk.approve()
    await desk.approve(top_up.id)
    assert (await desk.available(), await desk.open()) == (1_000_000 + LARGE, ["NMB-1"])
    await desk.approve()
    assert await desk.available() == 1_000_000 + LARGE - 1000


async def test_an_id_is_never_taken_for_somebody_elses_reference(desk: Desk) -> None:
    first = proposal_in((await desk.request()).proposal)
    second = proposal_in((await desk.request(LARGE + 7, first.id)).proposal)
    await desk.reject(first.id)
    with pytest.raises(NotOpen):
        await desk.approve(first.id)
    assert await desk.available() == 1_000_000
    await desk.approve(second.id)
    assert await desk.available() == 1_000_000 + LARGE + 7


async def test_what_has_ended_says_how_and_what_never_was_says_so(desk: Desk) -> None:
    await desk.request()
    await desk.approve()
    with pytest.raises(NotOpen, match="booking_approved by='operator juma'"):
        await desk.approve(actor=NEEMA)
    with pytest.raises(NotOpen):
        await desk.reject()
    with pytest.raises(NotProposed):
        await desk.approve("NMB-9")
    assert await desk.available() == 1_000_000 + LARGE


# What is done behind malipo's back, after one was approved (NMB-A), one rejected (NMB-R), and one waits (NMB-O).
_PAPER_X = "terms = jsonb_set(terms, '{bank_reference}', '\"NMB-X\"')"
TAMPERED = {
    "an approval without its booking": (
        "INSERT INTO proposals SELECT 'bok_none', action, 'NMB-X', amount, requested_by, requested_at, decided_by, "
        "decided_at, true, false, terms FROM proposals WHERE subject = 'NMB-A'",
        "bok_none",
    ),
    "an approval of another amount": ("UPDATE proposals SET amount = amount - 1 WHERE subject = 'NMB-A'", "NMB-A"),
    "an approval of another paper": (f"UPDATE proposals SET {_PAPER_X} WHERE subject = 'NMB-A'", "NMB-A"),
    "a booking that was rejected": ("UPDATE proposals SET is_approved = false WHERE subject = 'NMB-A'", "NMB-A"),
    "a booking that still waits": (
        "UPDATE proposals SET is_approved = NULL, decided_by = NULL, decided_at = NULL WHERE subject = 'NMB-A'",
        "NMB-A",
    ),
    "a paper that waits and was booked beside it": (
        f"UPDATE proposals SET {_PAPER_X.replace('NMB-X', 'NMB-D')} WHERE subject = 'NMB-O'",
        "NMB-O",
    ),
}


@pytest.mark.parametrize("case", TAMPERED)
async def test_the_check_finds_a_proposal_and_a_booking_that_do_not_agree(desk: Desk, case: str) -> None:
    ids = {}
    for reference in ("NMB-A", "NMB-R", "NMB-O"):
        ids[reference] = proposal_in((await desk.request(reference=reference)).proposal).id
    await desk.approve("NMB-A")
    await desk.reject("NMB-R")
    await desk.request(500, "NMB-D")
    assert await desk.available() == 1_000_500 + LARGE
    act, name = TAMPERED[case]
    async with desk.database.begin() as tx:
        await tx.execute(act)
    async with desk.database.read() as connection:
        found = await ledger_check.check(connection)
    assert {(each.what, each.where) for each in found} == {("proposed booking", ids.get(name, name))}
