"""Pages that stay where they are, several statuses, every field, and the language of a reason."""

from datetime import UTC, datetime

import pytest

from malipo import ids
from malipo.app.assemble import Service
from malipo.networks.connector import FailureCode
from malipo.payments import failure_reasons
from malipo.payments.transaction import Status, Type
from tests.api.conftest import bring, created, place, shown
from tests.api.listing import found, page, wrong
from tests.conftest import COLLECTION, Client, Merchant
from tests.payments.payment_steps import PaymentSteps

AT = datetime(2026, 3, 14, 8, tzinfo=UTC)


async def through(api: Client, query: str, *, between: object = None) -> list[str]:
    """Every page, each before the last payment of the one before; `between` happens after each page."""
    seen: list[str] = []
    before = ""
    while True:
        body = await page(api, f"limit=3{query}{before}")
        assert body["pagination"]["page"] == 1
        seen += [each["id"] for each in body["transactions"]]
        if len(body["transactions"]) < 3:
            return seen
        before = f"&before={seen[-1]}"
        if callable(between):
            await between()


async def test_pages_show_each_payment_once_while_others_arrive(api: Client) -> None:
    there = [(await created(api, COLLECTION))["id"] for _ in range(10)]

    async def sell() -> None:
        await created(api, COLLECTION)

    assert await through(api, "", between=sell) == there[::-1]
    body = await page(api, f"before={there[5]}&limit=2")
    assert [each["id"] for each in body["transactions"]] == [there[4], there[3]]
    assert body["pagination"] == {"total": 13, "page": 1, "limit": 2, "pages": 7}, "the total is still of all"


async def test_payments_of_one_millisecond_are_not_lost_between_pages(
    api: Client, service: Service, merchant: Merchant
) -> None:
    """As those of a batch are. Their order within the millisecond is that of their ids."""
    there = sorted([(await place(service, merchant, at=AT)).id for _ in range(11)], reverse=True)

    assert await through(api, "") == there
    assert await through(api, "&status=PENDING&from=2026-03-14&to=2026-03-14") == there
    assert await through(api, "&search=%2B255754") == there


async def test_an_id_that_is_nobodys_is_a_place_among_the_others(
    api: Client, service: Service, merchant: Merchant
) -> None:
    made = (await place(service, merchant, at=AT)).id

    assert await found(api, f"before={ids.last_of('txn_', 2**50 - 1)}") == [made]
    body = await page(api, f"before={ids.first_of('txn_', 0)}")
    assert (body["transactions"], body["pagination"]["total"]) == ([], 1)


@pytest.mark.parametrize("before", ["", "x", "MLP-1M7F57PXV0YSR5S4", "txn_1", "txn_" + "i" * 26, "evt_" + "0" * 26])
async def test_what_is_no_id_is_refused(api: Client, before: str) -> None:
    assert list(await wrong(api, f"before={before}")) == ["before"]


async def test_pages_are_turned_in_one_way_at_a_time(api: Client) -> None:
    made = await created(api, COLLECTION)

    assert list(await wrong(api, f"before={made['id']}&page=2")) == ["before"]


async def test_several_statuses_find_what_has_any_of_them(api: Client, service: Service, merchant: Merchant) -> None:
    made = {status: (await created(api, COLLECTION))["id"] for status in Status}
    for status, id_ in made.items():
        await bring(service, merchant, id_, status)

    assert await found(api, "status=CANCELLED,FAILED") == [made[Status.CANCELLED], made[Status.FAILED]]
    assert await found(api, "status=FAILED,FAILED") == [made[Status.FAILED]]
    assert len(await found(api, f"status={','.join(Status)}")) == len(Status)
    assert await found(api, "status=PENDING,PROCESSING&type=DISBURSEMENT") == []


async def test_every_field_of_a_payment_is_in_the_full_view_except_its_log(
    api: Client, service: Service, merchant: Merchant
) -> None:
    sold = await created(api, COLLECTION | {"metadata": {"n": 1}, "orderReference": "A-1", "description": "Sukari"})
    await bring(service, merchant, sold["id"], Status.COMPLETED)
    paid = await PaymentSteps(service, merchant.id).contradicted(Type.DISBURSEMENT, Status.FAILED, 1000)

    lines = (await page(api, "view=full"))["transactions"]

    assert [line["id"] for line in lines] == [paid.id, sold["id"]]
    for line in lines:
        alone = await shown(api, line["id"])
        del alone["statusLogs"]
        assert line == alone
        assert list(line) == list(alone)
    assert lines[0]["correction"]["outcome"] == "COMPLETED"


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("sw", "sw"), ("sw-TZ,en;q=0.8", "sw"), ("SW", "sw"), ("fr, sw;q=0.4, en;q=0.3", "sw"), ("en;q=0.5,sw", "sw"),
        ("en", "en"), ("", "en"), ("*", "en"), ("fr", "en"), ("sw;q=0", "en"), ("sw;q=0.1,en;q=0.2", "en"),
        ("swahili", "en"), ("sw;q=x", "en"), (";;,,sw;q=2", "en"),
    ],
)  # fmt: skip
async def test_a_reason_is_in_the_language_that_the_request_prefers(
    api: Client, service: Service, merchant: Merchant, accepted: str, language: str
) -> None:
    failed = await created(api, COLLECTION)
    await bring(service, merchant, failed["id"], Status.FAILED)
    expected = "Mteja amekataa malipo." if language == "sw" else "The customer declined."

    for path in (f"/v1/payments/{failed['id']}", "/v1/payments?view=full"):
        answer = await api("GET", path, headers={"Accept-Language": accepted})
        one = answer.body.get("transaction") or answer.body["transactions"][0]
        assert (one["failureCode"], one["failureReason"]) == ("declined", expected)
        assert (answer.headers["Content-Language"], answer.headers["Vary"]) == (language, "Accept-Language")


async def test_events_stay_english(api: Client, service: Service, merchant: Merchant) -> None:
    """Their bytes are signed, and never change."""
    failed = await created(api, COLLECTION)
    await bring(service, merchant, failed["id"], Status.FAILED)
    async with service.queries.database.read() as connection:
        bodies = await connection.fetch("SELECT body FROM events WHERE transaction_id = $1", failed["id"])

    assert any("The customer declined." in row["body"] for row in bodies)
    assert "Content-Language" not in (await api("GET", "/v1/events", headers={"Accept-Language": "sw"})).headers


def test_every_code_has_a_sentence_in_both_languages() -> None:
    assert failure_reasons.FAILURE_REASONS.keys() == failure_reasons.IN_KISWAHILI.keys() == set(FailureCode)
