"""A fenced installation: nothing is sent, nothing that moves money is taken in, and what is open is asked about first."""

import asyncio

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.errors import Conflict, Forbidden, Missing, Refusal
from malipo.installation import store as installation
from malipo.installation.cursors import CursorLost, cursor_of, find_epoch, require_kept
from malipo.installation.state import OnHold, Restored
from malipo.networks.contract import Resubmit, Verdict
from malipo.payments import resolve
from malipo.payments.cancel import Cancellation
from malipo.payments.initiate import Initiate
from malipo.payments.pursuit import Act, Attention
from malipo.payments.store import dispatches
from malipo.payments.transaction import Status, Transaction, Type
from malipo.restore import hold, release
from malipo.service import Service
from malipo.trail.store import Actor
from tests.conftest import Merchant
from tests.journeys import witness
from tests.journeys.crowd import order
from tests.payments.story import PAIRS, Story, a_report, of

ASHA, JUMA = (Actor(f"operator {name}", "till") for name in ("asha", "juma"))
EVIDENCE = "Statements of the lost hour, all four networks"


@pytest.fixture
async def story(service: Service, merchant: Merchant) -> Story:
    return Story(service, merchant.id)


async def _fence(story: Story) -> None:
    await story.service.fence("A test says that it was restored.", epoch=1)


async def _release(story: Story, *actors: Actor, scope: release.Scope = None, is_alone: bool = False) -> bool:
    released = None
    for actor in actors:
        async with story.database.begin() as tx:
            released = await release.release(tx, EVIDENCE, scope, actor=actor, now=clock.now(), is_alone=is_alone)
    assert released is not None
    return released.is_done


async def _ask_first(story: Story) -> list[Transaction]:
    """What a worker asks about before anything is sent."""
    async with story.database.begin() as tx:
        found = [
            await dispatches.claim_asked_first(tx, channel, type_, lease_seconds=60, most=100)
            for channel, type_ in PAIRS
        ]
    return [each.transaction for some in found for each in some]


async def test_a_fence_begins_an_epoch_once_however_many_notice(story: Story) -> None:
    await asyncio.gather(*(_fence(story) for _ in range(5)))
    async with story.database.read() as connection:
        standing = await installation.get(connection)
        noted = await connection.fetchval("SELECT count(*) FROM audit WHERE what = 'installation.fenced'")
    assert (standing.epoch > 1, standing.is_fenced, noted) == (True, True, 1)


@pytest.mark.parametrize("type_", Type)
async def test_while_it_is_fenced_nothing_is_sent_taken_in_lapsed_or_cancelled(story: Story, type_: Type) -> None:
    opened = await story.open(type_)
    await story.wait(opened, seconds=10_000)
    await _fence(story)

    taken = await story.claim(lapse_seconds=1)

    assert (taken.to_send, taken.lapsed) == ([], [])
    with pytest.raises(Restored):
        await story.open(type_)
    with pytest.raises(Restored):
        await story.service.cancel(Cancellation(story.merchant_id, opened.id))
    assert await story.status(opened) is Status.PENDING
    await witness.assert_clean(story.database)


async def test_a_request_that_met_a_fence_has_not_used_its_key_up(story: Story) -> None:
    await _fence(story)
    with pytest.raises(Restored):
        await story.open(Type.COLLECTION, key="order-1")
    assert await witness.count(story.database, "idempotency_keys") == 0


@pytest.mark.parametrize("verdict", [Verdict.CONFIRMED, Verdict.REFUSED])
@pytest.mark.parametrize("type_", Type)
async def test_what_its_network_has_is_not_sent_again_and_ends_as_the_network_says(
    story: Story, type_: Type, verdict: Verdict
) -> None:
    """PENDING in the backup, sent since, and paid or refused: only the network knows."""
    pending = await story.open(type_)
    await _fence(story)
    assert of(await _ask_first(story)) == [pending.id], "questions go on behind the fence"
    await story.hear(pending, verdict)
    await story.hear(pending, verdict)
    assert await story.status(pending) is (Status.COMPLETED if verdict is Verdict.CONFIRMED else Status.FAILED)
    await _release(story, ASHA, JUMA)
    assert (await story.claim()).to_send == []
    await witness.assert_clean(story.database)


@pytest.mark.parametrize("type_", Type)
async def test_what_its_network_does_not_know_goes_after_the_release(story: Story, type_: Type) -> None:
    pending = await story.open(type_)
    await _fence(story)
    await story.hear(pending, Verdict.MISSING)
    dispatch = await story.dispatch(pending)
    assert dispatch is not None
    assert dispatch.is_asked_first, "it had no time to be found"
    await story.wait(pending, seconds=301)
    await story.hear(pending, Verdict.MISSING)
    assert (await story.claim()).to_send == [], "not while it is fenced"
    await _release(story, ASHA, JUMA)
    assert of((await story.claim()).to_send) == [pending.id]
    await witness.assert_clean(story.database)


