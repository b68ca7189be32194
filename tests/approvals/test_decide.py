"""The workflow of all acts that take two operators: one proposes, another decides, once."""

import asyncio
from typing import Any

import pytest

from malipo import clock
from malipo.approvals import booking_approval, decide, store
from malipo.approvals.act_rules import ACTS, Act, Two
from malipo.approvals.decide import AlreadyProposed, NothingProposed
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database, DataError
from malipo.errors import Conflict, Forbidden
from malipo.ledger.bookings import Booking, BookingKind
from tests.conftest import Merchant
from tests.operators.booking_steps import ASHA, JUMA, NEEMA, give_password, hire, outcome_of

WAITING = [act for act, rule in ACTS.items() if rule.two is not Two.NEVER]
MACHINE = Actor("user root", "host")


class Room:
    def __init__(self, database: Database, act: Act = Act.TOP_UP) -> None:
        self.database = database
        self.act = act

    async def propose(self, subject: str = "one", *, actor: Actor = ASHA, **more: Any) -> Proposal:
        proposal = Proposal(
            id=f"prp_{subject}_{actor.name[-4:]}_{clock.now().timestamp()}",
            action=self.act,
            subject=subject,
            amount=5,
            terms=decide.encode({"what": subject}),
            reason="It was agreed",
            requested_by=actor.name,
            requested_at=clock.now(),
        )
        async with self.database.begin() as tx:
            return await decide.propose(tx, proposal, "thing.proposed", {"subject": subject}, actor=actor, **more)

    async def approve(self, subject: str = "one", *, actor: Actor = JUMA, alone: bool = False) -> Proposal:
        async with self.database.begin() as tx:
            found = await decide.lock_open(tx, [self.act], subject)
            return await decide.approve(tx, found, actor=actor, now=clock.now(), is_single_operator=alone)

    async def reject(self, subject: str = "one", *, actor: Actor = JUMA) -> Proposal:
        async with self.database.begin() as tx:
            found = await decide.lock_open(tx, [self.act], subject)
            return await decide.reject(tx, found, "thing.rejected", {}, actor=actor, now=clock.now())

    async def kept(self) -> list[tuple[str, str | None, bool | None]]:
        """Who proposed, who decided, and how; the oldest first."""
        async with self.database.read() as connection:
            found = await store.find_of(connection, [self.act], "one")
        found.sort(key=lambda each: each.requested_at)
        return [(each.requested_by, each.decided_by, each.is_approved) for each in found]


@pytest.fixture
def room(database: Database) -> Room:
    return Room(database)


@pytest.mark.parametrize("act", WAITING)
async def test_every_act_that_takes_two_is_decided_once_by_a_second_operator(database: Database, act: Act) -> None:
    room = Room(database, act)
    await room.propose()
    for actor in (ASHA, MACHINE):
        with pytest.raises(Forbidden):
            await room.approve(actor=actor)
    assert await room.kept() == [(ASHA.name, None, None)]
    assert (await room.approve()).is_approved
    for again in (room.approve, room.reject):
        with pytest.raises(NothingProposed):
            await again(actor=NEEMA)
    assert await room.kept() == [(ASHA.name, JUMA.name, True)]


# Who approves, and whether they have seen what would be shown now. Who may not approve is told that, whatever they saw.
SEEN = {
    (ASHA, "shown"): Forbidden,  # the proposer
    (ASHA, "other"): Forbidden,
    (ASHA, None): Forbidden,
    (MACHINE, "shown"): Forbidden,
    (MACHINE, "other"): Forbidden,
    (MACHINE, None): Forbidden,
    (JUMA, "shown"): None,
    (JUMA, "other"): Conflict,
    (JUMA, None): None,  # the caller has compared it
}


@pytest.mark.parametrize("shows_more", [False, True], ids=["the proposal alone", "and its subject"])
@pytest.mark.parametrize(("actor", "saw"), SEEN, ids=lambda each: getattr(each, "name", str(each)))
async def test_a_refused_approval_has_stored_nothing(
    room: Room, actor: Actor, saw: str | None, shows_more: bool
) -> None:
    proposal = await room.propose()
    is_asked = False

    async def code_now() -> str:
        nonlocal is_asked
        is_asked = True
        return decide.code_of(proposal, "the subject")

    more: dict[str, Any] = {"shown": code_now} if shows_more else {}
    code = {"shown": await code_now() if shows_more else decide.code_of(proposal), "other": "aaaaaaaaaa"}
    seen, is_asked = None if saw is None else code[saw], False
    async with room.database.begin() as tx:
        found = await decide.lock_open(tx, [room.act], "one")
        approval = decide.approve(tx, found, actor=actor, now=clock.now(), seen=seen, **more)
        outcome = await outcome_of(approval)
        still_open = await store.find_open(tx, [room.act])
    refusal = SEEN[actor, saw]
    assert outcome == (refusal or "done")
    assert bool(still_open) is (refusal is not None)
    assert is_asked is (shows_more and saw is not None and refusal is not Forbidden)


