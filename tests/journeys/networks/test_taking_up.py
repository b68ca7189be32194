"""What decides when a payment is taken up: how long it waited, a merchant who is closed, a channel that nobody carries, a
bell that rings or does not.
"""

from dataclasses import replace
from datetime import timedelta

from malipo import clock
from malipo.app.assemble import assemble
from malipo.merchants import onboard
from malipo.networks.connector import Channel
from malipo.payments.transaction import Type
from tests.api.conftest import place
from tests.conftest import NOBODY, make_merchant
from tests.journeys import database_facts
from tests.journeys.full_stack import Elsewhere, FullStack, a_worker, until
from tests.journeys.networks.payments_by_proxy import full_stack as full_stack
from tests.journeys.networks.payments_by_proxy import (
    moved_for,
    new_phone,
    requests_for,
    rows_of,
    take_payments,
    until_rows,
)


async def test_a_collection_that_waited_too_long_for_a_worker_is_not_sent_either(full_stack: FullStack) -> None:
    """Nobody was there; the network was. But the customer has gone."""
    service = assemble(full_stack.settings, full_stack.database)
    late, payout = [
        [
            (
                await place(
                    service,
                    full_stack.merchant,
                    at=clock.now() - timedelta(hours=1),
                    type_=type_,
                    channel=Channel.AIRTEL_MONEY,
                    phone=new_phone("AIRTEL_MONEY"),
                )
            ).id
        ]
        for type_ in (Type.COLLECTION, Type.DISBURSEMENT)
    ]
    async with full_stack.database.begin() as tx:
        await tx.execute(
            """
            UPDATE dispatches SET due_at = due_at - interval '1 hour', queued_at = queued_at - interval '1 hour'
            WHERE transaction_id = ANY($1)
            """,
            [*late, *payout],
        )

    async with a_worker(full_stack):
        await until_rows(full_stack, late, status="FAILED", failure_code="channel_unavailable")
        await until_rows(full_stack, payout, status="COMPLETED")

    assert await requests_for(full_stack, late) == [0]


async def test_a_channel_that_nobody_carries_lets_collections_lapse_and_payouts_wait_for_longer(
    full_stack: FullStack,
) -> None:
    alone = Elsewhere(
        full_stack.database_url, replace(full_stack.settings, airtel_money_base_url=None, lapse_seconds=1)
    )
    collections = await take_payments(full_stack, "AIRTEL_MONEY", "COLLECTION", 2)
    [payout] = await take_payments(full_stack, "AIRTEL_MONEY", "DISBURSEMENT")

    async with a_worker(alone):
        await until_rows(full_stack, collections, status="FAILED", failure_code="channel_unavailable")

    assert (await rows_of(full_stack, [payout]))[payout]["status"] == "PENDING"
    assert (await full_stack.api("POST", f"/v1/payments/{payout}/cancel")).status == 200
    assert await moved_for(full_stack, [*collections, payout]) == [0, 0, 0]


async def test_a_payout_on_a_channel_that_nobody_carries_fails_and_its_money_is_back(full_stack: FullStack) -> None:
    before = await database_facts.wallet(full_stack.database, full_stack.merchant.id)
    alone = Elsewhere(
        full_stack.database_url, replace(full_stack.settings, airtel_money_base_url=None, payout_lapse_seconds=1)
    )
    payouts = await take_payments(full_stack, "AIRTEL_MONEY", "DISBURSEMENT", 2)

    async with a_worker(alone):
        await until_rows(full_stack, payouts, status="FAILED", failure_code="channel_unavailable")

    assert await moved_for(full_stack, payouts) == [0, 0]
    assert await database_facts.wallet(full_stack.database, full_stack.merchant.id) == before


async def _set_active(full_stack: FullStack, merchant_id: str, is_active: bool) -> None:
    async with full_stack.database.begin() as tx:
        await onboard.set_active(tx, merchant_id, is_active=is_active, actor=NOBODY, now=clock.now())


async def test_payouts_of_a_closed_merchant_wait_and_go_out_when_it_is_open_again(full_stack: FullStack) -> None:
    """Nobody rings the bell for that: they are found by looking."""
    closed = await make_merchant(full_stack.database, wallet=10_000, name="Closed")
    theirs = FullStack(**{**full_stack.__dict__, "api": full_stack.api.as_(closed.key), "merchant": closed})
    payouts = [
        *await take_payments(theirs, "MPESA", "DISBURSEMENT"),
        *await take_payments(theirs, "AIRTEL_MONEY", "DISBURSEMENT"),
    ]
    await _set_active(full_stack, closed.id, False)

    async with a_worker(full_stack):
        for _ in range(2):
            # Somebody else's, twice: the worker has looked, and looked again.
            others = [
                *await take_payments(full_stack, "MPESA", "DISBURSEMENT"),
                *await take_payments(full_stack, "AIRTEL_MONEY", "DISBURSEMENT"),
            ]
            await until_rows(full_stack, others, status="COMPLETED")
        assert {row["status"] for row in (await rows_of(full_stack, payouts)).values()} == {"PENDING"}
        await _set_active(full_stack, closed.id, True)
        await until_rows(full_stack, payouts, status="COMPLETED")

    assert await moved_for(full_stack, payouts) == [1, 1]
    assert await database_facts.wallet(full_stack.database, closed.id) == (8_000, 0)


async def test_a_worker_that_starts_late_finds_what_nobody_rings_for_any_more(full_stack: FullStack) -> None:
    ids = [
        *await take_payments(full_stack, "MPESA", "DISBURSEMENT", 3),
        *await take_payments(full_stack, "MPESA", "COLLECTION", 3),
        *await take_payments(full_stack, "AIRTEL_MONEY", "DISBURSEMENT", 3),
    ]

    async with a_worker(full_stack):
        await until_rows(full_stack, ids, status="COMPLETED")

    assert await moved_for(full_stack, ids) == [1] * 9


async def test_a_worker_whose_bell_rope_is_cut_still_finds_everything(full_stack: FullStack) -> None:
    async with a_worker(full_stack):
        for _ in range(3):
            await until(lambda: _cut_the_rope(full_stack), what="a rope to cut")
            ids = [
                *await take_payments(full_stack, "MPESA", "DISBURSEMENT"),
                *await take_payments(full_stack, "AIRTEL_MONEY", "COLLECTION"),
            ]
            await until_rows(full_stack, ids, status="COMPLETED")


async def _cut_the_rope(full_stack: FullStack) -> bool:
    async with full_stack.database.read() as connection:
        return bool(
            await connection.fetchval(
                """
                SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE application_name = 'malipo listener' AND datname = current_database()
                """
            )
        )


async def test_an_idle_worker_is_woken_by_the_bell(full_stack: FullStack) -> None:
    """By itself it looks once a second."""
    async with a_worker(full_stack):
        await until_rows(
            full_stack, await take_payments(full_stack, "AIRTEL_MONEY", "DISBURSEMENT"), status="COMPLETED"
        )
        ids = []
        for _ in range(9):
            ids += await take_payments(full_stack, "AIRTEL_MONEY", "DISBURSEMENT")
            await until_rows(full_stack, ids[-1:], status="COMPLETED")

    async with full_stack.database.read() as connection:
        rows = await connection.fetch(
            "SELECT processing_at - created_at AS waited FROM transactions WHERE id = ANY($1)", ids
        )
    waited = sorted(row["waited"].total_seconds() for row in rows)
    assert waited[len(waited) // 2] < 0.5, waited
