"""Nobody approves anything else than what they have seen: neither another proposal, nor the same one about something
that has changed since. What does not matter to the decision may change.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.approvals import booking_approval
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import Act
from malipo.cli.shown_proposals import find_shown
from malipo.db import Database
from malipo.errors import Conflict
from malipo.ledger.bookings import Booking, BookingKind
from malipo.networks.connector import Verdict
from malipo.payments.after_restore import release
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status
from malipo.reconciliation.exceptions.action import Action
from malipo.settings import Settings
from tests.approvals.grid import GRID, LIMIT, TWO
from tests.approvals.test_grid_of_operators import ASHA, COLLECTION, JUMA, PAYOUT, World
from tests.operators.booking_steps import hire
from tests.payments.payment_steps import steps as steps
from tests.payments.resolving import EVIDENCE
from tests.reconciliation.exception_desk import a_stranger
from tests.reconciliation.import_desk import ImportDesk
from tests.reconciliation.statement_days import Statements, line_of
from tests.reconciliation.statement_days import statements as statements


@pytest.fixture
async def world(statements: Statements, tmp_path: Path) -> World:
    await hire(statements.database, "asha", "juma")
    return World(statements, tmp_path)


async def code(database: Database, *acts: Act) -> str:
    """What the only open proposal of these acts is shown as."""
    async with database.snapshot() as connection:
        [found] = await proposals.find_open(connection, acts or list(Act))
        return (await find_shown(connection, found, Settings())).code


async def test_what_is_not_known_to_be_about_a_payment_is_not_shown_as_one(world: World) -> None:
    begin, _ = await world.of(Act.RESOLVE_OPEN_PAYOUT)
    assert not await begin(ASHA)
    async with world.database.snapshot() as connection:
        [found] = await proposals.find_open(connection, list(Act))
        with pytest.raises(LookupError, match="fence"):
            await find_shown(connection, replace(found, action=Act.FENCE), Settings())


@pytest.mark.parametrize("act", [act for act, row in GRID.items() if row.cells is TWO])
async def test_every_act_is_approved_with_the_code_of_what_is_shown_and_with_no_other(world: World, act: str) -> None:
    begin, approve = await world.of(Act(act))
    assert not await begin(ASHA)
    shown = await code(world.database, Act(act))
    assert shown == await code(world.database, Act(act)), "a second look shows the same"
    for wrong in ("", "aaaaaaaaaa"):
        world.seen = wrong
        with pytest.raises(Conflict, match="approval_changed"):
            await approve(JUMA)
    world.seen = shown
    await approve(JUMA)


async def test_another_sum_under_the_same_reference_is_not_approved(world: World) -> None:
    merchant_id = world.steps.merchant_id
    small, large = (Booking(BookingKind.TOP_UP, merchant_id, amount, "NMB-1") for amount in (LIMIT + 1, 9_000_000))
    begin, approve = world.booking(small)
    await begin(ASHA)
    world.seen = await code(world.database)
    await world.write(lambda tx: booking_approval.reject(tx, "NMB-1", actor=ASHA, now=clock.now()))
    begin, _ = world.booking(large)
    await begin(ASHA)
    with pytest.raises(Conflict):
        await approve(JUMA)


Change = Callable[[], Awaitable[Any]]


async def _refused(world: World, approve: Callable[[Any], Awaitable[object]], change: Change) -> None:
    world.seen = await code(world.database)
    await change()
    with pytest.raises(Conflict, match="approval_changed"):
        await approve(JUMA)
    world.seen = await code(world.database)
    await approve(JUMA)


async def test_a_payout_that_was_reported_as_paid_since_is_looked_at_again(world: World) -> None:
    payout = await world.steps.processing(PAYOUT, 500)
    begin, approve = world.resolving(payout, "failed")
    await begin(ASHA)
    reported: dict[str, Any] = {"act": AnswerSource.CALLBACK, "is_trusted": False}
    await _refused(world, approve, lambda: world.steps.report(payout, Verdict.CONFIRMED, **reported))


async def test_an_answer_that_says_nothing_new_hinders_nobody(world: World) -> None:
    payout = await world.steps.processing(PAYOUT, 500)
    await world.steps.report(payout, Verdict.WAITING)
    begin, approve = world.resolving(payout, "failed")
    await begin(ASHA)
    world.seen = await code(world.database)
    for verdict in (Verdict.UNKNOWN, Verdict.WAITING):
        await world.steps.report(payout, verdict)
    await approve(JUMA)
    assert await world.steps.status(payout) is Status.FAILED


async def test_a_match_whose_payment_has_ended_since_is_looked_at_again(world: World) -> None:
    payment = await world.steps.processing(COLLECTION, 500)
    await world.statements.take(line_of(payment, "QK1", key="", phone="255754***001"))
    [found] = await world.statements.open_exceptions()
    begin, approve = world.exception(found, Action.MATCH, {"payment": payment.reference})
    await begin(ASHA)
    await _refused(world, approve, lambda: world.steps.report(payment, Verdict.REFUSED))


async def test_a_booking_that_moves_other_balances_hinders_nobody(world: World) -> None:
    found = await a_stranger(world.statements, LIMIT + 1)
    begin, approve = world.exception(found, Action.BOOK, {"account": "suspense"})
    await begin(ASHA)
    world.seen = await code(world.database)
    await world.steps.ended(COLLECTION, Status.COMPLETED, 700)
    await approve(JUMA)


async def test_an_import_whose_lines_were_matched_since_is_not_withdrawn_unseen(world: World) -> None:
    payment = await world.steps.ended(COLLECTION, Status.COMPLETED, 700)
    file = (await world.statements.load(world.statements.write(line_of(payment)))).file
    begin, approve = world.statement(file.id, None)
    await begin(ASHA)
    await _refused(world, approve, world.statements.match)


async def test_a_list_of_an_import_with_the_same_sum_is_another_list(world: World) -> None:
    """The payment was open, and has failed since: the line would contradict it."""
    payment = await world.steps.processing(COLLECTION, 2 * LIMIT)
    desk = ImportDesk(world.statements)
    file = await desk.bring(world.statements.write(line_of(payment)), ASHA)
    await world.statements.match(LIMIT)
    settle_as: dict[str, Any] = {"file_id": file.file.id, "by": JUMA}
    seen = await code(world.database)
    await world.steps.report(payment, Verdict.REFUSED)
    with pytest.raises(Conflict, match="approval_changed"):
        await desk.approve(**settle_as, seen=seen)
    await desk.approve(**settle_as, seen=await code(world.database))


async def test_a_channel_whose_waiting_sum_has_changed_is_not_released_unseen(world: World) -> None:
    scope = ("MPESA", "DISBURSEMENT")
    await world.steps.open(PAYOUT, 500)
    await world.steps.service.fence("A test says that it was restored.", epoch=1)

    async def approve(actor: Any) -> object:
        return await world.write(lambda tx: release.release(tx, EVIDENCE, scope, **world.approving(actor)))

    await approve(ASHA)

    async def change() -> None:
        async with world.database.begin() as tx:
            await tx.execute("UPDATE transactions SET amount = amount + 1 WHERE status = 'PENDING'")

    await _refused(world, approve, change)
