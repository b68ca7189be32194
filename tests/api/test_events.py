"""GET /v1/events: every event, in one order, without gaps, and exactly as in the contract."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.outbox import feed
from malipo.payments.rollups import counter
from malipo.payments.transaction import Status
from malipo.webhooks.fan_out import fan_out
from malipo.worker.batch_completer import complete_batches
from tests.api.conftest import bring, created, is_refused, shown
from tests.api.response_fields import ADDED_TO_RETRIEVED, BODIES, BOTH, RETRIEVED
from tests.conftest import COLLECTION, Client, Merchant
from tests.payments.batches.batch_steps import BatchSteps
from tests.settlement.settlement_steps import SettlementSteps

# What is told on the way to a status, copied by hand from the specification.
TOLD: dict[tuple[str, Status], list[str]] = {
    ("COLLECTION", Status.PENDING): ["payment.pending"],
    ("COLLECTION", Status.PROCESSING): ["payment.pending"],
    ("COLLECTION", Status.COMPLETED): ["payment.pending", "payment.completed"],
    ("COLLECTION", Status.FAILED): ["payment.pending", "payment.failed"],
    ("COLLECTION", Status.CANCELLED): ["payment.pending", "payment.cancelled"],
    ("DISBURSEMENT", Status.PENDING): [],
    ("DISBURSEMENT", Status.PROCESSING): [],
    ("DISBURSEMENT", Status.COMPLETED): ["payout.completed"],
    ("DISBURSEMENT", Status.FAILED): ["payout.failed"],
    ("DISBURSEMENT", Status.CANCELLED): ["payout.cancelled"],
}


async def number(database: Database) -> None:
    """Give what was told its place in the feeds, as a worker does."""
    events = 1
    while events:
        async with database.begin() as tx:
            done = await fan_out(
                tx, most=5_000, claim_id="", lease_seconds=0, may_claim=lambda _: False, now=clock.now()
            )
        events = done.event_count


async def read(api: Client, query: str = "") -> tuple[list[dict[str, Any]], str]:
    """The events, and the cursor."""
    answer = await api("GET", f"/v1/events{query}")
    assert answer.status == 200, answer
    assert set(answer.body) == {"success", "events", "next"}
    assert answer.body["success"] is True
    assert isinstance(answer.body["next"], str)
    return answer.body["events"], answer.body["next"]


async def make(api: Client, database: Database, count: int) -> list[str]:
    """So many events of different payments; the payments' ids, in order."""
    ids = [(await created(api, COLLECTION))["id"] for _ in range(count)]
    await number(database)
    return ids


def payments(events: list[dict[str, Any]]) -> list[str]:
    return [each["transaction"]["id"] for each in events]


# What it shows


@BOTH
@pytest.mark.parametrize("status", list(Status))
async def test_an_event_has_exactly_its_fields_with_the_transaction_as_it_was(
    api: Client, service: Service, database: Database, merchant: Merchant, type_: str, status: Status
) -> None:
    transaction = await created(api, BODIES[type_] | {"metadata": {"orderId": "A-1"}, "description": "Chai"})
    await bring(service, merchant, transaction["id"], status)
    await number(database)
    later = await shown(api, transaction["id"])

    events, _ = await read(api)

    assert [each["event"] for each in events] == TOLD[type_, status]
    reached = {entry["status"]: entry["timestamp"] for entry in later["statusLogs"]}
    for event in events:
        assert set(event) == {"id", "event", "createdAt", "transaction"}
        assert event["id"].startswith("evt_")
        reported = Status(event["transaction"]["status"])
        assert event["event"].endswith(reported.lower())
        assert event["createdAt"] == reached[reported]
        fields = (RETRIEVED[type_] | ADDED_TO_RETRIEVED.get(reported, set())) - {"statusLogs"}
        assert set(event["transaction"]) == fields
        # What it is now, as far as it was so then.
        same = fields - {"status"}
        assert {name: event["transaction"][name] for name in same} == {name: later[name] for name in same}


