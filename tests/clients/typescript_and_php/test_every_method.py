"""Every method of both clients, called at the real service. They have the same methods, and so has Python's."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from malipo_client import Malipo
from malipo_client.operation import Resource, flow, listing, operation

from malipo import clock
from malipo.api.docs.samples import CALLS, in_python
from malipo.db import Database
from tests.api.batches.batch_keys import key_of
from tests.clients.typescript_and_php.programs import PHP, TYPESCRIPT, Program, Refused
from tests.conftest import NO_LIMITS, Merchant, Running, until_ready
from tests.journeys.webhook_receivers import a_receiver, says
from tests.settlement.settlement_steps import add_account

COLLECTION: dict[str, Any] = {"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000001"}
ITEM: dict[str, Any] = {"amount": 1000, "channel": "MPESA", "recipientPhone": "+255754000001"}


# They are in test_live_payments.
NEED_NETWORKS = {"payments.refund", "payments.receipt", "payments.waitUntilEnded"}


class Calls:
    """As two people of the merchant, with what was called."""

    def __init__(self, program: Program, url: str, keys: dict[str, str], start_worker: Callable[[], Running]) -> None:
        self.start_worker = start_worker
        self.called: set[str] = set()
        self._ask = program.ask
        self._options = {who: {"apiKey": key, "baseUrl": url} for who, key in keys.items()}

    async def __call__(self, call: str, *ids: str, who: str = "asha", **fields: Any) -> Any:
        self.called.add(call)
        return await asyncio.to_thread(self._ask, call, *ids, options=self._options[who], **fields)


@pytest.fixture
async def ask(
    program: Program, start: Callable[..., Running], database_url: str, database: Database, merchant: Merchant
) -> Calls:
    settings = {"database_url": database_url, "webhook_allow_private": "true", **NO_LIMITS}
    running = await until_ready(start("api", **settings))
    keys = {who: await key_of(database, merchant, f"{who}@duka.example") for who in ("asha", "juma")}
    return Calls(program, running.url, keys, lambda: start("worker", **settings))


async def test_every_method_works_at_the_service(ask: Calls, database: Database, merchant: Merchant) -> None:
    await _payments(ask)
    await _batches(ask)
    await _links(ask)
    await _settlements(ask, database, merchant)
    await _wallet_and_networks(ask)
    ask.start_worker()  # Now that nothing needs to be PENDING any longer: it numbers events, and sends webhooks.
    await _events(ask)
    await _webhooks(ask)
    assert ask.called == _methods() - NEED_NETWORKS


def test_php_has_the_methods_of_typescript() -> None:
    source = (PHP / "Malipo.php").read_text()
    namespaces = {name: kind for kind, name in re.findall(r"public readonly (\w+) \$(\w+);", source)}
    bodies = dict(re.findall(r"^final class (\w+)\n{\n(.*?)^}", source, re.DOTALL | re.MULTILINE))
    found = {
        f"{name}.{method}"
        for name, kind in namespaces.items()
        for method in re.findall(r"^    public function (\w+)\(", bodies[kind], re.MULTILINE)
        if not method.startswith("__")
    }
    assert found == _methods()


def test_python_has_the_methods_of_typescript() -> None:
    client = Malipo("mlp_live_1", "https://pay.example.com")
    spelled = {
        f"{name}.{method}"
        for name, resource in vars(client).items()
        if isinstance(resource, Resource)
        for method, value in vars(type(resource)).items()
        if isinstance(value, operation | listing | flow)
    }
    assert spelled == {in_python(each) for each in _methods()}


def test_what_the_reference_shows_for_an_operation_is_a_method() -> None:
    """Each operation with an API key has one, and what is left are those that make several requests or another format."""
    shown = {call.method for call in CALLS.values()}
    assert _methods() - shown == {
        *("payments.waitUntilEnded", "batches.itemsCsv", "wallet.entriesCsv", "events.follow"),
        *("settlements.reportCsv", "settlements.reportEntries"),
    }
    assert shown <= _methods()


def _methods() -> set[str]:
    source = "".join((TYPESCRIPT / "src" / name).read_text() for name in ("client.ts", "webhook_endpoints.ts"))
    namespaces = dict(re.findall(r"^  readonly (\w+): (\w+);", source, re.MULTILINE))
    bodies = dict(re.findall(r"^(?:export )?class (\w+) {\n(.*?)^}", source, re.DOTALL | re.MULTILINE))
    return {
        f"{name}.{method}"
        for name, kind in namespaces.items()
        for method in re.findall(r"^  (?:async )?\*?(\w+)\(", bodies[kind], re.MULTILINE)
        if method != "constructor"
    }


async def _payments(ask: Calls) -> None:
    made = await ask("payments.collect", **COLLECTION, buyerName="Asha", metadata={})
    assert (await ask("payments.get", made["reference"], wait=1))["status"] == "PENDING"
    assert (await ask("payments.cancel", made["id"]))["status"] == "CANCELLED"
    assert (await ask("payments.cancel", made["id"]))["status"] == "CANCELLED", "again is the same again"
    payout = await ask("payments.disburse", **ITEM, currency="TZS")
    assert [each["id"] for each in await ask("payments.list")] == [payout["id"], made["id"]]
    assert [each["id"] for each in await ask("payments.list", status=["CANCELLED", "FAILED"])] == [made["id"]]
    assert (await ask("payments.quote", type="DISBURSEMENT", channel="MPESA", amount=1000))["totalAmount"] >= 1000


async def _batches(ask: Calls) -> None:
    items = [ITEM | {"recipientPhone": f"+25575400000{number}"} for number in range(3)]
    first, second = [await ask("batches.create", name=name, items=items) for name in ("Wages", "Bonus")]
    assert [each["id"] for each in await ask("batches.list", pageSize=1)] == [second["id"], first["id"]]
    with pytest.raises(Refused, match="PermissionDenied") as refused:
        await ask("batches.approve", first["id"])
    assert refused.value.details["code"] == "second_person_required"
    assert (await ask("batches.approve", first["id"], who="juma"))["status"] == "RUNNING"
    assert (await ask("batches.approve", first["id"], who="juma"))["status"] == "RUNNING", "again is the same again"
    assert (await ask("batches.get", first["id"]))["counts"]["PENDING"] == 3
    assert [each["index"] for each in await ask("batches.items", first["id"], pageSize=2)] == [0, 1, 2]
    assert (await ask("batches.itemsCsv", first["id"])).startswith("amount,channel,recipientPhone")
    assert (await ask("batches.cancel", second["id"]))["status"] == "CANCELLED"
    assert [each["id"] for each in await ask("batches.list", status="CANCELLED")] == [second["id"]]


async def _links(ask: Calls) -> None:
    first = await ask("links.create", amount=25_000, description="Order 1042", idempotencyKey="link-1")
    again = await ask("links.create", amount=25_000, description="Order 1042", idempotencyKey="link-1")
    assert (again["id"], again["url"], again["isReplay"]) == (first["id"], first["url"], True)
    second = await ask("links.create", description="Roof", minAmount=1000, reusable=True, maxPayments=9)
    assert [each["id"] for each in await ask("links.list", pageSize=1)] == [second["id"], first["id"]]
    assert (await ask("links.get", second["id"]))["paidCount"] == 0
    assert (await ask("links.cancel", first["id"]))["status"] == "CANCELLED"
    assert [each["id"] for each in await ask("links.list", status="CANCELLED")] == [first["id"]]


async def _settlements(ask: Calls, database: Database, merchant: Merchant) -> None:
    await add_account(database, merchant.id, now=clock.now())
    first = await ask("settlements.create", amount=1000, idempotencyKey="to-bank-1")
    again = await ask("settlements.create", amount=1000, idempotencyKey="to-bank-1")
    assert (again["id"], again["reference"], again["isReplay"]) == (first["id"], first["reference"], True)
    second = await ask("settlements.create", amount=2000)
    assert [each["id"] for each in await ask("settlements.list", pageSize=1)] == [second["id"], first["id"]]
    assert (await ask("settlements.get", second["id"]))["netAmount"] == 2000
    report = await ask("settlements.report", second["id"])
    assert report["opening"] - report["closing"] == 2000
    assert [each["line"] for each in await ask("settlements.reportEntries", second["id"])] == [report["lastLine"]]
    assert (await ask("settlements.reportCsv", second["id"])).startswith("line,group,gross")
    assert (await ask("settlements.cancel", first["id"]))["status"] == "CANCELLED"


async def _wallet_and_networks(ask: Calls) -> None:
    assert (await ask("wallet.get"))["currency"] == "TZS"
    lines = [each["line"] for each in await ask("wallet.entries", pageSize=2)]
    assert lines == list(range(len(lines), 0, -1))
    assert len(lines) >= 5
    assert [each["kind"] for each in await ask("wallet.entries", kind="TOP_UP")] == ["TOP_UP"]
    assert (await ask("wallet.entriesCsv")).startswith("line,kind,amount")
    assert len(await ask("channels.list")) == 4
    suggested = [each["channel"] for each in await ask("channels.list", phone="+255754000001") if each.get("suggested")]
    assert suggested == ["MPESA"]
    with pytest.raises(Refused, match="Conflict") as refused:
        await ask("recipients.lookUp", channel="MPESA", phone="+255754000001")
    assert refused.value.details["code"] == "lookup_unavailable"


async def _events(ask: Calls) -> None:
    pages = await ask("events.follow", pageSize=1, take=2)
    assert [each["event"] for page in pages for each in page["events"]] == ["payment.pending", "payment.cancelled"]
    assert (await ask("events.read", after=pages[0]["next"], limit=1))["events"] == pages[1]["events"]
    answer = await ask("events.follow", types=["payment.cancelled", "batch.completed"], take=1)
    assert {each["event"] for each in answer[0]["events"]} == {"payment.cancelled"}
    with pytest.raises(Refused, match="InvalidRequest"):
        await ask("events.read", after="no cursor")


async def _webhooks(ask: Calls) -> None:
    async with a_receiver() as receiver:
        made = await ask("webhooks.create", url=receiver.behave("/hook", says(200, b"thanks")), events=["*"])
        assert made["secret"].startswith("whsec_")
        id_ = made["id"]
        assert (await ask("webhooks.get", id_))["url"] == made["url"]
        assert [each["id"] for each in await ask("webhooks.list")] == [id_]
        test = await ask("webhooks.test", id_)
        assert (test["event"], test["attempts"][0]["answer"]) == ("webhook.test", "thanks")
        assert await ask("webhooks.recover", id_, since="2026-01-01") >= 2
        before = await ask("webhooks.deliveries", id_, pageSize=1)
        assert len(before) >= 2
        assert (await ask("webhooks.delivery", id_, before[-1]["id"]))["id"] == before[-1]["id"]
        assert (await ask("webhooks.redeliver", id_, before[-1]["id"]))["state"] == "PENDING"
        assert (await ask("webhooks.rotateSecret", id_))["secret"] != made["secret"]
        assert "rotationEndsAt" not in await ask("webhooks.finishRotation", id_)
        assert (await ask("webhooks.change", id_, isActive=False))["isActive"] is False
        assert await ask("webhooks.delete", id_) is None
        assert await ask("webhooks.list") == []
