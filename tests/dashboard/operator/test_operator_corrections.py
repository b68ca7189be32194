"""/operator: contradicted payments and the effect of each decision, and callbacks about unknown payments."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from msgspec.structs import replace

from malipo.app.assemble import Service
from malipo.dashboard.operator.resolution_effects import WAIVED, finding_of
from malipo.db import Database
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import ResolutionEffect, effect_of
from malipo.payments.dispatch import AnswerSource, ReviewReason
from malipo.payments.store import cases
from malipo.payments.transaction import Status, Transaction, Type
from malipo.words.cases import SENTENCES
from tests.conftest import Running, make_merchant
from tests.dashboard.operator.operator_pages import Operator, OperatorPages, proposal_on
from tests.dashboard.operator.own_database import database as database
from tests.dashboard.operator.own_database import database_url as database_url
from tests.dashboard.operator.own_database import running as running
from tests.dashboard.operator.own_database import service as service
from tests.dashboard.page_client import Seen
from tests.journeys import database_facts
from tests.payments.payment_steps import PaymentSteps, a_report
from tests.restore.reporting_worker import note_worker

PAYOUT, COLLECTION = Type.DISBURSEMENT, Type.COLLECTION
_CHOICE = re.compile(r'name="outcome" value="(\w+)"[^>]*><span>(.*?)<small>(.*?)</small>')


class Room(OperatorPages):
    """An office with the payments of a merchant who pays fees."""

    @property
    def steps(self) -> PaymentSteps:
        return PaymentSteps(self.service, self.merchant.id)

    async def propose(self, operator: Operator, payment: Transaction, value: str, **fields: str) -> Seen:
        """With what stands on the page, as a browser does."""
        seen = await operator.look(payment)
        hidden = {
            name: found[1]
            for name in ("status", "said")
            if (found := re.search(rf'type="hidden" name="{name}" value="([^"]*)"', seen.text))
        }
        return await operator.propose(payment, value, **(hidden | fields))


@pytest.fixture
async def room(service: Service, running: Running, database: Database) -> AsyncIterator[Room]:
    merchant = await make_merchant(database, wallet=10_000)
    async with AsyncExitStack() as stack:
        room = Room(service, running, merchant, stack)
        await room.steps.charge_fees()
        yield room


def choices_on(seen: Seen) -> dict[str, tuple[str, str]]:
    return {value: (title, effect) for value, title, effect in _CHOICE.findall(seen.text)}


# What the merchant was told, and each choice of an operator after the network has said the opposite, in words.
CHOICES: list[tuple[Type, Status, dict[str, tuple[str, str]]]] = [
    (
        PAYOUT,
        Status.FAILED,
        {
            "completed": ("M-Pesa is right: it was paid", "TZS 1,030 is taken from the wallet."),
            "waived": ("M-Pesa is right, but what is owed need not be given back", "TZS 1,030 is written off."),
        },
    ),
    (
        PAYOUT,
        Status.COMPLETED,
        {
            "failed": ("M-Pesa is right: it was not paid", "TZS 1,030 is added to the wallet."),
            "completed": ("M-Pesa is right, but the merchant does not get it", "The house keeps TZS 1,030."),
        },
    ),
    (
        COLLECTION,
        Status.COMPLETED,
        {
            "failed": ("M-Pesa is right: it was not paid", "TZS 970 is taken from the wallet."),
            "waived": ("M-Pesa is right, but what is owed need not be given back", "TZS 970 is written off."),
        },
    ),
]


@pytest.mark.parametrize(("type_", "status", "expected"), CHOICES)
async def test_the_choices_say_what_happens_to_the_wallet(
    room: Room, type_: Type, status: Status, expected: dict[str, tuple[str, str]]
) -> None:
    asha = await room.operator("asha")
    contradicted = await room.steps.contradicted(type_, status)
    seen = await asha.look(contradicted)
    assert choices_on(seen) == expected
    said = "paid" if status is not Status.COMPLETED else "not paid"
    assert f"Last said It was {said}. By the network" in seen.words


@pytest.mark.parametrize(
    ("type_", "status", "value", "left"),
    [
        (PAYOUT, Status.FAILED, "waived", 0),
        (PAYOUT, Status.COMPLETED, "failed", 1030),
        (COLLECTION, Status.COMPLETED, "failed", -970),
    ],
)
async def test_two_operators_decide_and_the_wallet_does_what_was_shown(
    room: Room, type_: Type, status: Status, value: str, left: int
) -> None:
    """One of each direction. What every choice moves is in the grid of `tests/payments/test_correction_moves.py`."""
    asha, juma = await room.operator("asha"), await room.operator("juma")
    contradicted = await room.steps.contradicted(type_, status)
    before = await room.available()
    title, effect = choices_on(await asha.look(contradicted))[value]

    assert (await room.propose(asha, contradicted, value)).status == 303
    shown = await juma.look(contradicted)
    assert f"{title} {effect}" in shown.words
    assert await room.available() == before, "nothing moves until another agrees"
    assert (await juma.approve(contradicted)).status == 303

    assert await room.available() - before == left
    assert await room.status(contradicted) is status
    assert contradicted.reference not in (await asha.surfer.get("/operator")).words
    await database_facts.assert_clean(room.service.queries.database)


async def test_what_is_shown_is_what_happens_whatever_came_before(room: Room) -> None:
    """Taken in a part, waived, taken back by the network: each time the page knows beforehand."""
    asha, juma = await room.operator("asha"), await room.operator("juma")
    steps = room.steps
    paid = await steps.ended(PAYOUT, Status.FAILED, 9000)
    await steps.ended(PAYOUT, Status.COMPLETED, 9500)  # 470 are left.
    await steps.report(paid, Verdict.CONFIRMED)
    seen = await asha.look(paid)
    assert "TZS 9,030 of it is owed, and cannot be spent." in seen.words
    assert choices_on(seen)["completed"][1] == (
        "TZS 470 is taken from the wallet. The wallet holds no more, so TZS 8,560 stays owed."
    )

    for say, value in (
        (None, "completed"),
        (Verdict.REFUSED, "failed"),  # What was taken goes back.
        (Verdict.CONFIRMED, WAIVED),
        (None, "completed"),  # Though it was waived.
        (None, "failed"),  # It goes back, and the house bears all of it.
        (Verdict.REFUSED, "completed"),  # Nothing is due, but the statement says so.
    ):
        if say is not None:
            await steps.report(paid, say)
        before, available = await steps.correction(paid), await room.available()
        assert before is not None
        assert value in choices_on(await asha.look(paid)), value
        effect = await _effect(room, paid, value)
        assert (await room.propose(asha, paid, value)).status == 303
        assert (await juma.approve(paid)).status == 303
        after = await steps.correction(paid)
        assert after is not None
        happened = (await room.available() - available, after.borne - before.borne, after.owed)
        assert (happened, after.credited - before.credited) == (effect, effect.credited), value
    await database_facts.assert_clean(room.service.queries.database)


async def _effect(room: Room, payment: Transaction, value: str) -> ResolutionEffect:
    async with room.service.queries.database.begin() as tx:
        case = await cases.lock(tx, payment.reference)
    assert case is not None
    outcome, is_waived = finding_of(case, value)
    return effect_of(case, outcome, is_waived=is_waived, available=await room.available())


async def test_a_debt_is_on_the_list_with_its_sum(room: Room) -> None:
    asha = await room.operator("asha")
    contradicted = await room.steps.contradicted(PAYOUT, Status.FAILED, 5000)
    listed = await asha.surfer.get("/operator")
    assert "The network said that it was not paid, and now that it was." in listed.words
    assert contradicted.reference in listed.words
    assert "TZS 5,030 is owed" in listed.words
    assert "Owed by merchants" in listed.words


async def test_what_the_network_has_said_since_is_not_decided_by_an_older_page(room: Room) -> None:
    asha = await room.operator("asha")
    contradicted = await room.steps.contradicted(PAYOUT, Status.FAILED)
    await asha.look(contradicted)
    await room.steps.report(contradicted, Verdict.REFUSED)
    await room.steps.report(contradicted, Verdict.CONFIRMED)
    refused = await asha.propose(contradicted, "completed", status="FAILED", said="1")
    assert refused.status == 409
    assert "It has changed since you looked." in refused.words
    assert (await room.propose(asha, contradicted, "completed")).status == 303


async def test_an_empty_wallet_is_said_and_nothing_changes(room: Room) -> None:
    asha, juma = await room.operator("asha"), await room.operator("juma")
    paid = await room.steps.ended(PAYOUT, Status.FAILED, 9000)
    await room.steps.ended(PAYOUT, Status.COMPLETED, 9970)
    await room.steps.report(paid, Verdict.CONFIRMED)
    assert (await room.propose(asha, paid, "completed")).status == 303
    refused = await juma.approve(paid)
    assert refused.status == 400
    assert "so nothing can be collected from it now. Try again when it holds more." in refused.words
    assert await room.available() == 0


async def test_failed_despite_waiting_is_asked_for_and_shown_to_the_second(room: Room) -> None:
    asha, juma = await room.operator("asha"), await room.operator("juma")
    payout = await room.steps.processing(PAYOUT)
    box = "I know that the network has it and has not decided"
    assert box in (await asha.look(payout)).words

    refused = await asha.propose(payout, "failed")
    assert refused.status == 409
    assert "so it may still be paid. Tick the box below" in refused.words
    assert (await asha.propose(payout, "failed", despiteWaiting="yes")).status == 303
    assert "This was said although the network has it and has not decided." in (await juma.look(payout)).words
    assert (await juma.approve(payout)).status == 303
    assert await room.status(payout) is Status.FAILED


async def test_the_box_stands_only_where_the_network_has_it(room: Room) -> None:
    asha = await room.operator("asha")
    unheard = await room.steps.send(PAYOUT)
    await room.steps.report(unheard, Verdict.UNKNOWN, AnswerSource.SEND)
    waiting = await room.steps.processing(COLLECTION)
    ended = await room.steps.contradicted(PAYOUT, Status.FAILED)
    for payment in (unheard, waiting, ended):
        assert "despiteWaiting" not in (await asha.look(payment)).text
    assert (await asha.propose(unheard, "failed")).status == 303


async def test_a_collection_that_was_said_to_be_paid_takes_two_to_fail(room: Room) -> None:
    asha = await room.operator("asha")
    said = await room.steps.processing(COLLECTION)
    await room.steps.report(said, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)
    seen = await asha.look(said)
    assert "another operator must approve it, because somebody said that it was paid" in seen.words
    assert (await asha.propose(said, "failed")).status == 303
    assert await room.status(said) is Status.PROCESSING


async def test_a_closed_merchants_payout_is_cancelled_by_an_operator(room: Room) -> None:
    asha = await room.operator("asha")
    pending = await room.steps.open(PAYOUT, 5000)
    path = f"/operator/cases/{pending.reference}/cancel"
    collection = await room.steps.open(COLLECTION)
    others = f"/operator/cases/{collection.reference}/cancel"
    assert others not in (await asha.look(collection)).text
    refused = await asha.surfer.post(others)
    assert (refused.status, "Its merchant is active, and can cancel it." in refused.words) == (403, True)
    async with room.service.queries.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", room.merchant.id)

    assert "Its merchant is closed, so nobody sends it." in (await asha.surfer.get("/operator")).words
    seen = await asha.look(pending)
    assert path in seen.text
    assert "TZS 5,030 goes back to the wallet." in seen.words
    assert (await asha.surfer.post(path)).status == 303

    assert (await room.status(pending), await room.available()) == (Status.CANCELLED, 10_000)
    again = await asha.surfer.post(path)
    assert (again.status, "this one is CANCELLED" in again.words) == (409, True)
    assert await room.deeds() == [("payment.cancelled", f"operator {asha.name}", asha.address)]


async def test_a_payout_on_a_channel_that_is_not_connected_is_listed_and_cancelled_by_an_operator(room: Room) -> None:
    asha = await room.operator("asha")
    pending = await room.steps.open(PAYOUT, 5000)
    path = f"/operator/cases/{pending.reference}/cancel"
    async with room.service.queries.database.begin() as tx:
        await note_worker(tx, [])

    listed = await asha.surfer.get("/operator")
    assert "No network is connected that could take it, so nobody sends it." in listed.words
    assert "Nothing was sent. TZS 5,030 goes back to the wallet." in (await asha.look(pending)).words
    assert (await asha.surfer.post(path)).status == 303

    assert (await room.status(pending), await room.available()) == (Status.CANCELLED, 10_000)


async def test_while_no_worker_reports_its_networks_a_second_operator_approves_it(room: Room) -> None:
    asha, juma = await room.operator("asha"), await room.operator("juma")
    pending = await room.steps.open(PAYOUT, 5000)
    assert "No worker reports which networks are connected" in (await asha.look(pending)).words
    assert (await asha.surfer.post(f"/operator/cases/{pending.reference}/cancel")).status == 303
    assert await room.status(pending) is Status.PENDING

    seen = await juma.look(pending)
    assert "It is cancelled" in seen.words
    assert "Make sure that no worker sends payments of this network" in seen.words
    assert (await juma.decide("approve", pending, proposal_on(seen))).status == 303
    assert (await room.status(pending), await room.available()) == (Status.CANCELLED, 10_000)


async def test_a_payout_that_a_worker_sends_is_not_offered(room: Room) -> None:
    """The worker has a network that the process of the pages lacks."""
    asha = await room.operator("asha")
    pending = await room.steps.open(PAYOUT, 5000)
    async with room.service.queries.database.begin() as tx:
        await note_worker(tx, ["MPESA DISBURSEMENT"])
    path = f"/operator/cases/{pending.reference}/cancel"
    assert path not in (await asha.look(pending)).text
    assert (await asha.surfer.post(path)).status == 403
    assert await room.status(pending) is Status.PENDING


async def test_messages_about_payments_that_we_do_not_have_are_listed(room: Room) -> None:
    asha = await room.operator("asha")
    payout = await room.steps.processing(PAYOUT)
    stranger = replace(payout, network_key="<i>KEY</i>")
    said = {"amount": 7000, "provider_reference": "QK12AB", "phone": "+255754000009", "detail": "<b>Paid"}
    report = a_report(stranger, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False, **said)
    assert await room.service.network_work.apply_answer(report) is None

    seen = await asha.surfer.get("/operator/callbacks")

    for words in ("<i>KEY</i>", "TZS 7,000", "QK12AB", "+255 754 000 009", "<b>Paid", "Not signed"):
        assert words in seen.words, words
    assert "<i>KEY" not in seen.text
    assert 'href="/operator/callbacks"' in (await asha.surfer.get("/operator")).text


def test_every_reason_to_look_has_a_sentence() -> None:
    others = {"now_unpaid", "now_paid", "closed_merchant", "not_connected", "doubted", "late", "none", "retry_not_sent"}
    assert set(SENTENCES) == {each.value for each in ReviewReason} | others