async def test_metadata_comes_back_as_it_was_sent(api: Client, database: Database) -> None:
    metadata = {"orderId": "A-1042 é 👩‍👧", "big": 2**63 - 1, "small": 1e-300, "whole": 1.0, "no": None, "yes": True}
    await created(api, COLLECTION | {"metadata": metadata})
    await number(database)

    ((event,), _) = await read(api)

    assert event["transaction"]["metadata"] == metadata
    assert [type(value) for value in event["transaction"]["metadata"].values()] == [
        type(value) for value in metadata.values()
    ]


async def test_a_feed_without_events_has_a_cursor_too(api: Client, database: Database) -> None:
    events, cursor = await read(api)
    assert (events, await read(api, f"?after={cursor}")) == ([], ([], cursor))

    ids = await make(api, database, 2)

    assert payments((await read(api, f"?after={cursor}"))[0]) == ids


async def test_what_has_no_place_yet_is_not_shown_before_it_has_one(api: Client, database: Database) -> None:
    """Whoever sees an event has seen all before it: so it waits until its place is certain."""
    first = await make(api, database, 1)
    second = await created(api, COLLECTION)

    events, cursor = await read(api)
    await number(database)

    assert payments(events) == first
    assert payments((await read(api, f"?after={cursor}"))[0]) == [second["id"]]


# Where one reads on


async def test_pages_follow_each_other_in_order_without_gaps(api: Client, database: Database) -> None:
    ids = await make(api, database, 5)

    pages, cursor = [], ""
    for _ in range(4):
        events, cursor = await read(api, f"?limit=2&after={cursor}")
        pages.append(payments(events))

    assert pages == [ids[:2], ids[2:4], ids[4:], []]
    assert (await read(api, f"?after={cursor}"))[1] == cursor
    more = await make(api, database, 1)
    assert payments((await read(api, f"?limit=2&after={cursor}"))[0]) == more


async def test_the_same_cursor_gives_the_same_events_for_ever(api: Client, database: Database) -> None:
    await make(api, database, 3)
    _, cursor = await read(api, "?limit=1")
    before, end = await read(api, f"?after={cursor}")

    await make(api, database, 2)

    again, _ = await read(api, f"?after={cursor}&limit=2")
    assert again == before
    assert len((await read(api, f"?after={end}"))[0]) == 2


async def test_without_a_cursor_or_with_an_empty_one_one_reads_from_the_oldest(api: Client, database: Database) -> None:
    ids = await make(api, database, 3)

    assert [payments((await read(api, query))[0]) for query in ("", "?after=", "?after=0")] == [ids] * 3


async def test_from_the_latest_one_hears_only_what_is_new(api: Client, database: Database) -> None:
    await make(api, database, 3)
    assert (await read(api))[1] == (await read(api, "?after=latest"))[1]

    events, cursor = await read(api, "?after=latest")
    ids = await make(api, database, 2)

    assert events == []
    assert payments((await read(api, f"?after={cursor}"))[0]) == ids


async def test_a_page_has_20_unless_its_limit_says_otherwise(api: Client, database: Database) -> None:
    ids = await make(api, database, 21)

    for query, count in (("", 20), ("?limit=1", 1), ("?limit=21", 21), ("?limit=100", 21)):
        events, cursor = await read(api, query)
        assert payments(events) == ids[:count]
        assert payments((await read(api, f"?after={cursor}"))[0]) == ids[count:]


async def test_the_cursor_of_an_event_that_is_no_longer_kept_has_expired(
    api: Client, database: Database, merchant: Merchant
) -> None:
    ids = await make(api, database, 4)
    cursors = ["0", *[(await read(api, f"?limit={n}"))[1] for n in (1, 2, 3)]]
    async with database.begin() as tx:
        later = clock.now() + timedelta(days=1)
        assert await feed.prune(tx, merchant.id, before=later, most=2) == 0, "what is not counted is kept"
        while await counter.count(tx, least=1):
            pass
        assert await feed.prune(tx, merchant.id, before=later, most=2) == 2

    for cursor in cursors[:2]:
        assert is_refused(await api("GET", f"/v1/events?after={cursor}"), 400, "cursor_expired", "after")
    assert payments((await read(api, f"?after={cursors[2]}"))[0]) == ids[2:]
    assert payments((await read(api, f"?after={cursors[3]}"))[0]) == ids[3:]
    assert payments((await read(api))[0]) == ids[2:]


