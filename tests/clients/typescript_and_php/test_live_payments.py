"""The clients at the real service, with workers and simulated networks: payments from the beginning to the end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.typescript_and_php.programs import Program, Refused, require_php_library
from tests.conftest import create_database, make_merchant
from tests.journeys.full_stack import FullStack, full_stack_started

Ask = Callable[..., Awaitable[Any]]
PAYS, DECLINES, HANGS = "+255684001001", "+255684001101", "+255684001109"


@pytest.fixture(scope="module")
async def full_stack(
    postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FullStack]:
    folder: Path = tmp_path_factory.mktemp("town")
    async with full_stack_started(folder, await create_database(postgres, template), wallet=1_000_000) as full_stack:
        full_stack.start("worker")
        yield full_stack


@pytest.fixture(scope="module")
def ask(full_stack: FullStack, program: Program) -> Ask:
    options = {"apiKey": full_stack.merchant.key, "baseUrl": full_stack.api.url}

    def ask_it(call: str, *ids: str, **fields: Any) -> Awaitable[Any]:
        return asyncio.to_thread(program.ask, call, *ids, options=options, **fields)

    return ask_it


def collection(phone: str = PAYS, **more: Any) -> dict[str, Any]:
    return {"amount": 1000, "channel": "AIRTEL_MONEY", "buyerPhone": phone, **more}


async def test_a_collection_is_paid_and_refunded(ask: Ask, program: Program) -> None:
    own: dict[str, Any] = {
        "orderReference": f"A-{program.language}",
        "metadata": {"orderId": 17},
        "description": "Kahawa – ½ kg",
    }
    made = await ask("payments.collect", **collection(**own))
    assert made["status"] == "PENDING"
    paid = await ask("payments.waitUntilEnded", made["id"])
    assert (paid["status"], paid["amount"], paid["metadata"]) == ("COMPLETED", 1000, {"orderId": 17})
    assert paid["description"] == own["description"]
    assert await ask("payments.list", orderReference=own["orderReference"]) == [
        {name: value for name, value in paid.items() if name != "statusLogs"}
    ]

    refund = await ask("payments.refund", made["id"], amount=500, reason="Returned")
    assert (refund["refundOf"], refund["amount"]) == (made["id"], 500)
    assert (await ask("payments.waitUntilEnded", refund["reference"]))["status"] == "COMPLETED"
    assert (await ask("payments.get", made["id"]))["refundedAmount"] == 500
    receipt = await ask("payments.receipt", made["reference"])
    assert (receipt["id"], receipt["amount"], receipt["refundedAmount"]) == (made["id"], 1000, 500)
    rest = await ask("payments.refund", made["id"])
    assert rest["amount"] == 500, "without an amount, all that is left"
    await ask("payments.waitUntilEnded", rest["id"])
    with pytest.raises(Refused, match="Conflict") as refused:
        await ask("payments.refund", made["id"])
    assert refused.value.details["code"] == "already_refunded"


async def test_a_payment_that_fails_says_why_in_either_language(ask: Ask) -> None:
    made = await ask("payments.collect", **collection(DECLINES))
    ended = await ask("payments.waitUntilEnded", made["id"])
    assert (ended["status"], ended["failureCode"]) == ("FAILED", "declined")
    in_kiswahili = await ask("payments.get", made["id"], language="sw")
    assert in_kiswahili["failureReason"] != ended["failureReason"]


async def test_a_payment_that_does_not_end_in_time_is_no_result(ask: Ask, program: Program) -> None:
    made = await ask("payments.collect", **collection(HANGS))
    seconds = "timeoutSeconds" if program.language == "typescript" else "timeout"
    with pytest.raises(Refused, match=r"NotEndedYet: .* is still P") as refused:
        await ask("payments.waitUntilEnded", made["id"], **{seconds: 1})
    assert refused.value.details["transaction"]["id"] == made["id"]


async def test_the_same_key_is_the_same_payment(ask: Ask, full_stack: FullStack, program: Program) -> None:
    key = f"payout-{program.language}"
    payout = {"amount": 2000, "channel": "AIRTEL_MONEY", "recipientPhone": PAYS, "recipientName": "Juma"}
    first, second = [await ask("payments.disburse", **payout, idempotencyKey=key) for _ in range(2)]
    now = {"isReplay": True, "currentStatus": second["currentStatus"]}
    assert (first["isReplay"], first["currentStatus"], second) == (False, "PENDING", first | now)
    assert [each["id"] for each in await ask("payments.list", idempotencyKey=key)] == [first["id"]]
    assert (await ask("payments.waitUntilEnded", first["id"]))["status"] == "COMPLETED"
    with pytest.raises(Refused, match="IdempotencyKeyReused"):
        await ask("payments.disburse", **payout | {"amount": 2500}, idempotencyKey=key)


async def test_every_bad_field_is_reported_at_once(ask: Ask) -> None:
    with pytest.raises(Refused, match="InvalidRequest") as refused:
        await ask("payments.collect", amount=1, channel="BANK", buyerPhone="0754")
    answer = refused.value.details
    assert (answer["status"], answer["code"]) == (400, "validation_failed")
    assert set(answer["details"]) == {"amount", "channel", "buyerPhone"}
    assert answer["requestId"].startswith("req_")


async def test_what_is_not_there_or_not_allowed(ask: Ask, full_stack: FullStack, program: Program) -> None:
    with pytest.raises(Refused, match="NotFound"):
        await ask("payments.get", "MLP-NOTHERE")
    with pytest.raises(Refused, match="InsufficientBalance"):
        await ask("payments.disburse", amount=3_000_000, channel="MPESA", recipientPhone="+255754000001")
    options = {"apiKey": "mlp_live_wrong", "baseUrl": full_stack.api.url + "/"}
    with pytest.raises(Refused, match="AuthenticationFailed"):
        await asyncio.to_thread(program.ask, "payments.get", "txn_1", options=options)


async def test_what_it_costs(ask: Ask) -> None:
    quote = await ask("payments.quote", type="COLLECTION", channel="MPESA", amount=1000)
    assert (quote["amount"], quote["netAmount"]) == (1000, 1000 - quote["fee"])


async def test_a_list_of_several_pages_has_each_payment_once(ask: Ask, program: Program) -> None:
    order = f"pages-{program.language}"
    made = [(await ask("payments.collect", **collection(orderReference=order)))["id"] for _ in range(5)]
    status = "PENDING,PROCESSING,COMPLETED"
    for size in (1, 2, 5, 100):
        listed = await ask("payments.list", orderReference=order, pageSize=size, type="COLLECTION", status=status)
        assert [each["id"] for each in listed] == made[::-1]
    assert len(await ask("payments.list", orderReference=order, pageSize=2, take=3)) == 3


async def test_the_feed_is_followed_from_a_cursor_on(full_stack: FullStack, typescript: Program) -> None:
    alone = await make_merchant(full_stack.database)  # Nothing else happens in its feed.
    options = {"apiKey": alone.key, "baseUrl": full_stack.api.url}

    def ask(call: str, **fields: Any) -> Awaitable[Any]:
        return asyncio.to_thread(typescript.ask, call, options=options, **fields)

    cursor = (await ask("events.read", after="latest"))["next"]
    made = await ask("payments.collect", **collection(DECLINES))
    pages = await ask("events.follow", after=cursor, pageSize=1, take=2)
    answer = [(each["event"], each["transaction"]["id"]) for page in pages for each in page["events"]]
    assert answer == [("payment.pending", made["id"]), ("payment.failed", made["id"])]
    assert (await ask("events.read", after=pages[0]["next"]))["events"] == pages[1]["events"]


async def test_a_psr_18_client_does_the_same(full_stack: FullStack, php: Program) -> None:
    require_php_library("GuzzleHttp/autoload.php")
    options = {"apiKey": full_stack.merchant.key, "baseUrl": full_stack.api.url, "psr18": True}
    made = await asyncio.to_thread(php.ask, "payments.collect", options=options, **collection())
    assert (await asyncio.to_thread(php.ask, "payments.get", made["id"], options=options))["id"] == made["id"]
    with pytest.raises(Refused, match="NotFound"):
        await asyncio.to_thread(php.ask, "payments.get", "txn_1", options=options)
    nowhere = options | {"baseUrl": "http://127.0.0.1:1", "retries": 0}
    with pytest.raises(Refused, match="ConnectionFailed"):
        await asyncio.to_thread(php.ask, "payments.collect", options=nowhere, **collection())
