"""One operator cannot fill both roles by creating another operator, or by setting another's password or second factor."""

from datetime import timedelta
from typing import Protocol

import pytest

from malipo import clock
from malipo.accounts.store import second_factors
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.errors import Conflict, Forbidden
from malipo.operators import four_eyes, login
from malipo.operators.four_eyes import COOLING_TIME
from tests.conftest import Merchant
from tests.operators.booking_steps import ASHA, JUMA, LARGE, NEEMA, Desk, give_password, hire

INSTALLER = Actor("user root", "test")


@pytest.fixture
async def desk(database: Database, merchant: Merchant) -> Desk:
    """asha, juma and neema are operators, each with a second factor."""
    names = ("asha", "juma", "neema")
    await hire(database, *names)
    async with database.begin() as tx:
        for name in names:
            await second_factors.insert(tx, f"opr_{name}", b"encrypted", used_step=1, now=clock.now())
    return Desk(database, merchant)


async def reset_second_factor(database: Database, name: str, *, by: Actor) -> None:
    async with database.begin() as tx:
        await login.reset_second_factor(tx, name, actor=by, now=clock.now())


async def vouch(desk: Desk, name: str, *, by: Actor) -> None:
    async with desk.database.begin() as tx:
        await four_eyes.vouch(tx, name, actor=by, now=clock.now())


async def decide(desk: Desk, proposer: Actor, approver: Actor) -> bool:
    """Whether these two are two. What they are refused moves nothing."""
    before = await desk.available()
    await desk.request(actor=proposer, limit=0)
    try:
        await desk.approve(actor=approver)
    except Forbidden:
        assert await desk.available() == before
        await desk.reject(actor=proposer)
        return False
    assert await desk.available() == before + LARGE
    return True


class Help(Protocol):
    """What one operator does for another."""

    async def __call__(self, database: Database, name: str, *, by: Actor) -> None: ...


@pytest.mark.parametrize("help_", [give_password, reset_second_factor])
@pytest.mark.parametrize(("proposer", "approver"), [(ASHA, JUMA), (JUMA, ASHA), (NEEMA, JUMA)])
async def test_whoever_got_a_password_or_a_reset_from_another_is_no_second_operator(
    desk: Desk, help_: Help, proposer: Actor, approver: Actor
) -> None:
    await help_(desk.database, "juma", by=ASHA)
    assert not await decide(desk, proposer, approver)


async def test_the_others_still_decide_together(desk: Desk) -> None:
    await give_password(desk.database, "juma", by=ASHA)
    assert await decide(desk, ASHA, NEEMA)


async def test_a_third_operator_vouches_and_then_they_are_two(desk: Desk) -> None:
    await give_password(desk.database, "juma", by=ASHA)
    await vouch(desk, "juma", by=NEEMA)
    assert await decide(desk, ASHA, JUMA)
    async with desk.database.read() as connection:
        [deed] = [each for each in await audit_log.find(connection, limit=10) if each.action == "operator.vouched_for"]
    assert (deed.actor, deed.details) == ("operator neema", {"name": "juma", "resets_by": ["operator asha"]})


@pytest.mark.parametrize("voucher", [ASHA, JUMA, INSTALLER], ids=lambda each: each.name)
async def test_nobody_vouches_for_what_they_did_nor_for_themselves(desk: Desk, voucher: Actor) -> None:
    await give_password(desk.database, "juma", by=ASHA)
    with pytest.raises(Forbidden):
        await vouch(desk, "juma", by=voucher)
    assert not await decide(desk, ASHA, JUMA)


async def test_operators_whom_one_has_helped_vouch_for_nobody(desk: Desk) -> None:
    """asha could be all three."""
    await give_password(desk.database, "juma", by=ASHA)
    await give_password(desk.database, "neema", by=ASHA)
    with pytest.raises(Forbidden):
        await vouch(desk, "juma", by=NEEMA)
    assert not await decide(desk, JUMA, NEEMA)


@pytest.mark.parametrize("is_vouched_for_between", [False, True])
async def test_nobody_vouches_for_what_they_did_by_way_of_another_account(
    desk: Desk, is_vouched_for_between: bool
) -> None:
    """asha sets juma's password, as juma neema's, and asha vouches for neema. That rehema vouches for juma meanwhile
    does not make it another's."""
    await hire(desk.database, "rehema")
    rehema = Actor("operator rehema", "test")
    await give_password(desk.database, "juma", by=ASHA)
    await give_password(desk.database, "neema", by=JUMA)
    if is_vouched_for_between:
        await vouch(desk, "juma", by=rehema)
    for voucher in (ASHA, JUMA):
        with pytest.raises(Forbidden):
            await vouch(desk, "neema", by=voucher)
    assert not await decide(desk, ASHA, NEEMA)
    await vouch(desk, "neema", by=rehema)
    assert await decide(desk, ASHA, NEEMA)


async def test_whoever_set_the_password_does_not_vouch_for_a_later_reset_by_another(desk: Desk) -> None:
    """asha knows the password still."""
    await give_password(desk.database, "juma", by=ASHA)
    await reset_second_factor(desk.database, "juma", by=NEEMA)
    for voucher in (ASHA, NEEMA):
        with pytest.raises(Forbidden):
            await vouch(desk, "juma", by=voucher)


async def test_a_password_of_ones_own_changes_nothing(desk: Desk) -> None:
    """asha, who knows juma's password, logs in as juma and sets another."""
    await give_password(desk.database, "juma", by=ASHA)
    await give_password(desk.database, "juma", by=JUMA)
    assert not await decide(desk, ASHA, JUMA)


@pytest.mark.parametrize("by", [JUMA, INSTALLER], ids=lambda each: each.name)
async def test_who_sets_their_own_password_or_got_it_at_the_installation_counts_at_once(desk: Desk, by: Actor) -> None:
    await give_password(desk.database, "juma", by=by)
    assert await decide(desk, ASHA, JUMA)


async def test_where_there_is_no_third_operator_time_is_enough(desk: Desk) -> None:
    await give_password(desk.database, "juma", by=ASHA, ago=COOLING_TIME - timedelta(minutes=1))
    assert not await decide(desk, ASHA, JUMA)
    async with desk.database.begin() as tx:
        await tx.execute("UPDATE credential_resets SET reset_at = reset_at - interval '1 minute'")
    assert await decide(desk, ASHA, JUMA)


async def test_each_reset_begins_the_time_anew(desk: Desk) -> None:
    await give_password(desk.database, "juma", by=ASHA, ago=COOLING_TIME)
    await give_password(desk.database, "juma", by=ASHA)
    assert not await decide(desk, ASHA, JUMA)


async def test_there_is_nothing_to_vouch_for_where_nothing_was_reset(desk: Desk) -> None:
    with pytest.raises(Conflict):
        await vouch(desk, "juma", by=NEEMA)
