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

from malipo.cli.listening.access import Access
from malipo.cli.listening.stage import Stage
from malipo.cli.trigger import SCENES, play
from malipo.errors import Impossible
from malipo.networks.contract import Type
from malipo.outbox.event import ENDS, Event
from tests.cli.test_listen import serving
from tests.journeys.terminal import Said, malipo
from tests.journeys.town import Town, a_worker, founded, until
from tests.simulator.processes import start as start_simulator


@pytest.fixture
async def town(tmp_path: Path, database_url: str) -> AsyncIterator[Town]:
    """Known to the command by what a demo writes down."""
    async with founded(tmp_path, database_url) as town:
        (tmp_path / "demo.json").write_text(demo_of(town, town.api.url))
        yield town


def demo_of(town: Town, base_url: str) -> str:
    return json.dumps({"baseUrl": base_url, "phonesUrl": town.sim.url, "apiKey": town.merchant.key})


async def trigger(*arguments: str, data_dir: Path) -> Said:
    return await malipo("trigger", *arguments, data_dir=data_dir)


async def told_of(town: Town, id_: str) -> dict[str, Any]:
    """What the service has told of a payment: its events, and their bodies."""
    async with town.database.read() as connection:
        rows = await connection.fetch("SELECT event, body FROM events WHERE transaction_id = $1 ORDER BY id", id_)
    return {row["event"]: json.loads(row["body"]) for row in rows}


async def test_every_event_really_happens(town: Town, tmp_path: Path) -> None:
    others = [event for event in SCENES if not event.endswith("cancelled")]
    order = ("--metadata", "orderId=17", "note=a=b", "--amount", "1500", "--channel", "airtel_money", "--json")
    # As long as nobody sends them, there is time to cancel.
    said = {event: await trigger(event, *order, data_dir=tmp_path) for event in SCENES if event not in others}
    async with a_worker(town):
        found = await asyncio.gather(*(trigger(event, *order, data_dir=tmp_path) for event in others))
    said |= dict(zip(others, found, strict=True))

    moved = await town.moved()
    for event in SCENES:
        assert (said[event].code, said[event].err) == (0, ""), event
        shown = said[event].json
        payment = shown["transaction"]
        told = (await told_of(town, payment["id"]))[event]
        assert shown["event"] == event
        assert told["transaction"]["metadata"] == {"orderId": "17", "note": "a=b"}
        assert (payment["amount"], payment["channel"]) == (1500, "AIRTEL_MONEY")
        phone = payment.get("buyerPhone") or payment["recipientPhone"]
        assert (phone in moved) is event.endswith("completed"), event
        if event is not Event.PAYMENT_PENDING:
            assert payment["status"] == event.partition(".")[2].upper()
    assert len({each.json["transaction"]["id"] for each in said.values()}) == len(SCENES) == len(ENDS) + 1


async def test_a_person_reads_what_happened_and_how_to_see_it(town: Town, tmp_path: Path) -> None:
    async with a_worker(town):
        failed, pending = await asyncio.gather(
            trigger("payment.failed", data_dir=tmp_path), trigger("payment.pending", data_dir=tmp_path)
        )
    [payment] = (await town.api("GET", "/v1/payments?status=FAILED")).body["transactions"]
    phone = (await town.shown(payment["id"]))["buyerPhone"]
    lines = failed.out.splitlines()
    assert lines[0] == f"payment.failed: {payment['reference']}, TZS 1,000 from {phone} over MPESA."
    assert [line.split()[-1] for line in lines[2:5]] == ["PENDING", "PROCESSING", "FAILED"]
    assert lines[5] == "  The customer declined the payment."
    assert f'  curl -s {town.api.url}/v1/payments/{payment["reference"]} -H "x-api-key: $KEY"' in lines
    assert f"  {town.sim.url}/phones/{phone}" in lines
    assert "Answer it within 30 s" in pending.out
    assert town.merchant.key not in failed.out + pending.out


