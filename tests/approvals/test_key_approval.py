"""An API key that an operator makes, and that can pay out, takes two operators, whatever the wallet holds."""

from typing import Any

import pytest

from malipo import clock
from malipo.approvals import key_approval
from malipo.approvals.key_approval import amount_of
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.errors import Forbidden
from malipo.ledger.wallet import Wallet
from malipo.merchants.api_keys import UNNAMED_PERMISSIONS, Environment, KeyTerms, NewKey, Permission
from malipo.merchants.store import api_keys
from malipo.payments.transaction import Type
from tests.conftest import make_merchant
from tests.journeys import database_facts
from tests.operators.booking_steps import ASHA, JUMA, give_password, hire
from tests.payments.payment_steps import PaymentSteps
from tests.payments.payment_steps import steps as steps

READS, CREATES, APPROVES = Permission.PAYMENTS_READ, Permission.PAYMENTS_CREATE, Permission.PAYOUTS_APPROVE
COLLECTS, DISBURSES = Permission.PAYMENTS_COLLECT, Permission.PAYMENTS_DISBURSE
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
    ("terms", "available", "in_flight", "expected"),
    [
        (key(READS), 5_000_000, 0, 0),
        (key(CREATES), 5_000_000, 0, 5_000_000),
        (key(COLLECTS), 5_000_000, 0, 0),
        (key(DISBURSES), 5_000_000, 0, 5_000_000),
        (key(APPROVES), 5_000_000, 0, 5_000_000),
        (key(CREATES), 0, 0, 0),
        (key(CREATES), 0, 3_000_000, 3_000_000),  # Payouts that are cancelled or fail come back.
        (key(CREATES, daily_payout_limit=200_000), 5_000_000, 0, 200_000),
        (key(CREATES, daily_payout_limit=200_000), 50_000, 0, 50_000),
        (key(CREATES, daily_payout_limit=200_000), 50_000, 100_000, 150_000),
        (key(CREATES, payout_limit=1000), 5_000_000, 0, 5_000_000),  # Many payouts of a thousand.
    ],
)
def test_a_key_counts_as_what_it_can_pay_out_in_a_day(
    terms: KeyTerms, available: int, in_flight: int, expected: int
) -> None:
    assert amount_of(terms, Wallet("mer_1", available, in_flight, 1)) == expected


async def test_one_operator_makes_no_key_that_pays_out(database: Database) -> None:
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


@pytest.mark.parametrize("wallet", [0, 1000, 5_000_000])
@pytest.mark.parametrize(
    "terms",
    [key(), key(APPROVES), key(DISBURSES), key(CREATES, daily_payout_limit=500)],
    ids=["unnamed", "approves", "disburses", "limited"],
)
async def test_a_key_that_pays_out_takes_two_operators_whatever_the_wallet_holds(
    database: Database, wallet: int, terms: KeyTerms
) -> None:
    """It pays out what comes later, and its daily limit once more on each day."""
    await hire(database, "asha", "juma")
    merchant = await make_merchant(database, wallet=wallet)
    waiting = await ask(database, merchant.id, terms)
    assert isinstance(waiting, Proposal)
    async with database.begin() as tx:
        assert isinstance(await key_approval.approve(tx, merchant.id, actor=JUMA, now=clock.now()), NewKey)
        assert await tx.fetchval("SELECT count(*) FROM moved_alone") == 0


async def test_a_key_that_pays_nothing_out_is_made_at_once(database: Database) -> None:
    await hire(database, "asha", "juma")
    merchant = await make_merchant(database, wallet=5_000_000)
    assert isinstance(await ask(database, merchant.id, key(READS, COLLECTS)), NewKey)


async def test_payouts_in_flight_are_shown_with_what_the_key_can_pay_out(
    steps: PaymentSteps, database: Database
) -> None:
    """One operator held the sending, made a key while the wallet was empty, and cancelled the payouts that waited."""
    await hire(database, "asha", "juma")
    available, *_ = await database_facts.wallet(database, steps.merchant_id)
    await steps.open(Type.DISBURSEMENT, available)
    waiting = await ask(database, steps.merchant_id, key())
    assert isinstance(waiting, Proposal)
    assert waiting.amount == available


async def test_the_only_operator_makes_it_alone_and_it_counts(database: Database) -> None:
    await hire(database, "asha")
    merchant = await make_merchant(database, wallet=600_000)
    assert isinstance(await ask(database, merchant.id, key(), is_single_operator=True), NewKey)
    async with database.read() as connection:
        assert await connection.fetchval("SELECT sum(amount) FROM moved_alone") == 600_000
        [noted] = await audit_log.find(connection, merchant_id=merchant.id, limit=1)
    assert noted.details["alone"] is True


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
