"""malipo trigger: what is asked for really happens, and never where money could be real."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from malipo.cli.developer.credentials import Access
from malipo.cli.developer.sandbox import Sandbox
from malipo.cli.trigger import SCENARIOS, play
from malipo.errors import Impossible
from malipo.networks.connector import Type
from malipo.outbox.event import ENDS, Event
from tests.cli.listen.feed_and_receiver import serving
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until
from tests.journeys.operator_commands import Said, malipo
from tests.simulator.processes import start as start_simulator


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    """Known to the command by what a demo writes down."""
    async with full_stack_started(tmp_path, database_url) as full_stack:
        (tmp_path / "demo.json").write_text(demo_of(full_stack, full_stack.api.url))
        yield full_stack


def demo_of(full_stack: FullStack, base_url: str) -> str:
    return json.dumps({"baseUrl": base_url, "phonesUrl": full_stack.sim.url, "apiKey": full_stack.merchant.key})


async def trigger(*arguments: str, data_dir: Path) -> Said:
    return await malipo("trigger", *arguments, data_dir=data_dir)


async def events_of(full_stack: FullStack, id_: str) -> dict[str, Any]:
    """The events of a payment, and their bodies."""
    async with full_stack.database.read() as connection:
        rows = await connection.fetch("SELECT event, body FROM events WHERE transaction_id = $1 ORDER BY id", id_)
    return {row["event"]: json.loads(row["body"]) for row in rows}


async def test_every_event_really_happens(full_stack: FullStack, tmp_path: Path) -> None:
    others = [event for event in SCENARIOS if not event.endswith("cancelled")]
    order = ("--metadata", "orderId=17", "note=a=b", "--amount", "1500", "--channel", "airtel_money", "--json")
    # As long as nobody sends them, there is time to cancel.
    said = {event: await trigger(event, *order, data_dir=tmp_path) for event in SCENARIOS if event not in others}
    async with a_worker(full_stack):
        found = await asyncio.gather(*(trigger(event, *order, data_dir=tmp_path) for event in others))
    said |= dict(zip(others, found, strict=True))

    moved = await full_stack.moved()
    for event in SCENARIOS:
        assert (said[event].code, said[event].err) == (0, ""), event
        shown = said[event].json
        payment = shown["transaction"]
        output = (await events_of(full_stack, payment["id"]))[event]
        assert shown["event"] == event
        assert output["transaction"]["metadata"] == {"orderId": "17", "note": "a=b"}
        assert (payment["amount"], payment["channel"]) == (1500, "AIRTEL_MONEY")
        phone = payment.get("buyerPhone") or payment["recipientPhone"]
        assert (phone in moved) is event.endswith("completed"), event
        if event is not Event.PAYMENT_PENDING:
            assert payment["status"] == event.partition(".")[2].upper()
    assert len({each.json["transaction"]["id"] for each in said.values()}) == len(SCENARIOS) == len(ENDS) + 1


async def test_a_person_reads_what_happened_and_how_to_see_it(full_stack: FullStack, tmp_path: Path) -> None:
    async with a_worker(full_stack):
        failed, pending = await asyncio.gather(
            trigger("payment.failed", data_dir=tmp_path), trigger("payment.pending", data_dir=tmp_path)
        )
    [payment] = (await full_stack.api("GET", "/v1/payments?status=FAILED")).body["transactions"]
    phone = (await full_stack.shown(payment["id"]))["buyerPhone"]
    lines = failed.out.splitlines()
    assert lines[0] == f"payment.failed: {payment['reference']}, TZS 1,000 from {phone} over MPESA."
    assert [line.split()[-1] for line in lines[2:5]] == ["PENDING", "PROCESSING", "FAILED"]
    assert lines[5] == "  The customer declined the payment."
    assert f'  curl -s {full_stack.api.url}/v1/payments/{payment["reference"]} -H "x-api-key: $MALIPO_API_KEY"' in lines
    assert f"  {full_stack.sim.url}/phones/{phone}" in lines
    assert "Answer it within 30 s" in pending.out
    assert full_stack.merchant.key not in failed.out + pending.out


async def test_a_worker_that_was_faster_is_said_and_costs_nothing(full_stack: FullStack, tmp_path: Path) -> None:
    async with a_slow_road(full_stack) as (url, late):
        output = await full_stack.sim("GET", "/api/callbacks")
        await full_stack.sim(
            "PUT", "/api/callbacks", {name: each.replace(full_stack.api.url, url) for name, each in output.items()}
        )
        (tmp_path / "demo.json").write_text(demo_of(full_stack, url))
        said = await trigger("payout.cancelled", "--json", data_dir=tmp_path)

    assert said.code == 0, said.err
    first = await full_stack.shown(late[0])
    assert said.err == f"Too late to be cancelled, and refused by the phone: {first['reference']}.\n"
    assert first["status"] == "FAILED"
    assert said.json["transaction"]["id"] != late[0]
    assert said.json["transaction"]["status"] == "CANCELLED"
    assert await full_stack.moved() == {}
    wallet = (await full_stack.api("GET", "/v1/wallet")).body["wallet"]
    assert (wallet["available"], wallet["reserved"]) == (50_000_000, 0)


@asynccontextmanager
async def a_slow_road(full_stack: FullStack) -> AsyncIterator[tuple[str, list[str]]]:
    """To the service. The first cancellation is held up on it until a worker has sent the payment; no later one is."""
    late: list[str] = []

    async def has_ended() -> bool:
        return (await full_stack.shown(late[0]))["status"] in ("COMPLETED", "FAILED")

    async def travel(request: web.Request) -> web.Response:
        if request.path.endswith("/cancel") and not late:
            late.append(request.path.split("/")[-2])
            async with a_worker(full_stack):
                await until(has_ended)
        url, who = full_stack.api.url + request.path_qs, {"x-api-key": full_stack.merchant.key}
        async with aiohttp.request(request.method, url, headers=who, data=await request.read()) as answer:
            code = {"X-Error-Code": answer.headers.get("X-Error-Code", "")}
            return web.Response(status=answer.status, body=await answer.read(), headers=code)

    async with serving(travel) as url:
        yield url, late


async def test_where_money_could_be_real_nothing_is_asked_for(full_stack: FullStack, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    who = ("--api-key", full_stack.merchant.key, "--base-url", full_stack.api.url)
    stranger = await asyncio.to_thread(start_simulator)

    async def refused(*arguments: str, data_dir: Path = elsewhere) -> str:
        said = await trigger(*arguments, data_dir=data_dir)
        assert (said.code, said.out) == (2, ""), said
        [sentence] = said.err.splitlines()
        return sentence

    try:
        (
            no_demo,
            no_answer,
            no_simulator,
            not_ours,
            no_event,
            no_correction,
            no_channel,
            too_little,
        ) = await asyncio.gather(
            refused("payment.completed", *who),
            refused("payment.completed", *who, "--phones-url", "http://127.0.0.1:1"),
            refused("payment.completed", *who, "--phones-url", full_stack.api.url),
            refused("payout.completed", *who, "--phones-url", stranger.url),
            refused("payment.complete", data_dir=tmp_path),
            refused("payout.corrected", data_dir=tmp_path),
            refused("payment.completed", "--channel", "PIGEON", data_dir=tmp_path),
            refused("payment.completed", "--amount", "499", data_dir=tmp_path),
        )
    finally:
        stranger.stop()

    assert "for simulated networks only" in no_demo
    assert "does not answer as our simulator does" in no_answer
    assert "does not answer as our simulator does" in no_simulator
    assert f"does not work for {full_stack.api.url}" in not_ours
    assert all(event in no_event for event in SCENARIOS)
    assert no_correction == "malipo: A correction cannot be triggered: it takes a network that takes back its word."
    assert "HALOPESA" in no_channel
    assert "500" in too_little, "the service's own words"
    assert (await full_stack.api("GET", "/v1/payments")).body["transactions"] == []


async def test_a_payment_that_the_simulator_never_sees_is_taken_back_or_said_loudly(full_stack: FullStack) -> None:
    """A simulator that says it works for this service, and does not."""
    stranger = await asyncio.to_thread(start_simulator)
    try:
        async with aiohttp.ClientSession() as http, a_slow_road(full_stack) as (road, _):
            output = {"MPESA": f"{full_stack.api.url}/callbacks", "AIRTEL_MONEY": f"{road}/callbacks"}
            async with http.put(f"{stranger.url}/api/callbacks", json=output) as answer:
                assert answer.status == 200

            async def play_at(url: str, event: Event, patience_seconds: float = 0.5) -> None:
                access = Access(url, full_stack.merchant.key)
                stage = Sandbox(http, access, stranger.url, patience_seconds=patience_seconds)
                await stage.check()
                await play(stage, SCENARIOS[event], {"amount": 1000, "channel": "MPESA"})

            with pytest.raises(Impossible, match=r"did not leave the service within 0\.5 s, and is cancelled"):
                await play_at(full_stack.api.url, Event.PAYMENT_COMPLETED)
            with pytest.raises(Impossible, match="may move real money"):
                await play_at(road, Event.PAYOUT_CANCELLED)
            async with a_worker(full_stack):
                with pytest.raises(Impossible, match="may move real money"):
                    await play_at(full_stack.api.url, Event.PAYMENT_COMPLETED, patience_seconds=5)
    finally:
        stranger.stop()
    asked = (await full_stack.api("GET", "/v1/payments")).body["transactions"]
    assert [each["status"] for each in asked][1:] == ["FAILED", "CANCELLED"]
    assert len(asked) == 3, "not one more"


async def test_that_the_simulator_has_seen_the_phone_before_proves_nothing(full_stack: FullStack) -> None:
    phone = "+255754000001"
    asked = {"amount": 1000, "channel": "MPESA", "buyerPhone": phone}
    async with aiohttp.ClientSession() as http:
        access = Access(full_stack.api.url, full_stack.merchant.key)
        patient, hasty = (
            Sandbox(http, access, full_stack.sim.url),
            Sandbox(http, access, full_stack.sim.url, patience_seconds=0.2),
        )
        async with a_worker(full_stack):
            await patient.until_seen(await patient.take(Type.COLLECTION, asked), phone)
        with pytest.raises(Impossible, match="did not leave the service"):
            await hasty.until_seen(await hasty.take(Type.COLLECTION, asked), phone)
