"""The pay page of a link: its content, the effect of a press, and what it hides from other people."""

import asyncio
import gzip
import io
import re
from dataclasses import replace
from datetime import timedelta

import pytest
import segno

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.links.link import Link
from malipo.merchants.public_profile import Contact, Logo, PublicProfile
from malipo.merchants.store import public_profiles
from malipo.networks.connector import Channel, FailureCode, FailureDetail, Type, Verdict
from malipo.pay_pages import press_marker
from malipo.pay_pages.app import PayPages
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction
from tests.links.link_steps import ASHA, JUMA, LinkSteps
from tests.pay_pages.customer import Customer, Seen

LOCAL, NUMBER = "0754 000 100", "0754 000 200"
MOST_BYTES = 20_000


def at(link: Link, more: str = "") -> str:
    return f"/pay/{link.code}{more}"


async def press(customer: Customer, link: Link, phone: str = LOCAL, **fields: str) -> Seen:
    """As people do: the page, then its form."""
    await customer.get(at(link))
    return await customer.post(at(link), {"buyerPhone": phone, "channel": "", **fields})


async def asked(steps: LinkSteps, payment: Transaction) -> None:
    """It is on the phone."""
    await steps.claim()
    await steps.report(payment, Verdict.WAITING, AnswerSource.SEND)


async def only_payment(steps: LinkSteps) -> Transaction:
    [payment] = await steps.payments()
    return payment