NO_CURSORS = [
    "x", "-1", "%2B1", "1.0", "1e1", "0x1", "%201", "1%20", "1,2", "Latest", "latest1", "oldest", "null", "evt_01m7f5",
    "1234567890123456789", "9" * 18, "5", "%EF%BC%91", "%D9%A1", "1'--", "%25", "1%0A", "latest%0A",
]  # fmt: skip


@pytest.mark.parametrize("cursor", NO_CURSORS)
async def test_what_is_no_cursor_of_this_feed_is_refused(api: Client, database: Database, cursor: str) -> None:
    await make(api, database, 1)

    assert is_refused(await api("GET", f"/v1/events?after={cursor}"), 400, "cursor_invalid", "after")


async def test_every_bad_parameter_is_named_at_once(api: Client) -> None:
    for query, code, *fields in (
        ("after=x&limit=0&wait=31", "validation_failed", "after", "limit", "wait"),
        (f"after={'1' * 65}", "text_too_long", "after"),
        ("after=%00", "text_invalid", "after"),
        ("limit=101", "limit_invalid", "limit"),
        ("wait=-1", "wait_invalid", "wait"),
        ("wait=", "wait_invalid", "wait"),
    ):
        assert is_refused(await api("GET", f"/v1/events?{query}"), 400, code, *fields), query


async def test_unknown_parameters_are_ignored(api: Client, database: Database) -> None:
    ids = await make(api, database, 1)

    assert payments((await read(api, "?before=1&type=x&page=0"))[0]) == ids


# Types


async def ended_batch(service: Service, merchant: Merchant, statuses: list[Status]) -> str:
    """The batch is complete, and a worker has given all events their places."""
    batches = BatchSteps(service, merchant.id)
    batch = await batches.running(len(statuses))
    for line, status in zip(await batches.lines(batch), statuses, strict=True):
        assert line.payout is not None
        await bring(service, merchant, line.payout.id, status)
    await complete_batches(service.queries.database)
    await number(service.queries.database)
    return batch.id


async def test_the_end_of_a_batch_is_told_to_who_asks_for_it_and_after_its_payouts(
    api: Client, service: Service, merchant: Merchant
) -> None:
    batch_id = await ended_batch(service, merchant, [Status.COMPLETED, Status.FAILED])

    events, cursor = await read(api)
    assert ([each["event"] for each in events], cursor) == (["payout.completed", "payout.failed"], "3")
    for types in ("batch.completed", "payout.failed,batch.completed", "payout.failed,*", "*"):
        events, after = await read(api, f"?types={types}")
        assert (set(events[-1]), after) == ({"id", "event", "createdAt", "batch"}, "3")
        batch = (await api("GET", f"/v1/payments/disburse/batches/{batch_id}")).body["batch"]
        assert events[-1]["batch"] == batch
        assert events[-1]["createdAt"] == batch["completedAt"]
    assert [each["event"] for each in events] == ["payout.completed", "payout.failed", "batch.completed"]


async def test_a_reader_of_some_types_goes_on_past_the_others(
    api: Client, service: Service, merchant: Merchant, database: Database
) -> None:
    await make(api, database, 3)
    batch_ids = [await ended_batch(service, merchant, [Status.COMPLETED]) for _ in range(2)]

    first, cursor = await read(api, "?types=batch.completed&limit=1")
    second, end = await read(api, f"?types=batch.completed&limit=1&after={cursor}")

    assert [each["batch"]["id"] for each in (*first, *second)] == batch_ids
    assert await read(api, f"?types=batch.completed&after={end}") == ([], end)
    assert (await read(api, "?limit=2"))[1] == "2", "without types it ends at its last event"


async def test_who_waits_for_one_type_waits_on_when_another_comes(
    api: Client, service: Service, merchant: Merchant, database: Database
) -> None:
    waiting = asyncio.create_task(read(api, "?types=batch.completed&wait=20"))
    await make(api, database, 1)
    await asyncio.sleep(1)  # Longer than a look takes.
    assert not waiting.done()

    batch_id = await ended_batch(service, merchant, [Status.COMPLETED])

    [reported], _ = await asyncio.wait_for(waiting, 15)
    assert reported["batch"]["id"] == batch_id


