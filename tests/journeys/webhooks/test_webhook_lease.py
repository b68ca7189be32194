"""One worker holds a delivery for as long as its lease; a worker that sleeps through the lease does no harm.

The sleeping worker is a real process that the kernel stops while it has an answer. Another worker sends the delivery again,
and then the first one wakes and reports its answer.
"""

import asyncio
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from malipo.outbox.event import Event
from tests.conftest import create_database
from tests.journeys.full_stack import until
from tests.journeys.postgres_proxy import proxy_to
from tests.journeys.webhook_receivers import Behaviour, a_receiver, gone, good, good_after, in_turn, says
from tests.journeys.webhook_stack import RegisteredEndpoint, WebhookStack, webhook_stack
from tests.journeys.worker_stack import CrashingWorker, a_crashing_worker, a_real_worker

fails = says(500)


@dataclass(frozen=True)
class Case:
    """What the sleeper was answered, what the other one is, and what stands then and after the sleeper's report."""

    asleep: Behaviour
    awake: tuple[Behaviour, ...]
    meanwhile: tuple[str, int]
    after: tuple[str, int]
    retries: str = "3600"
    is_failing: bool = False


CASES = {
    "a success, as the other": Case(good, (good,), ("DELIVERED", 1), ("DELIVERED", 1)),
    "a success, while the other fails": Case(good, (fails,), ("PENDING", 1), ("DELIVERED", 2)),
    "a success, when the other has given up": Case(
        good, (fails, fails), ("EXHAUSTED", 2), ("DELIVERED", 3), retries="0"
    ),
    "a failure, while the other succeeds": Case(fails, (good,), ("DELIVERED", 1), ("DELIVERED", 1)),
    "a failure, as the other": Case(fails, (fails,), ("PENDING", 1), ("PENDING", 1), is_failing=True),
    "a 410, while the other succeeds": Case(gone, (good,), ("DELIVERED", 1), ("DELIVERED", 1)),
}


@dataclass(frozen=True)
class After:
    meanwhile: dict[str, Any]
    delivery: dict[str, Any]
    endpoint: dict[str, Any]
    attempts: int
    requests: int
    distinct: int  # of bodies and ids


Aftermath = dict[str, After]


