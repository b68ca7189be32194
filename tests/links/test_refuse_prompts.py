"""No more prompts than the limits reach a stranger's phone, whichever links are pressed, and however many at once."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import timedelta

import pytest

from malipo import clock
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.links import block_number
from malipo.links.link import Link
from malipo.links.press import PressAttempt, PressLinks, PressResult
from malipo.links.press_request import Press
from malipo.links.refuse_prompts import TooManyPrompts
from malipo.links.store import prompts
from malipo.networks.connector import Channel, FailureCode, Verdict
from malipo.payments.cancel import Cancellation
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Transaction, Type
from tests.conftest import NOBODY
from tests.links.link_steps import ASHA, JUMA, LinkSteps
from tests.links.link_steps import steps as steps


async def fresh(steps: LinkSteps, number: int) -> list[Link]:
    return [await steps.make() for _ in range(number)]


async def pressed(
    steps: LinkSteps, links: Sequence[Link], phone: str = ASHA, **how: object
) -> list[PressResult | Refusal]:
    """One after the other."""
    found: list[PressResult | Refusal] = []
    for link in links:
        try:
            found.append(await steps.press(link, phone, **how))
        except Refusal as refusal:
            found.append(refusal)
    return found


async def failed(steps: LinkSteps, payment: Transaction, code: FailureCode) -> None:
    await steps.report(payment, Verdict.REFUSED, AnswerSource.SEND, failure_code=code)


async def later(steps: LinkSteps, hours: float) -> None:
    """So long after all that was pressed, and sent."""
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE link_attempts SET pressed_at = pressed_at - $1 * interval '1 hour'", float(hours))
        columns = ("created_at", "processing_at", "ended_at")
        earlier = ", ".join(f"{each} = {each} - $1 * interval '1 hour'" for each in columns)
        await tx.execute(f"UPDATE transactions SET {earlier}", float(hours))
        await tx.execute("UPDATE dispatches SET sent_at = sent_at - $1 * interval '1 hour'", float(hours))


def refused(answers: Sequence[object]) -> list[bool]:
    return [isinstance(each, TooManyPrompts) for each in answers]


async def test_a_number_that_does_not_answer_is_asked_three_times_an_hour(steps: LinkSteps) -> None:
    links = await fresh(steps, 6)
    assert refused(await pressed(steps, links[:4])) == [False, False, False, True]
    assert refused(await pressed(steps, links[3:4], JUMA)) == [False], "another number is not concerned"
    await steps.claim()
    await later(steps, 0.99)
    assert refused(await pressed(steps, links[4:5])) == [True]
    await later(steps, 0.02)
    assert refused(await pressed(steps, links[4:5])) == [False]


async def test_a_prompt_that_is_sent_long_after_the_press_counts_from_then(steps: LinkSteps) -> None:
    links = await fresh(steps, 4)
    await pressed(steps, links[:3])
    await later(steps, 2)
    assert refused(await pressed(steps, links[3:])) == [True], "its network was down: they are still to be sent"
    for each in (await steps.claim()).to_send:
        await steps.report(each, Verdict.UNSENT, AnswerSource.SEND)
    await later(steps, 2)
    assert refused(await pressed(steps, links[3:])) == [True], "it could not be reached: they are still to be sent"
    await steps.wait(*await steps.payments(), seconds=60)
    assert len((await steps.claim()).to_send) == 3
    await later(steps, 0.99)
    assert refused(await pressed(steps, links[3:])) == [True]
    await later(steps, 0.02)
    assert refused(await pressed(steps, links[3:])) == [False]


async def test_a_number_that_never_pays_is_asked_five_times_a_day(steps: LinkSteps) -> None:
    links = await fresh(steps, 7)
    for link in links[:5]:
        await failed(steps, await steps.sent(link), FailureCode.DECLINED)
    assert refused(await pressed(steps, links[5:6])) == [True]
    await later(steps, 23.9)
    assert refused(await pressed(steps, links[5:6])) == [True]
    await later(steps, 0.2)
    assert refused(await pressed(steps, links[5:6])) == [False]


async def test_who_pays_is_asked_as_often_as_they_pay(steps: LinkSteps) -> None:
    for link in await fresh(steps, 8):
        await steps.paid(link)
    assert refused(await pressed(steps, await fresh(steps, 1))) == [False]


async def test_a_press_that_is_repeated_is_no_prompt(steps: LinkSteps) -> None:
    links = await fresh(steps, 3)
    await pressed(steps, links, press_id="page")
    again = await pressed(steps, links, press_id="page")
    assert [isinstance(each, PressResult) and not each.is_new for each in again] == [True] * 3


async def test_what_merchants_ask_by_the_api_neither_counts_nor_is_counted(steps: LinkSteps) -> None:
    for _ in range(6):
        await steps.open(Type.COLLECTION)
    assert len({each.phone for each in await steps.payments()}) == 1
    phone = (await steps.payments())[0].phone
    assert refused(await pressed(steps, await fresh(steps, 4), phone)) == [False, False, False, True]
    assert (await steps.open(Type.COLLECTION)).phone == phone


async def test_presses_at_many_links_at_once_ask_a_number_three_times(steps: LinkSteps) -> None:
    """In different commits, of two processes."""
    links = await fresh(steps, 12)
    elsewhere = steps.ago(0)
    both = [steps, LinkSteps(elsewhere.service, steps.merchant_id)]
    answers = await asyncio.gather(
        *(both[place % 2].press(link) for place, link in enumerate(links)), return_exceptions=True
    )
    assert sorted(refused(answers)) == [False] * 3 + [True] * 9
    assert len(await steps.payments()) == 3
    await elsewhere.service.finish()


async def test_numbers_are_locked_in_one_order_also_where_presses_wait_for_each_other(
    steps: LinkSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that a refused number leaves goes to the next one of the same commit."""
    async with steps.database.begin() as tx:
        await block_number.block(tx, JUMA, "She asked for it", actor=NOBODY, now=clock.now())
    link = await steps.make(reusable=True, maxPayments=1)
    locked: list[list[str]] = []
    lock = prompts.lock_numbers

    async def noted(tx: Tx, numbers: Collection[str]) -> None:
        locked.append(sorted(numbers))
        await lock(tx, numbers)

    monkeypatch.setattr(prompts, "lock_numbers", noted)
    press = PressLinks(
        steps.service.payments.initiate_in_transaction,
        steps.service.payments.terms,
        prompt_seconds=60,
        clock=steps.service.clock,
    )
    asked = [
        PressAttempt.of(Press(code=link.code, phone=each, channel=Channel.MPESA), clock.now()) for each in (JUMA, ASHA)
    ]
    async with steps.database.begin() as tx:
        first, second = await press(tx, asked, again=False)
    assert isinstance(first, TooManyPrompts)
    assert isinstance(second, PressResult)
    assert locked == [[ASHA, JUMA]]


