"""Payments are claimed for sending: each by one worker, the oldest first, and PROCESSING before anything is sent."""

import asyncio
from collections import Counter

import pytest

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.merchants import onboard
from malipo.networks.connector import Channel, Verdict
from malipo.payments.claim_for_sending import ClaimedPayments, slots_of_batches
from malipo.payments.dispatch import AnswerSource, NextAction
from malipo.payments.store import claims
from malipo.payments.transaction import Status, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, NOBODY, Merchant, make_merchant
from tests.journeys import database_facts
from tests.journeys.postgres_proxy import Fault, proxy_to
from tests.payments.payment_steps import PAIRS, ROUTE, PaymentSteps, a_claim, a_report, of
from tests.payments.payment_steps import steps as steps

# What a transaction has run that takes payments up.
TAKES_UP = "SET connector = $3, claim_id = $4"


async def _asks(database: Database, *, lease_seconds: float = 60, most: int = 100) -> list[str]:
    """The payments whose query is due."""
    async with database.begin() as tx:
        due = await claims.claim_queries(tx, ROUTE, lease_seconds=lease_seconds, most=most)
    return of([each.transaction for each in due])


@pytest.mark.parametrize("type_", Type)
async def test_a_payment_is_processing_and_committed_before_a_worker_gets_it(steps: PaymentSteps, type_: Type) -> None:
    opened = await steps.open(type_)

    taken = await steps.claim()

    assert of(taken.to_send) == [opened.id]
    assert taken.lapsed == []
    [sent] = taken.to_send
    assert sent.status is Status.PROCESSING
    assert sent.network_key == opened.network_key
    assert await steps.status(opened) is Status.PROCESSING
    dispatch = await steps.dispatch(opened)
    assert dispatch is not None
    assert (dispatch.connector, dispatch.next_action, dispatch.send_count) == (ROUTE, NextAction.SENDING, 1)
    assert (await steps.claim()).to_send == [], "and nobody else gets it"
    await database_facts.assert_clean(steps.database)


async def test_two_workers_claims_at_once_never_share_a_payment(database: Database, merchant: Merchant) -> None:
    workers = [assemble(Settings(**NO_LIMITS), database) for _ in range(10)]
    steps = PaymentSteps(workers[0], merchant.id)
    opened = [*await steps.open_many(Type.COLLECTION, 40), *await steps.open_many(Type.DISBURSEMENT, 40)]
    start = asyncio.Barrier(len(workers))

    async def work(worker: Service) -> list[str]:
        mine: list[str] = []
        await start.wait()
        while taken := (await worker.network_work.claim_for_sending(a_claim(most=7))).to_send:
            mine += of(taken)
        return mine

    taken = await asyncio.gather(*map(work, workers))
    # A worker that found only locked rows has stopped; the rest is claimed by the next one.
    rest = of((await steps.claim(most=100)).to_send)

    counted = Counter(id_ for each in [*taken, rest] for id_ in each)
    assert counted == Counter(of(opened))
    assert sum(map(bool, taken)) > 1, "they raced"
    await database_facts.assert_clean(database)


async def test_a_payment_that_is_being_cancelled_is_not_waited_for_and_not_sent(steps: PaymentSteps) -> None:
    first, second = await steps.open_many(Type.DISBURSEMENT, 2)
    async with steps.database.begin() as tx:
        await tx.execute("SELECT FROM transactions WHERE id = $1 FOR UPDATE", first.id)
        async with asyncio.timeout(240):
            assert of((await steps.claim()).to_send) == [second.id]
    assert of((await steps.claim()).to_send) == [first.id]


@pytest.mark.parametrize(("flood", "few"), [(Type.DISBURSEMENT, Type.COLLECTION), (Type.COLLECTION, Type.DISBURSEMENT)])
async def test_a_flood_of_one_type_does_not_keep_the_other_waiting(steps: PaymentSteps, flood: Type, few: Type) -> None:
    await steps.open_many(flood, 30)
    wanted = await steps.open_many(few, 3)

    taken = of((await steps.claim(most=10)).to_send)

    assert set(of(wanted)) < set(taken), "though they came last"
    assert len(taken) >= 8, "and the flood is not kept waiting either"
    while more := of((await steps.claim(most=10 - len(taken))).to_send):
        taken += more
    assert len(taken) == 10, "whoever looks again finds something for every place"


