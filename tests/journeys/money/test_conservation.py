"""No sequence of anything makes or loses a shilling.

The model beside the service is written from the specification, with its own table and its own arithmetic.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.networks.connector import Channel
from malipo.payments.cancel import Cancellation, NotCancellable
from malipo.payments.initiate import InsufficientBalance
from malipo.payments.status_effects import EVENTS
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, NoSuchTransaction, Status, Transaction, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant, _create, make_merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.journeys.money.conservation_model import BANDS, OPEN, PLANS, WALLET, Band, Batch, Create, Happen, Model
from tests.kept_database import PlanningDatabase
from tests.status_changes import change_status

Done = TypeVar("Done")

FAILING = (Cause.REFUSED, Cause.LAPSED, Cause.UNCONNECTED)


class World:
    """One event loop and one database for all examples; each has a merchant of its own."""

    def __init__(self, runner: asyncio.Runner, database: Database) -> None:
        self._runner = runner
        self.database = database
        self.service = assemble(Settings(**NO_LIMITS), database)

    def run(self, act: Awaitable[Done]) -> Done:
        async def wait() -> Done:
            return await act

        return self._runner.run(wait())

    async def merchant(self, bands: Sequence[Band] = ()) -> Merchant:
        merchant = await make_merchant(self.database, wallet=WALLET)
        async with self.database.begin() as tx:
            await tx.executemany(
                "INSERT INTO tariffs VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                [(merchant.id, *(getattr(each, column.name) for column in fields(Band))) for each in bands],
            )
        return merchant


@pytest.fixture(scope="module")
def world(postgres: str, template: str) -> Iterator[World]:
    with asyncio.Runner() as runner:
        url = runner.run(_create(postgres, f"test_{secrets.token_hex(6)}", template=template))
        database = PlanningDatabase(url, size=10)
        runner.run(database.open())
        world = World(runner, database)
        yield world
        runner.run(world.service.finish())
        found = runner.run(database_facts.findings(database))
        runner.run(database.close())
        assert found == [], "what any example has done wrong is still there"


class Run:
    """A plan carried out on the service and on the model, answer by answer."""

    def __init__(self, world: World, merchant: Merchant, bands: Sequence[Band]) -> None:
        self._service = world.service
        self._merchant = merchant
        self.model = Model(bands)
        self.ids: list[str] = []

    async def batch(self, batch: Batch) -> None:
        """All at once: the group takes them in their order, in one commit."""
        match batch[0]:
            case Create():
                await self._create([each for each in batch if isinstance(each, Create)])
            case Happen():
                happenings = [each for each in batch if isinstance(each, Happen)]
                await self._happen([Happen(self._nth(each.nth), each.cause) for each in happenings])
            case _:
                await self._cancel([self._nth(each) for each in batch if isinstance(each, int)])

    def _nth(self, drawn: int) -> int:
        return drawn % len(self.ids) if drawn >= 0 and self.ids else -1

    def _id(self, nth: int) -> str:
        return self.ids[nth] if nth >= 0 else "txn_none"

    async def _create(self, creates: list[Create]) -> None:
        orders = [
            order(self._merchant.id, each.type, each.amount, key=each.key, channel=each.channel) for each in creates
        ]
        answers = await asyncio.gather(
            *(self._service.payments.initiate(each) for each in orders), return_exceptions=True
        )
        for create, sent, answer in zip(creates, orders, answers, strict=True):
            what, expected = self.model.create(create)
            if what == "poor":
                assert isinstance(answer, InsufficientBalance)
                continue
            if what == "reused":
                assert getattr(answer, "code", None) == "idempotency_key_reused"
                continue
            assert not isinstance(answer, BaseException)
            assert expected is not None
            assert sent.draft is not None
            assert answer.is_replay is (what == "replayed")
            if what == "created":
                assert answer.transaction.id == sent.draft.id
                self.ids.append(answer.transaction.id)
            assert answer.transaction.id == self.ids[self.model.transactions.index(expected)]
            assert answer.transaction.fee == expected.fee

    async def _happen(self, happenings: list[Happen]) -> None:
        news = [
            StatusChange(
                merchant_id=self._merchant.id,
                transaction_id=self._id(each.nth),
                cause=each.cause,
                failure_code="declined" if each.cause in FAILING else None,
                failure_reason="No." if each.cause in FAILING else None,
            )
            for each in happenings
        ]
        outcomes = await asyncio.gather(*(change_status(self._service, each) for each in news))
        for happening, outcome in zip(happenings, outcomes, strict=True):
            moves = self.model.happen(happening.nth, happening.cause)
            assert (outcome.has_moved if outcome is not None else None) is moves
            if outcome is not None:
                assert outcome.transaction.status == self.model.transactions[happening.nth].status

    async def _cancel(self, those: list[int]) -> None:
        answers = await asyncio.gather(
            *(self._service.payments.cancel(Cancellation(self._merchant.id, self._id(nth))) for nth in those),
            return_exceptions=True,
        )
        for nth, answer in zip(those, answers, strict=True):
            if self.model.happen(nth, "withdrawn") is None:
                assert isinstance(answer, NoSuchTransaction)
            elif self.model.transactions[nth].status == "CANCELLED":
                assert isinstance(answer, Transaction)
                assert answer.status is Status.CANCELLED
            else:
                assert isinstance(answer, NotCancellable)


async def _assert_is_as_expected(world: World, merchant: Merchant, run: Run) -> None:
    async with world.database.snapshot() as connection:
        rows = await connection.fetch("SELECT * FROM transactions WHERE merchant_id = $1", merchant.id)
        events = await connection.fetch("SELECT * FROM events WHERE merchant_id = $1", merchant.id)
    found = {row["id"]: row for row in rows}
    assert set(found) == set(run.ids)
    reported: Counter[tuple[str, str]] = Counter((row["transaction_id"], row["event"]) for row in events)
    expected_events: Counter[tuple[str, str]] = Counter()
    for id_, expected in zip(run.ids, run.model.transactions, strict=True):
        row = found[id_]
        assert (row["status"], row["fee"]) == (expected.status, expected.fee)
        times = [row["created_at"], row["processing_at"], row["ended_at"]]
        assert (times[1] is not None) is ("PROCESSING" in expected.reached)
        assert (times[2] is not None) is (expected.status not in OPEN)
        for status in expected.reached:
            event = EVENTS.get((expected.create.type, Status(status)))
            if event is not None:
                expected_events[id_, event] += 1
    assert reported == expected_events
    assert await database_facts.wallet(world.database, merchant.id) == (run.model.wallet, run.model.in_flight)
    await _assert_conserves(world, merchant)


async def _assert_conserves(world: World, merchant: Merchant) -> None:
    """What must hold whatever happened, in whatever order."""
    async with world.database.snapshot() as connection:
        moves = await connection.fetch("SELECT source, target, amount FROM moves WHERE merchant_id = $1", merchant.id)
        assert sum((await ledger_check.balances(connection)).values()) == 0
    sums: Counter[str] = Counter()
    for move in moves:
        sums[move["target"]] += move["amount"]
        sums[move["source"]] -= move["amount"]
    available, in_flight = await database_facts.wallet(world.database, merchant.id)
    assert sum(sums.values()) == 0
    assert (sums["wallet"], sums["in_flight"]) == (available, in_flight)
    assert min(available, in_flight, sums["fees"]) >= 0
    assert sums["bank"] == -WALLET


EXAMPLES = settings(
    max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_every_cause_in_every_status_of_both_types_does_what_the_table_says_and_no_more(world: World) -> None:
    ways: list[list[Cause]] = [
        [],
        [Cause.SUBMITTED],
        [Cause.SUBMITTED, Cause.CONFIRMED],
        [Cause.SUBMITTED, Cause.REFUSED],
        [Cause.WITHDRAWN],
    ]
    cells = [(type_, [*way, cause, cause]) for type_ in Type for way in ways for cause in Cause]
    bands = [Band(type_, Channel.MPESA, 0, 7, 50, 0, 499) for type_ in Type]

    async def carry_out() -> None:
        merchant = await world.merchant(bands)
        run = Run(world, merchant, bands)
        await run.batch([Create(type_, Channel.MPESA, 500, None) for type_, _ in cells])
        assert len(run.ids) == len(cells) == 60
        for step in range(4):
            await run.batch([Happen(nth, causes[step]) for nth, (_, causes) in enumerate(cells) if step < len(causes)])
            await _assert_is_as_expected(world, merchant, run)
        assert {each.status for each in run.model.transactions} == set(Status)
        assert await database_facts.findings(world.database) == []

    world.run(carry_out())


@EXAMPLES
@given(PLANS, BANDS)
def test_whatever_happens_in_whatever_order_every_answer_and_every_shilling_is_right(
    world: World, plan: list[Batch], bands: list[Band]
) -> None:
    async def carry_out() -> None:
        merchant = await world.merchant(bands)
        run = Run(world, merchant, bands)
        for batch in plan:
            await run.batch(batch)
            await _assert_is_as_expected(world, merchant, run)

    world.run(carry_out())


@settings(EXAMPLES, max_examples=15)
@given(PLANS, BANDS, st.randoms(use_true_random=False))
def test_whatever_happens_at_once_no_shilling_is_made_or_lost(
    world: World, plan: list[Batch], bands: list[Band], chance: Any
) -> None:
    """Everything is let loose together, so nobody knows who wins; but the money does not care."""

    async def carry_out() -> None:
        merchant = await world.merchant(bands)
        orders = [
            order(merchant.id, each.type, each.amount, key=each.key, channel=each.channel)
            for batch in plan
            for each in batch
            if isinstance(each, Create)
        ]
        ids = [each.draft.id for each in orders if each.draft is not None]
        acts: list[Callable[[], Awaitable[Any]]] = [
            *(lambda each=each: world.service.payments.initiate(each) for each in orders),
            *(
                lambda id_=id_, cause=cause: change_status(world.service, _change(merchant, id_, cause))
                for id_ in ids
                for cause in chance.sample(list(Cause), 3)
            ),
            *(lambda id_=id_: world.service.payments.cancel(Cancellation(merchant.id, id_)) for id_ in ids[::2]),
        ]
        seen: dict[str, Status] = {}
        for _ in range(2):
            chance.shuffle(acts)
            answers = await asyncio.gather(*(act() for act in acts), return_exceptions=True)
            unexpected = [each for each in answers if isinstance(each, Exception) and not hasattr(each, "details")]
            assert not unexpected
            await _assert_conserves(world, merchant)
            await _assert_no_end_has_changed(world, merchant, seen)

    world.run(carry_out())


def _change(merchant: Merchant, transaction_id: str, cause: Cause) -> StatusChange:
    return StatusChange(merchant_id=merchant.id, transaction_id=transaction_id, cause=cause, failure_code="declined")


async def _assert_no_end_has_changed(world: World, merchant: Merchant, seen: dict[str, Status]) -> None:
    async with world.database.read() as connection:
        rows = await connection.fetch("SELECT id, status FROM transactions WHERE merchant_id = $1", merchant.id)
    now = {row["id"]: Status(row["status"]) for row in rows}
    assert {id_: now[id_] for id_ in seen} == seen
    seen.update({id_: status for id_, status in now.items() if status.is_final})
