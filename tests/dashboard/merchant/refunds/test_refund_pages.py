"""A collection is refunded in three clicks, once, and shows what became of it."""

import csv
import io
import re

import pytest

from malipo.app.assemble import assemble
from malipo.audit_log import store as audit_log
from malipo.merchants.store import approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.networks.connector import Verdict
from malipo.payments.transaction import Status, Transaction, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS
from tests.dashboard.merchant.new_payment.payment_form import PAYOUT, TYPED, PaymentForm, hidden_in, key_in
from tests.dashboard.merchant.new_payment.payment_form import payment_form as payment_form
from tests.dashboard.merchant.new_payment.payment_form import surfer as surfer
from tests.dashboard.merchant.transactions.transaction_pages import ROW
from tests.dashboard.page_client import Seen
from tests.payments.refunds.refund_steps import RefundSteps


@pytest.fixture
def steps(payment_form: PaymentForm) -> RefundSteps:
    return RefundSteps(assemble(Settings(**NO_LIMITS), payment_form.database), payment_form.merchant_id)


@pytest.fixture
async def collection(steps: RefundSteps) -> Transaction:
    """TZS 5,000 from Asha. The wallet holds 104,700 then, and a refund costs 300."""
    return await steps.collected(5000)


def path_of(transaction: Transaction) -> str:
    return f"/dashboard/transactions/{transaction.id}"


async def send(payment_form: PaymentForm, collection: Transaction, key: str, step: str, **typed: str) -> Seen:
    fields = {"amount": "5,000", "reason": "Returned"} | typed | {"key": key, "step": step}
    return await payment_form.surfer.post(f"{path_of(collection)}/refund", fields)


async def test_a_collection_is_refunded_in_three_clicks(
    payment_form: PaymentForm, steps: RefundSteps, collection: Transaction
) -> None:
    surfer = payment_form.surfer
    assert "Refund TZS 5,000" in (await surfer.get(path_of(collection))).words

    form = await surfer.get(f"{path_of(collection)}/refund")
    assert 'value="5,000"' in form.text
    asked = await send(payment_form, collection, key_in(form), "review")
    for words in ("You refund TZS 5,000 to Asha", "Fee TZS 300", "Leaves your wallet TZS 5,300", "Reason Returned"):
        assert words in asked.words
    assert (await steps.seen(collection)).refunds == (), "nothing was refunded yet"
    done = await surfer.post(f"{path_of(collection)}/refund", hidden_in(asked) | {"step": "pay"})

    [refund] = (await steps.seen(collection)).refunds
    assert (done.status, done.to) == (303, f"/dashboard/transactions/{refund.id}")
    shown = await surfer.get(done.to)
    assert f'href="{path_of(collection)}"' in shown.text
    assert "Refund of" in shown.words
    await steps.claim()
    made = await steps.seen_by_id(refund.id)
    await steps.report(made, Verdict.CONFIRMED)
    after = await surfer.get(path_of(collection))
    assert "Refunded TZS 5,000" in after.words
    assert f'href="/dashboard/transactions/{refund.id}"' in after.text
    assert f"{path_of(collection)}/refund" not in after.text
    async with payment_form.database.read() as connection:
        entries = await audit_log.find(connection, merchant_id=payment_form.merchant_id, limit=1)
    assert [(each.action, each.details["refund_of"]) for each in entries] == [("payment.initiated", collection.id)]


async def test_a_form_that_is_sent_twice_refunds_once(
    payment_form: PaymentForm, steps: RefundSteps, collection: Transaction
) -> None:
    key = key_in(await payment_form.surfer.get(f"{path_of(collection)}/refund"))
    first = await send(payment_form, collection, key, "pay", amount="1,000")
    again = await send(payment_form, collection, key, "pay", amount="1,000")
    assert first.to == again.to
    assert len((await steps.seen(collection)).refunds) == 1


