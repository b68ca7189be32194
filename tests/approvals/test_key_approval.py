"""An API key that an operator makes can pay out what lies in the wallet: above the amount it takes two operators."""

from typing import Any

import pytest

from malipo import clock
from malipo.approvals import key_approval
from malipo.approvals.key_approval import KeyTerms, amount_of
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.errors import Forbidden
from malipo.merchants.api_keys import UNNAMED_PERMISSIONS, Environment, NewKey, Permission
from malipo.merchants.store import api_keys
from tests.conftest import make_merchant
from tests.operators.booking_steps import ASHA, JUMA, give_password, hire

READS, CREATES, APPROVES = Permission.PAYMENTS_READ, Permission.PAYMENTS_CREATE, Permission.PAYOUTS_APPROVE
LIMIT = 1_000_000


def key(*permissions: Permission, **limits: Any) -> KeyTerms:
    named = permissions or UNNAMED_PERMISSIONS
    return KeyTerms(name="Till", permissions=tuple(named), environment=Environment.LIVE, brand="mlp", **limits)


async def ask(database: Database, merchant_id: str, terms: KeyTerms, by: Actor = ASHA, **how: Any) -> NewKey | Proposal:
    async with database.begin() as tx:
        return await key_approval.request(
            tx, merchant_id, terms, approval_amount=LIMIT, actor=by, now=clock.now(), **how
        )


@pytest.mark.parametrize(
    ("terms", "available", "expected"),
    [
        (key(READS), 5_000_000, 0),
        (key(CREATES), 5_000_000, 5_000_000),
        (key(APPROVES), 5_000_000, 5_000_000),
        (key(CREATES), 0, 0),
        (key(CREATES, daily_payout_limit=200_000), 5_000_000, 200_000),
        (key(CREATES, daily_payout_limit=200_000), 50_000, 50_000),
        (key(CREATES, payout_limit=1000), 5_000_000, 5_000_000),  # Many payouts of a thousand.
    ],
)
def test_a_key_counts_as_what_it_can_pay_out_in_a_day(terms: KeyTerms, available: int, expected: int) -> None:
    assert amount_of(terms, available=available) == expected


async def test_one_operator_makes_no_key_that_pays_out_more_than_they_may_move(database: Database) -> None:
    await hire(database, "asha", "juma")
    merchant = await make_merchant(database, wallet=5_000_000)
    async with database.read() as connection:
        before = len(await api_keys.find_all(connection, merchant.id))
    waiting = await ask(database, merchant.id, key())
    assert isinstance(waiting, Proposal)
    assert waiting.amount == 5_000_000
    async with database.begin() as tx:
        with pytest.raises(Forbidden):
            await key_approval.approve(tx, merchant.id, actor=ASHA, now=clock.now())
    async with database.read() as connection:
        assert len(await api_keys.find_all(connection, merchant.id)) == before, "there is no key yet"
    async with database.begin() as tx:
        made = await key_approval.approve(tx, merchant.id, actor=JUMA, now=clock.now())
    async with database.read() as connection:
        noted = await audit_log.find(connection, merchant_id=merchant.id, limit=2)
    assert [(each.action, each.actor) for each in noted] == [
        ("api_key.created", JUMA.name),
        ("api_key.proposed", ASHA.name),
    ]
    assert (noted[0].details["key"], noted[0].details["proposed_by"]) == (made.id, ASHA.name)


async def test_a_new_merchant_gets_its_first_key_at_once(database: Database) -> None:
    await hire(database, "asha", "juma")
    merchant = await make_merchant(database, wallet=0)
    assert isinstance(await ask(database, merchant.id, key()), NewKey)


async def test_keys_that_an_operator_makes_alone_count_together(database: Database) -> None:
    await hire(database, "asha", "juma")
    one, two = [await make_merchant(database, wallet=600_000, name=name) for name in ("Duka", "Soko")]
    assert isinstance(await ask(database, one.id, key()), NewKey)
    assert isinstance(await ask(database, two.id, key(READS)), NewKey), "it pays out nothing"
    assert isinstance(await ask(database, two.id, key(CREATES, daily_payout_limit=400_000)), NewKey)
    assert isinstance(await ask(database, two.id, key(CREATES, daily_payout_limit=1000)), Proposal)
    assert isinstance(await ask(database, one.id, key(), by=JUMA), NewKey), "each operator has an amount"


async def test_an_operator_whom_another_has_reset_makes_none_alone(database: Database) -> None:
    await hire(database, "asha", "juma")
    merchant = await make_merchant(database, wallet=1000)
    await give_password(database, "juma", by=ASHA)
    assert isinstance(await ask(database, merchant.id, key(), by=JUMA), Proposal)
    async with database.begin() as tx:
        with pytest.raises(Forbidden):
            await key_approval.approve(tx, merchant.id, actor=ASHA, now=clock.now())


async def test_who_installs_makes_keys_at_once(database: Database) -> None:
    merchant = await make_merchant(database, wallet=5_000_000)
    assert isinstance(await ask(database, merchant.id, key(), by=Actor("user root", "till")), NewKey)


async def test_a_rejected_key_is_not_made_and_can_be_proposed_again(database: Database) -> None:
    await hire(database, "asha", "juma")
    merchant = await make_merchant(database, wallet=5_000_000)
    await ask(database, merchant.id, key())
    async with database.begin() as tx:
        await key_approval.reject(tx, merchant.id, actor=JUMA, now=clock.now())
    assert isinstance(await ask(database, merchant.id, key()), Proposal)
