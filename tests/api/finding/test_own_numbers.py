"""A payment is found by the merchant's own numbers: the order reference, and the Idempotency-Key."""

from urllib.parse import quote

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.payments.transaction import Status
from tests.api.conftest import bring, created, shown
from tests.api.listing import found, page, wrong
from tests.conftest import COLLECTION, PAYOUT, Client, Merchant


async def test_an_order_reference_is_everywhere_if_it_was_sent_and_nowhere_if_not(
    api: Client, service: Service, merchant: Merchant
) -> None:
    with_it = await created(api, COLLECTION | {"orderReference": "A-1042"})
    without = await created(api, COLLECTION)
    await bring(service, merchant, with_it["id"], Status.COMPLETED)

    assert with_it["orderReference"] == (await shown(api, with_it["id"]))["orderReference"] == "A-1042"
    assert "orderReference" not in without
    assert "orderReference" not in await shown(api, without["id"])
    assert all("orderReference" not in line for line in (await page(api))["transactions"]), "as the list always was"


async def test_all_payments_of_an_order_are_found_exactly(api: Client, stranger: Merchant) -> None:
    first = await created(api, COLLECTION | {"orderReference": "A-1042"})
    await created(api, COLLECTION | {"orderReference": "A-10423"})
    await created(api, COLLECTION | {"orderReference": "a-1042"})
    second = await created(api, PAYOUT | {"orderReference": "A-1042"})
    await created(api.as_(stranger.key), COLLECTION | {"orderReference": "A-1042"})

    assert await found(api, "orderReference=A-1042") == [second["id"], first["id"]]
    assert await found(api, "orderReference=A-1042&type=DISBURSEMENT") == [second["id"]]
    assert await found(api, "orderReference=A-1042&status=COMPLETED,FAILED") == []
    assert await found(api, "orderReference=A-1042&search=juma") == [second["id"]]
    assert await found(api, "orderReference=A-104") == []
    paged = await page(api, "orderReference=A-1042&limit=1&page=2")
    assert [each["id"] for each in paged["transactions"]] == [first["id"]]
    assert paged["pagination"] == {"total": 2, "page": 2, "limit": 1, "pages": 2}


@pytest.mark.parametrize("reference", ["A/1042 #7", "Oda ya Ñandú", "+255", "'; --", "%", "x" * 64, "2026-11-15"])
async def test_an_order_reference_may_be_any_printable_text(api: Client, reference: str) -> None:
    made = await created(api, COLLECTION | {"orderReference": reference})

    assert await found(api, f"orderReference={quote(reference, safe='')}") == [made["id"]]
    assert made["id"] in await found(api, f"search={quote(reference.upper(), safe='')}")


@pytest.mark.parametrize("reference", ["", "x" * 65, "a\nb", "\x00", 1042, ["A"], {}, True])
@pytest.mark.parametrize(("route", "body"), [("/v1/payments", COLLECTION), ("/v1/payments/disburse", PAYOUT)])
async def test_what_is_no_order_reference_is_refused(
    api: Client, route: str, body: dict[str, object], reference: object
) -> None:
    answer = await api("POST", route, body | {"orderReference": reference})

    assert (answer.status, answer.code) == (400, "order_reference_invalid")
    assert list(answer.body["details"]) == ["orderReference"]
    assert await found(api) == []


async def test_another_order_reference_is_another_request(api: Client) -> None:
    key = {"Idempotency-Key": "order-7"}
    first = await api("POST", "/v1/payments", COLLECTION | {"orderReference": "A-7"}, headers=key)
    again = await api("POST", "/v1/payments", COLLECTION | {"orderReference": "A-7"}, headers=key)
    other = await api("POST", "/v1/payments", COLLECTION | {"orderReference": "A-8"}, headers=key)

    assert again.body == first.body
    assert (other.status, other.code) == (409, "idempotency_key_reused")


async def test_what_a_key_has_made_is_found_on_every_route_and_of_nobody_else(
    api: Client, database: Database, stranger: Merchant
) -> None:
    key = {"Idempotency-Key": "order-7"}
    collection = (await api("POST", "/v1/payments", COLLECTION, headers=key)).body["transaction"]["id"]
    payout = (await api("POST", "/v1/payments/disburse", PAYOUT, headers=key)).body["transaction"]["id"]
    await api.as_(stranger.key)("POST", "/v1/payments", COLLECTION, headers=key)
    await created(api, COLLECTION)

    assert await found(api, "idempotencyKey=order-7") == [payout, collection]
    assert await found(api, "idempotencyKey=order-7&type=COLLECTION") == [collection]
    assert await found(api, "idempotencyKey=order-8") == []
    assert await found(api, "idempotencyKey=order-7&orderReference=none") == []


async def test_a_route_that_comes_later_is_looked_through_too(
    api: Client, database: Database, merchant: Merchant
) -> None:
    """The routes are found in the table itself: nobody has to remember a list of them."""
    made = await created(api, COLLECTION)
    async with database.begin() as tx:
        await tx.execute(
            "INSERT INTO idempotency_keys VALUES ($1, 'SOMETHING_NEW', 'k', '', $2), ($1, 'ANOTHER', 'x', '', $2)",
            merchant.id,
            made["id"],
        )

    assert await found(api, "idempotencyKey=k") == [made["id"]]


async def test_bad_filters_are_all_named_at_once(api: Client) -> None:
    details = await wrong(api, f"orderReference={'x' * 65}&idempotencyKey=%20&view=all&before=txn_1&status=DONE,FAILED")

    assert set(details) == {"orderReference", "idempotencyKey", "view", "before", "status"}


async def test_the_receipt_of_the_network_finds_its_payment_exactly(
    api: Client, service: Service, merchant: Merchant, stranger: Merchant
) -> None:
    made = await created(api, COLLECTION)
    await created(api, COLLECTION)
    await bring(service, merchant, made["id"], Status.COMPLETED)
    receipt = quote((await shown(api, made["id"]))["providerReference"], safe="")

    assert await found(api, f"providerReference={receipt}") == [made["id"]]
    assert await found(api, f"providerReference={receipt}&status=FAILED") == []
    assert await found(api.as_(stranger.key), f"providerReference={receipt}") == []
    answer = await api("GET", f"/v1/payments?providerReference={'x' * 65}")
    assert (answer.status, answer.code) == (400, "provider_reference_invalid")
