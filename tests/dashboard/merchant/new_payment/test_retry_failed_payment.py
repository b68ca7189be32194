"""A payment that failed is tried again as a new one: with the usual form and questions, and once."""

import asyncio

import pytest

from malipo.app.assemble import assemble
from malipo.merchants.store import approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.networks.connector import Verdict
from malipo.payments.batches.approve import Approval, PaidAfterAll
from malipo.payments.batches.batch import Requester
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, make_merchant
from tests.dashboard.merchant.new_payment.payment_form import COLLECT, PAYOUT, PaymentForm, hidden_in, key_in
from tests.dashboard.merchant.new_payment.payment_form import payment_form as payment_form
from tests.dashboard.merchant.new_payment.payment_form import surfer as surfer
from tests.dashboard.page_client import Seen
from tests.payments.payment_steps import PaymentSteps

COLLECTION = Type.COLLECTION


@pytest.fixture
def steps(payment_form: PaymentForm) -> PaymentSteps:
    return PaymentSteps(assemble(Settings(**NO_LIMITS), payment_form.database), payment_form.merchant_id)


def path_of(transaction: Transaction) -> str:
    return f"/dashboard/transactions/{transaction.id}"


async def reviewed(payment_form: PaymentForm, path: str, failed: Transaction, **typed: str) -> dict[str, str]:
    """What the page that asks whether it is meant would send."""
    form = await payment_form.surfer.get(f"{path}?again={failed.id}")
    fields = {"amount": f"{failed.amount:,}", "channel": failed.channel, "phone": failed.phone, "name": failed.name}
    asked = await payment_form.surfer.post(path, fields | {"key": key_in(form), "step": "review"} | typed)
    assert "Is this right?" in asked.words
    return hidden_in(asked) | {"step": "pay"}


@pytest.mark.parametrize(("type_", "path", "words"), [(COLLECTION, COLLECT, "Ask"), (Type.DISBURSEMENT, PAYOUT, "Pay")])
async def test_what_failed_is_filled_in_and_made_once_from_however_many_windows(
    payment_form: PaymentForm, steps: PaymentSteps, type_: Type, path: str, words: str
) -> None:
    surfer = payment_form.surfer
    failed = await steps.ended(type_, Status.FAILED)
    assert f"{words} again…" in (await surfer.get(path_of(failed))).words
    form = await surfer.get(f"{path}?again={failed.id}")
    assert f"{words} again" in form.words
    assert 'value="1,000"' in form.text
    assert "in place of one that has failed" in form.words

    windows = [await reviewed(payment_form, path, failed) for _ in range(2)]
    done = await asyncio.gather(*(surfer.post(path, fields) for fields in windows * 2))
    new, _ = await payment_form.made()
    assert {each.to for each in done} == {path_of(new)}
    assert (new.amount, new.phone, new.status, new.network_key != failed.network_key) == (
        failed.amount,
        failed.phone,
        Status.PENDING,
        True,
    )
    assert "It was tried again: see that payment" in (await surfer.get(path_of(failed))).words
    assert (await surfer.get(f"{path}?again={failed.id}")).to == path_of(new)


@pytest.mark.parametrize("status", [Status.PENDING, Status.PROCESSING, Status.COMPLETED, Status.CANCELLED])
async def test_only_what_failed_is_tried_again(payment_form: PaymentForm, steps: PaymentSteps, status: Status) -> None:
    made = (
        await steps.open(COLLECTION)
        if status is Status.PENDING
        else await steps.processing(COLLECTION)
        if status is Status.PROCESSING
        else await steps.ended(COLLECTION, status)
    )
    assert "again…" not in (await payment_form.surfer.get(path_of(made))).words
    assert (await payment_form.surfer.get(f"{COLLECT}?again={made.id}")).to == path_of(made)
    refused = await _pay(payment_form, made)
    assert refused.to == path_of(made)
    assert len(await payment_form.made()) == 1


