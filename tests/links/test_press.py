"""Each press ends with one payment or none, by any customer, any number of times, and with any failure."""

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.errors import Conflict, Invalid, Missing, Refusal, Unavailable
from malipo.links.link import LinkStatus
from malipo.links.press import PressLinks, PressResult
from malipo.links.store import attempts, links
from malipo.networks.connector import Channel, Verdict
from malipo.payments.cancel import Cancellation
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Type
from tests.db.lock_waits import are_waiting
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.journeys.full_stack import until
from tests.links.link_steps import ASHA, JUMA, NEEMA, LinkSteps
from tests.links.link_steps import steps as steps


async def test_a_press_makes_an_ordinary_collection_with_the_links_id(steps: LinkSteps) -> None:
    link = await steps.make(orderReference="ORD-1042")

    pressed = await steps.press(link, name="Asha")

    assert pressed.is_new
    payment = await steps.payment(pressed.transaction)
    assert (payment.type, payment.status, payment.amount) == (Type.COLLECTION, Status.PENDING, 25_000)
    assert (payment.phone, payment.name, payment.channel) == (ASHA, "Asha", Channel.MPESA)
    assert (payment.description, payment.order_reference) == ("Order 1042", "ORD-1042")
    assert payment.link_id == link.id
    assert (await steps.claim()).to_send[0].id == payment.id
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("reusable", [False, True])
async def test_pressing_twice_is_once_however_far_the_first_has_come(steps: LinkSteps, reusable: bool) -> None:
    link = await steps.make(reusable=reusable)
    first = await steps.press(link, press_id="page-1")

    again = await steps.press(link, press_id="page-2", begun=first.transaction.id)
    await steps.claim()
    processing = await steps.press(link, begun=first.transaction.id)
    await steps.end_prompts()
    unknown = await steps.press(link, may_be_second=True, begun=first.transaction.id)

    for each in (again, processing, unknown):
        assert (each.transaction.id, each.is_new) == (first.transaction.id, False)
    assert len(await steps.payments()) == 1


@pytest.mark.parametrize("reusable", [False, True])
@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
async def test_the_same_press_sent_again_is_the_same_payment_whatever_became_of_it(
    steps: LinkSteps, reusable: bool, status: Status
) -> None:
    link = await steps.make(reusable=reusable)
    payment = await steps.sent(link, press_id="page-1")
    await steps.answer(payment, status)

    again = await steps.press(link, press_id="page-1")

    assert (again.transaction.id, again.transaction.status, again.is_new) == (payment.id, status, False)
    assert len(await steps.payments()) == 1


@pytest.mark.parametrize("reusable", [False, True])
async def test_many_browsers_at_once_with_one_number_make_one_payment(steps: LinkSteps, reusable: bool) -> None:
    link = await steps.make(reusable=reusable)

    pressed = await asyncio.gather(
        *(steps.press(link, press_id=f"page-{number}") for number in range(12)), return_exceptions=True
    )

    made = [each for each in pressed if isinstance(each, PressResult)]
    assert [each.is_new for each in made] == [True]
    refused = {each.code for each in pressed if isinstance(each, Refusal)}
    assert refused == {"too_many_prompts" if reusable else "link_busy"}
    assert len(await steps.payments()) == 1


@pytest.mark.parametrize("reusable", [False, True])
async def test_one_page_that_is_sent_many_times_at_once_is_one_payment(steps: LinkSteps, reusable: bool) -> None:
    link = await steps.make(reusable=reusable)

    pressed = await asyncio.gather(*(steps.press(link, press_id="page-1") for _ in range(12)))

    assert len({each.transaction.id for each in pressed}) == 1
    assert [each.is_new for each in pressed].count(True) == 1
    assert len(await steps.payments()) == 1


