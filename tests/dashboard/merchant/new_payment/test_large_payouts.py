"""A payout of more than MALIPO_CONFIRM_PAYOUT_AMOUNT needs the password once more; others do not."""

import asyncio
import secrets

import pytest

from malipo import clock
from malipo.db import Database
from malipo.ledger.bookings import BookingKind, book
from tests.dashboard.merchant.new_payment.payment_form import COLLECT, PAYOUT, PaymentForm
from tests.dashboard.merchant.new_payment.payment_form import payment_form as payment_form
from tests.dashboard.merchant.new_payment.payment_form import surfer as surfer
from tests.dashboard.merchant.test_reauthentication import asks, kept
from tests.dashboard.page_client import PASSWORD


@pytest.fixture
async def stale(payment_form: PaymentForm, database: Database) -> PaymentForm:
    """A wallet of more than two millions, and a password that was typed eleven minutes ago."""
    async with database.begin() as tx:
        await book(
            tx, BookingKind.TOP_UP, payment_form.merchant_id, 2_500_000, reference=secrets.token_hex(8), now=clock.now()
        )
        await tx.execute(
            "UPDATE sessions SET confirmed_at = confirmed_at - interval '11 minutes' "
            "WHERE person_id IN (SELECT id FROM people WHERE merchant_id = $1)",
            payment_form.merchant_id,
        )
    return payment_form


async def test_a_large_payout_is_made_once_and_only_after_the_password(stale: PaymentForm) -> None:
    key = await stale.key(PAYOUT)
    assert (await stale.review(PAYOUT, key, amount="1,000,001")).status == 200
    asked = await stale.pay(PAYOUT, key, amount="1,000,001")
    assert asked.status == 403
    assert asks(asked)
    assert await stale.made() == []
    wrong = await stale.surfer.post(PAYOUT, [*kept(asked), ("confirm_password", "not it at all")])
    assert (wrong.status, await stale.made()) == (400, [])
    done = await stale.surfer.post(PAYOUT, [*kept(asked), ("confirm_password", PASSWORD)])
    assert done.status == 303
    assert [each.amount for each in await stale.made()] == [1_000_001]


@pytest.mark.parametrize(("path", "amount"), [(PAYOUT, "1,000,000"), (COLLECT, "1,000,001")])
async def test_a_payout_up_to_the_amount_and_a_collection_need_no_password(
    stale: PaymentForm, path: str, amount: str
) -> None:
    assert (await stale.pay(path, await stale.key(path), amount=amount)).status == 303
    assert len(await stale.made()) == 1


async def test_right_after_the_log_in_it_is_not_asked_for(payment_form: PaymentForm, database: Database) -> None:
    async with database.begin() as tx:
        await book(
            tx, BookingKind.TOP_UP, payment_form.merchant_id, 2_500_000, reference=secrets.token_hex(8), now=clock.now()
        )
    assert (await payment_form.pay(PAYOUT, await payment_form.key(PAYOUT), amount="2,000,000")).status == 303


async def test_many_small_payouts_are_a_large_one(stale: PaymentForm) -> None:
    amounts = ("600,000", "400,000", "1,000")
    said = [await stale.pay(PAYOUT, await stale.key(PAYOUT), amount=amount, orderReference="") for amount in amounts]
    assert [each.status for each in said] == [303, 303, 403]
    assert asks(said[2])
    done = await stale.surfer.post(PAYOUT, [*kept(said[2]), ("confirm_password", PASSWORD)])
    assert done.status == 303
    assert sorted(each.amount for each in await stale.made()) == [1_000, 400_000, 600_000]


async def test_small_payouts_at_the_same_moment_are_a_large_one_too(stale: PaymentForm) -> None:
    keys = [await stale.key(PAYOUT) for _ in range(20)]
    said = await asyncio.gather(
        *(
            stale.pay(PAYOUT, key, amount="100,000", phone=f"07540001{place}", orderReference="")
            for place, key in enumerate(keys, 10)
        )
    )
    assert sorted(each.status for each in said) == [303] * 10 + [403] * 10
    refused = [(key, each) for key, each in zip(keys, said, strict=True) if each.status == 403]
    assert all(asks(each) for _, each in refused)
    assert sum(each.amount for each in await stale.made()) == 1_000_000
    # Nothing was written for the others: after the password the same form makes its payout.
    key, asked = refused[0]
    assert ("key", key) in kept(asked)
    assert (await stale.surfer.post(PAYOUT, [*kept(asked), ("confirm_password", PASSWORD)])).status == 303
    assert len(await stale.made()) == 11