@pytest.fixture(scope="module")
async def aftermath(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    async def one(case: Case) -> After:
        return await _sleep(await create_database(postgres, template), tmp_path_factory.mktemp("asleep"), case)

    slept = await asyncio.gather(*(one(case) for case in CASES.values()))
    return dict(zip(CASES, slept, strict=True))


async def _sleep(url: str, folder: Path, case: Case) -> After:
    async with webhook_stack(url, webhook_retry_seconds=case.retries) as stack, a_receiver() as receiver:
        merchant = await stack.merchant()
        behaviour = in_turn(case.asleep, *case.awake)
        endpoint = await stack.register(merchant, receiver.behave("/shop", behaviour), [Event.PAYMENT_PENDING])
        await stack.open(merchant)
        with a_crashing_worker(stack, folder, point="answered", signal="STOP", lease_seconds=1) as sleeper:
            await _until_asleep(stack, sleeper)
            async with stack.a_worker():
                await _until_attempts(stack, endpoint, len(case.awake))
                [meanwhile] = await stack.rows("SELECT * FROM webhook_deliveries")
                sleeper.process.send_signal(signal.SIGCONT)
                await _until_attempts(stack, endpoint, len(case.awake) + 1)
        [delivery] = await stack.rows("SELECT * FROM webhook_deliveries")
        [stored] = await stack.rows("SELECT * FROM webhook_endpoints")
        attempts = len(await stack.rows("SELECT FROM webhook_attempts"))
        came = receiver.at("/shop")
        return After(meanwhile, delivery, stored, attempts, len(came), len({(got.id, got.body) for got in came}))


async def _until_asleep(stack: WebhookStack, sleeper: CrashingWorker) -> None:
    async def is_stopped() -> bool:
        return sleeper.is_stopped

    await until(is_stopped, pause=0.02, what="sleep")
    # What it has open, the server ends after ten seconds by itself. We have no time to lose.
    await stack.rows(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()
        """
    )


async def _until_attempts(stack: WebhookStack, endpoint: RegisteredEndpoint, number: int) -> None:
    async def are_written() -> bool:
        return len(await stack.rows("SELECT FROM webhook_attempts WHERE endpoint_id = $1", endpoint.id)) >= number

    await until(are_written, pause=0.02, what=f"attempt {number}")


@pytest.mark.parametrize("name", CASES)
async def test_a_late_report_of_success_counts_and_one_of_failure_changes_nothing(
    aftermath: Aftermath, name: str
) -> None:
    case, after = CASES[name], aftermath[name]

    assert (after.meanwhile["state"], after.meanwhile["attempt_count"]) == case.meanwhile
    assert (after.delivery["state"], after.delivery["attempt_count"]) == case.after
    if case.after == case.meanwhile:
        assert after.delivery == after.meanwhile
    assert (after.endpoint["failing_since"] is not None) is case.is_failing
    assert after.endpoint["is_active"]
    # A busy machine may let a short lease run out: then it is tried once more.
    assert after.attempts == after.requests >= len(case.awake) + 1, "all of it was written down"
    assert after.distinct == 1


async def test_a_delivery_that_one_worker_has_claimed_is_taken_by_no_other(database_url: str) -> None:
    """The receiver takes longer than a worker's rest between two looks, and shorter than the lease."""
    async with webhook_stack(database_url) as stack, a_receiver() as receiver:
        merchant = await stack.merchant()
        await stack.register(merchant, receiver.behave("/shop", says(200, after_seconds=1.3)), [Event.PAYMENT_PENDING])
        await stack.open(merchant, 12)
        async with stack.a_worker(), stack.a_worker(), stack.a_worker():
            await stack.until_delivered()

        assert len(receiver.at("/shop")) == len(receiver.ids("/shop")) == 12


async def test_a_delivery_of_a_dead_worker_is_sent_when_its_lease_ends(database_url: str, tmp_path: Path) -> None:
    async with webhook_stack(database_url) as stack, a_receiver() as receiver:
        merchant = await stack.merchant()
        await stack.register(merchant, receiver.url("/shop"), [Event.PAYMENT_PENDING])
        await stack.open(merchant, 3)
        with a_crashing_worker(stack, tmp_path, point="sending", lease_seconds=1) as worker:
            await until(lambda: _has_ended(worker), pause=0.02, what="its death")
        [row] = await stack.rows("SELECT count(*) FROM webhook_deliveries WHERE claim_id IS NOT NULL")
        async with stack.a_worker():
            await stack.until_delivered()

        assert row["count"] == 3
        assert len(receiver.at("/shop")) == 3


async def _has_ended(worker: CrashingWorker) -> bool:
    return worker.has_ended()


async def _has_got(worker: CrashingWorker, number: int) -> bool:
    return worker.has_got(number)


async def test_a_worker_asked_to_stop_ends_what_is_on_its_way_and_takes_nothing_new(
    database_url: str, tmp_path: Path
) -> None:
    async with (
        webhook_stack(database_url, webhook_timeout_seconds=60, worker_stop_seconds=60) as stack,
        a_receiver() as receiver,
    ):
        merchant = await stack.merchant()
        answers = asyncio.Event()
        endpoint = await stack.register(merchant, receiver.behave("/shop", good_after(answers)))
        await stack.open(merchant, 20)
        with a_real_worker(stack, tmp_path) as worker:
            await until(lambda: _has_come(receiver.got, 4), pause=0.02, what="as many requests as a new endpoint gets")
            worker.process.terminate()
            await until(lambda: _has_got(worker, signal.SIGTERM), pause=0.02, what="its being asked")
            answers.set()
            await until(lambda: _has_ended(worker), pause=0.02, what="its end")

        assert worker.process.returncode == 0
        assert len(receiver.got) == 4
        assert await stack.states(endpoint) == {"DELIVERED": 4, "PENDING": 16}
        assert await stack.rows("SELECT FROM webhook_deliveries WHERE claim_id IS NOT NULL") == []


async def test_an_answer_is_kept_until_the_database_is_back(postgres: str, template: str) -> None:
    """The lease is longer than the test: nobody else would write it down, and nothing is sent twice."""
    url = await create_database(postgres, template)
    async with (
        proxy_to(url) as (proxy, via),
        webhook_stack(url, via=via, database_patience_seconds=1) as stack,
        a_receiver() as receiver,
    ):
        merchant = await stack.merchant()
        answers = asyncio.Event()
        endpoint = await stack.register(merchant, receiver.behave("/shop", good_after(answers)))
        await stack.open(merchant, 3)
        async with stack.a_worker(lease_seconds=300):
            await until(lambda: _has_come(receiver.got, 3), pause=0.02, what="three requests")
            proxy.go_away()
            answers.set()
            await asyncio.sleep(2.2)  # Longer than anybody's patience.
            assert await stack.states(endpoint) == {"PENDING": 3}
            proxy.come_back()
            await stack.until_delivered()

        assert len(receiver.got) == len(await stack.rows("SELECT FROM webhook_attempts")) == 3


async def _has_come(got: list[Any], number: int) -> bool:
    return len(got) >= number