@pytest.mark.parametrize(("flood", "few"), [(Type.DISBURSEMENT, Type.COLLECTION), (Type.COLLECTION, Type.DISBURSEMENT)])
async def test_a_flood_does_not_keep_the_other_waiting_when_places_get_free_one_by_one(
    steps: PaymentSteps, flood: Type, few: Type
) -> None:
    await steps.open_many(flood, 10)
    wanted = await steps.open(few)

    taken: list[str] = []
    for _ in range(6):
        taken += of((await steps.claim(most=1)).to_send)

    assert wanted.id in taken


async def test_places_that_one_type_does_not_need_are_the_others(steps: PaymentSteps) -> None:
    opened = [*await steps.open_many(Type.COLLECTION, 2), *await steps.open_many(Type.DISBURSEMENT, 20)]
    taken = await steps.claim(most=12)
    assert of(taken.to_send) == of(opened[:12])


@pytest.mark.parametrize(
    ("free", "of_batches_in_four_turns"),
    [(0, [0, 0, 0, 0]), (1, [0, 0, 0, 1]), (2, [0, 0, 1, 1]), (3, [0, 1, 1, 1]), (4, [1, 1, 1, 1]), (7, [1, 2, 2, 2])],
)
def test_batches_get_a_quarter_of_the_free_slots_also_where_there_are_few(
    free: int, of_batches_in_four_turns: list[int]
) -> None:
    assert [slots_of_batches(free, turn=turn, routes=1) for turn in range(4)] == of_batches_in_four_turns
    # Each of two routes is the first once before the remainder grows.
    twice = [slots_of_batches(free, turn=turn, routes=2) for turn in range(8)]
    assert twice == [each for each in of_batches_in_four_turns for _ in range(2)]
    assert slots_of_batches(4, turn=3, routes=0) == 1, "a worker without routes"


async def test_the_oldest_go_first_and_no_more_than_there_are_places_for(steps: PaymentSteps) -> None:
    opened = await steps.open_many(Type.DISBURSEMENT, 7)
    taken = [of((await steps.claim(most=3)).to_send) for _ in range(4)]
    assert taken == [of(opened[:3]), of(opened[3:6]), of(opened[6:]), []]


async def test_a_worker_takes_only_what_its_network_carries(steps: PaymentSteps) -> None:
    collection, payout = await steps.open(Type.COLLECTION), await steps.open(Type.DISBURSEMENT)
    assert (await steps.claim(routes=[(Channel.HALOPESA, Type.COLLECTION)])).to_send == []
    assert of((await steps.claim(routes=PAIRS[1:])).to_send) == [payout.id]
    assert of((await steps.claim(routes=PAIRS[:1])).to_send) == [collection.id]


async def test_the_payouts_of_a_merchant_who_was_stopped_are_held_until_it_may_go_on(
    steps: PaymentSteps, database: Database
) -> None:
    other = PaymentSteps(steps.service, (await make_merchant(database, wallet=10_000)).id)
    payout, collection = await steps.open(Type.DISBURSEMENT), await steps.open(Type.COLLECTION)
    others = await other.open(Type.DISBURSEMENT)
    await _set_active(database, steps.merchant_id, is_active=False)

    assert set(of((await steps.claim()).to_send)) == {collection.id, others.id}
    assert (await steps.claim()).to_send == []
    assert await steps.status(payout) is Status.PENDING
    await database_facts.assert_clean(database)

    await _set_active(database, steps.merchant_id, is_active=True)
    assert of((await steps.claim()).to_send) == [payout.id]