async def test_looking_has_no_effect_and_shows_what_is_asked(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make(description="Maziwa <b>", orderReference="A-17")
    for _ in range(3):
        seen = await customer.get(at(link))
    assert seen.status == 200
    for words in ("Pay Duka", "TZS 25,000", "Maziwa <b>", "A-17", "Phone number that pays", "Pay TZS 25,000"):
        assert words in seen.words
    assert seen.cookies == {}
    assert await steps.payments() == []
    assert seen.headers["x-robots-tag"] == "noindex, nofollow"
    assert seen.headers["cache-control"] == "no-store"
    assert "noindex" in seen.text


async def test_a_press_asks_the_phone_and_the_page_follows_it_to_the_end(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make(returnUrl="https://shop.example/thanks?a=1")
    done = await press(customer, link)
    assert (done.status, done.to.partition("&pressed=")[0]) == (303, at(link, "?lang=en"))
    cookie = done.cookies["malipo_pay"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert f"Path=/pay/{link.code}" in cookie
    payment = await only_payment(steps)
    assert (payment.phone, payment.amount, payment.channel, payment.link_id) == (ASHA, 25_000, "MPESA", link.id)

    waiting = await customer.get(at(link))
    assert "On its way to M-Pesa" in waiting.words
    await asked(steps, payment)
    asking = await customer.get(at(link))
    assert "M-Pesa asks 0754 000 100 for the PIN" in asking.words
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in asking.text
    assert 'data-live="PROCESSING"' in asking.text

    await steps.report(payment, Verdict.CONFIRMED, provider_reference="QK10183346")
    paid = await customer.get(at(link))
    assert "Paid. Thank you!" in paid.words
    assert "QK10183346" in paid.words
    assert f'href="https://shop.example/thanks?a=1&amp;link={link.id}"' in paid.text
    assert "http-equiv" not in paid.text
    assert "<form" not in paid.text


@pytest.mark.parametrize(("language", "words"), [("sw-TZ,sw;q=0.9,en;q=0.8", "Lipa"), ("en-GB", "Pay")])
async def test_the_language_is_the_browsers_and_can_be_chosen(
    steps: LinkSteps, customer: Customer, language: str, words: str
) -> None:
    link = await steps.make()
    customer.language = language
    seen = await customer.get(at(link))
    assert f"{words} TZS 25,000" in seen.words
    for code, said in (("sw", "Namba ya simu itakayolipa"), ("en", "Phone number that pays")):
        chosen = await customer.get(at(link, f"?lang={code}"))
        assert said in chosen.words
        assert f'action="/pay/{link.code}?lang={code}"' in chosen.text


async def test_pressing_twice_and_in_two_browsers_is_one_payment(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link = await steps.make()
    await customer.get(at(link))
    await other.get(at(link))
    form = {"buyerPhone": LOCAL, "channel": "MPESA"}
    done = await asyncio.gather(*(who.post(at(link), form) for who in (customer, customer, other, customer)))
    assert [each.status for each in done] in ([303, 303, 409, 303], [409, 409, 303, 409])
    if done[0].status == 409:
        customer, other = other, customer
    payment = await only_payment(steps)
    await asked(steps, payment)
    assert "Look at your phone" in (await customer.get(at(link))).words
    busy = await press(other, link, "0754 000 200")
    assert busy.status == 409
    assert "A payment of this link is under way" in busy.words
    assert len(await steps.payments()) == 1


async def test_a_form_that_is_sent_again_after_the_end_is_the_same_payment(
    steps: LinkSteps, customer: Customer
) -> None:
    """Back, and the same page pressed again: also where the link takes many payments."""
    link = await steps.make(reusable=True)
    await press(customer, link)
    payment = await only_payment(steps)
    await asked(steps, payment)
    await steps.answer(payment)
    again = await customer.post(at(link), {"buyerPhone": LOCAL, "channel": ""})
    assert again.status == 303
    assert len(await steps.payments()) == 1
    assert "Pay once more" in (await customer.get(at(link))).words

    form = await customer.get(at(link, "?again=1"))
    assert "Phone number that pays" in form.words
    await customer.post(at(link), {"buyerPhone": LOCAL, "channel": "", "again": "1"})
    assert len(await steps.payments()) == 2


async def test_a_browser_without_cookies_is_told_to_look_at_the_phone_and_gets_no_form(
    steps: LinkSteps, customer: Customer
) -> None:
    """At a link that takes many payments each press of a new form would be one more."""
    customer.keeps_cookies = False
    link = await steps.make(reusable=True)
    after = (await press(customer, link)).to
    payment = await only_payment(steps)
    for _ in range(2):
        seen = await customer.get(after)
        assert "Look at your phone" in seen.words
        assert "This browser keeps no cookies" in seen.words
        assert "<form" not in seen.text
        for secret in (LOCAL, payment.reference, payment.id):
            assert secret not in seen.text
        await asked(steps, payment)
        await steps.answer(payment)
    kiswahili = f"{at(link)}?pressed={after.partition('&pressed=')[2]}&lang=sw"
    assert f'href="{kiswahili.replace("&", "&amp;")}"' in seen.text
    assert "hakihifadhi vidakuzi" in (await customer.get(kiswahili)).words
    assert f'href="{at(link)}?lang=en"' in seen.text, "for a payment that failed"
    assert "Phone number that pays" in (await customer.get(at(link))).words, "of somebody else"
    assert len(await steps.payments()) == 1


async def test_the_mark_of_a_press_is_of_one_link_and_one_hour(steps: LinkSteps, customer: Customer) -> None:
    customer.keeps_cookies = False
    link, second = await steps.make(reusable=True), await steps.make(reusable=True)
    after = (await press(customer, link)).to
    mark = after.partition("&pressed=")[2]
    cookies, now = steps.service.accounts.cookies, steps.service.clock()
    old = press_marker.mark_of(cookies, link.code, now=now - timedelta(seconds=press_marker.SECONDS + 60))
    fast = press_marker.mark_of(cookies, link.code, now=now + timedelta(seconds=5))
    for path, has_form in (
        (after, False),
        (at(link, f"?pressed={fast}"), False),  # by the clock of another host
        (at(link, f"?pressed={old}"), True),
        (at(link, f"?pressed={mark[:-1]}"), True),
        (at(link, f"?pressed=9{mark}"), True),
        (at(second, f"?pressed={mark}"), True),
        (at(link, "?pressed=é"), True),
    ):
        seen = await customer.get(path)
        assert (seen.status, "<form" in seen.text) == (200, has_form), path


async def test_the_mark_of_a_press_changes_nothing_for_a_browser_with_cookies(
    steps: LinkSteps, customer: Customer
) -> None:
    link = await steps.make(reusable=True)
    after = (await press(customer, link)).to
    payment = await only_payment(steps)
    await asked(steps, payment)
    assert "M-Pesa asks 0754 000 100 for the PIN" in (await customer.get(after)).words
    await steps.answer(payment)
    assert "Paid. Thank you!" in (await customer.get(after)).words


# By the code of a failure: what the page says in English, and in Kiswahili.
ENDS = {
    FailureCode.DECLINED: ("declined on the phone", "yamekataliwa kwenye simu"),
    FailureCode.EXPIRED: ("No PIN was typed in time", "haikuwekwa kwa wakati"),
    FailureCode.INSUFFICIENT_FUNDS: ("not enough money", "Salio halitoshi"),
    FailureCode.INVALID_RECIPIENT: ("refused the payment", "imekataa malipo"),
    FailureCode.LIMIT_EXCEEDED: ("beyond what M-Pesa allows", "kimezidi kikomo"),
    FailureCode.NOT_RECEIVED: ("did not get the request", "haikupokea ombi"),
    FailureCode.CHANNEL_UNAVAILABLE: ("did not answer in time", "haikujibu kwa wakati"),
    FailureCode.REJECTED: ("refused the payment", "imekataa malipo"),
}


def test_every_end_has_words() -> None:
    assert set(ENDS) == set(FailureCode)


@pytest.mark.parametrize("code", [FailureCode.DECLINED, FailureCode.EXPIRED, FailureCode.INSUFFICIENT_FUNDS])
async def test_a_payment_that_failed_says_why_and_can_be_tried_again(
    steps: LinkSteps, customer: Customer, code: FailureCode
) -> None:
    link = await steps.make()
    await press(customer, link)
    payment = await only_payment(steps)
    await asked(steps, payment)
    await steps.report(payment, Verdict.REFUSED, failure_code=code)
    english, kiswahili = ENDS[code]
    seen = await customer.get(at(link))
    assert english in seen.words
    assert "Nothing was charged" in seen.words
    assert 'value="0754 000 100"' in seen.text
    assert kiswahili in (await customer.get(at(link, "?lang=sw"))).words

    await customer.post(at(link), {"buyerPhone": LOCAL, "channel": ""})
    assert [each.status for each in await steps.payments()] == [Status.FAILED, Status.PENDING]


async def test_no_page_reveals_whether_a_number_has_an_account(steps: LinkSteps, customer: Customer) -> None:
    seen = set()
    for code, detail in (
        (FailureCode.REJECTED, None),
        (FailureCode.INVALID_RECIPIENT, None),
        (FailureCode.INVALID_RECIPIENT, FailureDetail.NOT_REGISTERED),
        (FailureCode.INVALID_RECIPIENT, FailureDetail.BARRED),
    ):
        link = await steps.make()
        await press(customer, link)
        payment = (await steps.payments())[-1]
        await asked(steps, payment)
        await steps.report(payment, Verdict.REFUSED, failure_code=code, failure_detail=detail)
        seen.add((await customer.get(at(link))).words)
    [words] = seen
    assert "M-Pesa refused the payment. Nothing was charged. Are the number and its network right?" in words


async def test_while_the_outcome_is_unknown_another_number_pays_only_after_a_warning(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link = await steps.make()
    await press(customer, link)
    await asked(steps, await only_payment(steps))
    await steps.end_prompts()
    seen = await customer.get(at(link))
    assert "We do not know yet whether it is paid" in seen.words
    assert "if the first number has paid after all, I pay twice" in seen.words

    unwarned = await press(other, link, "0754 000 200")
    assert unwarned.status == 409
    assert "A number was asked before" in unwarned.words
    assert "I pay twice" in unwarned.words
    assert len(await steps.payments()) == 1
    warned = await other.post(at(link), {"buyerPhone": "0754 000 200", "channel": "", "mayBeSecond": "yes"})
    assert warned.status == 303
    assert [each.phone for each in await steps.payments()] == [ASHA, JUMA]


async def test_a_payment_that_did_not_reach_its_network_waits_and_is_never_in_doubt(
    steps: LinkSteps, customer: Customer
) -> None:
    link = await steps.make()
    await press(customer, link)
    payment = await only_payment(steps)
    await steps.claim()
    assert "M-Pesa asks 0754 000 100" in (await customer.get(at(link))).words, "it may be on its way"
    follows = asyncio.ensure_future(customer.get(at(link, "/state?of=PROCESSING")))
    await steps.report(payment, Verdict.UNSENT, AnswerSource.SEND)
    assert (await follows).text == "PENDING", "the script shows the page again"
    for _ in range(2):
        seen = await customer.get(at(link))
        assert "0754 000 100 will be asked for the PIN in a moment" in seen.words
        assert 'data-live="PENDING"' in seen.text
        assert "<form" not in seen.text, "what was once tried cannot be stopped"
        await steps.end_prompts()
    await steps.wait(payment, seconds=60)
    await asked(steps, payment)
    assert "M-Pesa asks 0754 000 100" in (await customer.get(at(link))).words, "the prompt has just begun"


async def test_a_payment_that_was_not_sent_can_be_stopped(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link = await steps.make()
    await press(customer, link)
    await press(other, link)
    await other.post(at(link, "/withdraw"), {})
    assert (await only_payment(steps)).status is Status.PENDING, "another browser has begun it"
    stopped = await customer.post(at(link, "/withdraw"), {})
    assert (stopped.status, stopped.to) == (303, at(link, "?lang=en"))
    assert (await only_payment(steps)).status is Status.CANCELLED
    assert "stopped before the phone was asked" in (await customer.get(at(link))).words

    await press(customer, link)
    await asked(steps, (await steps.payments())[1])
    await customer.post(at(link, "/withdraw"), {})
    assert "Look at your phone" in (await customer.get(at(link))).words, "it was sent meanwhile"


async def test_only_who_has_begun_a_payment_can_stop_it(steps: LinkSteps, customer: Customer, other: Customer) -> None:
    link = await steps.make()
    await press(customer, link)
    await press(other, link)
    assert "Stop, and use another number" not in (await other.get(at(link))).words
    await other.post(at(link, "/withdraw"), {})
    assert (await only_payment(steps)).status is Status.PENDING
    await customer.post(at(link, "/withdraw"), {})
    assert (await only_payment(steps)).status is Status.CANCELLED


async def test_a_network_that_is_down_is_said_with_the_times_since_and_until_which_it_is_tried(
    steps: LinkSteps, service: Service
) -> None:
    """And no wait is made up."""
    networks = replace(service.networks, routes={(Channel.MPESA, Type.COLLECTION): "mpesa"})
    customer = Customer(PayPages(replace(service, networks=networks)))
    async with steps.database.begin() as tx:
        await tx.execute(
            "INSERT INTO open_circuits (connector, since, reason, next_probe_at) "
            "VALUES ('airtel', $1::timestamptz - interval '2 hours', 'no answer', now()), ('mpesa', $1, 'no answer', now())",
            since := service.clock() - timedelta(microseconds=1),
        )
    link = await steps.make()
    form = (await customer.get(at(link))).words
    assert "M-Pesa slow now" in form
    assert "HaloPesa" not in form, "it is not connected"
    await press(customer, link)
    seen = await customer.get(at(link))
    down = (
        f"M-Pesa does not answer at the moment: it has not answered us since {since.astimezone(clock.ZONE):%H:%M:%S}."
    )
    assert down in seen.words
    lapses = (await only_payment(steps)).created_at + timedelta(seconds=service.settings.lapse_seconds)
    assert f"We go on trying until {lapses.astimezone(clock.ZONE):%H:%M:%S}. If it does not" in seen.words
    assert "nothing is charged" in seen.words

    await asked(steps, await only_payment(steps))
    await steps.end_prompts()
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE open_circuits SET since = since - interval '1 day'")
    seen = await customer.get(at(link))
    day = f"{since.astimezone(clock.ZONE) - timedelta(days=1):%H:%M}"
    assert "We do not know yet whether it is paid" in seen.words
    assert re.search(rf"it has not answered us since \d+ \w+.*{day}\S*\. We go on asking it until it does", seen.words)
    assert "haijatujibu tangu" in (await customer.get(at(link, "?lang=sw"))).words
    async with steps.database.begin() as tx:
        await tx.execute("DELETE FROM open_circuits")
    assert "does not answer" not in (await customer.get(at(link))).words


async def test_a_network_that_is_not_connected_is_refused_at_its_field_and_keeps_nobody_out(
    steps: LinkSteps, service: Service
) -> None:
    networks = replace(service.networks, routes={(Channel.MPESA, Type.COLLECTION): "mpesa"})
    pages = PayPages(replace(service, networks=networks))
    customer, other = Customer(pages), Customer(pages)
    link = await steps.make()
    for fields in ({"phone": "0624 000 100"}, {"phone": LOCAL, "channel": "HALOPESA"}):
        seen = await press(customer, link, **fields)
        assert (seen.status, "The network of this number is not taken here" in seen.words) == (400, True)
        assert 'id="channel-wrong"' in seen.text
    assert await steps.payments() == []
    assert (await press(other, link)).status == 303, "nobody else is paying"
    poster = await customer.get(at(link, "/poster"))
    assert ("M-Pesa" in poster.words, "HaloPesa" in poster.words) == (True, False)


@pytest.mark.parametrize("how", ["expired", "cancelled", "paid", "inactive"])
async def test_a_link_that_cannot_be_paid_says_why_and_whom_to_ask(
    steps: LinkSteps, customer: Customer, how: str
) -> None:
    link = await steps.make()
    async with steps.database.begin() as tx:
        profile = PublicProfile("Duka", "Duka la Mama Asha", Contact("+255222123456", "+255754000999", "a@example.com"))
        await public_profiles.save(tx, steps.merchant_id, profile, now=steps.service.clock())
    await customer.get(at(link))
    match how:
        case "expired":
            await steps.expire(link)
        case "cancelled":
            await steps.cancel(link)
        case "paid":
            await steps.paid(link, JUMA)
        case _:
            async with steps.database.begin() as tx:
                await tx.execute("UPDATE merchants SET is_active = false")
    sentence = {
        "expired": "Its time is over. Ask Duka la Mama Asha for a new link.",
        "cancelled": "Duka la Mama Asha has withdrawn it",
        "paid": "It was paid already",
        "inactive": "takes no payments at the moment",
    }[how]
    before = len(await steps.payments())
    pressed = await customer.post(at(link), {"buyerPhone": LOCAL, "channel": ""})
    assert (pressed.status, sentence in pressed.words) == (409, True)
    seen = await customer.get(at(link))
    assert (seen.status, sentence in seen.words) == (200, True)
    assert "<form" not in seen.text
    for contact in ('href="tel:+255222123456"', 'href="https://wa.me/255754000999"', 'href="mailto:a@example.com"'):
        assert contact in seen.text
    assert "Registered as Duka" in seen.words
    assert len(await steps.payments()) == before
    assert JUMA[-6:] not in seen.words


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("expired", "It was paid late: the time of the link was over. Duka knows of it"),
        ("cancelled", "It was paid late: Duka had withdrawn the link. Duka knows of it"),
        (
            "paid",
            "This was paid twice: somebody had paid it already. Duka knows of it, and can give this payment back.",
        ),
    ],
)
async def test_a_late_success_is_shown_to_the_customer_as_soon_as_it_is_known(
    steps: LinkSteps, customer: Customer, how: str, said: str
) -> None:
    link = await steps.make()
    await press(customer, link)
    payment = await only_payment(steps)
    await asked(steps, payment)
    match how:
        case "expired":
            await steps.expire(link)
        case "cancelled":
            await steps.cancel(link)
        case _:
            await steps.end_prompts()
            await steps.paid(link, JUMA, may_be_second=True)
    await steps.answer(payment)
    early = await customer.get(at(link))
    assert ("Paid. Thank you!" in early.words, said in early.words) == (True, False)
    assert '<meta http-equiv="refresh" content="3">' in early.text, "a worker has not counted it yet"
    await steps.count()
    seen = await customer.get(at(link))
    assert "Paid. Thank you!" in seen.words
    assert said in seen.words
    assert "http-equiv" not in seen.text


async def test_a_failure_that_turns_out_paid_is_shown_as_paid(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make()
    await press(customer, link)
    payment = await only_payment(steps)
    await asked(steps, payment)
    await steps.answer(payment, Status.FAILED)
    assert "Not paid" in (await customer.get(at(link))).words
    await steps.contradict(payment, Verdict.CONFIRMED)
    seen = await customer.get(at(link))
    assert "Paid. Thank you!" in seen.words
    assert "It was paid late: the payment had counted as failed." in seen.words
    assert "<form" not in seen.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"buyerPhone": ""}, ["Please fill this in"]),
        ({"buyerPhone": "123"}, ["not a Tanzanian mobile number"]),
        ({"buyerPhone": "0739 000 100"}, ["Choose the network of this number"]),
        ({"channel": "VISA"}, ["Choose the network of this number"]),
        ({"amount": ""}, ["Please fill this in"]),
        ({"amount": "12,34"}, ["Type a whole number of shillings"]),
        ({"amount": "999"}, ["The least is TZS 1,000"]),
        ({"amount": "50,001"}, ["The most is TZS 50,000"]),
        ({"amount": "1", "buyerPhone": "x"}, ["The least is TZS 1,000", "not a Tanzanian mobile number"]),
    ],
)
async def test_what_is_wrong_is_said_at_its_field_and_nothing_is_sent(
    steps: LinkSteps, customer: Customer, fields: dict[str, str], said: list[str]
) -> None:
    link = await steps.make(amount=None, minAmount=1_000, maxAmount=50_000)
    typed = {"amount": "20,000", "buyerPhone": LOCAL, "channel": ""} | fields
    await customer.get(at(link))
    seen = await customer.post(at(link), typed)
    assert (seen.status, [words in seen.words for words in said]) == (400, [True] * len(said))
    assert await steps.payments() == []
    if fields.get("amount") == "999":
        assert 'value="999"' in seen.text
        assert 'aria-invalid="true"' in seen.text


async def test_an_amount_that_one_network_does_not_take_is_said_where_the_customer_can_change_something(
    steps: LinkSteps, service: Service, database: Database
) -> None:
    """At the network, if the link has the amount."""
    small = assemble(replace(service.settings, max_amount_mpesa=3_000_000), database)
    customer = Customer(PayPages(small))
    fixed, typed = await steps.make(amount=5_000_000), await steps.make(amount=None)
    said = "M-Pesa takes at most TZS 3,000,000 in one payment. Use a number of another network, or ask Duka."
    for link, field, fields in ((fixed, "channel", {}), (typed, "amount", {"amount": "5,000,000"})):
        seen = await press(customer, link, **fields)
        assert (seen.status, said in seen.words, f'id="{field}-wrong"' in seen.text) == (400, True, True)
    assert (await press(customer, fixed, "0654 000 100")).status == 303, "of a network that takes it"
    await small.finish()


async def test_the_customer_types_an_open_amount(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make(amount=None, minAmount=1_000)
    assert "From TZS 1,000 to TZS 10,000,000" in (await customer.get(at(link))).words
    await press(customer, link, amount="TZS 12,500/=")
    assert (await only_payment(steps)).amount == 12_500


async def test_a_number_that_was_asked_too_often_and_a_blocked_one_get_the_same_page(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    for _ in range(3):
        await steps.press(await steps.make())
    async with steps.database.begin() as tx:
        await tx.execute("INSERT INTO blocked_numbers VALUES ($1, 'asked for it', 'operator zuhura', now())", JUMA)
    link = await steps.make()
    limited = await press(customer, link)
    blocked = await press(other, link, "0754 000 200")
    assert (limited.status, blocked.status) == (429, 429)
    assert "This number cannot be asked at the moment" in limited.words
    assert limited.words.replace("0754 000 100", "") == blocked.words.replace("0754 000 200", "")
    assert len(await steps.payments()) == 3


async def test_only_the_browser_that_has_begun_sees_the_payment(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link = await steps.make(amount=None, reusable=True)
    await press(customer, link, NUMBER, amount="7,777")
    payment = await only_payment(steps)
    await asked(steps, payment)
    stranger = await other.get(at(link))
    for secret in ("754 000 200", "7,777", payment.reference, payment.id):
        assert secret not in stranger.text
    assert (await other.get(at(link, "/state?of=PROCESSING"))).status == 404


async def test_the_cookie_of_one_link_is_none_of_another(steps: LinkSteps, customer: Customer, other: Customer) -> None:
    first, second = await steps.make(), await steps.make()
    await press(customer, first)
    value = customer.cookies[at(first), "malipo_pay"]
    for taken in (value, value.replace(".", "-own."), value[:-1] + "0", "x.y", ""):
        other.cookies = {(at(second), "malipo_pay"): taken}
        assert "Phone number that pays" in (await other.get(at(second))).words
    other.cookies = {(at(first), "malipo_pay"): value[:-1] + ("0" if value[-1] != "0" else "1")}
    assert "Phone number that pays" in (await other.get(at(first))).words


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "", "sec_fetch_site": "cross-site"},
        {"origin": "", "sec_fetch_site": "same-site"},
    ],
)
async def test_a_form_of_another_site_is_refused(steps: LinkSteps, customer: Customer, headers: dict[str, str]) -> None:
    link = await steps.make()
    await customer.get(at(link))
    form = {"buyerPhone": LOCAL, "channel": ""}
    seen = await customer.post(at(link), form, **headers)
    assert (seen.status, "not sent from this page" in seen.words) == (403, True)
    assert await steps.payments() == []
    old = await customer.post(at(link), form, origin="", sec_fetch_site="")
    assert old.status == 303, "a browser that sends neither header"


async def test_a_subscriber_with_ipv6_is_one_address(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make()
    customer.address = "2001:db8:0:1:2:3:4:5"
    await press(customer, link)
    async with steps.database.read() as connection:
        assert await connection.fetchval("SELECT address FROM link_attempts") == "2001:db8:0:1::/64"


async def test_unknown_codes_are_all_answered_alike_and_not_for_ever(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link = await steps.make()
    other.address = "196.41.0.8"
    codes = ["0" * 16, "x", "%00", "a" * 500]
    seen = [await customer.get(f"/pay/{code}") for code in codes]
    assert [each.status for each in seen] == [404] * len(codes)
    assert len({re.sub(r"/pay/[^?\"]*", "", each.text) for each in seen}) == 1
    for _ in range(56):
        await customer.get("/pay/0000000000000000")
    limited = await customer.get(at(link))
    assert (limited.status, limited.headers["retry-after"]) == (429, "60")
    assert (await other.get(at(link))).status == 200


async def test_a_code_in_capital_letters_leads_to_the_link(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make()
    seen = await customer.get(at(link).upper().replace("/PAY", "/pay"))
    assert (seen.status, seen.to) == (303, at(link, "?lang=en"))


async def test_the_script_is_notified_when_the_payment_has_changed(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make()
    await press(customer, link)
    assert (await customer.get(at(link, "/state?of=PROCESSING"))).text == "PENDING", "at once: the page is old"
    waiting = asyncio.ensure_future(customer.get(at(link, "/state?of=PENDING")))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    await steps.claim()
    assert (await waiting).text == "PROCESSING"


async def test_a_page_whose_cookie_is_gone_shuts_nobody_out(steps: LinkSteps, customer: Customer) -> None:
    """Its script asks on; many customers share an address."""
    link = await steps.make()
    await press(customer, link)
    customer.cookies = {}
    for _ in range(61):
        seen = await customer.get(at(link, "/state?of=PENDING"))
    assert seen.status == 404
    assert (await customer.get(at(link))).status == 200
    for _ in range(61):
        seen = await customer.get("/pay/0000000000000000/state?of=PENDING")
    assert seen.status == 429, "a code that nobody has is a miss"


async def test_a_logo_is_kept_for_ever_and_is_the_only_other_request(steps: LinkSteps, customer: Customer) -> None:
    logo = Logo("ab" * 16, 96, 48)
    async with steps.database.begin() as tx:
        now = steps.service.clock()
        await public_profiles.save_logo(tx, steps.merchant_id, logo, b"\x89PNG small", now=now)
    link = await steps.make()
    page = (await customer.get(at(link))).text
    assert f'<img src="/pay/logo/{logo.fingerprint}.png" width="48" height="24" alt="">' in page
    assert len(re.findall(r'\b(?:src|data)="', page)) == 1
    assert 'href="data:,"' in page
    seen = await customer.get(f"/pay/logo/{logo.fingerprint}.png")
    assert (seen.status, seen.body, seen.headers["content-type"]) == (200, b"\x89PNG small", "image/png")
    assert seen.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (await customer.get("/pay/logo/" + "0" * 32 + ".png")).status == 404


async def test_every_scene_is_below_twenty_kilobytes(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make(amount=None, reusable=True)
    sizes = [len((await customer.get(at(link))).body)]
    await press(customer, link, amount="25,000")
    sizes.append(len((await customer.get(at(link))).body))
    payment = await only_payment(steps)
    await asked(steps, payment)
    sizes.append(len((await customer.get(at(link))).body))
    await steps.end_prompts()
    sizes.append(len((await customer.get(at(link))).body))
    await steps.answer(payment, Status.FAILED)
    sizes.append(len((await customer.get(at(link, "?lang=sw"))).body))
    assert max(sizes) < MOST_BYTES - 4096, "with the logo"


async def test_a_page_is_compressed_where_nobody_can_guess_by_its_length(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make()
    stranger = await customer.get(at(link), accept_encoding="gzip", sec_fetch_site="cross-site")
    assert stranger.headers["content-encoding"] == "gzip", "there is nothing of a customer in it"
    assert b"TZS" in gzip.decompress(stranger.body)
    await press(customer, link)
    own = await customer.get(at(link), accept_encoding="gzip", sec_fetch_site="same-origin")
    assert own.headers["content-encoding"] == "gzip"
    led = await customer.get(at(link), accept_encoding="gzip", sec_fetch_site="cross-site")
    assert "content-encoding" not in led.headers


async def test_the_qr_code_and_the_poster_are_of_the_links_address(steps: LinkSteps, customer: Customer) -> None:
    link = await steps.make(description="Maziwa")
    drawn = await customer.get(at(link, "/qr.svg"))
    assert (drawn.status, drawn.headers["content-type"]) == (200, "image/svg+xml")
    for written, is_drawn in (
        (f"http://pay.example/pay/{link.code}", True),
        (f"http://pay.example/pay/{link.code}x", False),
    ):
        same = io.BytesIO()
        segno.make_qr(written, error="m").save(
            same, kind="svg", border=4, dark="#000", light="#fff", svgclass=None, lineclass=None, omitsize=True
        )
        assert (drawn.body == same.getvalue()) == is_drawn
    poster = await customer.get(at(link, "/poster"))
    assert f"http://pay.example/pay/{link.code}" in poster.words
    for words in ("Duka", "TZS 25,000", "Maziwa", "Elekeza kamera", "Point your phone", "M-Pesa"):
        assert words in poster.words
    assert "TANQR" not in poster.text
    for contact, said in (
        (Contact("+255754000999", "+255754000888", "a@example.com"), "☎ 0754 000 999"),
        (Contact(None, "+255754000888", "a@example.com"), "WhatsApp 0754 000 888"),
        (Contact(None, None, "a@example.com"), "a@example.com"),
    ):
        async with steps.database.begin() as tx:
            profile = PublicProfile("Duka", "Duka", contact)
            await public_profiles.save(tx, steps.merchant_id, profile, now=steps.service.clock())
        assert said in (await customer.get(at(link, "/poster"))).words
    assert (await customer.get("/pay/0000000000000000/qr.svg")).status == 404


async def test_the_restored_and_the_held_installation_say_that_nothing_was_charged(
    steps: LinkSteps, customer: Customer, service: Service
) -> None:
    link = await steps.make()
    await customer.get(at(link))
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE installation SET held_at = now(), held_by = 'operator zuhura', hold_reason = 'count'")
    seen = await customer.post(at(link), {"buyerPhone": LOCAL, "channel": ""})
    assert (seen.status, seen.headers["retry-after"]) == (503, "60")
    assert "Payments are not taken at the moment. Nothing was charged." in seen.words
    assert await steps.payments() == []
