"""/dashboard/collect and /dashboard/payout warn before a payment that looks like a repeat."""

import re
import secrets

import pytest

from malipo.app.assemble import Service, assemble
from malipo.merchants.store import approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, Transaction
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Running, make_merchant
from tests.dashboard.merchant.new_payment.payment_form import COLLECT, PAYOUT, TYPED, PaymentForm, hidden_in, key_in
from tests.dashboard.merchant.new_payment.payment_form import payment_form as payment_form
from tests.dashboard.merchant.new_payment.payment_form import surfer as surfer
from tests.dashboard.page_client import Seen, add_person, surfing
from tests.status_changes import change_status

SECOND = {COLLECT: "Ask a second time", PAYOUT: "Send it a second time"}
YES = {COLLECT: "Yes, ask for the money", PAYOUT: "Yes, send the money"}


@pytest.fixture
def service(payment_form: PaymentForm) -> Service:
    return assemble(Settings(**NO_LIMITS), payment_form.database)


async def made_once(payment_form: PaymentForm, path: str, **typed: str) -> Transaction:
    done = await payment_form.pay(path, await payment_form.key(path), **typed)
    assert done.status == 303
    return next(each for each in await payment_form.made() if done.to.endswith(each.id))


async def pay(service: Service, transaction: Transaction) -> None:
    for cause in (Cause.SUBMITTED, Cause.CONFIRMED):
        change = StatusChange(merchant_id=transaction.merchant_id, transaction_id=transaction.id, cause=cause)
        await change_status(service, change)


def main_button(seen: Seen) -> str:
    found = re.search(r'class="button primary"[^>]*>(?:<svg.*?</svg>)?([^<]*)<', seen.text, re.DOTALL)
    assert found is not None, seen.words
    return found[1]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (COLLECT, "You already asked this number for TZS 25,000"),
        (PAYOUT, "A payout of TZS 25,000 to this number is already on its way"),
    ],
)
async def test_what_is_under_way_is_looked_at_first_and_made_again_only_where_that_is_meant(
    payment_form: PaymentForm, path: str, words: str
) -> None:
    first = await made_once(payment_form, path, orderReference="")
    asked = await payment_form.review(path, await payment_form.key(path), orderReference="")
    assert words in asked.words
    assert (main_button(asked), SECOND[path] in asked.words) == ("See it", True)
    assert f'href="/dashboard/transactions/{first.id}"' in asked.text

    done = await payment_form.surfer.post(path, hidden_in(asked) | {"step": "pay"})
    assert done.status == 303
    assert len(await payment_form.made()) == 2


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_what_was_made_while_the_page_was_open_is_said_before_another_is(
    payment_form: PaymentForm, path: str
) -> None:
    windows = [await payment_form.review(path, await payment_form.key(path), orderReference="") for _ in range(2)]
    assert [main_button(each) for each in windows] == [YES[path]] * 2
    first, second = [
        await payment_form.surfer.post(path, hidden_in(each) | {"orderReference": "", "step": "pay"})
        for each in windows
    ]
    assert (first.status, second.status, main_button(second)) == (303, 200, "See it")
    assert key_in(second) == key_in(windows[1])
    assert len(await payment_form.made()) == 1
    assert (await payment_form.surfer.post(path, hidden_in(second) | {"step": "pay"})).status == 303
    assert len(await payment_form.made()) == 2


@pytest.mark.parametrize(
    ("path", "typed", "words"),
    [
        (COLLECT, {"orderReference": ""}, "This number already paid you TZS 25,000"),
        (COLLECT, {"amount": "700", "phone": "0754000199"}, "A-1042 is already paid: TZS 25,000"),
        (COLLECT, {"orderReference": "", "amount": "25,001"}, None),
        (COLLECT, {"orderReference": "", "phone": "0754000199"}, None),
        (PAYOUT, {"orderReference": ""}, "You already paid this number TZS 25,000"),
        (PAYOUT, {"amount": "700", "phone": "0754000199"}, "A-1042 is already paid out: TZS 25,000"),
        (PAYOUT, {"orderReference": "", "phone": "0754000199"}, None),
    ],
)
async def test_what_was_paid_already_is_said(
    payment_form: PaymentForm, service: Service, path: str, typed: dict[str, str], words: str | None
) -> None:
    await pay(service, await made_once(payment_form, path))
    asked = await payment_form.review(path, await payment_form.key(path), **typed)
    assert ("already" in asked.words, words is None or words in asked.words) == (words is not None, True)
    assert main_button(asked) == YES[path]
    assert (await payment_form.surfer.post(path, hidden_in(asked) | {"step": "pay"})).status == 303


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_another_merchants_payments_are_not_said(payment_form: PaymentForm, running: Running, path: str) -> None:
    await made_once(payment_form, path)
    other = await make_merchant(payment_form.database, wallet=100_000)
    person = await add_person(payment_form.database, other.id, f"owner+{secrets.token_hex(6)}@example.com")
    async with surfing(running.url, seen_from="10.51.0.1") as surfer:
        await surfer.log_in(person.email)
        key = key_in(await surfer.get(path))
        asked = await surfer.post(path, TYPED | {"key": key, "step": "review"})
    assert ("Is this right?" in asked.words, "already" in asked.words) == (True, False)


async def test_a_payout_that_awaits_approval_is_said(payment_form: PaymentForm) -> None:
    async with payment_form.database.begin() as tx:
        await approval_rules.save(tx, payment_form.merchant_id, ApprovalRules(takes_two=True, above=0))
    done = await payment_form.pay(PAYOUT, await payment_form.key(PAYOUT))
    assert done.to.startswith("/dashboard/batches/")
    asked = await payment_form.review(PAYOUT, await payment_form.key(PAYOUT))
    assert "A payout of TZS 25,000 to this number already awaits approval." in asked.words
    assert (main_button(asked), "Submit a second one for approval" in asked.words) == ("See it", True)
    assert done.to in asked.text
