"""Who may approve: owners, and staff whom an owner allows it. And a person's payout above an amount is a batch of one."""

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.merchants import manage_people
from malipo.merchants.people import Person
from malipo.merchants.roles import Right, Role
from malipo.merchants.store import people
from malipo.payments.batches.request import batch_request_of_one
from malipo.payments.transaction import Type
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.payments.batches.batch_steps import ASHA, BatchSteps
from tests.payments.batches.batch_steps import batches as batches

OWNER = Actor("owner@duka.example", "10.0.0.3")


async def _add(batches: BatchSteps, role: Role) -> Person:
    async with batches.database.begin() as tx:
        return await manage_people.add_person(
            tx, batches.merchant_id, email=f"{role}@duka.example", name="", role=role, actor=OWNER, now=clock.now()
        )


async def _allow(batches: BatchSteps, person: Person, may_approve: bool = True) -> None:
    async with batches.database.begin() as tx:
        await manage_people.allow_approval(tx, person, may_approve, actor=OWNER, now=clock.now())


async def _now(batches: BatchSteps, person: Person) -> Person:
    async with batches.database.read() as connection:
        found = await people.get(connection, batches.merchant_id, person.id)
    assert found is not None
    return found


@pytest.mark.parametrize(("role", "may"), [(Role.OWNER, True), (Role.STAFF, False), (Role.VIEWER, False)])
async def test_by_their_role_owners_may_approve(batches: BatchSteps, role: Role, may: bool) -> None:
    assert (await _add(batches, role)).may(Right.APPROVE) is may


async def test_an_owner_allows_it_to_staff_and_takes_it_back(batches: BatchSteps) -> None:
    staff = await _add(batches, Role.STAFF)
    await _allow(batches, staff)
    await _allow(batches, staff)
    assert (await _now(batches, staff)).may(Right.APPROVE)
    await _allow(batches, staff, False)
    assert not (await _now(batches, staff)).may(Right.APPROVE)

    async with batches.database.read() as connection:
        rows = await connection.fetch("SELECT actor, details FROM audit_log WHERE action = 'person.approval_changed'")
    assert [(row["actor"], row["details"]) for row in rows] == [
        (OWNER.name, '{"email":"staff@duka.example","may_approve":true}'),
        (OWNER.name, '{"email":"staff@duka.example","may_approve":false}'),
    ]


async def test_the_right_to_approve_ends_with_the_role_and_does_not_come_back_with_it(batches: BatchSteps) -> None:
    await _add(batches, Role.OWNER)
    staff = await _add(batches, Role.STAFF)
    await _allow(batches, staff)
    for role in (Role.VIEWER, Role.STAFF):
        async with batches.database.begin() as tx:
            await manage_people.change_role(tx, await _now(batches, staff), role, actor=OWNER, now=clock.now())
        assert not (await _now(batches, staff)).may(Right.APPROVE)


@pytest.mark.parametrize("role", [Role.OWNER, Role.VIEWER])
async def test_only_staff_can_be_allowed_it(batches: BatchSteps, role: Role) -> None:
    with pytest.raises(manage_people.ApprovalFixed):
        await _allow(batches, await _add(batches, role))


async def test_a_payout_by_hand_becomes_a_batch_of_one_and_the_same_form_makes_no_second(batches: BatchSteps) -> None:
    asked = order(batches.merchant_id, Type.DISBURSEMENT, 9000, key="form-1")
    assert asked.draft is not None
    asked = replace(asked, draft=replace(asked.draft, order_reference="A-1"))
    one = batch_request_of_one(asked, ASHA, now=clock.now())

    made = await batches.service.batches.create(one)
    again = await batches.service.batches.create(batch_request_of_one(asked, ASHA, now=clock.now()))

    assert (again.batch, again.is_replay) == (made.batch, True)
    assert (made.batch.item_count, made.batch.amount) == (1, 9000)
    assert await database_facts.ids(batches.database) == []
    await batches.approve(made.batch)
    [line] = await batches.lines(made.batch)
    assert line.payout is not None
    assert (line.payout.amount, line.payout.phone, line.payout.order_reference) == (9000, asked.draft.phone, "A-1")  # type: ignore[union-attr]