async def test_ten_who_decide_at_once_decide_once(room: Room) -> None:
    await room.propose()
    acts = [room.approve, room.reject] * 5
    done = await asyncio.gather(
        *(outcome_of(act(actor=each)) for act, each in zip(acts, [JUMA, NEEMA] * 5, strict=True))
    )
    assert (done.count("done"), done.count(NothingProposed)) == (1, 9)


async def test_one_is_open_about_a_thing_at_a_time(room: Room) -> None:
    await room.propose()
    with pytest.raises(AlreadyProposed, match="approval_already_proposed by='operator asha'"):
        await room.propose(actor=JUMA)
    await room.propose("another")
    other = Room(room.database, Act.SETTLEMENT)
    with pytest.raises(AlreadyProposed):
        await other.propose(family=[Act.TOP_UP, Act.SETTLEMENT])
    await other.propose()


async def test_the_database_itself_refuses_a_second_open_one(room: Room) -> None:
    first = await room.propose()
    with pytest.raises(DataError) as refused:
        async with room.database.begin() as tx:
            await tx.execute(
                "INSERT INTO proposals (id, action, subject, amount, requested_by, requested_at) "
                "SELECT 'prp_other', action, subject, amount, requested_by, requested_at FROM proposals WHERE id = $1",
                first.id,
            )
    assert refused.value.constraint == "proposals_open"


@pytest.mark.parametrize("rejects", [ASHA, JUMA], ids=["whoever proposed it", "another"])
async def test_a_rejected_one_can_be_proposed_again(room: Room, rejects: Actor) -> None:
    await room.propose()
    with pytest.raises(Forbidden):
        await room.reject(actor=MACHINE)
    await room.reject(actor=rejects)
    await room.propose(actor=JUMA)
    assert await room.kept() == [(ASHA.name, rejects.name, False), (JUMA.name, None, None)]
    async with room.database.read() as connection:
        noted = [(each.action, each.actor) for each in await audit_log.find(connection, limit=10)]
    # In no order: entries of one millisecond have none.
    assert sorted(noted) == sorted(
        [("thing.proposed", ASHA.name), ("thing.rejected", rejects.name), ("thing.proposed", JUMA.name)]
    )


async def test_the_user_of_a_machine_proposes_nothing(room: Room) -> None:
    with pytest.raises(Forbidden):
        await room.propose(actor=MACHINE)


async def test_somebody_whose_password_another_has_set_is_no_second_operator(room: Room) -> None:
    await hire(room.database, "asha", "juma")
    await give_password(room.database, "juma", by=ASHA)
    await room.propose()
    with pytest.raises(Forbidden, match="operators_not_vouched_for"):
        await room.approve()


@pytest.mark.parametrize("act", WAITING)
async def test_the_only_operator_approves_alone_what_the_table_allows(database: Database, act: Act) -> None:
    await hire(database, "asha")
    room = Room(database, act)
    await room.propose()
    if ACTS[act].may_be_alone:
        assert (await room.approve(actor=ASHA, alone=True)).is_single_operator
        return
    with pytest.raises(Forbidden):
        await room.approve(actor=ASHA, alone=True)


async def test_where_there_are_two_nobody_is_alone(room: Room) -> None:
    await hire(room.database, "asha", "juma")
    await room.propose()
    with pytest.raises(Forbidden, match="operators_not_alone"):
        await room.approve(actor=ASHA, alone=True)


async def test_what_an_operator_proposed_who_has_left_is_not_decided_alone(room: Room) -> None:
    await hire(room.database, "juma")
    await room.propose()
    assert not (await room.approve(alone=True)).is_single_operator


@pytest.mark.parametrize(
    ("amount", "names", "is_alone"), [(5, "asha juma", None), (5, "asha", None), (6, "asha", True)]
)
async def test_alone_is_noted_only_of_what_takes_two_and_only_of_who_is_alone(
    database: Database, merchant: Merchant, amount: int, names: str, is_alone: bool | None
) -> None:
    await hire(database, *names.split())
    booking = Booking(BookingKind.TOP_UP, merchant.id, amount, "NMB-1")
    async with database.begin() as tx:
        how: dict[str, Any] = {"approval_amount": 5, "actor": ASHA, "now": clock.now()}
        await booking_approval.request(tx, booking, **how, is_single_operator=True)
    async with database.read() as connection:
        [kept] = [each for each in await audit_log.find(connection, limit=50) if each.action == "wallet.top_up"]
    assert kept.details.get("alone") is is_alone


async def test_what_is_gone_is_ended_by_the_system(room: Room) -> None:
    await room.propose()
    async with room.database.begin() as tx:
        await decide.end_by_system(tx, await decide.lock_open(tx, [room.act], "one"), now=clock.now())
    assert await room.kept() == [(ASHA.name, "malipo", False)]


def test_who_saw_something_else_decides_nothing() -> None:
    decide.require_seen(None, "what is there")
    decide.require_seen("what is there", "what is there")
    with pytest.raises(Conflict):
        decide.require_seen("what was there", "what is there")
