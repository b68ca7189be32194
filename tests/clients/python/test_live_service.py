"""The client and its command line against the real service, with simulated networks: money really moves."""

import asyncio
import json
import os
import pty
import subprocess
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

import pytest
from malipo_client import (
    AsyncMalipo,
    Conflict,
    IdempotencyKeyReused,
    InsufficientBalance,
    InvalidRequest,
    Malipo,
    NotEndedYet,
    NotFound,
)

from malipo import clock
from tests.clients.python.commands import command, environment, run
from tests.conftest import create_database
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started
from tests.settlement.settlement_steps import add_account

BUYER, RECIPIENT = "+255684000001", "+255684000002"  # of Airtel Money; the simulator's phones say yes at once


@pytest.fixture(scope="module")
async def stack(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FullStack]:
    """One service for the whole file."""
    url = await create_database(postgres, template)
    folder = tmp_path_factory.mktemp("stack")
    async with (
        full_stack_started(folder, url, wallet=1_000_000, webhook_allow_private="true") as stack,
        a_worker(stack),
    ):
        yield stack


@pytest.fixture
def malipo(stack: FullStack) -> Iterator[Malipo]:
    with Malipo(stack.merchant.key, stack.api.url) as client:
        yield client


async def test_a_collection_from_the_request_to_its_refund(stack: FullStack, malipo: Malipo) -> None:
    def shop() -> None:
        order: dict[str, Any] = {"amount": 5000, "channel": "AIRTEL_MONEY", "buyer_phone": BUYER, "buyer_name": "Asha"}
        order |= {"metadata": {"orderId": "17"}, "order_reference": "A-17", "idempotency_key": "order-17"}
        before = malipo.wallet.get().available
        payment = malipo.payments.collect(**order)
        assert (payment.status, payment.type, payment.has_ended) == ("PENDING", "COLLECTION", False)
        assert malipo.payments.collect(**order) == payment, "the same key is the same payment"
        with pytest.raises(IdempotencyKeyReused):
            malipo.payments.collect(**{**order, "amount": 6000})

        paid = malipo.payments.wait_until_ended(payment.id, timeout=240)

        assert (paid.status, paid.amount, paid.metadata) == ("COMPLETED", 5000, {"orderId": "17"})
        assert [each.status for each in paid.status_logs or ()] == ["PENDING", "PROCESSING", "COMPLETED"]
        assert [each.id for each in malipo.payments.list(order_reference="A-17")] == [payment.id]
        assert malipo.wallet.get().available == before + paid.net_amount
        refund = malipo.payments.refund(payment.reference, amount=2000, reason="Broken", idempotency_key="refund-17")
        assert (refund.type, refund.refund_of) == ("DISBURSEMENT", payment.id)
        assert malipo.payments.wait_until_ended(refund.id, timeout=240).status == "COMPLETED"
        assert malipo.payments.get(payment.id).refunded_amount == 2000
        receipt = malipo.payments.receipt(payment.id)
        assert (receipt.amount, receipt.refunded_amount, receipt.facts) == (5000, 2000, [])
        assert f"/receipt/{payment.reference}-" in receipt.url
        with pytest.raises(Conflict):
            malipo.payments.cancel(payment.id)

    await asyncio.to_thread(shop)


async def test_the_same_awaited(stack: FullStack) -> None:
    async with AsyncMalipo(stack.merchant.key, stack.api.url) as malipo:
        quote = await malipo.payments.quote(type="DISBURSEMENT", channel="AIRTEL_MONEY", amount=3000)
        assert quote.total_amount == 3000 + quote.fee
        sent = await asyncio.gather(
            *(
                malipo.payments.disburse(
                    amount=3000, channel="AIRTEL_MONEY", recipient_phone=RECIPIENT, order_reference="W46"
                )
                for _ in range(5)
            )
        )
        ended = await asyncio.gather(*(malipo.payments.wait_until_ended(each.id, timeout=240) for each in sent))
        assert {each.status for each in ended} == {"COMPLETED"}
        found = [each.id async for each in malipo.payments.list(order_reference="W46", page_size=2)]
        assert sorted(found) == sorted(each.id for each in sent)
        assert len(found) == 5
        async for page in malipo.events.follow(page_size=2):
            if any(each.transaction and each.transaction.id == sent[-1].id for each in page.events):
                break
        with pytest.raises(NotFound):
            await malipo.payments.get("txn_none")


