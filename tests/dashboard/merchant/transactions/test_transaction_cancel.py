"""/dashboard/transactions/{id}: taking a payment back, and who may."""

import pytest

from malipo.audit_log import store as audit_log
from malipo.db import Database
from malipo.merchants.roles import Role
from malipo.payments.transaction import Status, Type
from tests.conftest import Running
from tests.dashboard.merchant.transactions.transaction_pages import PATH, TransactionPages, logged_in, numbers
from tests.dashboard.merchant.transactions.transaction_pages import shop as shop
from tests.dashboard.merchant.transactions.transaction_pages import surfer as surfer
from tests.dashboard.page_client import Surfer, surfing


async def test_a_pending_payout_is_taken_back_after_a_question(shop: TransactionPages) -> None:
    made = await shop.make(Type.DISBURSEMENT, name="Juma")
    path = f"{PATH}/{made.id}/cancel"
    assert path in (await shop.surfer.get(f"{PATH}/{made.id}")).text

    asked = await shop.surfer.get(path)
    assert "Cancel this payout?" in asked.words
    assert "TZS 1,000" in asked.words
    assert (await shop.now(made)).status is Status.PENDING
    assert await shop.available() == 999_000

    done = await shop.surfer.post(path)
    assert (done.status, done.to) == (303, f"{PATH}/{made.id}")
    words = (await shop.surfer.get(done.to)).words
    assert "It is cancelled." in words
    assert "TZS 1,000 given back to the wallet." in words
    assert (await shop.now(made)).status is Status.CANCELLED
    assert await shop.available() == 1_000_000


async def test_who_took_it_back_is_written_down(shop: TransactionPages) -> None:
    made = await shop.make()
    await shop.surfer.post(f"{PATH}/{made.id}/cancel")
    async with shop.service.queries.database.read() as connection:
        deed = (await audit_log.find(connection, merchant_id=shop.merchant.id, limit=1))[0]
    assert (deed.action, deed.details["transaction"]) == ("payment.cancelled", made.id)
    assert deed.actor.startswith("owner+")


async def test_taking_it_back_twice_is_no_mistake(shop: TransactionPages) -> None:
    made = await shop.make(Type.DISBURSEMENT)
    for _ in range(2):
        assert (await shop.surfer.post(f"{PATH}/{made.reference}/cancel")).to == f"{PATH}/{made.id}"
    assert await shop.available() == 1_000_000


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (Status.PROCESSING, "It was too late to cancel: it was already on its way to M-Pesa."),
        (Status.COMPLETED, "It was too late to cancel: it had already ended."),
        (Status.FAILED, "It was too late to cancel: it had already ended."),
    ],
)
async def test_what_has_left_is_not_taken_back_and_the_page_says_so(
    shop: TransactionPages, status: Status, sentence: str
) -> None:
    made = await shop.make(Type.DISBURSEMENT, status)
    held = await shop.available()
    path = f"{PATH}/{made.id}"
    assert f"{path}/cancel" not in (await shop.surfer.get(path)).text
    assert (await shop.surfer.get(f"{path}/cancel")).to == path

    seen = await shop.surfer.post(f"{path}/cancel")

    assert (seen.status, sentence in seen.words) == (409, True)
    assert ((await shop.now(made)).status, await shop.available()) == (status, held)


async def test_a_form_from_elsewhere_takes_nothing_back(shop: TransactionPages) -> None:
    made = await shop.make()
    path = f"{PATH}/{made.id}/cancel"
    assert (await shop.surfer.post(path, token="0" * 64)).status == 403
    assert (await shop.surfer.post(path, headers={"Origin": "https://evil.example"})).status == 403
    assert (await shop.now(made)).status is Status.PENDING


async def test_a_viewer_looks_and_takes_nothing_back(
    shop: TransactionPages, running: Running, database: Database, surfer: Surfer
) -> None:
    made = await shop.make()
    async with surfing(running.url, seen_from=f"10.40.0.{next(numbers)}") as other:
        viewer = await logged_in(other, database, shop.merchant.id, Role.VIEWER)
        seen = await viewer.get(f"{PATH}/{made.id}")
        assert (seen.status, "/cancel" in seen.text) == (200, False)
        assert (await viewer.get(PATH)).status == (await viewer.get(f"{PATH}.csv")).status == 200
        assert (await viewer.get(f"{PATH}/{made.id}/cancel")).status == 403
        assert (await viewer.post(f"{PATH}/{made.id}/cancel")).status == 403
    assert (await shop.now(made)).status is Status.PENDING


@pytest.mark.parametrize("path", [PATH, f"{PATH}.csv", f"{PATH}/txn_1", f"{PATH}/txn_1/cancel"])
async def test_whoever_is_not_logged_in_sees_none_of_it(surfer: Surfer, path: str) -> None:
    seen = await surfer.get(path)
    assert (seen.status, seen.to) == (303, f"/dashboard/login?next={path}")