async def test_a_link_that_asks_many_who_do_not_answer_asks_nobody_more(steps: LinkSteps) -> None:
    link = await steps.make(reusable=True)
    await steps.press(link)
    await many(steps, 298)
    assert refused(await pressed(steps, [link], JUMA)) == [False]
    assert refused(await pressed(steps, [link], "+255754009999")) == [True]
    assert refused(await pressed(steps, await fresh(steps, 1), "+255754009998")) == [False], "another link is not"


async def test_an_address_from_which_many_are_asked_who_do_not_answer_asks_nobody_more(steps: LinkSteps) -> None:
    first, *others = await fresh(steps, 3)
    await steps.press(first, address="41.59.1.1")
    await many(steps, 299)
    assert refused(await pressed(steps, others[:1], JUMA, address="41.59.1.1")) == [True]
    assert refused(await pressed(steps, others[:1], JUMA, address="41.59.1.2")) == [False]
    assert refused(await pressed(steps, others[1:], "+255754009999")) == [False]


@pytest.mark.parametrize("how", ["cancelled", "invalid_recipient"])
async def test_presses_that_reach_no_phone_and_are_not_paid_are_limited_too(steps: LinkSteps, how: str) -> None:
    first, second, third = await fresh(steps, 3)
    if how == "cancelled":
        payment = (await steps.press(first, address="41.59.1.1")).transaction
        await steps.service.payments.cancel(Cancellation(payment.merchant_id, payment.id))
    else:
        payment = await steps.sent(first, address="41.59.1.1")
        await failed(steps, payment, FailureCode.INVALID_RECIPIENT)
    await many(steps, 399)
    assert refused(await pressed(steps, [first], JUMA, address="41.59.1.2")) == [True]
    assert refused(await pressed(steps, [second], JUMA, address="41.59.1.1")) == [True]
    assert refused(await pressed(steps, [second, third], ASHA, address="41.59.1.2")) == [False, False]
    await later(steps, 1.01)
    assert refused(await pressed(steps, [first], JUMA, address="41.59.1.1")) == [False]


async def many(steps: LinkSteps, number: int) -> None:
    """The one attempt that there is so many times more, each of another number."""
    async with steps.database.begin() as tx:
        await tx.execute("ALTER TABLE link_attempts DROP CONSTRAINT link_attempts_of_one_payment")
        await tx.execute(
            """
            INSERT INTO link_attempts (merchant_id, link_id, phone, ordinal, transaction_id, address, pressed_at)
            SELECT merchant_id, link_id, '+2557620' || lpad(number::text, 5, '0'), 1, transaction_id, address, pressed_at
            FROM link_attempts, generate_series(1, $1) number
            """,
            number,
        )


async def test_a_blocked_number_is_refused_in_the_same_words(steps: LinkSteps) -> None:
    async with steps.database.begin() as tx:
        await block_number.block(tx, ASHA, "She asked for it", actor=NOBODY, now=clock.now())
    links = await fresh(steps, 4)
    [blocked] = await pressed(steps, links[:1])
    await pressed(steps, links[:3], JUMA)
    [limited] = await pressed(steps, links[3:], JUMA)
    assert isinstance(blocked, TooManyPrompts)
    assert isinstance(limited, TooManyPrompts)
    assert (blocked.code, blocked.message, blocked.retry_after_seconds, blocked.values) == (
        limited.code,
        limited.message,
        limited.retry_after_seconds,
        limited.values,
    )
    async with steps.database.begin() as tx:
        await block_number.unblock(tx, ASHA, actor=NOBODY, now=clock.now())
    assert refused(await pressed(steps, links[:1])) == [False]


async def test_blocking_twice_is_refused_and_both_are_in_the_audit_log_once(steps: LinkSteps) -> None:
    now = clock.now()
    later = now + timedelta(milliseconds=1)  # entries of one millisecond have no order
    async with steps.database.begin() as tx:
        await block_number.block(tx, ASHA, "She asked for it", actor=NOBODY, now=now)
        with pytest.raises(Conflict):
            await block_number.block(tx, ASHA, "Again", actor=NOBODY, now=now)
        await block_number.unblock(tx, ASHA, actor=NOBODY, now=later)
        with pytest.raises(Conflict):
            await block_number.unblock(tx, ASHA, actor=NOBODY, now=later)
        rows = await tx.fetch("SELECT action FROM audit_log WHERE action LIKE 'number.%' ORDER BY id")
    assert [row["action"] for row in rows] == ["number.blocked", "number.unblocked"]
