"""The payments of a link are counted once, reported once, and counted again after a correction."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from malipo.db import Tx
from malipo.errors import Conflict
from malipo.links.link import Late, Link, LinkStatus
from malipo.links.store import attempts
from malipo.links.store.attempts import EndedAttempt
from malipo.links.store.links import Key
from malipo.networks.connector import Type, Verdict
from malipo.outbox.event import Event
from malipo.payments.transaction import Status
from malipo.worker.link_counter import LinkCounter, count_links, ended_attempts
from tests.db.lock_waits import are_waiting
from tests.journeys import database_facts
from tests.links.link_steps import ASHA, JUMA, LinkSteps
from tests.links.link_steps import steps as steps


async def test_a_paid_link_is_counted_once_and_wakes_the_fan_out_once(steps: LinkSteps) -> None:
    link = await steps.make()
    payment = await steps.paid(link)
    woken: list[bool] = []

    await count_links(steps.database, steps.service.clock, lambda: woken.append(True))
    await asyncio.gather(*(count_links(steps.database, steps.service.clock) for _ in range(4)))

    seen = await steps.look(link)
    assert (seen.status, seen.paid_count, seen.paid_amount, woken) == (LinkStatus.PAID, 1, 25_000, [True])
    assert seen.paid_at == (await steps.payment(payment)).ended_at
    assert await steps.events() == [(Event.LINK_PAID, payment.id)]
    async with steps.database.read() as connection:
        body = json.loads(await connection.fetchval("SELECT body FROM link_events"))
    assert body["event"] == "link.paid"
    events_of = body["link"]
    assert (events_of["id"], events_of["status"], events_of["payment"], events_of["paidCount"]) == (
        link.id,
        "PAID",
        payment.id,
        1,
    )
    assert "url" not in events_of
    await database_facts.assert_clean(steps.database)


async def test_what_is_counted_is_what_was_shown_before(steps: LinkSteps) -> None:
    link = await steps.make(reusable=True, maxPayments=3)
    for phone in (ASHA, JUMA):
        await steps.paid(link, phone)
    before = await steps.look(link)

    await steps.count()

    after = await steps.look(link)
    assert (before.paid_count, before.paid_amount, before.status) == (2, 50_000, LinkStatus.ACTIVE)
    assert after == before


async def test_a_success_after_the_links_end_is_taken_and_flagged(steps: LinkSteps) -> None:
    expired, cancelled = await steps.make(), await steps.make()
    late = [await steps.sent(expired), await steps.sent(cancelled)]
    await steps.expire(expired)
    await steps.cancel(cancelled)
    for payment in late:
        await steps.answer(payment)
    for link, status in ((expired, LinkStatus.EXPIRED), (cancelled, LinkStatus.CANCELLED)):
        assert (await steps.look(link)).status is status, "before it is counted"

    await steps.count()

    for link, payment, status, why in (
        (expired, late[0], LinkStatus.EXPIRED, Late.EXPIRED),
        (cancelled, late[1], LinkStatus.CANCELLED, Late.CANCELLED),
    ):
        seen = await steps.look(link)
        assert (seen.status, seen.paid_count) == (status, 0)
        [flagged] = await steps.late(link)
        assert (flagged.id, flagged.reason, flagged.amount) == (payment.id, why, 25_000)
        assert (await steps.payment(payment)).status is Status.COMPLETED
    assert await steps.events() == [(Event.LINK_LATE, payment.id) for payment in late]
    await database_facts.assert_clean(steps.database)


async def test_a_success_by_a_clock_that_is_ahead_is_in_time_if_the_link_takes_payments_then(steps: LinkSteps) -> None:
    """The link would take a second payment until it expires by the database's clock."""
    link = await steps.make()
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE links SET expires_at = clock_timestamp() + interval '1 hour'")
    payment = await steps.paid(link)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE transactions SET ended_at = now() + interval '2 hours' WHERE id = $1", payment.id)
    assert ((await steps.look(link)).status, (await steps.look(link)).paid_count) == (LinkStatus.PAID, 1)

    await steps.count()

    assert ((await steps.look(link)).status, await steps.late(link)) == (LinkStatus.PAID, [])


async def test_of_two_numbers_that_both_paid_the_first_pays_the_link_and_the_second_is_late(steps: LinkSteps) -> None:
    link = await steps.make()
    first = await steps.sent(link)
    await steps.end_prompts()
    second = await steps.sent(link, JUMA, may_be_second=True)
    await steps.answer(second)
    await steps.answer(first)

    await steps.count()

    assert (await steps.look(link)).paid_count == 1
    assert [(each.id, each.reason) for each in await steps.late(link)] == [(first.id, Late.ALREADY_PAID)]
    assert await steps.events() == [(Event.LINK_PAID, second.id), (Event.LINK_LATE, first.id)]


async def test_a_failed_attempt_that_turns_out_paid_pays_the_link(steps: LinkSteps) -> None:
    link = await steps.make()
    payment = await steps.sent(link)
    await steps.answer(payment, Status.FAILED)
    await steps.count()

    await steps.contradict(payment, Verdict.CONFIRMED)

    assert (await steps.look(link)).status is LinkStatus.PAID
    with pytest.raises(Conflict, check=lambda error: error.code == "link_paid"):
        await steps.press(link)
    await steps.count()
    assert (await steps.look(link)).paid_count == 1
    assert await steps.events() == [(Event.LINK_PAID, payment.id)]
    await database_facts.assert_clean(steps.database)


