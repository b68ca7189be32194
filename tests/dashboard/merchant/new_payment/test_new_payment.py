"""/dashboard/collect and /dashboard/payout: a payment is confirmed, made once, and only by people with the right."""

import re
import secrets
from html import unescape

import pytest

from malipo.audit_log import store as audit_log
from malipo.merchants.roles import Role
from malipo.payments.transaction import Type
from tests.conftest import Running
from tests.dashboard.merchant.new_payment.payment_form import (
    COLLECT,
    FIELD,
    PAYOUT,
    TYPED,
    PaymentForm,
    hidden_in,
    key_in,
    numbers,
)
from tests.dashboard.merchant.new_payment.payment_form import payment_form as payment_form
from tests.dashboard.merchant.new_payment.payment_form import surfer as surfer
from tests.dashboard.page_client import add_person, surfing
from tests.journeys.concurrency import at_once

# Once more, then once


@pytest.mark.parametrize(
    ("path", "sentences"),
    [
        (
            COLLECT,
            ["You ask for TZS 25,000 from Neema Kileo +255 754 000 100 M-Pesa", "Fee TZS 300", "wallet TZS 24,700"],
        ),
        (
            PAYOUT,
            [
                "You send TZS 25,000 to Neema Kileo +255 754 000 100 M-Pesa",
                "Fee TZS 300",
                "Recipient gets TZS 25,000",
                "Leaves your wallet TZS 25,300",
                "Your wallet afterwards TZS 74,700",
            ],
        ),
    ],
)
async def test_before_anything_is_made_the_page_repeats_what_will_happen(
    payment_form: PaymentForm, path: str, sentences: list[str]
) -> None:
    key = await payment_form.key(path)
    seen = await payment_form.review(path, key)
    assert seen.status == 200
    for each in sentences:
        assert each in seen.words
    assert hidden_in(seen) == TYPED | {"key": key, "shown": "MPESA"}
    assert await payment_form.made() == []


@pytest.mark.parametrize(("path", "type_"), [(COLLECT, Type.COLLECTION), (PAYOUT, Type.DISBURSEMENT)])
async def test_what_was_confirmed_is_made_as_it_was_shown(payment_form: PaymentForm, path: str, type_: Type) -> None:
    asked = await payment_form.review(path, await payment_form.key(path))

    done = await payment_form.surfer.post(path, hidden_in(asked) | {"step": "pay"})

    [made] = await payment_form.made()
    assert (done.status, done.to) == (303, f"/dashboard/transactions/{made.id}")
    assert (made.type, made.amount, made.fee, made.phone) == (type_, 25000, 300, "+255754000100")
    assert (made.channel, made.name, made.description) == ("MPESA", "Neema Kileo", "Two bags")
    assert made.order_reference == "A-1042"
    shown = await payment_form.surfer.get(done.to)
    assert ("is being asked on the phone" in shown.words) is (type_ is Type.COLLECTION)
    assert "<title>Pending: TZS 25,000" in shown.text
    assert await payment_form.available() == (100_000 if type_ is Type.COLLECTION else 74_700)


async def test_who_made_it_is_written_down(payment_form: PaymentForm) -> None:
    await payment_form.pay(PAYOUT, await payment_form.key(PAYOUT))
    async with payment_form.database.read() as connection:
        deed = (await audit_log.find(connection, merchant_id=payment_form.merchant_id, limit=1))[0]
    assert (deed.action, deed.details["amount"]) == ("payment.initiated", 25000)
    assert deed.actor.startswith("owner+")


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_a_button_that_is_pressed_ten_times_at_once_makes_one(payment_form: PaymentForm, path: str) -> None:
    key = await payment_form.key(path)
    answers = await at_once([payment_form.pay(path, key) for _ in range(10)])
    [made] = await payment_form.made()
    assert {(each.status, each.to) for each in answers} == {(303, f"/dashboard/transactions/{made.id}")}


