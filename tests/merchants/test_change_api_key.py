"""An API key is changed: by whom, to what, and what it has paid out before counts."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.app.assemble import Service
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.errors import Refusal
from malipo.merchants import issue_api_keys
from malipo.merchants.api_keys import Environment, KeyTerms, NewKey, PayoutLimits, Permission, StoredKey, narrowed
from malipo.merchants.change_api_key import KeyChanges, change_key, code_of
from malipo.merchants.store import api_keys
from malipo.payments.cancel import Cancellation
from malipo.payments.initiate import PaymentRequest
from malipo.payments.transaction import Type
from tests.conftest import Merchant
from tests.journeys.concurrency import order

OWNER = Actor("asha@duka.example", "10.0.0.1")
READ, CREATE = Permission.PAYMENTS_READ, Permission.PAYMENTS_CREATE
COLLECT, DISBURSE = Permission.PAYMENTS_COLLECT, Permission.PAYMENTS_DISBURSE


async def made(database: Database, merchant: Merchant, *permissions: Permission, **limits: Any) -> NewKey:
    async with database.begin() as tx:
        return await issue_api_keys.create_key(
            tx,
            merchant.id,
            KeyTerms(
                name="Till",
                permissions=permissions or (READ, CREATE),
                environment=Environment.LIVE,
                brand="mlp",
                **limits,
            ),
            actor=OWNER,
            now=clock.now(),
        )


async def change(database: Database, key: NewKey, changes: KeyChanges, *, seen: str | None = None) -> str:
    try:
        async with database.begin() as tx:
            await change_key(tx, key.merchant_id, key.id, changes, actor=OWNER, now=clock.now(), seen=seen)
    except Refusal as refusal:
        return refusal.code
    return "changed"


async def now_of(database: Database, key: NewKey) -> StoredKey:
    async with database.read() as connection:
        return next(each for each in await api_keys.find_all(connection, key.merchant_id) if each.id == key.id)


# What a key with one permission can be left with: itself, and of `payments.create` a part.
LEFT = """
    payments.read       payments.read
    payments.create     payments.create payments.collect payments.disburse
    payments.collect    payments.collect
    payments.disburse   payments.disburse
    recipients.lookup   recipients.lookup
    wallet.read         wallet.read
    events.read         events.read
    webhooks.manage     webhooks.manage
    payouts.approve     payouts.approve
    links.manage        links.manage
    settlements.create  settlements.create
