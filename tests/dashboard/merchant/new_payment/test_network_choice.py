"""/dashboard/collect and /dashboard/payout: "By the number" stays so until somebody chooses a network."""

import re

import pytest

from malipo.app.assemble import assemble
from malipo.networks.connector import Channel
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause
from malipo.settings import Settings
from tests.conftest import NO_LIMITS
from tests.dashboard.merchant.new_payment.payment_form import COLLECT, PAYOUT, TYPED, PaymentForm, hidden_in, key_in
from tests.dashboard.merchant.new_payment.payment_form import payment_form as payment_form
from tests.dashboard.merchant.new_payment.payment_form import surfer as surfer
from tests.dashboard.page_client import Seen
from tests.status_changes import change_status


def form_in(seen: Seen) -> dict[str, str]:
    """What the form would send as it stands."""
    chosen = re.search(r'name="channel" value="([A-Z_]*)" checked', seen.text)
    fields = re.findall(r'name="([a-zA-Z]+)" type="[a-z]+" value="([^"]*)"', seen.text)
    return hidden_in(seen) | dict(fields) | {"channel": chosen[1] if chosen else "", "step": "review"}


def channel_in(seen: Seen) -> str:
    assert "Is this right?" in seen.words
    return hidden_in(seen)["shown"]


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_a_corrected_number_is_paid_by_its_own_network(payment_form: PaymentForm, path: str) -> None:
    key, surfer = await payment_form.key(path), payment_form.surfer
    asked = await payment_form.review(path, key, phone="0684 000 100", channel="")
    assert channel_in(asked) == "AIRTEL_MONEY"
    form = form_in(await surfer.post(path, hidden_in(asked) | {"step": "change"}))
    assert form["channel"] == ""

    asked = await surfer.post(path, form | {"phone": "0754 000 100"})
    assert channel_in(asked) == "MPESA"
    await surfer.post(path, hidden_in(asked) | {"step": "pay"})
    [made] = await payment_form.made()
    assert (made.channel, made.phone) == (Channel.MPESA, "+255754000100")


async def test_also_after_a_mistake_in_another_field(payment_form: PaymentForm) -> None:
    key = await payment_form.key(PAYOUT)
    form = form_in(await payment_form.review(PAYOUT, key, phone="0684 000 100", channel="", amount="1"))
    asked = await payment_form.surfer.post(PAYOUT, form | {"phone": "0754 000 100", "amount": "1000"})
    assert channel_in(asked) == "MPESA"


@pytest.mark.parametrize(
    ("phones", "channel"),
    [
        (["0684 000 100", "0684 000 100"], "AIRTEL_MONEY"),
        (["0684 000 100", "0754 000 100"], "MPESA"),
        (["0684 000 100", "0754", "0754 000 100"], "MPESA"),  # not whole once
    ],
)
async def test_a_network_that_was_chosen_for_one_number_is_not_kept_for_that_of_another(
    payment_form: PaymentForm, phones: list[str], channel: str
) -> None:
    key, surfer = await payment_form.key(PAYOUT), payment_form.surfer
    # The amount is too small until the last time, so that the form comes back.
    first = TYPED | {"phone": phones[0], "channel": "AIRTEL_MONEY", "amount": "1", "key": key, "step": "review"}
    seen = await surfer.post(PAYOUT, first)
    for phone in phones[1:-1]:
        seen = await surfer.post(PAYOUT, form_in(seen) | {"phone": phone})
    asked = await surfer.post(PAYOUT, form_in(seen) | {"phone": phones[-1], "amount": "1000"})
    assert channel_in(asked) == channel


async def test_what_the_page_has_shown_is_what_is_paid(payment_form: PaymentForm) -> None:
    asked = await payment_form.review(COLLECT, await payment_form.key(COLLECT), channel="")
    await payment_form.surfer.post(COLLECT, hidden_in(asked) | {"shown": "TIGO_PESA", "step": "pay"})
    assert [each.channel for each in await payment_form.made()] == [Channel.TIGO_PESA]


@pytest.mark.parametrize(("channel", "chosen"), [(Channel.MPESA, ""), (Channel.TIGO_PESA, "TIGO_PESA")])
async def test_what_failed_is_tried_again_by_the_number_unless_it_was_ported(
    payment_form: PaymentForm, channel: Channel, chosen: str
) -> None:
    await payment_form.pay(PAYOUT, await payment_form.key(PAYOUT), channel=channel)
    [failed] = await payment_form.made()
    service = assemble(Settings(**NO_LIMITS), payment_form.database)
    for cause in (Cause.SUBMITTED, Cause.REFUSED):
        await change_status(
            service,
            StatusChange(
                merchant_id=payment_form.merchant_id,
                transaction_id=failed.id,
                cause=cause,
                failure_code="declined" if cause is Cause.REFUSED else None,
            ),
        )
    form = form_in(await payment_form.surfer.get(f"{PAYOUT}?again={failed.id}"))
    assert form["channel"] == chosen

    asked = await payment_form.surfer.post(PAYOUT, form)
    assert channel_in(asked) == channel.value
    asked = await payment_form.surfer.post(PAYOUT, form | {"phone": "0684 000 100"})
    assert channel_in(asked) == "AIRTEL_MONEY"
    assert key_in(asked) == form["key"]