@pytest.mark.parametrize(
    ("amount", "sentence"),
    [
        ("400", "The least is TZS 500."),
        ("5,001", "The most is TZS 5,000."),
        ("4,600", "Refund all that is left, or leave at least TZS 500."),
        ("much", "Type a whole number of shillings, such as 25,000."),
    ],
)
async def test_what_is_wrong_is_marked_and_nothing_is_refunded(
    payment_form: PaymentForm, steps: RefundSteps, collection: Transaction, amount: str, sentence: str
) -> None:
    key = key_in(await payment_form.surfer.get(f"{path_of(collection)}/refund"))
    for step in ("review", "pay"):
        seen = await send(payment_form, collection, key, step, amount=amount)
        assert (seen.status, sentence in seen.words) == (400, True)
    assert (await steps.seen(collection)).refunds == ()


async def test_what_is_left_is_offered_and_no_more_can_be_refunded(
    payment_form: PaymentForm, steps: RefundSteps, collection: Transaction
) -> None:
    await steps.refunded(collection, 2000)
    assert "Refund TZS 3,000" in (await payment_form.surfer.get(path_of(collection))).words
    key = key_in(await payment_form.surfer.get(f"{path_of(collection)}/refund"))
    assert "The most is TZS 3,000." in (await send(payment_form, collection, key, "pay", amount="3001")).words


async def test_while_a_refund_is_under_way_there_is_no_button_and_no_page(
    payment_form: PaymentForm, steps: RefundSteps, collection: Transaction
) -> None:
    key = key_in(await payment_form.surfer.get(f"{path_of(collection)}/refund"))
    await steps.refund(collection, 1000)
    assert f"{path_of(collection)}/refund" not in (await payment_form.surfer.get(path_of(collection))).text
    assert (await payment_form.surfer.get(f"{path_of(collection)}/refund")).to == path_of(collection)
    late = await send(payment_form, collection, key, "pay")
    assert (late.status, late.to) == (303, path_of(collection))
    assert "Nothing was refunded" in (await payment_form.surfer.get(late.to)).words
    assert len((await steps.seen(collection)).refunds) == 1


async def test_what_was_not_paid_has_no_button(payment_form: PaymentForm, steps: RefundSteps) -> None:
    for each in (
        await steps.open(Type.COLLECTION),
        await steps.ended(Type.COLLECTION, Status.FAILED),
        await steps.ended(Type.DISBURSEMENT, Status.COMPLETED),
    ):
        assert f"{path_of(each)}/refund" not in (await payment_form.surfer.get(path_of(each))).text
        assert (await payment_form.surfer.get(f"{path_of(each)}/refund")).to == path_of(each)


async def test_in_kiswahili(payment_form: PaymentForm, collection: Transaction) -> None:
    await payment_form.surfer.post("/dashboard/language", {"language": "sw", "next": path_of(collection)})
    assert "Rudisha TZS 5,000" in (await payment_form.surfer.get(path_of(collection))).words
    assert "Kiasi kilichobaki kurudishwa" in (await payment_form.surfer.get(f"{path_of(collection)}/refund")).words


async def test_above_the_merchants_amount_it_awaits_approval(
    payment_form: PaymentForm, steps: RefundSteps, collection: Transaction
) -> None:
    async with payment_form.database.begin() as tx:
        await approval_rules.save(tx, payment_form.merchant_id, ApprovalRules(takes_two=True, above=4000))
    key = key_in(await payment_form.surfer.get(f"{path_of(collection)}/refund"))
    asked = await send(payment_form, collection, key, "review")
    assert "Yes, submit it for approval" in asked.words
    first = await send(payment_form, collection, key, "pay")
    again = await send(payment_form, collection, key, "pay")
    assert first.to == again.to
    assert first.to.startswith("/dashboard/batches/bat_")
    assert (await steps.seen(collection)).refunds == (), "nothing is paid before it is approved"
    below = await send(payment_form, collection, key_in(asked) + "-2", "pay", amount="4,000")
    assert below.to.startswith("/dashboard/transactions/txn_")