async def test_going_back_and_pressing_again_leads_to_what_was_made(payment_form: PaymentForm) -> None:
    key = await payment_form.key(PAYOUT)
    first = await payment_form.pay(PAYOUT, key)
    for press in (payment_form.pay, payment_form.review):
        again = await press(PAYOUT, key)
        assert (again.status, again.to) == (303, first.to)
        assert "It made one payment: this one." in (await payment_form.surfer.get(again.to)).words
    assert len(await payment_form.made()) == 1
    assert await payment_form.available() == 74_700


@pytest.mark.parametrize("step", ["review", "pay"])
async def test_going_back_and_changing_the_amount_is_a_new_form_that_says_so(
    payment_form: PaymentForm, step: str
) -> None:
    key = await payment_form.key(PAYOUT)
    first = await payment_form.pay(PAYOUT, key)

    seen = await payment_form.surfer.post(PAYOUT, TYPED | {"amount": "30000", "key": key, "step": step})

    assert (seen.status, first.to in seen.text, key_in(seen) == key) == (409, True, False)
    assert "This form has already made a payment: TZS 25,000, Neema Kileo." in seen.words
    assert 'value="30000"' in seen.text
    assert len(await payment_form.made()) == 1
    await payment_form.pay(PAYOUT, key_in(seen), amount="30000", orderReference="A-1043")
    assert [each.amount for each in await payment_form.made()] == [30000, 25000]


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_a_browser_may_keep_the_form_for_whoever_goes_back_and_nobody_else(
    payment_form: PaymentForm, path: str
) -> None:
    form = await payment_form.surfer.get(path)
    asked = await payment_form.review(path, key_in(form))
    done = await payment_form.surfer.get((await payment_form.pay(path, key_in(form))).to)
    assert [each.headers["Cache-Control"] for each in (form, asked, done)] == [
        "private, no-cache",
        "private, no-cache",
        "no-store",
    ]


async def test_each_form_that_is_opened_has_a_key_of_its_own(payment_form: PaymentForm) -> None:
    assert await payment_form.key(COLLECT) != await payment_form.key(COLLECT)


@pytest.mark.parametrize("key", ["", "with space", "ufunguo-é", "x" * 256])
async def test_without_a_key_it_is_asked_once_more_and_not_made(payment_form: PaymentForm, key: str) -> None:
    seen = await payment_form.pay(COLLECT, key)
    assert (seen.status, "Is this right?" in seen.words) == (200, True)
    assert key_in(seen).startswith("dashboard-")
    assert await payment_form.made() == []


async def test_changing_something_brings_the_form_back_as_it_was(payment_form: PaymentForm) -> None:
    asked = await payment_form.review(PAYOUT, await payment_form.key(PAYOUT), name='Asha "Mama" <Komba>')
    sent = hidden_in(asked)

    seen = await payment_form.surfer.post(PAYOUT, sent | {"step": "change"})

    assert (seen.status, key_in(seen)) == (200, sent["key"])
    shown = {name: unescape(value) for name, value in FIELD.findall(seen.text)}
    for name in ("amount", "phone", "description"):
        assert shown[name] == TYPED[name]
    assert shown["name"] == 'Asha "Mama" <Komba>'
    assert re.search(r'value="MPESA" checked', seen.text)
    assert await payment_form.made() == []


# Who may


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_a_viewer_makes_nothing(payment_form: PaymentForm, running: Running, path: str) -> None:
    viewer = await add_person(
        payment_form.database, payment_form.merchant_id, f"viewer+{secrets.token_hex(6)}@example.com", Role.VIEWER
    )
    async with surfing(running.url, seen_from=f"10.50.0.{next(numbers)}") as surfer:
        await surfer.log_in(viewer.email)
        assert (await surfer.get(path)).status == 403
        for step in ("review", "pay"):
            assert (await surfer.post(path, TYPED | {"key": "k", "step": step})).status == 403
        assert path not in (await surfer.get("/dashboard/transactions")).text
    assert await payment_form.made() == []


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_a_form_from_elsewhere_makes_nothing(payment_form: PaymentForm, path: str) -> None:
    sent = TYPED | {"key": "k", "step": "pay"}
    assert (await payment_form.surfer.post(path, sent, token="0" * 64)).status == 403
    assert (await payment_form.surfer.post(path, sent, headers={"Origin": "https://evil.example"})).status == 403
    assert await payment_form.made() == []