async def test_a_payout_that_was_claimed_and_not_sent_before_its_merchant_was_stopped_is_held(
    steps: PaymentSteps, database: Database
) -> None:
    payout, collection = await steps.send(Type.DISBURSEMENT), await steps.send(Type.COLLECTION)
    for each in (payout, collection):
        await steps.report(each, Verdict.UNSENT, AnswerSource.SEND)
    await steps.make_due(payout, collection)
    await _set_active(database, steps.merchant_id, is_active=False)
    assert of((await steps.claim()).to_send) == [collection.id]
    await _set_active(database, steps.merchant_id, is_active=True)
    assert of((await steps.claim()).to_send) == [payout.id]


async def _set_active(database: Database, merchant_id: str, *, is_active: bool) -> None:
    async with database.begin() as tx:
        await onboard.set_active(tx, merchant_id, is_active=is_active, actor=NOBODY, now=clock.now())


async def test_payouts_that_are_held_do_not_take_the_places_of_others(steps: PaymentSteps, database: Database) -> None:
    held = await steps.open_many(Type.DISBURSEMENT, 5)
    await _set_active(database, steps.merchant_id, is_active=False)
    other = PaymentSteps(steps.service, (await make_merchant(database, wallet=10_000)).id)
    good = await other.open(Type.DISBURSEMENT)
    assert of((await steps.claim(most=2)).to_send) == [good.id]
    assert len(held) == 5


async def test_a_payout_that_provably_was_not_sent_is_sent_again_after_a_pause_with_the_same_key(
    steps: PaymentSteps,
) -> None:
    sent = await steps.send(Type.DISBURSEMENT)
    await steps.report(sent, Verdict.UNSENT, AnswerSource.SEND)

    assert (await steps.claim()).to_send == [], "not at once"
    assert await _asks(steps.database) == [], "and there is nothing to ask"
    await steps.make_due(sent)
    [again] = (await steps.claim()).to_send

    assert (again.id, again.network_key, again.status) == (sent.id, sent.network_key, Status.PROCESSING)
    assert again.processing_at == sent.processing_at
    dispatch = await steps.dispatch(sent)
    assert dispatch is not None
    assert (dispatch.send_count, dispatch.next_action) == (1, NextAction.SENDING)


async def test_a_network_that_is_given_nothing_new_still_sends_what_it_had_begun(steps: PaymentSteps) -> None:
    begun = await steps.send(Type.DISBURSEMENT)
    await steps.report(begun, Verdict.UNSENT, AnswerSource.SEND)
    await steps.make_due(begun)
    await steps.open(Type.DISBURSEMENT)

    assert of((await steps.claim(routes=())).to_send) == [begun.id], "its routes are other networks' now"
    assert of((await steps.claim(routes=())).to_send) == []


async def test_until_the_lease_ends_a_payment_is_its_workers_alone_and_then_it_is_queried_and_not_sent(
    steps: PaymentSteps,
) -> None:
    slow = await steps.send(Type.DISBURSEMENT, lease_seconds=60)
    dead = await steps.send(Type.DISBURSEMENT, lease_seconds=0.02)
    assert 55 < await steps.due_in_seconds(slow) <= 60
    await asyncio.sleep(0.03)

    assert (await steps.claim()).to_send == [], "nobody sends it unasked"
    assert await _asks(steps.database, lease_seconds=30) == [dead.id]
    assert await _asks(steps.database) == [], "one worker asks, the others leave it"
    assert 25 < await steps.due_in_seconds(dead) <= 30
    dispatch = await steps.dispatch(dead)
    assert dispatch is not None
    assert (dispatch.next_action, dispatch.send_count) == (NextAction.SENDING, 1), (
        "only an answer changes where we stand"
    )


async def test_workers_who_ask_at_once_never_ask_about_the_same_payment(steps: PaymentSteps) -> None:
    sent = [await steps.send(Type.DISBURSEMENT) for _ in range(20)]
    await steps.make_due(*sent)

    asked = await asyncio.gather(*(_asks(steps.database, most=4) for _ in range(10)))
    asked.append(await _asks(steps.database))

    assert Counter(id_ for each in asked for id_ in each) == Counter(of(sent))