async def test_refunds_and_payouts_of_a_day_count_together(
    payment_form: PaymentForm, steps: RefundSteps, collection: Transaction
) -> None:
    async with payment_form.database.begin() as tx:
        await approval_rules.save(tx, payment_form.merchant_id, ApprovalRules(takes_two=True, above=5000))
    first = await send(payment_form, collection, "form-1", "pay", amount="3,000")
    assert first.to.startswith("/dashboard/transactions/txn_")
    paid = await payment_form.surfer.post(PAYOUT, TYPED | {"amount": "2,001", "key": "form-2", "step": "pay"})
    assert paid.to.startswith("/dashboard/batches/bat_"), "3,000 were refunded before"
    paid = await payment_form.surfer.post(PAYOUT, TYPED | {"amount": "2,000", "key": "form-3", "step": "pay"})
    assert paid.to.startswith("/dashboard/transactions/txn_")
    another = await steps.collected(5000)
    refunded = await send(payment_form, another, "form-4", "pay", amount="500")
    assert refunded.to.startswith("/dashboard/batches/bat_"), "5,000 have gone"


async def test_a_refund_is_called_one_wherever_it_is_shown(
    payment_form: PaymentForm, steps: RefundSteps, collection: Transaction
) -> None:
    surfer = payment_form.surfer
    key = key_in(await surfer.get(f"{path_of(collection)}/refund"))
    refund = (await send(payment_form, collection, key, "pay", amount="1,000")).to
    payout = await steps.open(Type.DISBURSEMENT, 2000)
    await steps.claim()
    made = await steps.seen_by_id(refund.rsplit("/", 1)[1])
    await steps.report(made, Verdict.CONFIRMED)

    shown = await surfer.get(refund)
    assert "Refund to Asha" in shown.words
    assert "Customer gets back TZS 1,000" in shown.words
    assert "Completed. The customer has the money back." in shown.words
    listed = await surfer.get("/dashboard/transactions")
    assert re.search(r"Asha \+255 754 000 001 \S+ Refund M-Pesa Completed", listed.words)
    assert "Completed Partly refunded" in listed.words
    by_kind = {
        kind: set(ROW.findall((await surfer.get(f"/dashboard/transactions?type={kind}")).text))
        for kind in ("PAYOUT", "REFUND", "DISBURSEMENT", "COLLECTION")
    }
    assert by_kind == {
        "PAYOUT": {payout.id},
        "REFUND": {made.id},
        "DISBURSEMENT": {payout.id, made.id},
        "COLLECTION": {collection.id},
    }
    rows = list(csv.DictReader(io.StringIO((await surfer.get("/dashboard/transactions.csv?type=REFUND")).text)))
    assert [(row["type"], row["refundOf"]) for row in rows] == [("DISBURSEMENT", collection.id)]
    statement = (await surfer.get("/dashboard/wallet")).words
    assert (statement.count("Refunded to a customer"), statement.count("Set aside for a payout")) == (1, 1)

    refunded = (await surfer.get(path_of(collection))).words
    assert "Completed Partly refunded" in refunded
    assert "TZS 1,000 of it was refunded, TZS 4,000 was not." in refunded
    assert "A refund of TZS 1,000 was made. It goes to the customer's number." in refunded
    assert "TZS 1,000 refunded. The customer has it back." in refunded


async def test_a_failed_refund_is_shown_on_its_collection_which_is_not_called_refunded(
    payment_form: PaymentForm, steps: RefundSteps, collection: Transaction
) -> None:
    surfer = payment_form.surfer
    key = key_in(await surfer.get(f"{path_of(collection)}/refund"))
    refund = (await send(payment_form, collection, key, "pay")).to
    await steps.claim()
    await steps.report(await steps.seen_by_id(refund.rsplit("/", 1)[1]), Verdict.REFUSED)
    assert "Failed. The customer did not get the money back." in (await surfer.get(refund)).words
    shown = (await surfer.get(path_of(collection))).words
    assert "The refund of TZS 5,000 failed. The customer did not get it." in shown
    assert "Back from a refund that did not happen" in (await surfer.get("/dashboard/wallet")).words
    assert "efunded" not in (await surfer.get("/dashboard/transactions?type=COLLECTION")).words