async def test_everything_else_that_a_key_may_do(stack: FullStack, malipo: Malipo) -> None:
    await add_account(stack.database, stack.merchant.id, now=clock.now())

    def work() -> None:
        items = [{"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": RECIPIENT}] * 3
        batch = malipo.batches.create(items=items, name="Wages", idempotency_key="wages-46")
        assert (batch.status, batch.count, batch.amount) == ("AWAITING_APPROVAL", 3, 3000)
        assert [each.index for each in malipo.batches.items(batch.id, page_size=2)] == [0, 1, 2]
        assert malipo.batches.items_csv(batch.id).count("\n") == 4
        with pytest.raises(NotFound):
            malipo.batches.approve("bat_none")
        assert malipo.batches.cancel(batch.id).status == "CANCELLED"
        link = malipo.links.create(amount=25_000, description="Order 1042", idempotency_key="link-1")
        assert malipo.links.create(amount=25_000, description="Order 1042", idempotency_key="link-1").url == link.url
        assert (malipo.links.get(link.id).paid_count, malipo.links.get(link.id).late_payments) == (0, None)
        assert malipo.links.cancel(link.id).status == "CANCELLED"
        assert [each.id for each in malipo.links.list(status="CANCELLED")] == [link.id]
        settlement = malipo.settlements.create(amount=1000, idempotency_key="to-bank-1")
        assert malipo.settlements.get(settlement.id).net_amount == 1000
        assert [each.id for each in malipo.settlements.list(page_size=1)] == [settlement.id]
        report = malipo.settlements.report(settlement.id)
        assert report.opening + sum(each.net for each in report.groups) == report.closing
        assert next(iter(malipo.settlements.report_entries(settlement.id))).line == report.last_line
        assert malipo.settlements.report_csv(settlement.id).startswith("line,group,gross")
        assert malipo.settlements.cancel(settlement.id).status == "CANCELLED"
        assert [each.id for each in malipo.batches.list()] == [malipo.batches.get(batch.id).id]
        with pytest.raises(InvalidRequest) as refused:
            malipo.payments.collect(amount=1, channel="MPESO", buyer_phone="123")  # type: ignore[arg-type]
        assert set(refused.value.details) == {"amount", "channel", "buyerPhone"}
        with pytest.raises(InsufficientBalance):
            malipo.payments.disburse(amount=3_000_000, channel="AIRTEL_MONEY", recipient_phone=RECIPIENT)
        [suggested] = [each for each in malipo.channels.list(phone=BUYER) if each.suggested]
        assert (suggested.channel, suggested.is_up) == ("AIRTEL_MONEY", True)
        assert malipo.recipients.look_up(channel="AIRTEL_MONEY", phone=RECIPIENT).phone == RECIPIENT
        entries = list(malipo.wallet.entries(page_size=3))
        assert [each.line for each in entries] == [*range(entries[0].line, 0, -1)]
        assert malipo.wallet.entries_csv(kind="TOP_UP").count("\n") == 2
        waiting = malipo.payments.collect(amount=500, channel="HALOPESA", buyer_phone="+255624000007")
        with pytest.raises(NotEndedYet) as early:
            malipo.payments.wait_until_ended(waiting.id, timeout=0)
        assert early.value.transaction.id == waiting.id

    await asyncio.to_thread(work)


