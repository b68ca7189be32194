"""Transfers between a network and the bank: a reference books once, a large one takes two operators, all adds up."""

import asyncio
from typing import Any

import pytest

from malipo import clock
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import NotOpen, ProposedBooking, Requested
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.errors import Conflict, Forbidden
from malipo.ledger import check as ledger_check
from malipo.ledger import house_bookings, transfers
from malipo.ledger.bookings import ReferenceReused
from malipo.ledger.transfers import Transfer, TransferKind
from tests.conftest import NOBODY
from tests.journeys import database_facts
from tests.operators.booking_steps import ASHA, JUMA, LARGE, LIMIT


async def request(
    database: Database,
    amount: int = 500_000,
    reference: str = "NMB-1",
    *,
    kind: TransferKind = TransferKind.TO_BANK,
    channel: str = "MPESA",
    account: str = "",
    actor: Actor = ASHA,
) -> Requested:
    async with database.begin() as tx:
        return await booking_approval.request(
            tx,
            Transfer(kind, channel, account, amount, reference),
            approval_amount=LIMIT,
            actor=actor,
            now=clock.now(),
        )


async def approve(database: Database, name: str = "NMB-1", *, actor: Actor = JUMA) -> ProposedBooking:
    async with database.begin() as tx:
        return await booking_approval.approve(tx, name, actor=actor, now=clock.now())


async def balances(database: Database) -> dict[str, int]:
    await database_facts.assert_clean(database)
    async with database.read() as connection:
        return await ledger_check.balances(connection)


async def test_what_goes_to_the_bank_leaves_the_float_and_comes_back(database: Database) -> None:
    assert (await request(database)) == Requested(is_new=True, proposal=None)
    assert await balances(database) == {"bank": -500_000, "float MPESA": 500_000}
    await request(database, 200_000, "NMB-2", kind=TransferKind.FROM_BANK)
    assert await balances(database) == {"bank": -300_000, "float MPESA": 300_000}


async def test_the_same_reference_books_once_also_ten_times_at_once(database: Database) -> None:
    done = await asyncio.gather(*(request(database) for _ in range(10)))
    assert [each.is_new for each in done].count(True) == 1
    assert (await balances(database))["float MPESA"] == 500_000


@pytest.mark.parametrize(
    "changes",
    [{"amount": 500_001}, {"kind": TransferKind.FROM_BANK}, {"account": "b"}],
    ids=["amount", "way", "account"],
)
@pytest.mark.parametrize("amount", [500_000, LARGE], ids=["booked", "proposed"])
async def test_a_reference_of_another_transfer_is_refused(
    database: Database, changes: dict[str, Any], amount: int
) -> None:
    await request(database, amount)
    with pytest.raises(ReferenceReused):
        await request(database, **{"amount": amount} | changes)


async def test_a_large_one_takes_two_operators_and_moves_nothing_before(database: Database) -> None:
    proposal = (await request(database, LARGE)).proposal
    assert proposal is not None
    assert await balances(database) == {}
    assert (await request(database, LARGE)) == Requested(is_new=False, proposal=proposal)
    for actor in (ASHA, NOBODY):
        with pytest.raises(Forbidden):
            await approve(database, actor=actor)
    assert await balances(database) == {}

    await approve(database, proposal.id)

    assert await balances(database) == {"bank": -LARGE, "float MPESA": LARGE}
    with pytest.raises(NotOpen):
        await approve(database)
    async with database.begin() as tx:
        booking = await house_bookings.find(tx, proposal.id)
        deeds = [(each.action, each.actor) for each in await audit_log.find(tx, limit=10)]
    assert booking is not None
    assert (booking.booked_by, booking.approved_by) == (ASHA.name, JUMA.name)
    assert deeds[::-1] == [("float.to_bank_proposed", ASHA.name), ("float.to_bank", JUMA.name)]


async def test_two_who_approve_at_once_book_once(database: Database) -> None:
    await request(database, LARGE, actor=NEITHER)
    done = await asyncio.gather(
        *(approve(database, actor=each) for each in (ASHA, JUMA, ASHA, JUMA)), return_exceptions=True
    )
    assert [type(each) for each in done].count(ProposedBooking) == 1
    assert (await balances(database))["float MPESA"] == LARGE


NEITHER = Actor("operator neema", "test")


async def test_many_small_ones_of_one_operator_are_a_large_one(database: Database) -> None:
    for number in range(2):
        assert (await request(database, LIMIT // 2, f"NMB-{number}")).proposal is None
    third = await request(database, 1, "NMB-3", channel="TIGO_PESA")
    assert third.proposal is not None, "whichever network"
    assert (await request(database, 1, "NMB-4", actor=JUMA)).proposal is None


async def test_a_rejected_one_can_be_proposed_again_and_one_that_was_undone_booked_again(database: Database) -> None:
    await request(database, LARGE)
    async with database.begin() as tx:
        await booking_approval.reject(tx, "NMB-1", actor=JUMA, now=clock.now())
    second = (await request(database, LARGE)).proposal
    assert second is not None
    await approve(database, second.id)
    async with database.begin() as tx:
        await house_bookings.undo(tx, second.id, evidence="mistyped", booked_by=JUMA.name, now=clock.now())
    assert await balances(database) == {"bank": 0, "float MPESA": 0}

    assert (await request(database, 150_000)).is_new
    assert (await balances(database))["float MPESA"] == 150_000


async def test_what_was_booked_without_its_proposal_is_not_booked_again(database: Database) -> None:
    await request(database, LARGE, channel="HALOPESA")
    async with database.begin() as tx:
        other = Transfer(TransferKind.FROM_BANK, "HALOPESA", "", 7, "NMB-1")
        assert await transfers.book(tx, other, booked_by=ASHA.name, now=clock.now())
    with pytest.raises((Conflict, ReferenceReused)):
        await approve(database)
    assert (await balances(database)) == {"bank": 7, "float HALOPESA": -7}


TAMPERED = {
    "approved, and not booked": "DELETE FROM moves WHERE cause_id = '{id}'; DELETE FROM house_bookings WHERE id = '{id}'",
    "booked, and not approved": "UPDATE proposals SET is_approved = false WHERE id = '{id}'",
    "booked with another amount": "UPDATE proposals SET amount = amount + 1 WHERE id = '{id}'",
    "booked at another network": """UPDATE proposals SET terms = terms || '{{"channel": "TIGO_PESA"}}' WHERE id = '{id}'""",
    "booked the other way": """UPDATE proposals SET terms = terms || '{{"kind": "from_bank"}}' WHERE id = '{id}'""",
}


async def test_the_ledger_check_compares_proposals_with_what_was_booked(database: Database) -> None:
    proposal = (await request(database, LARGE)).proposal
    assert proposal is not None
    await approve(database)
    unseen = []
    for what, tampering in TAMPERED.items():
        async with database.begin() as tx:
            await tx.execute(f"SAVEPOINT before; {tampering.format(id=proposal.id)}")
            found = [each.where for each in await ledger_check.check(tx) if each.what == "proposed booking"]
            await tx.execute("ROLLBACK TO before")
        if found != [proposal.id]:
            unseen.append(what)
    assert unseen == []