async def test_a_failed_attempt_that_turns_out_paid_after_another_has_paid_is_late(steps: LinkSteps) -> None:
    link = await steps.make()
    first = await steps.sent(link)
    await steps.answer(first, Status.FAILED)
    second = await steps.paid(link, JUMA)
    await steps.count()

    await steps.contradict(first, Verdict.CONFIRMED)
    await steps.count()

    assert [(each.id, each.reason) for each in await steps.late(link)] == [(first.id, Late.ALREADY_PAID)]
    assert await steps.events() == [(Event.LINK_PAID, second.id), (Event.LINK_LATE, first.id)]


async def test_a_link_whose_payment_is_taken_back_stays_paid_and_counts_nothing(steps: LinkSteps) -> None:
    link = await steps.make()
    payment = await steps.paid(link)
    await steps.count()

    await steps.contradict(payment, Verdict.REFUSED)
    before = await steps.look(link)
    await steps.count()
    after = await steps.look(link)

    for seen in (before, after):
        assert (seen.status, seen.paid_count, seen.paid_amount) == (LinkStatus.PAID, 0, 0)
    await steps.contradict(payment, Verdict.CONFIRMED)
    await steps.count()
    assert (await steps.look(link)).paid_count == 1
    assert await steps.events() == [(Event.LINK_PAID, payment.id)], "told once"
    await database_facts.assert_clean(steps.database)


async def test_a_correction_during_the_count_is_counted_afterwards(steps: LinkSteps) -> None:
    link = await steps.make()
    payment = await steps.paid(link)

    await asyncio.gather(steps.count(), steps.contradict(payment, Verdict.REFUSED), steps.count())
    await steps.count()

    assert (await steps.look(link)).paid_count == 0
    async with steps.database.read() as connection:
        assert await connection.fetchval("SELECT paid_count FROM links") == 0


async def test_a_correction_between_the_counts_look_and_its_writing_is_counted_afterwards(
    steps: LinkSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = await steps.make()
    payment = await steps.paid(link)
    write, corrections = attempts.write_counted, list[asyncio.Task[None]]()

    async def write_late(tx: Tx, key: Key, counted: Sequence[EndedAttempt]) -> None:
        if not corrections:
            corrections.append(asyncio.create_task(steps.contradict(payment, Verdict.REFUSED)))
            while not (await are_waiting(steps.database) or (await asyncio.wait(corrections, timeout=0.02))[0]):
                pass
        await write(tx, key, counted)

    monkeypatch.setattr(attempts, "write_counted", write_late)
    await steps.count()
    await asyncio.gather(*corrections)
    await steps.count()

    assert (await steps.look(link)).paid_count == 0
    async with steps.database.read() as connection:
        assert await connection.fetchval("SELECT paid_count FROM links") == 0


async def test_a_link_that_is_being_pressed_is_counted_by_the_next_look(steps: LinkSteps) -> None:
    link = await steps.make()
    await steps.paid(link)

    async with steps.database.begin() as tx:
        await tx.execute("SELECT FROM links FOR UPDATE")
        await steps.count()
        assert await steps.events() == []
    await steps.count()

    assert len(await steps.events()) == 1


async def test_what_has_ended_is_counted_without_a_look_at_all_that_is_open(steps: LinkSteps) -> None:
    counter, busy = LinkCounter(steps.database, steps.service.clock), await steps.make(reusable=True)
    assert not await counter.turn(), "the first turn looks at everything"
    first, second = await steps.sent(busy), await steps.sent(busy, JUMA)
    await steps.answer(first)
    await steps.answer(second)

    counter.note_numbered(await steps.events_of(first))
    assert counter.due.is_set()
    assert not await counter.turn()
    assert await counted(steps, busy) == 1, "what it was not told of is left for the next look"
    counter.note_numbered(await steps.events_of(second))
    await counter.turn()
    assert await counted(steps, busy) == 2

    # Its network takes it back: the event of that says so too.
    await steps.contradict(second, Verdict.REFUSED)
    counter.note_numbered(await steps.events_of(second))
    await counter.turn()
    await counter.turn()
    assert await counted(steps, busy) == 1


async def test_a_payment_without_a_notification_to_the_counter_is_found_by_a_look(steps: LinkSteps) -> None:
    link = await steps.make()
    await steps.paid(link)
    await LinkCounter(steps.database, steps.service.clock).turn()
    assert await counted(steps, link) == 1


async def test_only_the_ends_of_payments_of_links_are_noted(steps: LinkSteps) -> None:
    link, other = await steps.make(), await steps.ended(Type.COLLECTION, Status.COMPLETED)
    pressed = (await steps.press(link)).transaction
    assert list(ended_attempts(await steps.events_of(pressed))) == []
    assert list(ended_attempts(await steps.events_of(other))) == []
    await steps.claim()
    await steps.answer(pressed)
    assert set(ended_attempts(await steps.events_of(pressed))) == {(pressed.merchant_id, pressed.id)}


async def counted(steps: LinkSteps, link: Link) -> int:
    async with steps.database.read() as connection:
        return int(await connection.fetchval("SELECT paid_count FROM links WHERE id = $1", link.id))


async def test_cancelling_is_for_links_that_take_payments_and_twice_is_once(steps: LinkSteps) -> None:
    link, paid, expired = await steps.make(), await steps.make(), await steps.make()
    await steps.paid(paid)
    await steps.expire(expired)

    first, second = await steps.cancel(link), await steps.cancel(link)

    assert first.status is LinkStatus.CANCELLED
    assert second.cancelled_at == first.cancelled_at
    for ended in (paid, expired):
        with pytest.raises(Conflict, check=lambda error: error.code == "link_not_cancellable"):
            await steps.cancel(ended)
