"""/dashboard/collect and /dashboard/payout show each mistake at its field, and an unknown outcome as unknown."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.requests import Request

from malipo import clock
from malipo.app.assemble import Service
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant import new_payment
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.parts import PageParts
from malipo.db import ConnectionLost, Tx
from malipo.db.group_commit import GroupAct, GroupCommit, GroupCommits
from malipo.http.accept_language import Language
from malipo.ledger.bookings import BookingKind, book
from malipo.merchants.store.sessions import MerchantSession
from malipo.payments.initiate import InitiateOutcome, PaymentRequest
from malipo.payments.payments import Payments
from malipo.payments.status_signals import StatusSignals
from tests.dashboard.merchant.new_payment.payment_form import COLLECT, PAYOUT, TYPED, PaymentForm, key_in
from tests.dashboard.merchant.new_payment.payment_form import payment_form as payment_form
from tests.dashboard.merchant.new_payment.payment_form import surfer as surfer
from tests.dashboard.page_client import add_person
from tests.journeys.concurrency import at_once


@pytest.mark.parametrize(
    ("step", "typed", "sentences"),
    [
        ("review", {"amount": ""}, ["Please fill this in."]),
        ("review", {"amount": "25.000"}, ["Type a whole number of shillings, such as 25,000."]),
        ("review", {"amount": "499"}, ["The least is TZS 500."]),
        ("review", {"amount": "10,000,001"}, ["The most is TZS 10,000,000."]),
        ("review", {"phone": "12345"}, ["This is not a Tanzanian mobile number. Type it like 0754 000 100."]),
        ("review", {"phone": ""}, ["Please fill this in."]),
        ("review", {"channel": "CASH"}, ["Choose a network."]),
        ("review", {"name": "x" * 101}, ["At most 100 characters."]),
        ("review", {"description": "a\x00b"}, ["There is a character in it that cannot be stored."]),
        ("review", {"amount": "1", "phone": "1"}, ["The least is TZS 500.", "This is not a Tanzanian mobile number."]),
        ("pay", {"amount": "499", "phone": ""}, ["The least is TZS 500.", "Please fill this in."]),
        ("", {"amount": "499", "phone": ""}, ["The least is TZS 500.", "Please fill this in."]),
    ],
)
async def test_every_mistake_stands_at_its_field_and_what_was_typed_stays(
    payment_form: PaymentForm, step: str, typed: dict[str, str], sentences: list[str]
) -> None:
    sent = TYPED | typed | {"key": "dashboard-1", "step": step}
    seen = await payment_form.surfer.post(COLLECT, sent)
    assert (seen.status, key_in(seen)) == (400, "dashboard-1")
    for each in sentences:
        assert each in seen.words
    assert seen.text.count('class="wrong"') == len(sentences)
    for name in typed:
        assert f'id="field-{name}-wrong"' in seen.text
    for name in {"phone", "amount"} - set(typed):
        assert f'value="{TYPED[name]}"' in seen.text
    assert await payment_form.made() == []


@pytest.mark.parametrize(
    ("phone", "channel", "wrong"),
    [
        ("", "", {"phone"}),
        ("1", "", {"phone"}),
        ("1", "MPESA", {"phone"}),
        ("1", "CASH", {"phone", "channel"}),
        ("0735 000 100", "", {"channel"}),  # nobody's prefix
    ],
)
async def test_the_network_is_a_mistake_only_where_the_number_is_not_what_is_wrong(
    payment_form: PaymentForm, phone: str, channel: str, wrong: set[str]
) -> None:
    seen = await payment_form.review(COLLECT, "dashboard-1", phone=phone, channel=channel)
    assert set(re.findall(r'id="field-([a-zA-Z]+)-wrong"', seen.text)) == wrong


@pytest.mark.parametrize("step", ["review", "pay"])
async def test_a_wallet_that_is_too_low_says_what_it_holds_and_the_form_still_works_later(
    payment_form: PaymentForm, step: str
) -> None:
    key = await payment_form.key(PAYOUT)
    sent = TYPED | {"amount": "100,000", "key": key, "step": step}

    seen = await payment_form.surfer.post(PAYOUT, sent)

    assert seen.status == 400
    assert (
        "You need TZS 300 more: the wallet holds TZS 100,000. With the fee of TZS 300 this takes TZS 100,300."
        in seen.words
    )
    assert 'id="field-amount-wrong"' in seen.text
    assert key_in(seen) == key
    assert await payment_form.made() == []
    async with payment_form.database.begin() as tx:
        await book(
            tx, BookingKind.TOP_UP, payment_form.merchant_id, 300, reference=secrets.token_hex(8), now=clock.now()
        )
    assert (await payment_form.pay(PAYOUT, key, amount="100,000")).status == 303
    assert await payment_form.available() == 0


async def test_of_two_who_spend_the_whole_wallet_at_once_one_is_told_what_is_left(payment_form: PaymentForm) -> None:
    keys = [await payment_form.key(PAYOUT) for _ in range(2)]
    answers = await at_once([payment_form.pay(PAYOUT, key, amount="99,700") for key in keys])
    assert sorted(each.status for each in answers) == [303, 400]
    [refused] = [each for each in answers if each.status == 400]
    assert "the wallet holds TZS 0." in refused.words
    assert len(await payment_form.made()) == 1


async def in_doubt(tx: Tx, orders: Sequence[PaymentRequest], /, *, again: bool) -> list[InitiateOutcome]:
    """A database that goes away while it decides."""
    raise ConnectionLost("gone", in_doubt=True)


class InDoubt(GroupCommits):
    def group(self, name: str, act: GroupAct[Any, Any], **options: Any) -> GroupCommit[Any, Any]:
        return super().group(name, in_doubt if name == "initiate" else act, **options)


async def test_when_nobody_knows_whether_it_was_made_the_same_button_is_there_again(
    payment_form: PaymentForm, service: Service
) -> None:
    key = await payment_form.key(PAYOUT)
    person = await add_person(
        payment_form.database, payment_form.merchant_id, f"owner+{secrets.token_hex(6)}@example.com"
    )
    session = MerchantSession("ses_1", person, "Duka", clock.now(), clock.now())
    body = TYPED | {"key": key, "step": "pay", "token": service.accounts.cookies.form_token(session.id)}
    scope = {"type": "http", "method": "POST", "path": PAYOUT, "headers": [(b"host", b"duka")], "query_string": b""}

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": urlencode(body).encode(), "more_body": False}

    commits = InDoubt(payment_form.database, service.metrics, patience_seconds=0)
    signals = StatusSignals(service.notifier, service.metrics)
    payments = Payments(commits, service.payments.terms, signals, clock=service.clock)
    doubtful = replace(PageParts.of(service), payments=payments)
    visit = MerchantRequest(
        doubtful, Request(scope, receive), Translator(Language.ENGLISH), "127.0.0.1", session=session
    )

    answer = await new_payment.take_payout(visit)

    text = bytes(answer.body).decode()
    assert answer.status_code == 503
    assert "Press once more: it will not be done twice." in text
    assert f'name="key" value="{key}"' in text
    assert [(await payment_form.pay(PAYOUT, key)).status for _ in range(2)] == [303, 303]
    assert len(await payment_form.made()) == 1


async def test_a_collection_needs_nothing_in_the_wallet(payment_form: PaymentForm) -> None:
    assert (await payment_form.pay(COLLECT, await payment_form.key(COLLECT), amount="5,000,000")).status == 303


async def test_a_number_of_another_network_is_worth_a_second_look_and_no_mistake(payment_form: PaymentForm) -> None:
    key = await payment_form.key(PAYOUT)
    assert "first given out by" not in (await payment_form.review(PAYOUT, key)).words
    seen = await payment_form.review(PAYOUT, key, channel="AIRTEL_MONEY")
    assert "This number was first given out by M-Pesa." in seen.words
    assert (await payment_form.pay(PAYOUT, key, channel="AIRTEL_MONEY")).status == 303


async def test_what_was_typed_is_never_markup(payment_form: PaymentForm) -> None:
    evil = '"><script>alert(1)</script>'
    key = await payment_form.key(COLLECT)
    for seen in (
        await payment_form.review(COLLECT, key, name=evil, description=evil),
        await payment_form.review(COLLECT, key, name=evil, amount=evil, phone=evil, channel=evil),
    ):
        assert "<script>alert" not in seen.text
        assert "alert(1)" in unescape(seen.text)