async def test_a_payout_waits_for_operators_where_a_network_would_pay_a_key_twice(story: Story) -> None:
    payout = await story.open(Type.DISBURSEMENT)
    await _fence(story)
    await story.wait(payout, seconds=301)
    await story.hear(payout, Verdict.MISSING, resubmit=Resubmit.UNSAFE)
    await _release(story, ASHA, JUMA)
    assert (await story.claim()).to_send == []
    dispatch = await story.dispatch(payout)
    assert dispatch is not None
    assert dispatch.attention is Attention.RESTORED
    with pytest.raises(Conflict, match="being asked"):
        await story.service.cancel(Cancellation(story.merchant_id, payout.id))

    assert await _release(story, ASHA, JUMA, scope=("MPESA", "DISBURSEMENT"))

    assert of((await story.claim()).to_send) == [payout.id]
    await witness.assert_clean(story.database)


async def test_an_operator_cancels_nothing_of_a_closed_merchant_before_its_network_was_asked(story: Story) -> None:
    payout = await story.open(Type.DISBURSEMENT)
    async with story.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", story.merchant_id)
    await _fence(story)
    with pytest.raises(Restored):
        await _cancel_as_operator(story, payout)
    await _release(story, ASHA, JUMA)
    with pytest.raises(Conflict, match="is being asked whether it was sent"):
        await _cancel_as_operator(story, payout)
    assert await story.status(payout) is Status.PENDING
    await story.wait(payout, seconds=301)
    await story.hear(payout, Verdict.MISSING)
    await _cancel_as_operator(story, payout)
    assert await story.status(payout) is Status.CANCELLED
    await witness.assert_clean(story.database)


async def _cancel_as_operator(story: Story, transaction: Transaction) -> None:
    async with story.database.begin() as tx:
        await resolve.cancel(tx, transaction.id, actor=ASHA, now=clock.now())


async def test_what_was_cancelled_in_the_lost_time_is_cancelled_again_while_its_channel_is_held(story: Story) -> None:
    """Its cancellation is forgotten, and its network knows nothing of it: it would be sent after the release."""
    payout = await story.open(Type.DISBURSEMENT)
    await _fence(story)
    pairs = [("MPESA", "DISBURSEMENT")]
    async with story.database.begin() as tx:
        await hold.hold(tx, pairs, "merchants cancel again", actor=ASHA, now=clock.now())
    with pytest.raises(Restored):
        await story.service.cancel(Cancellation(story.merchant_id, payout.id))
    await story.wait(payout, seconds=301)
    await story.hear(payout, Verdict.MISSING)
    await _release(story, ASHA, JUMA)
    assert (await story.claim()).to_send == [], "it is held"
    await story.service.cancel(Cancellation(story.merchant_id, payout.id))
    async with story.database.begin() as tx:
        await hold.end(tx, pairs, actor=JUMA, now=clock.now())
    assert (await story.claim()).to_send == []
    assert await story.status(payout) is Status.CANCELLED
    await witness.assert_clean(story.database)


@pytest.mark.parametrize("truth", resolve.Truth)
@pytest.mark.parametrize("type_", Type)
async def test_two_operators_who_have_read_the_statement_say_what_became_of_it(
    story: Story, type_: Type, truth: resolve.Truth
) -> None:
    """Where the network cannot be asked, its statement for the lost time has the last word."""
    payment = await story.open(type_)
    finding = resolve.Finding(truth, EVIDENCE)
    with pytest.raises(Conflict, match="PENDING"):
        async with story.database.begin() as tx:
            await resolve.propose(tx, payment.id, finding, actor=ASHA, now=clock.now())
    await _fence(story)
    async with story.database.begin() as tx:
        assert not (await resolve.propose(tx, payment.id, finding, actor=ASHA, now=clock.now())).is_done
    async with story.database.begin() as tx:
        await resolve.approve(tx, payment.id, actor=JUMA, now=clock.now())
    assert await story.status(payment) == truth.upper()
    await _release(story, ASHA, JUMA)
    assert (await story.claim()).to_send == []
    await witness.assert_clean(story.database)


async def test_what_was_on_its_way_counts_as_sent_and_is_asked_about(story: Story) -> None:
    sending = await story.send(Type.DISBURSEMENT)
    unsent = await story.send(Type.COLLECTION)
    await story.hear(unsent, Verdict.UNSENT, Act.SEND)
    await _fence(story)
    await _release(story, ASHA, JUMA)
    assert (await story.claim(lapse_seconds=0)).to_send == []
    for each in (sending, unsent):
        dispatch = await story.dispatch(each)
        assert dispatch is not None
        assert (dispatch.next_act, dispatch.sends) == ("ask", 1)


