"""Operators at the same moment, and processes that die on the way: a paper books once, or not at all."""

import asyncio
import os
import tempfile

import pytest

from malipo import clock
from malipo.approvals.booking_approval import NotOpen
from malipo.db import Database
from malipo.ledger.bookings import BookingKind, ReferenceReused, book
from malipo.ledger.store import wallets
from malipo.operators import store as operators
from tests import fork_server
from tests.conftest import Merchant
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until
from tests.journeys.operator_commands import malipo
from tests.journeys.operator_sessions import session_of
from tests.operators.booking_steps import ASHA, JUMA, LARGE, NEEMA, Desk, outcome_of


@pytest.fixture
async def desk(database: Database, merchant: Merchant) -> Desk:
    return Desk(database, merchant)


async def test_ten_approvals_at_once_book_once(desk: Desk) -> None:
    await desk.request()
    done = await asyncio.gather(*(outcome_of(desk.approve(actor=actor)) for actor in [JUMA, NEEMA] * 5))
    assert (done.count("done"), done.count(NotOpen)) == (1, 9)
    assert await desk.available() == 1_000_000 + LARGE
    assert [what for what, _ in await desk.deeds()].count("wallet.top_up") == 1


async def test_of_an_approval_and_a_rejection_at_once_one_counts(desk: Desk) -> None:
    for n in range(10):
        reference = f"NMB-{n}"
        before = await desk.available()
        await desk.request(reference=reference)
        approved, rejected = await asyncio.gather(
            outcome_of(desk.approve(reference)), outcome_of(desk.reject(reference, actor=NEEMA))
        )
        assert {approved, rejected} == {"done", NotOpen}
        assert await desk.available() == before + (LARGE if approved == "done" else 0)


async def test_ten_proposals_of_one_paper_at_once_are_one(desk: Desk) -> None:
    requested = await asyncio.gather(*(desk.request(actor=actor) for actor in [ASHA, JUMA] * 5))
    assert [each.is_new for each in requested].count(True) == 1
    assert len({each.proposal for each in requested}) == 1
    assert await desk.open() == ["NMB-1"]


async def test_a_paper_that_is_proposed_and_booked_at_once_is_one_of_both(desk: Desk) -> None:
    """Two processes whose setting differs, while it is being changed."""
    for n in range(10):
        reference = f"NMB-{n}"
        before = await desk.available()
        waits, booked = await asyncio.gather(
            desk.request(reference=reference), desk.request(reference=reference, limit=LARGE)
        )
        assert [waits.is_new, booked.is_new].count(True) == 1
        assert (waits.proposal is None) == (booked.proposal is None)
        assert await desk.available() == before + (0 if waits.proposal else LARGE)


async def test_a_direct_booking_and_a_proposal_of_another_amount_at_once_are_one_of_both(desk: Desk) -> None:
    for n in range(10):
        reference = f"NMB-{n}"

        async def direct(reference: str = reference) -> None:
            async with desk.database.begin() as tx:
                await book(tx, BookingKind.TOP_UP, desk.merchant.id, 500, reference=reference, now=clock.now())

        done = await asyncio.gather(outcome_of(direct()), outcome_of(desk.request(reference=reference)))
        assert sorted(map(str, done)) == sorted(["done", str(ReferenceReused)])
        await desk.available()


async def test_an_approval_and_the_same_paper_again_at_once_book_once(desk: Desk) -> None:
    for n in range(10):
        reference = f"NMB-{n}"
        before = await desk.available()
        await desk.request(reference=reference)
        _, again = await asyncio.gather(
            desk.approve(reference), desk.request(reference=reference, actor=NEEMA, limit=LARGE)
        )
        assert not again.is_new
        assert (await desk.available(), await desk.open()) == (before + LARGE, [])


async def test_two_settlements_that_the_wallet_can_bear_once_are_approved_once(desk: Desk) -> None:
    for reference in ("NMB-1", "NMB-2"):
        await desk.request(700_000, reference, kind=BookingKind.SETTLEMENT, limit=0)
    done = await asyncio.gather(*(outcome_of(desk.approve(reference)) for reference in ("NMB-1", "NMB-2")))
    assert done.count("done") == 1
    assert (await desk.available(), len(await desk.open())) == (300_000, 1)


async def test_an_approver_killed_before_the_commit_leaves_it_open(desk: Desk, database_url: str) -> None:
    async with desk.database.begin() as tx:
        for name in ("asha", "juma"):
            await operators.insert_operator(tx, f"opr_{name}", name, now=clock.now())
    await desk.request()
    environment = {
        "PATH": os.environ["PATH"],
        "MALIPO_DATABASE_URL": database_url,
        "MALIPO_OPERATOR_SESSION": str(session_of(database_url, "juma")),
    }
    [waiting] = (await malipo("approvals", "--json", database_url=database_url)).json
    with tempfile.TemporaryFile() as said:
        # The approval is written and waits for the wallet, which somebody else holds: so it dies on that very line.
        async with desk.database.begin() as tx:
            await wallets.lock(tx, [desk.merchant.id])
            approve = ("malipo", "wallet", "approve", "NMB-1", "--here", "--seen", waiting["seen"])
            child = fork_server.run_module(*approve, env=environment, stdout=said, stderr=said)
            await until(lambda: are_waiting(desk.database, of="FROM wallets"), what="the approval waits for the wallet")
            child.kill()
            assert await asyncio.to_thread(child.wait, 240) < 0
    assert (await desk.available(), await desk.open()) == (1_000_000, ["NMB-1"])
    assert [what for what, _ in await desk.deeds()] == ["wallet.top_up_proposed"]

    again = await malipo("wallet", "approve", "NMB-1", "--here", database_url=database_url, operator="juma")
    assert again.code == 0, again.err
    assert (await desk.available(), await desk.open()) == (1_000_000 + LARGE, [])