async def test_endpoints_and_their_deliveries(stack: FullStack, malipo: Malipo) -> None:
    def work() -> None:
        endpoint = malipo.webhooks.create(url="http://127.0.0.1:9/hook", events=["payment.completed", "payout.failed"])
        assert endpoint.secret is not None
        assert malipo.webhooks.get(endpoint.id).secret is None
        assert malipo.webhooks.change(endpoint.id, events=["*"]).events == ["*"]
        tested = malipo.webhooks.test(endpoint.id)
        assert (tested.event, tested.attempts[0].status) == ("webhook.test", None)
        rotated = malipo.webhooks.rotate_secret(endpoint.id)
        assert rotated.secret not in (None, endpoint.secret)
        assert malipo.webhooks.finish_rotation(endpoint.id).rotation_ends_at is None
        assert malipo.webhooks.recover(endpoint.id, since="2020-01-01") > 0
        [*deliveries] = islice(malipo.webhooks.deliveries(endpoint.id, page_size=2), 5)
        again = malipo.webhooks.redeliver(endpoint.id, deliveries[0].id)
        assert malipo.webhooks.delivery(endpoint.id, again.id).id == deliveries[0].id
        malipo.webhooks.delete(endpoint.id)
        assert malipo.webhooks.list() == []

    await asyncio.to_thread(work)


async def test_the_command_line_pays_and_shows(stack: FullStack) -> None:
    where = ("--api-key", stack.merchant.key, "--base-url", stack.api.url)

    async def client(*arguments: str) -> tuple[int, str, str]:
        return await asyncio.to_thread(run, *arguments, *where)

    key = ("--idempotency-key", "cli-1", "--yes", "--json")
    code, out, _ = await client("pay", "1500", BUYER, "--order-reference", "CLI", *key)
    assert (code, json.loads(out.splitlines()[-1])["status"]) == (0, "COMPLETED")
    code, out, _ = await client("payouts", "send", "1500", RECIPIENT, *key)
    sent = json.loads(out.splitlines()[-1])
    assert (code, sent["status"]) == (0, "COMPLETED")
    again = await client("payouts", "send", "1500", RECIPIENT, *key)
    assert json.loads(again[1])["id"] == sent["id"], "the same key pays once"
    code, out, _ = await client("payouts", "list", "--limit", "1")
    assert (code, "  TZS 1,500  +255684000002  AIRTEL_MONEY  COMPLETED" in out) == (0, True)
    code, out, _ = await client("payouts", "get", sent["reference"], "--json")
    assert json.loads(out)["id"] == sent["id"]
    code, out, err = await client("events")
    assert code == 0
    assert f"payout.completed   {sent['reference']}" in out
    assert "Go on with --after " in err
    assert await client("events", "--after", err.split()[-1]) == (0, "", err)
    refused, _, words = await client("payouts", "send", "1", RECIPIENT, "--yes")
    assert (refused, "amount must be at least 500." in words) == (1, True)
    unconfirmed, out, words = await client("payouts", "send", "1500", RECIPIENT)
    assert (unconfirmed, out, "say --yes" in words) == (2, "", True)
    assert "Idempotency key" not in words
    assert (await client("payouts", "get", "a/b"))[0] == 2


async def test_at_a_terminal_money_moves_only_after_a_yes(stack: FullStack, malipo: Malipo) -> None:
    where = environment(MALIPO_API_KEY=stack.merchant.key, MALIPO_URL=stack.api.url)

    def said(word: str) -> tuple[int, str]:
        outer, inner = pty.openpty()
        os.write(outer, word.encode() + b"\n")
        typed = command("payouts", "send", "700", RECIPIENT, "--no-wait")
        done = subprocess.run(typed, env=where, stdin=inner, capture_output=True, text=True, check=False)
        os.close(outer)
        os.close(inner)
        return done.returncode, done.stderr

    def sent() -> int:
        return sum(each.amount == 700 for each in malipo.payments.list(type="DISBURSEMENT"))

    no = await asyncio.to_thread(said, "n")
    assert no[0] == 2
    assert "Send TZS 700 to +255684000002 (" in no[1]
    assert "The fee is TZS " in no[1]
    assert "Nothing was sent." in no[1]
    assert await asyncio.to_thread(sent) == 0
    assert (await asyncio.to_thread(said, "yes"))[0] == 0
    assert await asyncio.to_thread(sent) == 1