async def test_a_payment_is_tried_again_as_what_it_was(payment_form: PaymentForm, steps: PaymentSteps) -> None:
    failed = await steps.ended(COLLECTION, Status.FAILED)
    assert (await payment_form.surfer.get(f"{PAYOUT}?again={failed.id}")).to == path_of(failed)
    key = f"dashboard-again-{failed.id}-1"
    refused = await payment_form.pay(PAYOUT, key, amount="1,000", phone=failed.phone)
    assert refused.to == path_of(failed)
    assert len(await payment_form.made()) == 1


async def test_a_refund_and_a_line_of_a_batch_are_tried_again_where_they_come_from(
    payment_form: PaymentForm, steps: PaymentSteps
) -> None:
    """Or the collection could be refunded, and the batch could pay its failed lines, once more."""
    refund, line = [await steps.ended(Type.DISBURSEMENT, Status.FAILED) for _ in range(2)]
    collection = await steps.ended(COLLECTION, Status.COMPLETED)
    for failed, column, origin in ((refund, "refund_of", collection.id), (line, "batch_id", "bat_1")):
        async with payment_form.database.begin() as tx:
            await tx.execute(f"UPDATE transactions SET {column} = $2 WHERE id = $1", failed.id, origin)
        assert "again…" not in (await payment_form.surfer.get(path_of(failed))).words
        assert (await payment_form.surfer.get(f"{PAYOUT}?again={failed.id}")).to == path_of(failed)


async def test_another_merchants_payment_is_not_there(payment_form: PaymentForm) -> None:
    other = await make_merchant(payment_form.database, wallet=100_000)
    service = assemble(Settings(**NO_LIMITS), payment_form.database)
    failed = await PaymentSteps(service, other.id).ended(COLLECTION, Status.FAILED)
    seen = await payment_form.surfer.get(f"{COLLECT}?again={failed.id}")
    assert seen.to == path_of(failed)
    assert (await payment_form.surfer.get(seen.to)).status == 404


async def test_an_attempt_that_waits_for_approval_is_one(payment_form: PaymentForm, steps: PaymentSteps) -> None:
    surfer = payment_form.surfer
    failed = await steps.ended(Type.DISBURSEMENT, Status.FAILED)
    async with payment_form.database.begin() as tx:
        await approval_rules.save(tx, payment_form.merchant_id, ApprovalRules(takes_two=True, above=500))
    windows = [await reviewed(payment_form, PAYOUT, failed) for _ in range(2)]
    first, second = [await surfer.post(PAYOUT, fields) for fields in windows]
    assert first.to == second.to
    assert first.to.startswith("/dashboard/batches/")
    assert (await surfer.get(f"{PAYOUT}?again={failed.id}")).to == first.to

    await surfer.post(f"{first.to}/cancel")
    third = await surfer.post(PAYOUT, await reviewed(payment_form, PAYOUT, failed))
    assert third.to not in (first.to, path_of(failed))


async def _pay(payment_form: PaymentForm, made: Transaction) -> Seen:
    key = f"dashboard-again-{made.id}-1"
    return await payment_form.pay(COLLECT, key, amount="1,000", phone=made.phone)


async def test_what_its_network_corrects_meanwhile_is_not_paid_again(
    payment_form: PaymentForm, steps: PaymentSteps
) -> None:
    failed = await steps.ended(Type.DISBURSEMENT, Status.FAILED)
    fields = await reviewed(payment_form, PAYOUT, failed)
    await steps.report(failed, Verdict.CONFIRMED)
    refused = await payment_form.surfer.post(PAYOUT, fields)
    assert refused.to == path_of(failed)
    assert len(await payment_form.made()) == 1
    assert "again…" not in (await payment_form.surfer.get(path_of(failed))).words
    await steps.report(failed, Verdict.REFUSED, AnswerSource.CALLBACK, is_trusted=False)
    assert (await steps.report(failed, Verdict.REFUSED)).is_contradiction
    assert "again…" not in (await payment_form.surfer.get(path_of(failed))).words, "it may say a third thing"