async def test_what_became_of_a_settlement_is_told_to_who_asks_for_it(
    api: Client, service: Service, merchant: Merchant, database: Database
) -> None:
    steps = await SettlementSteps.of(service, database, merchant.id)
    await make(api, database, 1)
    settlement = await steps.completed()
    await steps.give_back(settlement)
    await number(database)

    reported, cursor = await read(api)
    assert [each["event"] for each in reported] == ["payment.pending"]
    assert cursor == "3", "without types it goes on past them"
    for types, names in (
        ("settlement.completed", ["settlement.completed"]),
        ("settlement.completed,settlement.returned", ["settlement.completed", "settlement.returned"]),
        ("*", ["payment.pending", "settlement.completed", "settlement.returned"]),
    ):
        events, _ = await read(api, f"?types={types}")
        assert [each["event"] for each in events] == names
        assert set(events[-1]) == {"id", "event", "createdAt", "settlement"}
    read_now = (await api("GET", f"/v1/settlements/{settlement.id}")).body["settlement"]
    assert events[-1]["settlement"] == read_now


@pytest.mark.parametrize("types", ["", "batch.begun", "payment.completed,", "*,nothing", "webhook.test"])
async def test_an_event_that_there_is_not_is_refused(api: Client, types: str) -> None:
    assert is_refused(await api("GET", f"/v1/events?types={types}"), 400, "types_invalid", "types")


# Others


async def test_of_other_merchants_one_sees_nothing(api: Client, database: Database, stranger: Merchant) -> None:
    """Not even how much there is: each feed counts for itself."""
    theirs = api.as_(stranger.key)
    mine, others = [], []
    for _ in range(3):
        mine += await make(api, database, 1)
        others += await make(theirs, database, 2)

    (my_events, my_cursor), (their_events, their_cursor) = await read(api), await read(theirs)

    assert (payments(my_events), payments(their_events)) == (mine, others)
    assert (my_cursor, their_cursor) == ("3", "6")
    assert is_refused(await api("GET", f"/v1/events?after={their_cursor}"), 400, "cursor_invalid", "after")
    assert payments((await read(theirs, f"?after={my_cursor}"))[0]) == others[3:]


# Waiting


async def test_waiting_ends_with_the_first_event(api: Client, database: Database) -> None:
    await make(api, database, 1)
    _, cursor = await read(api)
    waiting = [
        asyncio.create_task(read(api, f"?after={cursor}&wait=20")),
        asyncio.create_task(read(api, "?after=latest&wait=20")),
    ]
    await asyncio.sleep(0.5)
    assert not any(task.done() for task in waiting)

    ids = await make(api, database, 1)

    for events, after in await asyncio.wait_for(asyncio.gather(*waiting), 15):
        assert payments(events) == ids
        assert await read(api, f"?after={after}") == ([], after)


async def test_the_first_event_of_all_ends_the_waiting_too(api: Client, database: Database) -> None:
    waiting = asyncio.create_task(read(api, "?wait=20"))
    await asyncio.sleep(0.5)
    assert not waiting.done()

    ids = await make(api, database, 1)

    assert payments((await asyncio.wait_for(waiting, 15))[0]) == ids


async def test_what_happens_to_others_ends_nobodys_waiting(api: Client, database: Database, stranger: Merchant) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    waiting = asyncio.create_task(read(api, "?wait=1"))
    await asyncio.sleep(0.2)

    await make(api.as_(stranger.key), database, 1)

    assert await waiting == ([], "0")
    assert loop.time() - began >= 1


async def test_who_has_something_to_read_does_not_wait(api: Client, database: Database) -> None:
    ids = await make(api, database, 2)
    _, cursor = await read(api, "?limit=1")

    queries = ("?wait=30", f"?wait=30&after={cursor}", "?after=latest&wait=0")
    answers = await asyncio.wait_for(asyncio.gather(*(read(api, query) for query in queries)), 15)

    assert [payments(events) for events, _ in answers] == [ids, ids[1:], []]