"""


def test_a_key_never_gets_more_than_it_had() -> None:
    rows = {row[0]: set(row[1:]) for row in (line.split() for line in LEFT.strip().splitlines())}
    assert rows == {each: set(narrowed([each])) for each in Permission}
    assert narrowed([COLLECT, DISBURSE]) == {COLLECT, DISBURSE}
    assert narrowed([]) == set()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((READ, CREATE), (READ,), "changed"),
        ((READ, CREATE), (CREATE, READ), "changed"),
        ((READ, CREATE), (READ, COLLECT), "changed"),
        ((READ, CREATE), (COLLECT, DISBURSE), "changed"),
        ((READ, CREATE), (READ, CREATE, Permission.WALLET_READ), "permissions_grow"),
        ((COLLECT,), (DISBURSE,), "permissions_grow"),
        ((COLLECT, DISBURSE), (CREATE,), "permissions_grow"),
        ((READ,), (COLLECT,), "permissions_grow"),
    ],
)
async def test_permissions_only_become_fewer(
    database: Database,
    merchant: Merchant,
    before: tuple[Permission, ...],
    after: tuple[Permission, ...],
    expected: str,
) -> None:
    key = await made(database, merchant, *before)
    assert await change(database, key, KeyChanges(permissions=after)) == expected
    kept = after if expected == "changed" else before
    assert set((await now_of(database, key)).permissions) == set(kept)


async def test_the_audit_log_has_what_was_changed_and_what_it_was(database: Database, merchant: Merchant) -> None:
    key = await made(database, merchant, payout_limit=5000)
    changes = KeyChanges(name="Till 2", permissions=(READ, DISBURSE), payout_limit=None, daily_payout_limit=9000)
    assert await change(database, key, changes) == "changed"
    assert await change(database, key, changes) == "changed"
    assert await change(database, key, KeyChanges(permissions=(DISBURSE, READ))) == "changed"
    async with database.read() as connection:
        noted = await audit_log.find(connection, merchant_id=merchant.id, limit=5)
    changed = [each for each in noted if each.action == "api_key.changed"]
    assert [(each.actor, each.details) for each in changed] == [
        (
            OWNER.name,
            {
                "key": key.id,
                "name": "Till 2",
                "name_before": "Till",
                "permissions": ["payments.read", "payments.disburse"],
                "permissions_before": ["payments.read", "payments.create"],
                "payout_limit": None,
                "payout_limit_before": 5000,
                "daily_payout_limit": 9000,
                "daily_payout_limit_before": None,
            },
        )
    ], "what changes nothing is not in it"


async def test_a_limit_of_a_day_is_not_below_that_of_one_payout(database: Database, merchant: Merchant) -> None:
    """Also where one of them is changed alone."""
    key = await made(database, merchant, payout_limit=5000, daily_payout_limit=9000)
    assert await change(database, key, KeyChanges(daily_payout_limit=4999)) == "amount_too_small"
    assert await change(database, key, KeyChanges(payout_limit=9001)) == "amount_too_small"
    assert await change(database, key, KeyChanges(payout_limit=None, daily_payout_limit=4999)) == "changed"
    after = await now_of(database, key)
    assert (after.payout_limit, after.daily_payout_limit) == (None, 4999)


async def test_of_two_who_narrow_a_key_at_once_none_gives_back_what_the_other_took(
    database: Database, merchant: Merchant
) -> None:
    for _ in range(5):
        key = await made(database, merchant)
        wanted = [KeyChanges(permissions=(COLLECT,)), KeyChanges(permissions=(DISBURSE,))]
        answers = await asyncio.gather(*(change(database, key, each) for each in wanted))
        assert sorted(answers) == ["changed", "permissions_grow"]
        assert (await now_of(database, key)).permissions == wanted[answers.index("changed")]["permissions"]


async def test_nobody_writes_over_what_they_have_not_seen(database: Database, merchant: Merchant) -> None:
    key = await made(database, merchant, payout_limit=5000)
    seen = code_of(await now_of(database, key))
    wanted = [KeyChanges(name="Till 1", payout_limit=5000), KeyChanges(name="Till", payout_limit=6000)]
    answers = await asyncio.gather(*(change(database, key, each, seen=seen) for each in wanted))
    assert sorted(answers) == ["api_key_changed", "changed"]
    after, done = await now_of(database, key), wanted[answers.index("changed")]
    assert (after.name, after.payout_limit) == (done["name"], done["payout_limit"])


async def test_a_revoked_key_and_one_of_another_merchant_cannot_be_changed(
    database: Database, merchant: Merchant
) -> None:
    key = await made(database, merchant)
    async with database.begin() as tx:
        await issue_api_keys.revoke_key(tx, merchant.id, key.id, actor=OWNER, now=clock.now())
    assert await change(database, key, KeyChanges(name="Till 2")) == "api_key_not_found"


# A daily limit that comes later


def payout(merchant: Merchant, key: NewKey, amount: int, *, daily: int | None = None) -> PaymentRequest:
    asked = order(merchant.id, Type.DISBURSEMENT, amount)
    assert asked.draft is not None
    limits = None if daily is None else PayoutLimits(key.id, None, daily)
    return replace(asked, draft=replace(asked.draft, created_by=key.id), payout_limits=limits)


async def pay(service: Service, asked: PaymentRequest) -> Any:
    try:
        return (await service.payments.initiate(asked)).transaction.id
    except Refusal as refusal:
        return refusal.code


async def test_a_new_daily_limit_counts_what_the_key_has_paid_out_today(
    database: Database, service: Service, merchant: Merchant
) -> None:
    key, other = await made(database, merchant), await made(database, merchant)
    await pay(service, payout(merchant, other, 7000))
    await pay(service, payout(merchant, key, 3000))
    cancelled = await pay(service, payout(merchant, key, 2000))
    await service.payments.cancel(Cancellation(merchant.id, cancelled))

    assert await change(database, key, KeyChanges(daily_payout_limit=6000)) == "changed"

    assert await pay(service, payout(merchant, key, 1001, daily=6000)) == "key_daily_limit"
    assert (await pay(service, payout(merchant, key, 1000, daily=6000))).startswith("txn_")


async def test_a_daily_limit_that_was_away_counts_what_was_paid_meanwhile(
    database: Database, service: Service, merchant: Merchant
) -> None:
    key = await made(database, merchant, daily_payout_limit=5000)
    await pay(service, payout(merchant, key, 1000, daily=5000))
    await change(database, key, KeyChanges(daily_payout_limit=None))
    await pay(service, payout(merchant, key, 3000))

    await change(database, key, KeyChanges(daily_payout_limit=5000))

    assert await pay(service, payout(merchant, key, 1001, daily=5000)) == "key_daily_limit"
    await change(database, key, KeyChanges(daily_payout_limit=5001))
    assert (await pay(service, payout(merchant, key, 1001, daily=5001))).startswith("txn_")


async def test_what_was_paid_yesterday_does_not_count(database: Database, service: Service, merchant: Merchant) -> None:
    key = await made(database, merchant)
    await pay(service, payout(merchant, key, 3000))
    async with database.begin() as tx:
        tomorrow = clock.now() + timedelta(days=1)
        await change_key(tx, merchant.id, key.id, KeyChanges(daily_payout_limit=5000), actor=OWNER, now=tomorrow)
        counted = await tx.fetchval("SELECT amount FROM api_key_daily_payouts WHERE key_id = $1", key.id)
    assert counted == 0