async def test_a_worker_that_was_faster_is_said_and_costs_nothing(town: Town, tmp_path: Path) -> None:
    async with a_slow_road(town) as (url, late):
        told = await town.sim("GET", "/api/callbacks")
        await town.sim("PUT", "/api/callbacks", {name: each.replace(town.api.url, url) for name, each in told.items()})
        (tmp_path / "demo.json").write_text(demo_of(town, url))
        said = await trigger("payout.cancelled", "--json", data_dir=tmp_path)

    assert said.code == 0, said.err
    first = await town.shown(late[0])
    assert said.err == f"Too late to be cancelled, and refused by the phone: {first['reference']}.\n"
    assert first["status"] == "FAILED"
    assert said.json["transaction"]["id"] != late[0]
    assert said.json["transaction"]["status"] == "CANCELLED"
    assert await town.moved() == {}
    wallet = (await town.api("GET", "/v1/wallet")).body["wallet"]
    assert (wallet["available"], wallet["reserved"]) == (50_000_000, 0)


@asynccontextmanager
async def a_slow_road(town: Town) -> AsyncIterator[tuple[str, list[str]]]:
    """To the service. The first cancellation is held up on it until a worker has sent the payment; no later one is."""
    late: list[str] = []

    async def has_ended() -> bool:
        return (await town.shown(late[0]))["status"] in ("COMPLETED", "FAILED")

    async def travel(request: web.Request) -> web.Response:
        if request.path.endswith("/cancel") and not late:
            late.append(request.path.split("/")[-2])
            async with a_worker(town):
                await until(has_ended)
        url, who = town.api.url + request.path_qs, {"x-api-key": town.merchant.key}
        async with aiohttp.request(request.method, url, headers=who, data=await request.read()) as answer:
            code = {"X-Error-Code": answer.headers.get("X-Error-Code", "")}
            return web.Response(status=answer.status, body=await answer.read(), headers=code)

    async with serving(travel) as url:
        yield url, late


async def test_where_money_could_be_real_nothing_is_asked_for(town: Town, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    who = ("--api-key", town.merchant.key, "--base-url", town.api.url)
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
            refused("payment.completed", *who, "--phones-url", town.api.url),
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
    assert f"does not work for {town.api.url}" in not_ours
    assert all(event in no_event for event in SCENES)
    assert no_correction == "malipo: A correction cannot be triggered: it takes a network that takes back its word."
    assert "HALOPESA" in no_channel
    assert "500" in too_little, "the service's own words"
    assert (await town.api("GET", "/v1/payments")).body["transactions"] == []


async def test_a_payment_that_the_simulator_never_sees_is_taken_back_or_said_loudly(town: Town) -> None:
    """A simulator that says it works for this service, and does not."""
    stranger = await asyncio.to_thread(start_simulator)
    try:
        async with aiohttp.ClientSession() as http, a_slow_road(town) as (road, _):
            told = {"MPESA": f"{town.api.url}/callbacks", "AIRTEL_MONEY": f"{road}/callbacks"}
            async with http.put(f"{stranger.url}/api/callbacks", json=told) as answer:
                assert answer.status == 200

            async def play_at(url: str, event: Event) -> None:
                stage = Stage(http, Access(url, town.merchant.key), stranger.url, patience_seconds=0.5)
                await stage.check()
                await play(stage, SCENES[event], {"amount": 1000, "channel": "MPESA"})

            with pytest.raises(Impossible, match=r"did not leave the service within 0\.5 s, and is cancelled"):
                await play_at(town.api.url, Event.PAYMENT_COMPLETED)
            with pytest.raises(Impossible, match="may move real money"):
                await play_at(road, Event.PAYOUT_CANCELLED)
            async with a_worker(town):
                with pytest.raises(Impossible, match="may move real money"):
                    await play_at(town.api.url, Event.PAYMENT_COMPLETED)
    finally:
        stranger.stop()
    asked = (await town.api("GET", "/v1/payments")).body["transactions"]
    assert [each["status"] for each in asked][1:] == ["FAILED", "CANCELLED"]
    assert len(asked) == 3, "not one more"


async def test_that_the_simulator_has_seen_the_phone_before_proves_nothing(town: Town) -> None:
    phone = "+255754000001"
    asked = {"amount": 1000, "channel": "MPESA", "buyerPhone": phone}
    async with aiohttp.ClientSession() as http:
        access = Access(town.api.url, town.merchant.key)
        patient, hasty = Stage(http, access, town.sim.url), Stage(http, access, town.sim.url, patience_seconds=0.2)
        async with a_worker(town):
            await patient.until_seen(await patient.take(Type.COLLECTION, asked), phone)
        with pytest.raises(Impossible, match="did not leave the service"):
            await hasty.until_seen(await hasty.take(Type.COLLECTION, asked), phone)