@pytest.mark.parametrize(
    ("fields", "state", "how", "code"),
    [
        ({}, "pending", {}, "link_busy"),
        ({}, "asked", {"may_be_second": True}, "link_busy"),
        ({}, "doubtful", {}, "second_number_doubt"),
        ({}, "doubtful", {"may_be_second": True}, "too_many_prompts"),
        ({}, "doubtful", {"begun": "txn_of_somebody", "may_be_second": True}, "too_many_prompts"),
        ({}, "expired", {}, "link_expired"),
        ({"reusable": True}, "asked", {}, "too_many_prompts"),
        ({"reusable": True}, "doubtful", {}, "too_many_prompts"),
        ({"reusable": True, "maxPayments": 1}, "asked", {}, "link_full"),
        ({"reusable": True, "maxPayments": 2}, "asked", {}, "too_many_prompts"),
        ({"amount": None}, "asked", {"amount": 9_999_999_999}, "link_busy"),
        ({"amount": None, "reusable": True}, "asked", {"amount": 9_999_999_999}, "amount_too_large"),
    ],
)
async def test_a_stranger_with_the_number_that_is_asked_is_answered_as_with_another_one(
    steps: LinkSteps, fields: dict[str, Any], state: str, how: dict[str, Any], code: str
) -> None:
    """Where another one would be asked, as with one that was asked too often."""
    link = await steps.make(**fields)
    await steps.press(link, amount=5_000)
    if state != "pending":
        await steps.claim()
    if state == "doubtful":
        await steps.end_prompts()
    if state == "expired":
        await steps.expire(link)

    with pytest.raises(Refusal, check=lambda error: error.code == code):
        await steps.press(link, ASHA, **({"amount": 5_000, "press_id": "page-9"} | how))

    assert len(await steps.payments()) == 1


async def test_two_numbers_at_once_make_one_payment_of_a_link_that_is_paid_once(steps: LinkSteps) -> None:
    link = await steps.make()

    pressed = await asyncio.gather(
        *(steps.press(link, phone) for phone in (ASHA, JUMA, NEEMA) * 3), return_exceptions=True
    )

    made = {each.transaction.id for each in pressed if not isinstance(each, BaseException)}
    refused = {each.code for each in pressed if isinstance(each, Conflict)}
    assert (len(made), refused) == (1, {"link_busy"})
    assert len(await steps.payments()) == 1


