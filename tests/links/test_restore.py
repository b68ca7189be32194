"""Links in a database that was restored: what the backup lacked is found again, and nothing is paid twice."""

import pytest

from malipo.errors import Conflict, OutcomeUnknown
from malipo.links.link import Late, Link, LinkStatus
from malipo.links.press import PressAttempt, payment_request_of
from malipo.links.press_request import Press
from malipo.links.refuse_prompts import TooManyPrompts
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

LOST = "txn_lost"  # in the cookie of the browser that had begun it


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
    assert (await shop.look(link)).status is LinkStatus.PAID, "its network key is one of this link"

    pressed = await shop.press(link, channel=lost.statements.channel, begun=LOST)

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
    assert (await shop.look(link)).paid_count == 1, "the adopted one"
    [adopted, _] = await shop.payments()
    await shop.claim()
    await shop.answer(pressed.transaction)
    for _ in range(2):  # The page that does not know of it, and the same page once more.
        again = await shop.press(link, amount=25_000, channel=lost.statements.channel, press_id="page-1", begun=LOST)
        assert (again.transaction.id, again.is_new) == (adopted.id, False)
    third = await shop.press(link, amount=25_000, channel=lost.statements.channel, press_id="page-2", begun=LOST)
    assert third.is_new, "who has seen that it is paid wants to pay once more"


@pytest.mark.parametrize("is_made_again", [False, True])
async def test_a_stranger_is_not_told_of_an_adopted_payment_and_nobody_pays_twice_unwarned(
    shop: LinkSteps, lost: Lost, is_made_again: bool
) -> None:
    """Nor by sending the same page again. Its customer is told to look at the phone, once."""
    link = await shop.make(reusable=True, key="link-1")
    key = await key_of(shop, link)
    if is_made_again:
        await lose(shop)
    await lost.adopt(await lost.on_statement(key=key, phone=ASHA))
    if is_made_again:
        link = await shop.make(key="link-1", reusable=True)
    of_another = await shop.press(link, JUMA, channel=lost.statements.channel)

    with pytest.raises(TooManyPrompts):
        await shop.press(link, channel=lost.statements.channel, press_id="page-1", begun=of_another.transaction.id)

    again = await shop.press(link, channel=lost.statements.channel, press_id="page-1")
    assert again.is_new
    assert len(await shop.payments()) == 3
    assert (await shop.look(link)).paid_count == 1


async def test_an_adopted_attempt_takes_the_place_of_its_link(shop: LinkSteps, lost: Lost) -> None:
    """Nobody presses again: another number does."""
    link, _ = await shop.make(), await shop.make()
    await lost.adopt(await lost.on_statement(key=await key_of(shop, link), phone=ASHA))

    with pytest.raises(Conflict, check=lambda error: error.code == "link_paid"):
        await shop.press(link, JUMA, channel=lost.statements.channel)

    await shop.count()
    [payment] = await shop.payments()
    assert (payment.link_id, payment.status) == (link.id, Status.COMPLETED)
    assert await shop.events() == [("link.paid", payment.id)]
    await lost.check()


async def test_an_attempt_that_is_adopted_after_another_number_has_paid_is_a_late_payment(
    shop: LinkSteps, lost: Lost
) -> None:
    link = await shop.make()
    key = await key_of(shop, link, ordinal=3)
    other = await shop.paid(link, JUMA, channel=lost.statements.channel)
    await shop.count()
    await lost.adopt(await lost.on_statement(key=key, phone=ASHA))

    await shop.count()

    [late] = await shop.late(link)
    assert (late.reason, late.id != other.id, late.amount) == (Late.ALREADY_PAID, True, 25_000)
    assert (await shop.look(link)).paid_count == 1


async def test_an_adoption_that_is_undone_frees_its_link_and_asks_nobody_again(shop: LinkSteps, lost: Lost) -> None:
    """And adopted again it is the link's again, in the next place."""
    link = await shop.make()
    line = await lost.on_statement(key=await key_of(shop, link), phone=ASHA)
    await lost.adopt(line)
    await shop.count()
    await lost.desk.undo(line)
    await lost.desk.approve(line)
    await shop.count()

    assert (await shop.look(link)).paid_count == 0
    with pytest.raises(OutcomeUnknown):
        await shop.press(link, channel=lost.statements.channel)

    [found] = await lost.statements.open_exceptions()
    await lost.adopt(found)
    await shop.count()
    pressed = await shop.press(link, channel=lost.statements.channel, begun=LOST)
    assert (pressed.is_new, pressed.transaction.status) == (False, Status.COMPLETED)
    assert (await shop.look(link)).paid_count == 1


async def test_a_key_of_no_link_or_of_another_number_is_adopted_without_a_link(shop: LinkSteps, lost: Lost) -> None:
    link = await shop.make()
    await lost.adopt(await lost.on_statement(key=await key_of(shop, link), phone=JUMA))

    [payment] = await shop.payments()
    assert payment.link_id is None
    assert (await shop.look(link)).status is LinkStatus.ACTIVE


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


async def test_an_attempt_that_was_adopted_before_its_link_was_made_again_is_the_links(
    shop: LinkSteps, lost: Lost
) -> None:
    before = await shop.make(key="link-1")
    key = await key_of(shop, before)
    await lose(shop)
    await lost.adopt(await lost.on_statement(key=key, phone=ASHA))
    link = await shop.make(key="link-1")

    pressed = await shop.press(link, channel=lost.statements.channel, begun=LOST)

    assert (pressed.is_new, pressed.transaction.status) == (False, Status.COMPLETED)
    assert (await shop.look(link)).status is LinkStatus.PAID
    assert len(await shop.payments()) == 1