async def test_what_its_network_corrects_while_the_new_one_waits_is_not_sent(
    payment_form: PaymentForm, steps: PaymentSteps
) -> None:
    failed = await steps.ended(Type.DISBURSEMENT, Status.FAILED)
    again = await payment_form.surfer.post(PAYOUT, await reviewed(payment_form, PAYOUT, failed))
    await steps.report(failed, Verdict.CONFIRMED)
    assert (await steps.claim()).to_send == []
    assert "Cancelled" in (await payment_form.surfer.get(again.to)).words


async def test_what_its_network_corrects_while_the_new_one_waits_for_approval_is_not_approved(
    payment_form: PaymentForm, steps: PaymentSteps
) -> None:
    failed = await steps.ended(Type.DISBURSEMENT, Status.FAILED)
    async with payment_form.database.begin() as tx:
        await approval_rules.save(tx, payment_form.merchant_id, ApprovalRules(takes_two=True, above=500))
    submitted = await payment_form.surfer.post(PAYOUT, await reviewed(payment_form, PAYOUT, failed))
    await steps.report(failed, Verdict.CONFIRMED)
    juma = Requester("juma@duka.example", "juma@duka.example")
    approval = Approval(payment_form.merchant_id, submitted.to.rpartition("/")[2], juma)
    with pytest.raises(PaidAfterAll):
        await steps.service.batches.approve(approval)
    assert len(await payment_form.made()) == 1


async def test_an_attempt_that_was_cancelled_can_be_made_again_and_one_that_fails_is_itself_tried_again(
    payment_form: PaymentForm, steps: PaymentSteps
) -> None:
    surfer = payment_form.surfer
    failed = await steps.ended(COLLECTION, Status.FAILED)
    first = (await surfer.post(COLLECT, await reviewed(payment_form, COLLECT, failed))).to
    await surfer.post(f"{first}/cancel")
    second = (await surfer.post(COLLECT, await reviewed(payment_form, COLLECT, failed))).to
    assert second != first
    [sent] = (await steps.claim()).to_send
    await steps.report(sent, Verdict.REFUSED)
    assert "Ask again…" in (await surfer.get(second)).words
    assert "Ask again…" not in (await surfer.get(path_of(failed))).words


@pytest.mark.parametrize(
    ("phone", "network"), [("0754 000 100", "M-Pesa"), ("+255 682 000 100", "Airtel Money"), ("0621000100", "HaloPesa")]
)
async def test_the_network_is_that_of_the_number_unless_another_is_chosen(
    payment_form: PaymentForm, phone: str, network: str
) -> None:
    key = await payment_form.key(COLLECT)
    asked = await payment_form.review(COLLECT, key, phone=phone, channel="")
    assert f"{network} By the number." in asked.words
    chosen = await payment_form.review(COLLECT, key, phone=phone, channel="TIGO_PESA")
    assert "By the number." not in chosen.words
    assert (await payment_form.surfer.post(COLLECT, hidden_in(asked) | {"step": "pay"})).status == 303
    [made] = await payment_form.made()
    assert network.startswith({"MPESA": "M-", "AIRTEL_MONEY": "Airtel", "HALOPESA": "Halo"}[made.channel])


async def test_a_number_of_no_known_network_asks_for_one(payment_form: PaymentForm) -> None:
    asked = await payment_form.review(COLLECT, await payment_form.key(COLLECT), phone="0600 000 100", channel="")
    assert asked.status == 400
    assert "Choose a network." in asked.words


async def test_a_number_can_be_called_and_codes_are_folded_away(payment_form: PaymentForm, steps: PaymentSteps) -> None:
    failed = await steps.ended(COLLECTION, Status.FAILED)
    shown = (await payment_form.surfer.get(path_of(failed))).text
    assert f'href="tel:{failed.phone}"' in shown
    assert f'data-copy="{failed.phone}"' in shown
    folded = shown[shown.index('<details class="codes">') :]
    for code in (failed.id, failed.network_key):
        assert f"<code>{code}</code>" in folded
