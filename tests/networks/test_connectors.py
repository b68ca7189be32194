"""What every connector is and does, a row for each: what the worker must know of it, its probe, and what it makes of a note."""

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from malipo.networks.connector import Connector, Resubmit, Type
from malipo.networks.http.client import HttpClient
from tests.networks import airtel_money_spec, azampay_spec, clickpesa_spec, halopesa_spec, mpesa_spec, tigo_pesa_spec
from tests.networks.payment_calls import (
    AIRTEL_COLLECTION,
    MPESA_COLLECTION,
    TIGO_PUSH,
    Call,
    connect_airtel,
    connect_azampay,
    connect_clickpesa,
    connect_halopesa,
    connect_mpesa,
    connect_tigo,
)
from tests.networks.scripted_server import After, Reply, ScriptedServer, http

Connect = Callable[..., Connector]
IN, OUT = Type.COLLECTION, Type.DISBURSEMENT
REFUSED, UNSAFE = Resubmit.DUPLICATES_REFUSED, Resubmit.UNSAFE


@pytest.mark.parametrize(
    ("name", "connect", "types", "can_query", "resubmit"),
    [
        ("mpesa", connect_mpesa, {IN, OUT}, {IN, OUT}, REFUSED),
        ("airtel_money", connect_airtel, {IN, OUT}, {IN, OUT}, REFUSED),
        ("tigo_pesa", connect_tigo, {IN, OUT}, {IN}, UNSAFE),
        ("halopesa", connect_halopesa, {IN}, set(), REFUSED),
        ("clickpesa", connect_clickpesa, {IN, OUT}, {IN, OUT}, REFUSED),
        # What it does not find is never sent again by itself.
        ("azampay", connect_azampay, {OUT}, {OUT}, UNSAFE),
    ],
)
def test_what_the_worker_must_know_of_it(
    name: str, connect: Connect, types: set[Type], can_query: set[Type], resubmit: Resubmit
) -> None:
    connector = connect(9, HttpClient(), timeout_seconds=33, **{f"{name}_concurrency": 7})
    assert (connector.name, connector.concurrency, connector.timeout_seconds) == (name, 7, 33)
    assert {type_ for type_ in types if connector.can_query(type_)} == can_query
    assert {connector.resubmit(type_) for type_ in types} == {resubmit}


# How each is connected, the one request of its probe, a reply that is good, and those that are trouble. A bare 500 may
# be how HaloPesa's SOAP server answers whoever brings no envelope.
FAULTS = [http("500 Internal Server Error"), http("503 Service Unavailable"), Reply(after=After.RESET)]
HALO_FAULTS = [http("502 Bad Gateway"), http("503 Service Unavailable"), http("504 Gateway Time-out"), FAULTS[-1]]
PROBES = pytest.mark.parametrize(
    ("connect", "line", "good", "faults"),
    [
        (connect_mpesa, mpesa_spec.SESSION, mpesa_spec.SESSION_GIVEN, FAULTS),
        (connect_airtel, airtel_money_spec.GET_TOKEN, airtel_money_spec.TOKEN_GIVEN, FAULTS),
        (connect_tigo, tigo_pesa_spec.GET_TOKEN, tigo_pesa_spec.TOKEN_GIVEN, FAULTS),
        (connect_halopesa, "GET /ServiceAPI", http("405 Method Not Allowed"), HALO_FAULTS),
        (connect_clickpesa, clickpesa_spec.GET_TOKEN, clickpesa_spec.TOKEN_GIVEN, FAULTS),
        (connect_azampay, azampay_spec.GET_TOKEN, azampay_spec.TOKEN_GIVEN, FAULTS),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)


@PROBES
async def test_a_probe_moves_no_money_and_detects_trouble(
    server: ScriptedServer, http_client: HttpClient, connect: Connect, line: str, good: Reply, faults: list[Reply]
) -> None:
    """It is one request, for a token or for nothing at all."""
    server.expect(line, good, *faults)
    connector = connect(server.port, http_client)
    assert not (await connector.probe()).is_fault
    for _ in faults:
        assert (await connector.probe()).is_fault
    if connector.name == "halopesa":
        assert {(each.target, each.body) for each in server.requests} == {("/ServiceAPI", b"")}
        assert all(halopesa_spec.PASSWORD.encode() not in each.raw for each in server.requests)


@PROBES
async def test_a_probe_at_a_closed_door_is_a_fault(
    http_client: HttpClient, connect: Connect, line: str, good: Reply, faults: list[Reply]
) -> None:
    async with ScriptedServer.opened() as server:
        pass
    assert (await connect(server.port, http_client).probe()).is_fault


@pytest.mark.parametrize(
    ("call", "field", "least", "most"),
    [
        (MPESA_COLLECTION, "input_PurchasedItemsDesc", 1, 256),
        (AIRTEL_COLLECTION, "reference", 4, 64),
        (TIGO_PUSH, "Remarks", 1, 100),
    ],
    ids=str,
)
async def test_a_note_is_cleaned_as_each_network_wants_it(
    server: ScriptedServer, http_client: HttpClient, call: Call, field: str, least: int, most: int
) -> None:
    """How any note is cleaned is in `test_text.py`; here is between which lengths."""
    rows = [
        ('","input_Amount":"1","id":"2', "input Amount 1 id 2"),
        ("!?…—", "Payment"),
        ("y" * (least - 1), "Payment"),
        ("y" * least, "y" * least),
        ("x" * most, "x" * most),
        ("x" * (most + 1), "x" * most),
        ("!" * 300 + "zzzz", "zzzz"),
    ]
    call.let_in(server)
    server.always(call.line, call.reply)
    connector = call.connect(server.port, http_client)
    for note, _ in rows:
        await connector.send(replace(call.order, note=note))
    assert [json.loads(each.body)[field] for each in server.on(call.line)] == [text for _, text in rows]