async def test_a_payment_that_completes_while_a_press_is_decided_is_not_followed_by_another(
    steps: LinkSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = await steps.make()
    payment = await steps.sent(link)
    await steps.end_prompts()
    completed: list[str] = []

    async def complete_after(read: Any, *arguments: Any, **options: Any) -> Any:
        answer = await read(*arguments, **options)
        if not completed:
            completed.append(payment.id)
            await steps.answer(payment, Status.COMPLETED)
        return answer

    turn = PressLinks._take_turn

    async def take_turn(self: PressLinks, *arguments: Any, **options: Any) -> Any:
        for module, name in ((attempts, "find_open"), (links, "find")):
            monkeypatch.setattr(module, name, partial(complete_after, getattr(module, name)))
        return await turn(self, *arguments, **options)

    monkeypatch.setattr(PressLinks, "_take_turn", take_turn)

    with pytest.raises(Conflict) as refused:
        await steps.press(link, phone=JUMA, may_be_second=True)

    assert completed
    assert refused.value.code == "link_paid"
    assert len(await steps.payments()) == 1


async def test_presses_of_two_processes_on_one_link_make_one_payment(steps: LinkSteps) -> None:
    link, others = await steps.make(), [steps.ago(0) for _ in range(3)]

    pressed = await asyncio.gather(
        *(LinkSteps(each.service, steps.merchant_id).press(link, press_id="page") for each in [steps, *others])
    )

    assert len({each.transaction.id for each in pressed}) == 1
    assert [each.is_new for each in pressed].count(True) == 1
    for each in others:
        await each.service.finish()


async def test_numbers_in_several_processes_make_one_payment_of_a_link_that_is_paid_once(steps: LinkSteps) -> None:
    """All have begun before the first of them decides."""
    link, others = await steps.make(), [steps.ago(0) for _ in range(2)]
    all_ = [LinkSteps(each.service, steps.merchant_id) for each in (steps, *others)]

    async with steps.database.begin() as tx:
        await links.lock(tx, steps.merchant_id, link.id)
        presses = [each.press(link, phone) for each, phone in zip(all_, (ASHA, JUMA, NEEMA), strict=True)]
        pressed = asyncio.gather(*presses, return_exceptions=True)
        await until(lambda: are_waiting(steps.database, len(all_)), pause=0.01)

    assert sorted(type(each).__name__ for each in await pressed) == ["LinkBusy", "LinkBusy", "PressResult"]
    assert len(await steps.payments()) == 1
    for each in others:
        await each.service.finish()


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
async def test_after_failed_and_cancelled_the_customer_can_try_again(steps: LinkSteps, status: Status) -> None:
    link = await steps.make()
    first = (await steps.press(link)).transaction
    if status is Status.CANCELLED:
        await steps.service.payments.cancel(Cancellation(steps.merchant_id, first.id))
    else:
        await steps.claim()
        await steps.answer(first, status)

    second = await steps.press(link)

    assert second.is_new
    assert second.transaction.id != first.id
    assert second.transaction.network_key != first.network_key


async def test_another_number_waits_until_the_prompt_is_over_and_then_needs_the_warning(steps: LinkSteps) -> None:
    link = await steps.make()
    await steps.sent(link)

    with pytest.raises(Conflict) as busy:
        await steps.press(link, JUMA, may_be_second=True)
    assert (busy.value.code, busy.value.values["seconds"]) in [("link_busy", 120), ("link_busy", 119)]

    await steps.end_prompts()
    with pytest.raises(Conflict) as doubt:
        await steps.press(link, JUMA)
    assert doubt.value.code == "second_number_doubt"

    assert (await steps.press(link, JUMA, may_be_second=True)).is_new
    with pytest.raises(Conflict, check=lambda error: error.code == "link_busy"):
        await steps.press(link, NEEMA, may_be_second=True)


async def test_a_prompt_that_was_not_sent_yet_is_not_over(steps: LinkSteps) -> None:
    link = await steps.make()
    await steps.press(link)
    await steps.end_prompts()

    with pytest.raises(Conflict) as busy:
        await steps.press(link, JUMA, may_be_second=True)

    assert (busy.value.code, busy.value.values["seconds"]) == ("link_busy", None)


async def test_numbers_do_not_wait_for_each_other_at_a_reusable_link(steps: LinkSteps) -> None:
    link = await steps.make(reusable=True)

    pressed = await asyncio.gather(*(steps.press(link, f"+2557540001{number:02d}") for number in range(20)))

    assert len({each.transaction.id for each in pressed}) == 20
    assert all(each.is_new for each in pressed)


async def test_what_is_open_and_paid_never_exceeds_max_payments(steps: LinkSteps) -> None:
    link = await steps.make(reusable=True, maxPayments=3)
    await steps.paid(link, NEEMA)

    pressed = await asyncio.gather(
        *(steps.press(link, f"+2557540001{number:02d}") for number in range(6)), return_exceptions=True
    )

    assert [isinstance(each, Conflict) for each in pressed].count(True) == 4
    assert {each.code for each in pressed if isinstance(each, Conflict)} == {"link_full"}
    failed = next(each for each in pressed if not isinstance(each, BaseException)).transaction
    await steps.claim()
    await steps.answer(failed, Status.FAILED)
    assert (await steps.press(link, JUMA)).is_new, "a place is free again"


async def test_a_link_is_paid_from_the_commit_on_that_completes_its_payment(steps: LinkSteps) -> None:
    link = await steps.make()
    await steps.paid(link)  # No worker has counted it.

    assert (await steps.look(link)).status is LinkStatus.PAID
    for phone in (ASHA, JUMA):
        with pytest.raises(Conflict, check=lambda error: error.code == "link_paid"):
            await steps.press(link, phone)
    await steps.count()
    with pytest.raises(Conflict, check=lambda error: error.code == "link_paid"):
        await steps.press(link)


async def test_a_link_that_has_ended_makes_no_payment(steps: LinkSteps) -> None:
    expired, cancelled = await steps.make(), await steps.make()
    await steps.expire(expired)
    await steps.cancel(cancelled)

    for link, code in ((expired, "link_expired"), (cancelled, "link_cancelled")):
        with pytest.raises(Conflict) as refused:
            await steps.press(link)
        assert refused.value.code == code
    with pytest.raises(Missing):
        await steps.press(replace(expired, code="0" * 16))
    assert await steps.payments() == []


async def test_an_open_attempt_is_shown_to_its_number_after_the_links_end(steps: LinkSteps) -> None:
    link = await steps.make()
    payment = await steps.sent(link)
    await steps.expire(link)

    assert (await steps.press(link, begun=payment.id)).transaction.id == payment.id


async def test_expiry_is_by_the_databases_clock(steps: LinkSteps) -> None:
    link = await steps.make(expiresAt=clock.iso(clock.now() + timedelta(minutes=1)))
    late = LinkSteps(steps.ago(-3600).service, steps.merchant_id)

    assert (await late.press(link)).is_new
    await late.service.finish()


async def test_a_merchant_that_is_switched_off_takes_nothing(steps: LinkSteps) -> None:
    link = await steps.make()
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", steps.merchant_id)

    with pytest.raises(Conflict, check=lambda error: error.code == "merchant_inactive"):
        await steps.press(link)

    assert await steps.payments() == []


async def test_a_fenced_installation_takes_nothing(steps: LinkSteps) -> None:
    link = await steps.make()
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE installation SET fenced_at = now(), fence_reason = 'restored'")

    with pytest.raises(Unavailable, check=lambda error: error.code == "restored"):
        await steps.press(link)

    assert await steps.payments() == []


@pytest.mark.parametrize(
    ("typed", "code"),
    [(None, "field_required"), (999, "amount_too_small"), (50_001, "amount_too_large"), (1000, None), (50_000, None)],
)
async def test_a_typed_amount_stays_within_the_links_bounds(
    steps: LinkSteps, typed: int | None, code: str | None
) -> None:
    link = await steps.make(amount=None, minAmount=1000, maxAmount=50_000)

    if code is None:
        assert (await steps.press(link, amount=typed)).transaction.amount == typed
    else:
        with pytest.raises(Invalid) as refused:
            await steps.press(link, amount=typed)
        assert refused.value.code == code
        assert await steps.payments() == []


async def test_a_links_own_amount_cannot_be_changed_by_who_presses(steps: LinkSteps) -> None:
    assert (await steps.press(await steps.make(), amount=500)).transaction.amount == 25_000


async def test_a_merchants_own_idempotency_key_never_meets_that_of_an_attempt(steps: LinkSteps) -> None:
    link = await steps.make()
    own = order(steps.merchant_id, Type.COLLECTION, 25_000, key=f"{link.code}:{ASHA}:1")
    first = (await steps.service.payments.initiate(own)).transaction

    pressed = await steps.press(link)

    assert pressed.is_new
    assert pressed.transaction.network_key != first.network_key


async def test_the_code_cannot_be_derived_from_the_id_and_a_repeated_request_has_the_same(steps: LinkSteps) -> None:
    first, second = await steps.make(key="link-1"), await steps.make(key="link-1")
    other, without = await steps.make(key="link-2"), await steps.make()

    assert (second.id, second.code) == (first.id, first.code)
    codes = {first.code, other.code, without.code}
    assert len(codes) == 3
    for code, link in ((each.code, each) for each in (first, other, without)):
        assert len(code) == 16
        assert code not in link.id


async def test_customers_may_type_the_code_in_capital_letters(steps: LinkSteps) -> None:
    link = await steps.make()

    assert (await steps.press(replace(link, code=link.code.upper()))).is_new


async def test_another_number_waits_while_the_first_is_still_to_be_sent_and_then_for_all_of_its_prompt(
    steps: LinkSteps,
) -> None:
    """Its network could not be reached. The first number will be asked, so a second one would be a second payment."""
    link = await steps.make()
    first = (await steps.press(link)).transaction
    await steps.claim()
    await steps.report(first, Verdict.UNSENT, AnswerSource.SEND)
    await steps.end_prompts()
    with pytest.raises(Conflict, check=lambda error: error.code == "link_busy"):
        await steps.press(link, JUMA, may_be_second=True)
    await steps.wait(first, seconds=60)
    assert [each.id for each in (await steps.claim()).to_send] == [first.id]
    await steps.report(first, Verdict.WAITING, AnswerSource.SEND)
    with pytest.raises(Conflict, check=lambda error: error.code == "link_busy"):
        await steps.press(link, JUMA, may_be_second=True)
    await steps.end_prompts()
    assert (await steps.press(link, JUMA, may_be_second=True)).is_new
