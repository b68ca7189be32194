"""/dashboard/transactions/{id}: everything about one transaction."""

import pytest

from malipo import clock
from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store import network_answers
from malipo.payments.store.network_answers import StoredAnswer
from malipo.payments.transaction import Status
from tests.dashboard.merchant.transactions.transaction_pages import PATH, TransactionPages
from tests.dashboard.merchant.transactions.transaction_pages import shop as shop
from tests.dashboard.merchant.transactions.transaction_pages import surfer as surfer


async def test_a_page_shows_everything_about_a_completed_collection(shop: TransactionPages) -> None:
    made = await shop.make(
        status=Status.COMPLETED, name="Neema", description="Two bags", metadata={"orderId": "A-17", "vip": True, "n": 3}
    )
    for name in (made.id, made.reference):
        words = (await shop.surfer.get(f"{PATH}/{name}")).words
        for each in (
            "Collection from Neema",
            "TZS 1,000",
            "Completed",
            "+255 754 000 001",
            "M-Pesa",
            "Two bags",
            "NET-42",
            made.id,
            made.reference,
            made.network_key,
            "orderId A-17",
            "vip true",
            "n 3",
            "Taken in. It waits to be sent to M-Pesa.",
            "Completed. The customer has paid.",
            "TZS 1,000 added to the wallet. ",
            "The wallet then held TZS 1,001,000.",
        ):
            assert each in words
        assert "No money has changed hands" not in words


async def test_a_failure_is_shown_in_words_without_a_day_of_arrival(shop: TransactionPages) -> None:
    made = await shop.make(status=Status.FAILED)
    words = (await shop.surfer.get(f"{PATH}/{made.id}")).words
    assert "The customer declined the payment." in words
    assert "declined" in words
    assert "No money has changed hands." in words
    assert "Arrives in your wallet" not in words


async def test_the_timeline_has_what_the_network_said_and_every_try_at_every_endpoint(shop: TransactionPages) -> None:
    made = await shop.make(status=Status.PROCESSING)
    answer = StoredAnswer(
        id="hrg_1",
        merchant_id=shop.merchant.id,
        transaction_id=made.id,
        received_at=clock.now(),
        connector="clickpesa",
        source=AnswerSource.QUERY,
        verdict=Verdict.WAITING,
        code="TIP",
        detail="In process",
    )
    async with shop.service.queries.database.begin() as tx:
        await network_answers.insert(tx, [answer])
        for n, (host, status, deleted_at) in enumerate([("one", 200, None), ("two", 503, clock.now())]):
            endpoint_id = f"wh_{made.id[4:]}{n}"
            event_id = await tx.fetchval("SELECT id FROM events WHERE transaction_id = $1", made.id)
            await tx.execute(
                """
                INSERT INTO webhook_endpoints (id, merchant_id, url, events, secret, created_at, deleted_at)
                VALUES ($1, $2, $3, '{payment.pending}', '', now(), $4)
                """,
                *(endpoint_id, shop.merchant.id, f"https://{host}.example/hook", deleted_at),
            )
            await tx.execute(
                """
                INSERT INTO webhook_deliveries (endpoint_id, event_id, merchant_id, event, state, due_at)
                VALUES ($1, $2, $3, 'payment.pending', 'DELIVERED', now())
                """,
                *(endpoint_id, event_id, shop.merchant.id),
            )
            await tx.execute(
                "INSERT INTO webhook_attempts VALUES ($1, $2, $3, now(), 12, $4, '[]', '', NULL)",
                *(endpoint_id, event_id, f"dlv_{n}", status),
            )

    words = (await shop.surfer.get(f"{PATH}/{made.id}")).words

    assert "We asked M-Pesa: it has not decided yet." in words
    assert "clickpesa · TIP · In process" in words
    assert "Your server one.example was told: payment.pending." in words
    assert "HTTP 200 · 12 ms" in words
    assert "Your server two.example could not be told: payment.pending." in words


@pytest.mark.parametrize("name", ["txn_x", "MLP-0", "x" * 65, "%00", "%F0%9F%92%B0"])
async def test_what_names_no_transaction_is_not_there(shop: TransactionPages, name: str) -> None:
    assert (await shop.surfer.get(f"{PATH}/{name}")).status == 404


async def test_a_payment_names_the_key_or_the_person_who_made_it(shop: TransactionPages) -> None:
    body = {"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000001"}
    headers = {"x-api-key": shop.merchant.key}
    async with shop.surfer.http.post(f"{shop.surfer.url}/v1/payments", json=body, headers=headers) as answer:
        by_key = (await answer.json())["transaction"]["id"]
    by_person = (await shop.make()).id
    async with shop.service.queries.database.begin() as tx:
        email = "UPDATE transactions SET created_by = 'asha@example.com' WHERE merchant_id = $1 AND id = $2"
        await tx.execute(email, shop.merchant.id, by_person)
    seen = await shop.surfer.get(f"{PATH}/{by_key}")
    assert f"The API key “test” that ends in {shop.merchant.key[-4:]}" in seen.words
    assert "Created by asha@example.com" in (await shop.surfer.get(f"{PATH}/{by_person}")).words