@pytest.mark.parametrize("type_", Type)
async def test_in_the_week_after_what_has_a_derived_key_is_asked_about_before_it_is_sent(
    story: Story, type_: Type
) -> None:
    await _fence(story)
    await _release(story, ASHA, JUMA)
    await _say_that_it_was_fenced(story, "2000 seconds")
    derived = await story.open(type_, key="order-1")
    by_chance = await story.open(type_)

    assert of((await story.claim()).to_send) == [by_chance.id]
    assert of(await _ask_first(story)) == [derived.id]
    await story.hear(derived, Verdict.NOT_INDEXED)
    assert of((await story.claim()).to_send) == [derived.id]
    await _say_that_it_was_fenced(story, "8 days")
    later = await story.open(type_, key="order-2")
    assert of((await story.claim()).to_send) == [later.id]
    await witness.assert_clean(story.database)


@pytest.mark.parametrize(("type_", "goes"), [(Type.COLLECTION, True), (Type.DISBURSEMENT, False)])
async def test_where_nobody_can_be_asked_a_new_collection_goes_and_what_else_there_is_waits(
    story: Story, type_: Type, goes: bool
) -> None:
    """A customer decides about a collection; nobody does about a payout."""
    before = await story.open(type_, key="order-1")
    await _fence(story)
    await _release(story, ASHA, JUMA)
    since = await story.open(type_, key="order-2")
    for each in (before, since):
        await _hear_that_nobody_can_be_asked(story, each)
    assert of((await story.claim()).to_send) == ([since.id] if goes else [])
    dispatch = await story.dispatch(before)
    assert dispatch is not None
    assert dispatch.attention is Attention.RESTORED
    await witness.assert_clean(story.database)


async def _hear_that_nobody_can_be_asked(story: Story, transaction: Transaction) -> None:
    report = a_report(transaction, Verdict.UNKNOWN)
    await story.service.settle(replace(report, heard=replace(report.heard, cannot_ask=frozenset(Type))))


async def _say_that_it_was_fenced(story: Story, ago: str) -> None:
    async with story.database.begin() as tx:
        await tx.execute(f"UPDATE installation SET epoch_began_at = now() - interval '{ago}'")


async def test_it_takes_two_operators_or_the_only_one(story: Story) -> None:
    await _fence(story)
    assert not await _release(story, ASHA)
    with pytest.raises(Forbidden, match="two operators"):
        await _release(story, ASHA)
    async with story.database.begin() as tx:
        for name in ("asha", "juma"):
            await tx.execute("INSERT INTO operators (id, name, created_at) VALUES ($1, $2, now())", f"opr_{name}", name)
    with pytest.raises(Forbidden, match="more than one"):
        await _release(story, ASHA, is_alone=True)
    assert await _release(story, JUMA)
    with pytest.raises(Conflict, match="not fenced"):
        await _release(story, ASHA)


async def test_where_there_is_one_operator_that_one_releases_alone_and_it_is_kept(story: Story) -> None:
    await _fence(story)
    assert await _release(story, ASHA, is_alone=True)
    async with story.database.read() as connection:
        assert await connection.fetchval("SELECT is_alone FROM restore_releases")


@pytest.mark.parametrize("rejects", [ASHA, JUMA], ids=["whoever proposed it", "another"])
@pytest.mark.parametrize("scope", [None, ("MPESA", "DISBURSEMENT")], ids=["the whole", "a channel"])
async def test_a_proposed_release_is_rejected_or_taken_back_and_lets_nothing_go(
    story: Story, scope: release.Scope, rejects: Actor
) -> None:
    await _fence(story)
    await _release(story, ASHA, scope=scope)
    async with story.database.begin() as tx:
        await release.reject(tx, scope, actor=rejects, now=clock.now())
        with pytest.raises(Missing, match="Nobody has proposed"):
            await release.reject(tx, scope, actor=rejects, now=clock.now())
    assert not await _release(story, JUMA, scope=scope), "it is proposed anew, and by that not approved"
    assert await _release(story, ASHA, scope=scope)
    async with story.database.read() as connection:
        noted = await connection.fetch("SELECT who, details FROM audit WHERE what = 'installation.release_rejected'")
    assert [each["who"] for each in noted] == [rejects.who]
    assert EVIDENCE in str(noted[0]["details"])


@pytest.mark.parametrize("scope", [None, ("MPESA", "DISBURSEMENT"), ("TIGO_PESA", "COLLECTION")])
async def test_what_is_rejected_is_what_was_named_and_nothing_else(story: Story, scope: release.Scope) -> None:
    await _fence(story)
    await _release(story, ASHA, scope=("TIGO_PESA", "DISBURSEMENT"))
    with pytest.raises(Missing):
        async with story.database.begin() as tx:
            await release.reject(tx, scope, actor=JUMA, now=clock.now())
    assert await _release(story, JUMA, scope=("TIGO_PESA", "DISBURSEMENT"))


