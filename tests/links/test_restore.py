"""Links in a database that was restored: what the backup lacked is found again, and nothing is paid twice."""

import pytest

from malipo.errors import Conflict, OutcomeUnknown
from malipo.links.link import Link, LinkStatus
from malipo.links.press import PressAttempt, payment_request_of
from malipo.links.press_request import Press
from malipo.networks.connector import Channel
from malipo.payments.transaction import Status, Type
from malipo.restore.store import installation
from tests.conftest import make_merchant
from tests.links.link_steps import ASHA, JUMA, LinkSteps
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.lost_requests import Lost
from tests.reconciliation.statement_days import Statements, statements

__all__ = ["desk", "statements", "steps"]


@pytest.fixture
def shop(statements: Statements) -> LinkSteps:
    return LinkSteps(statements.steps.service, statements.steps.merchant_id)


@pytest.fixture
def lost(statements: Statements, desk: ExceptionDesk) -> Lost:
    """An attempt that the network has paid and the backup lacks."""
    return Lost(statements, desk, Type.COLLECTION, amount=25_000)


async def key_of(shop: LinkSteps, link: Link, ordinal: int = 1, amount: int = 25_000) -> str:
    async with shop.database.read() as connection:
        secret = (await installation.get(connection)).key_secret
    press = Press(code=link.code, phone=ASHA, channel=Channel.MPESA, amount=amount)
    asked = PressAttempt.of(press, shop.service.clock())
    request = payment_request_of(link, asked, ordinal, shop.service.payments.terms, secret, now=shop.service.clock())
    assert request.draft is not None
    return request.draft.network_key


async def lose(shop: LinkSteps) -> None:
    """The database is that of before the first link."""
    async with shop.database.begin() as tx:
        for table in ("link_events", "link_attempts", "links"):
            await tx.execute(f"DELETE FROM {table}")


async def test_a_link_that_is_made_again_has_the_address_and_the_network_keys_of_before(shop: LinkSteps) -> None:
    link = await shop.make(key="link-1")
    before = await key_of(shop, link)
    await lose(shop)

    again = await shop.make(key="link-1")

    assert again.id != link.id
    assert (again.code, await key_of(shop, again)) == (link.code, before)


async def test_an_attempt_that_was_lost_and_adopted_is_the_links_when_its_customer_presses_again(
    shop: LinkSteps, lost: Lost
) -> None:
    link = await shop.make()
    await lost.adopt(await lost.on_statement(key=await key_of(shop, link), phone=ASHA))
    assert (await shop.look(link)).status is LinkStatus.ACTIVE, "nobody can know that it was this link's"

    pressed = await shop.press(link, channel=lost.statements.channel)

    assert (pressed.is_new, pressed.transaction.status) == (False, Status.COMPLETED)
    assert (await shop.payment(pressed.transaction)).link_id == link.id
    assert len(await shop.payments()) == 1
    assert (await shop.look(link)).status is LinkStatus.PAID
    await shop.count()
    assert await shop.events() == [("link.paid", pressed.transaction.id)]
    with pytest.raises(Conflict, check=lambda error: error.code == "link_paid"):
        await shop.press(link, JUMA, channel=lost.statements.channel)
    await lost.check()


async def test_after_an_adopted_attempt_a_customer_can_pay_another_amount_by_a_reusable_link(
    shop: LinkSteps, lost: Lost
) -> None:
    link = await shop.make(amount=None, reusable=True)
    await lost.adopt(await lost.on_statement(key=await key_of(shop, link), phone=ASHA))

    pressed = await shop.press(link, amount=7_000, channel=lost.statements.channel)

    assert (pressed.is_new, pressed.transaction.amount) == (True, 7_000)
    assert (await shop.look(link)).paid_count == 0, "the adopted one is not known to be the link's"


async def test_a_lost_attempt_of_another_amount_is_not_taken_for_this_one(shop: LinkSteps) -> None:
    """Networks that report no amount would report the lost payment for it."""
    by_customer, fixed = await shop.make(amount=None, reusable=True), await shop.make(reusable=True)

    assert await key_of(shop, by_customer, amount=2_000) != await key_of(shop, by_customer, amount=50_000)
    assert await key_of(shop, by_customer, amount=2_000) == await key_of(shop, by_customer, amount=2_000)
    assert await key_of(shop, fixed, amount=2_000) == await key_of(shop, fixed, amount=50_000)


async def test_an_attempt_that_was_adopted_for_another_merchant_is_not_paid_again(shop: LinkSteps, lost: Lost) -> None:
    await make_merchant(shop.database, wallet=10_000, name="Soko")
    link = await shop.make()
    await lost.adopt(await lost.on_statement(key=await key_of(shop, link), phone=ASHA), merchant="Soko")

    with pytest.raises(OutcomeUnknown):
        await shop.press(link, channel=lost.statements.channel)

    assert await lost.payments() == 1


async def test_a_payment_whose_link_was_lost_is_an_ordinary_collection(shop: LinkSteps) -> None:
    payment = await shop.sent(await shop.make())
    await lose(shop)

    await shop.answer(payment)
    await shop.count()

    assert (await shop.payment(payment)).status is Status.COMPLETED