async def test_queries_go_out_in_the_order_they_are_due_and_no_more_than_there_are_places_for(
    steps: PaymentSteps,
) -> None:
    sent = [await steps.send(Type.COLLECTION) for _ in range(3)]
    for each in reversed(sent):
        await steps.make_due(each)
        await asyncio.sleep(0.002)

    assert set(await _asks(steps.database, most=2)) == set(of(sent[1:]))
    assert await _asks(steps.database, most=2) == [sent[0].id]


async def test_a_claim_that_is_taken_back_takes_none_of_another_worker_along(steps: PaymentSteps) -> None:
    sending = await steps.send(Type.DISBURSEMENT)
    kept = await steps.open(Type.DISBURSEMENT)
    claim = a_claim()
    taken: ClaimedPayments = await steps.service.network_work.claim_for_sending(claim)
    assert of(taken.to_send) == [kept.id]

    await steps.service.network_work.take_back(claim)

    for payment, expected in ((sending, (NextAction.SENDING, 1)), (kept, (NextAction.SEND, 0))):
        dispatch = await steps.dispatch(payment)
        assert dispatch is not None
        assert (dispatch.next_action, dispatch.send_count) == expected
    assert of((await steps.claim()).to_send) == [kept.id], "the other is on its way to the network"


@pytest.mark.parametrize("fault", [Fault.CUT_AFTER, Fault.CUT_BEFORE, Fault.CUT_DURING])
async def test_a_claim_whose_commit_was_not_confirmed_finds_its_own_and_takes_no_others(
    steps: PaymentSteps, database_url: str, fault: Fault
) -> None:
    opened = await steps.open_many(Type.DISBURSEMENT, 6)
    async with proxy_to(database_url) as (wire, url), Database.opened(url, size=4) as database:
        worker = assemble(Settings(**NO_LIMITS), database)
        trap = wire.trap(fault, after=TAKES_UP)

        taken: ClaimedPayments = await worker.network_work.claim_for_sending(a_claim(most=3))

        assert trap.sprung.is_set()
        await worker.finish()
    assert set(of(taken.to_send)) == set(of(opened[:3]))
    assert {each.status for each in taken.to_send} == {Status.PROCESSING}
    sends = [dispatch.send_count for each in opened if (dispatch := await steps.dispatch(each))]
    assert sends == [1, 1, 1, 0, 0, 0], "each is sent once, and no other was taken along"
    assert of((await steps.claim()).to_send) == of(opened[3:])
    await database_facts.assert_clean(steps.database)


async def test_a_claim_that_was_committed_and_then_answered_by_its_network_is_not_sent_after_all(
    steps: PaymentSteps, database_url: str
) -> None:
    [payout] = await steps.open_many(Type.DISBURSEMENT, 1)
    async with proxy_to(database_url) as (wire, url), Database.opened(url, size=4) as database:
        worker = assemble(Settings(**NO_LIMITS), database)
        trap = wire.trap(Fault.HANG_AFTER, after=TAKES_UP)
        claiming = asyncio.create_task(worker.network_work.claim_for_sending(a_claim()))
        await trap.sprung.wait()
        await trap.server_is_done.wait()
        await steps.report(payout, Verdict.CONFIRMED, AnswerSource.CALLBACK)
        wire.cut_all()

        assert (await claiming).to_send == []
        await worker.finish()
    assert await steps.status(payout) is Status.COMPLETED


@pytest.mark.parametrize("verdict", [Verdict.UNSENT, Verdict.MISSING, Verdict.WAITING])
async def test_an_answer_that_is_stored_a_second_time_changes_nothing(steps: PaymentSteps, verdict: Verdict) -> None:
    """A worker whose commit was not confirmed reports it again, with the same id, and perhaps much later."""
    sent = await steps.send(Type.DISBURSEMENT)
    act = AnswerSource.QUERY if verdict is Verdict.MISSING else AnswerSource.SEND
    report = a_report(sent, verdict, act)
    await steps.service.network_work.apply_answer(report)
    await steps.make_due(sent)
    await steps.claim()  # Meanwhile it was claimed again, if it was to be sent.
    before = await steps.dispatch(sent)

    await steps.service.network_work.apply_answer(report)

    assert await steps.dispatch(sent) == before
