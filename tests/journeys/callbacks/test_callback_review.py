"""A HaloPesa collection above MALIPO_HALOPESA_REVIEW_AMOUNT that a callback calls paid is credited by an operator."""

from typing import Any

from starlette.requests import Request

from malipo.api import callbacks
from malipo.api.parts import ApiParts
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.networks.connector import Answer, Channel, Type, Verdict
from malipo.networks.http import xml
from malipo.payments.apply_network_answers import AnswerToApply
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.claim_for_sending import SendClaim
from malipo.payments.dispatch import AnswerSource, ReceivedAnswer, ReviewReason
from malipo.payments.transaction import Status, Transaction
from malipo.settings import Settings
from malipo.settings.parsers import networks
from tests.conftest import NO_LIMITS, Merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.payments.payment_steps import PaymentSteps
from tests.payments.resolving import COLLECTION, propose, unsettled

TOKEN = "9d0f6c1e5b7a48f3c2d1e0b4a6f5c3d2e1b0a9f8"


def halopesa(database: Database, review_amount: int | None = None) -> Service:
    """None: as it is where nobody has set it."""
    chosen: dict[str, Any] = {} if review_amount is None else {"halopesa_review_amount": review_amount}
    settings = Settings(
        **NO_LIMITS,
        halopesa_url="https://halopesa.example.co.tz",
        halopesa_username="duka",
        halopesa_password="s3cret",
        halopesa_secret_key="a1b2c3d4",
        halopesa_account="620000001",
        halopesa_callback_token=TOKEN,
        halopesa_callback_networks=networks("41.59.0.0/24"),
        **chosen,
    )
    return assemble(settings, database)


async def sent(service: Service, merchant: Merchant, amount: int) -> Transaction:
    made = (
        await service.payments.initiate(order(merchant.id, COLLECTION, amount, channel=Channel.HALOPESA))
    ).transaction
    routes = [(Channel.HALOPESA, COLLECTION)]
    claim = SendClaim(id="clm_1", connector="halopesa", routes=routes, most=100, lease_seconds=60, lapse_seconds=600)
    await service.network_work.claim_for_sending(claim)
    taken = Answer(verdict=Verdict.WAITING, code="0")
    reply = ReceivedAnswer(connector="halopesa", source=AnswerSource.SEND, answer=taken, cannot_query=frozenset(Type))
    await service.network_work.apply_answer(
        AnswerToApply(id=f"hrg_{made.id}", channels=[made.channel], key=made.network_key, received=reply)
    )
    return made


async def say_paid(service: Service, made: Transaction) -> None:
    """The callback of a push that was paid, from a listed address."""
    fields = {"referenceid": made.network_key, "response_code": "0", "response_type": "FIN", "message": "Success"}
    body = f"<request>{xml.elements(fields)}</request>".encode()

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/callbacks/halopesa/{TOKEN}",
        "path_params": {"route": "halopesa", "token": TOKEN},
        "headers": [(b"content-length", b"%d" % len(body))],
        "client": ("41.59.0.7", 1),
        "query_string": b"",
    }
    assert (await callbacks.receive(ApiParts.of(service), Request(scope, receive))).status_code == 200


async def test_above_the_amount_an_operator_credits_it_and_below_the_callback_does(
    database: Database, merchant: Merchant
) -> None:
    service = halopesa(database, 5000)
    steps = PaymentSteps(service, merchant.id)
    small, large = await sent(service, merchant, 5000), await sent(service, merchant, 5001)
    before, _ = await database_facts.wallet(database, merchant.id)
    for each in (small, large):
        await say_paid(service, each)

    assert (await steps.status(small), await steps.status(large)) == (Status.COMPLETED, Status.PROCESSING)
    assert (await database_facts.wallet(database, merchant.id))[0] == before + 5000
    assert await unsettled(steps) == {large.id: ReviewReason.SAID_PAID}

    await say_paid(service, large)  # Once more is not more true.
    assert await steps.status(large) is Status.PROCESSING
    await propose(steps, large.id, ResolvedOutcome.COMPLETED)
    assert await steps.status(large) is Status.COMPLETED
    assert (await database_facts.wallet(database, merchant.id))[0] == before + 10_001
    assert await unsettled(steps) == {}
    await database_facts.assert_clean(database)


async def test_without_the_setting_a_callback_credits_no_more_than_a_hundred_thousand(
    database: Database, merchant: Merchant
) -> None:
    service = halopesa(database)
    steps = PaymentSteps(service, merchant.id)
    made = {amount: await sent(service, merchant, amount) for amount in (100_000, 100_001, 9_000_000)}
    before, _ = await database_facts.wallet(database, merchant.id)
    for each in made.values():
        await say_paid(service, each)
    assert {amount: await steps.status(each) for amount, each in made.items()} == {
        100_000: Status.COMPLETED,
        100_001: Status.PROCESSING,
        9_000_000: Status.PROCESSING,
    }
    assert (await database_facts.wallet(database, merchant.id))[0] == before + 100_000
    assert set(await unsettled(steps)) == {made[100_001].id, made[9_000_000].id}
