"""The webhooks that malipo sends match the contract: every event, its body, its headers, its signatures."""

import hashlib
import hmac
import itertools
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from standardwebhooks import Webhook

from malipo import clock
from malipo.outbox.event import OF_BATCHES, OF_LINKS, OF_SETTLEMENTS, TEST_EVENT, Event
from malipo.payments.transaction import Status, Type
from tests.api.conftest import Desk, bring, place
from tests.api.published_contract import CONTRACT, SENT, examples_of, faults, loose, resolved
from tests.conftest import make_merchant
from tests.journeys.full_stack import until
from tests.journeys.in_process_api import InProcessApi
from tests.journeys.webhook_receivers import Got, Receiver
from tests.links.link_steps import LinkSteps
from tests.payments.batches.batch_steps import BatchSteps
from tests.payments.payment_steps import PaymentSteps
from tests.payments.refunds.refund_steps import RefundSteps
from tests.settlement.settlement_steps import SettlementSteps

# What HTTP itself needs.
PLAIN = {"host", "user-agent", "content-type", "content-length", "accept"}

# What an example of a link has, and not every link.
ONLY_SOME_LINKS = ("orderReference", "expiresAt", "paidAt", "cancelledAt")


def body_of(event: str) -> Any:
    return SENT[event]["requestBody"]["content"]["application/json"]


def headers_of(event: str) -> dict[str, Any]:
    parameters = [resolved(each) for each in SENT[event]["parameters"]]
    assert {each["in"] for each in parameters} == {"header"}
    return {each["name"].lower(): each for each in parameters}


def test_it_names_every_event_that_is_sent_and_no_other() -> None:
    assert list(SENT) == [*Event, TEST_EVENT]
    names = [each["operationId"] for each in SENT.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("event", SENT)
def test_its_examples_fit_and_its_bodies_name_every_field(event: str) -> None:
    examples = [*examples_of(event, body_of(event))]
    for name, parameter in headers_of(event).items():
        examples += examples_of(f"{event} {name}", parameter)

    assert [f"{place}: {fault}" for place, value, schema in examples for fault in faults(value, schema)] == []
    assert list(loose(body_of(event)["schema"], event)) == []


def test_the_signatures_in_its_examples_are_true() -> None:
    """Whoever tries a verifier out with what stands there sees it say yes."""
    headers = {name: str(each["example"]) for name, each in headers_of("payment.completed").items()}
    body = msgspec.json.encode(body_of("payment.completed")["example"])
    paths = CONTRACT["paths"]
    registered = paths["/merchant/webhooks"]["post"]["responses"]["201"]
    rotated = paths["/merchant/webhooks/{id}/rotate-secret"]["post"]["responses"]["200"]
    old, new = (
        each["content"]["application/json"]["example"]["endpoint"]["secret"].encode() for each in (registered, rotated)
    )

    assert headers["x-service-signature"] == hmac.new(old, body, hashlib.sha256).hexdigest()
    assert headers["x-service-signature-next"] == hmac.new(new, body, hashlib.sha256).hexdigest()
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    assert headers["webhook-signature"] == Webhook(old.decode()).sign(headers["webhook-id"], at, body.decode())


async def test_what_is_sent_is_what_the_contract_says(gate: InProcessApi, shop: Receiver) -> None:
    """One of every event arrives at a merchant's server; the test comes while the secret is being changed."""
    service = gate.webhook_stack.service
    desk = Desk(gate, await make_merchant(gate.webhook_stack.database, wallet=1_000_000))
    endpoint = await desk.register(shop.url("/"), *Event)
    for type_, status in itertools.product(Type, (status for status in Status if status.is_final)):
        transaction = await place(service, desk.merchant, at=clock.now(), type_=type_)
        await bring(service, desk.merchant, transaction.id, status)
    for type_ in Type:
        await PaymentSteps(service, desk.merchant.id).contradicted(type_, Status.FAILED)
    refunds = RefundSteps(service, desk.merchant.id)
    collection = await place(service, desk.merchant, at=clock.now(), type_=Type.COLLECTION)
    await bring(service, desk.merchant, collection.id, Status.COMPLETED)
    refund = await refunds.refund(await refunds.seen(collection))
    await bring(service, desk.merchant, refund.id, Status.COMPLETED)

    batches = BatchSteps(service, desk.merchant.id)
    for line in await batches.lines(await batches.running(2)):
        assert line.payout is not None
        await bring(service, desk.merchant, line.payout.id, Status.COMPLETED)

    links = LinkSteps(service, desk.merchant.id)
    once, cancelled = await links.make(), await links.make()
    pressed = [(await links.press(each)).transaction for each in (once, cancelled)]
    await links.cancel(cancelled)
    for each in pressed:
        await bring(service, desk.merchant, each.id, Status.COMPLETED)

    settlements = await SettlementSteps.of(service, gate.webhook_stack.database, desk.merchant.id)
    await settlements.give_back(await settlements.completed(10_000))

    async with gate.webhook_stack.a_worker():
        await until(lambda: have_come(shop, set(Event)), pause=0.02)
        assert (await desk("POST", f"/{endpoint['id']}/rotate-secret")).status == 200
        await desk("POST", f"/{endpoint['id']}/test")

    assert {got.event for got in shop.got} == set(SENT)
    for got in shop.got:
        body = json.loads(got.body)
        assert faults(body, body_of(got.event)["schema"]) == []
        subject = subject_of(got.event)
        assert list(body) == ["event", subject]
        shown = [name for name in body[subject] if name not in ("refundOf", "batchId", "link")]  # Only some have these.
        example = [name for name in body_of(got.event)["example"][subject] if name not in ONLY_SOME_LINKS]
        assert [name for name in shown if name not in ONLY_SOME_LINKS] == example
        check_headers(got, is_rotating=got.event == TEST_EVENT)


def subject_of(event: str) -> str:
    if event in OF_SETTLEMENTS:
        return "settlement"
    return "link" if event in OF_LINKS else "batch" if event in OF_BATCHES else "transaction"


async def have_come(shop: Receiver, events: set[Event]) -> bool:
    return events <= {got.event for got in shop.got}


def check_headers(got: Got, *, is_rotating: bool) -> None:
    headers = headers_of(got.event)
    optional = {name for name, each in headers.items() if not each.get("required")}
    assert optional == {"x-service-signature-next"}
    assert set(got.headers) - PLAIN == set(headers) - (set() if is_rotating else optional)
    assert (got.headers["content-type"], got.headers["x-service-event"]) == ("application/json", got.event)
    for name in set(got.headers) - PLAIN:
        schema = headers[name]["schema"]
        value = int(got.headers[name]) if schema.get("type") == "integer" else got.headers[name]
        assert faults(value, schema) == [], name
    assert len(got.headers["webhook-signature"].split(" ")) == (2 if is_rotating else 1)