async def test_sessions_end_with_the_fence(story: Story) -> None:
    async with story.database.begin() as tx:
        await tx.execute("INSERT INTO operators (id, name, created_at) VALUES ('opr_1', 'asha', now())")
        await tx.execute(
            """
            INSERT INTO operator_sessions (id, operator_id, created_at, expires_at, address)
            VALUES ('ses_1', 'opr_1', now(), now() + interval '1 day', '127.0.0.1')
            """
        )
    await _fence(story)
    async with story.database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM operator_sessions WHERE ended_at IS NULL") == 0
        assert await connection.fetchval("SELECT count(*) FROM sessions WHERE ended_at IS NULL") == 0


async def test_a_hold_stops_everything_or_one_kind_and_lets_it_go(story: Story) -> None:
    payout, collection = await story.open(Type.DISBURSEMENT), await story.open(Type.COLLECTION)
    async with story.database.begin() as tx:
        await hold.hold(tx, [], "a drill", actor=ASHA, now=clock.now())
    assert (await story.claim()).to_send == []
    with pytest.raises(OnHold):
        await story.open(Type.COLLECTION)
    async with story.database.begin() as tx:
        await hold.hold(tx, [("MPESA", "DISBURSEMENT")], "their float is short", actor=ASHA, now=clock.now())
        await hold.end(tx, [], actor=JUMA, now=clock.now())
    assert of((await story.claim()).to_send) == [collection.id]
    await story.open(Type.DISBURSEMENT)  # It is taken in, and waits.
    assert (await story.claim()).to_send == []
    async with story.database.begin() as tx:
        await hold.end(tx, [("MPESA", "DISBURSEMENT")], actor=JUMA, now=clock.now())
    assert payout.id in of((await story.claim()).to_send)
    with pytest.raises(Refusal):
        async with story.database.begin() as tx:
            await hold.end(tx, [], actor=JUMA, now=clock.now())


async def test_a_cursor_from_before_the_restore_that_lies_ahead_is_lost(story: Story) -> None:
    async with story.database.begin() as tx:
        await tx.execute("INSERT INTO feeds (merchant_id, last) VALUES ($1, 15)", story.merchant_id)
    await _fence(story)
    async with story.database.read() as connection:
        epoch = await find_epoch(connection)
        for of_epoch, number in ((1, 15), (1, 3), (epoch, 31)):
            await require_kept(connection, story.merchant_id, epoch=epoch, of_epoch=of_epoch, number=number)
        for of_epoch, number in ((1, 16), (epoch - 5, 16), (epoch + 1, 3)):
            with pytest.raises(CursorLost) as lost:
                await require_kept(connection, story.merchant_id, epoch=epoch, of_epoch=of_epoch, number=number)
            assert f"{epoch}-15" in str(lost.value.details)
    assert [cursor_of(1, 15), cursor_of(2, 15)] == ["15", "2-15"]


async def test_a_cursor_of_a_feed_that_was_empty_then_is_lost(story: Story) -> None:
    """Restored twice: at the first fence the merchant had no events, at the second they had ten."""
    await _fence(story)
    async with story.database.begin() as tx:
        await tx.execute("INSERT INTO feeds (merchant_id, last) VALUES ($1, 10)", story.merchant_id)
        first = await find_epoch(tx)
    await story.service.fence("It was restored again.", epoch=first)
    async with story.database.read() as connection:
        epoch = await find_epoch(connection)
        with pytest.raises(CursorLost):
            await require_kept(connection, story.merchant_id, epoch=epoch, of_epoch=1, number=5)
        await require_kept(connection, story.merchant_id, epoch=epoch, of_epoch=first, number=5)


async def test_an_epoch_is_later_than_any_that_a_host_has_seen(story: Story) -> None:
    """Also when the clock of the database that is gone was ahead."""
    ahead = int(clock.now().timestamp()) + 3600
    assert await story.service.fence("It was restored.", epoch=1, beyond=ahead) == ahead + 1
    assert await story.service.fence("Another host notices too.", epoch=1) == ahead + 1
    assert await story.service.fence("It was restored again.", epoch=ahead + 1) == ahead + 2


async def test_what_is_taken_in_while_the_fence_goes_up_is_asked_about_too(story: Story) -> None:
    """A batch of requests has read that nothing is fenced, and commits when it is."""
    wanted = order(story.merchant_id, Type.DISBURSEMENT, 1000, key="order-1")
    async with story.database.begin() as batch:
        await Initiate(clock=clock.now)(batch, [wanted], again=False)
        await _fence(story)
    assert (await story.claim()).to_send == []
    await _release(story, ASHA, JUMA)
    assert (await story.claim()).to_send == []
    assert len(await _ask_first(story)) == 1
