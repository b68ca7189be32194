"""Names for a merchant: within the limit of a day, in the audit log without the name, and never in anybody's way."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from malipo.app.assemble import Service, assemble
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.audit_log.store import AuditLogEntry
from malipo.db import Database
from malipo.networks.connector import Channel
from malipo.recipients.daily_limit import LookupsUsedUp
from malipo.recipients.look_up import LookupUnavailable, NameCheck, Payee, RecipientNames
from malipo.recipients.name_comparison import Comparison
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant, make_merchant
from tests.networks import airtel_money_spec
from tests.networks.scripted_server import After, Reply, Request, ScriptedServer, http

ASHA, JUMA = Actor("asha@example.com", "196.41.7.20"), Actor("juma@example.com", "196.41.7.21")
AIRTEL = Channel.AIRTEL_MONEY
NOON = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
NAME = "ASHA SAIDI MUSHI"


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def names_of(service: Service) -> RecipientNames:
    return RecipientNames.of(service.settings, service.networks, service.queries, service.clock)


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Airtel Money, which tells the same name of every number."""
    async with ScriptedServer.opened() as server:
        server.always(airtel_money_spec.GET_TOKEN, airtel_money_spec.TOKEN_GIVEN)
        yield server


@pytest.fixture
def time() -> Clock:
    return Clock()


@pytest.fixture
async def service(database: Database, server: ScriptedServer, time: Clock) -> AsyncIterator[Service]:
    service = assemble(_settings(server, recipient_lookups_daily=5), database, clock=time)
    yield service
    await service.finish()


def _settings(server: ScriptedServer, **changes: Any) -> Settings:
    return Settings(**NO_LIMITS | airtel_money_spec.settings(server.port) | changes)


def _line(n: int = 0, *, name: str = "") -> Payee:
    return Payee(AIRTEL, f"+2556840000{n:02}", name)


def _told(request: Request) -> Reply:
    data = {"first_name": "ASHA", "last_name": "SAIDI MUSHI", "msisdn": request.target.rpartition("/")[2]}
    return http("200 OK", json.dumps({"data": data, "status": {"success": True, "response_code": "DP02200000001"}}))


def _answer(server: ScriptedServer, lines: list[Payee], reply: Any = _told) -> None:
    for line in lines:
        server.always(f"GET /standard/v1/users/{line.phone[4:]}", reply)


def _asked(server: ScriptedServer) -> int:
    return sum(line.startswith("GET /standard/v1/users/") for line in server.lines)


async def _entries(database: Database, merchant: Merchant) -> list[AuditLogEntry]:
    async with database.read() as connection:
        found = await audit_log.find(connection, merchant_id=merchant.id, limit=100)
    return [each for each in found if each.action.endswith(".looked_up")]


async def test_a_name_is_answered_and_the_audit_log_has_who_asked_for_which_number(
    service: Service, server: ScriptedServer, merchant: Merchant, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    _answer(server, [_line()])
    found = await names_of(service).look_up(merchant.id, _line(name="Mushi Asha"), actor=ASHA)
    assert found == NameCheck(name=NAME, is_registered=True, checked_at=NOON, comparison=Comparison.MATCH)
    [entry] = await _entries(database, merchant)
    assert (entry.actor, entry.address, entry.action) == ("asha@example.com", "196.41.7.20", "recipient.looked_up")
    assert entry.details == {"count": 1, "channel": "AIRTEL_MONEY", "phone": "+255684000000"}
    assert "MUSHI" not in capsys.readouterr().err, "no name is in the log"


async def test_a_channel_without_a_source_of_names_is_neither_counted_nor_noted(
    service: Service, merchant: Merchant, database: Database
) -> None:
    with pytest.raises(LookupUnavailable):
        await names_of(service).look_up(merchant.id, Payee(Channel.MPESA, "+255754000001"), actor=ASHA)
    assert await _entries(database, merchant) == []


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(http("500 Internal Server Error", "<html>"), id="a fault"),
        pytest.param(http("200 OK", "<html>"), id="a page"),
        pytest.param(Reply(after=After.RESET), id="reset"),
    ],
)
async def test_a_network_that_says_nothing_is_an_unknown_name_and_counts(
    service: Service, server: ScriptedServer, merchant: Merchant, database: Database, reply: Reply
) -> None:
    _answer(server, [_line()], reply)
    assert await names_of(service).look_up(merchant.id, _line(name="Asha"), actor=ASHA) == NameCheck()
    assert len(await _entries(database, merchant)) == 1


async def test_beyond_the_limit_of_the_day_nobody_is_asked_until_midnight_in_dar_es_salaam(
    service: Service, server: ScriptedServer, merchant: Merchant, time: Clock
) -> None:
    _answer(server, [_line()])
    time.now = datetime(2026, 11, 16, 20, 59, 30, tzinfo=UTC)
    for _ in range(5):
        await names_of(service).look_up(merchant.id, _line(), actor=ASHA)
    asked = _asked(server)
    with pytest.raises(LookupsUsedUp) as refused:
        await names_of(service).look_up(merchant.id, _line(), actor=JUMA)
    assert 30 <= refused.value.retry_after_seconds <= 31
    assert _asked(server) == asked
    time.now += timedelta(seconds=refused.value.retry_after_seconds)
    assert (await names_of(service).look_up(merchant.id, _line(), actor=JUMA)).name == NAME


async def test_of_many_at_once_no_more_than_the_limit_are_told(
    service: Service, server: ScriptedServer, merchant: Merchant, database: Database
) -> None:
    lines = [_line(n) for n in range(30)]
    _answer(server, lines)

    async def one(line: Payee) -> bool:
        try:
            return (await names_of(service).look_up(merchant.id, line, actor=ASHA)).name == NAME
        except LookupsUsedUp:
            return False

    reported = await asyncio.gather(*map(one, lines))
    assert sum(reported) == len(await _entries(database, merchant)) == 5
    assert _asked(server) == 5


async def test_the_limit_is_each_merchants_own(
    service: Service, server: ScriptedServer, merchant: Merchant, database: Database
) -> None:
    other = await make_merchant(database)
    _answer(server, [_line()])
    for each in [merchant, other] * 5:
        await names_of(service).look_up(each.id, _line(), actor=ASHA)
    with pytest.raises(LookupsUsedUp):
        await names_of(service).look_up(other.id, _line(), actor=ASHA)


async def test_zero_is_no_limit(server: ScriptedServer, database: Database, merchant: Merchant) -> None:
    service = assemble(_settings(server, recipient_lookups_daily=0), database)
    _answer(server, [_line()])
    for _ in range(8):
        await names_of(service).look_up(merchant.id, _line(), actor=ASHA)
    await service.finish()
    assert len(await _entries(database, merchant)) == 8


async def test_what_one_was_told_is_recalled_for_them_alone(
    service: Service, server: ScriptedServer, merchant: Merchant
) -> None:
    _answer(server, [_line()])
    assert names_of(service).recall(merchant.id, _line(), actor=ASHA) is None
    await names_of(service).look_up(merchant.id, _line(), actor=ASHA)
    recalled = names_of(service).recall(merchant.id, _line(name="Juma Kimaro"), actor=ASHA)
    assert recalled is not None
    assert (recalled.name, recalled.comparison) == (NAME, Comparison.DIFFERS)
    assert names_of(service).recall(merchant.id, _line(), actor=JUMA) is None
    assert names_of(service).recall("mer_another", _line(), actor=ASHA) is None


async def test_the_lines_of_a_batch_are_answered_in_their_order_and_each_number_is_queried_once(
    service: Service, server: ScriptedServer, merchant: Merchant, database: Database
) -> None:
    _answer(server, [_line(1), _line(2)])
    lines = [
        _line(2, name="A. Mushi"),
        Payee(Channel.HALOPESA, "+255621000001", "Neema"),
        _line(1, name="Asha Mushi"),
        _line(2, name="Juma"),
    ]
    found = await names_of(service).look_up_many(merchant.id, lines, actor=ASHA)
    assert [each.name for each in found] == [NAME, None, NAME, NAME]
    close, unknown, match, differs = Comparison.CLOSE, Comparison.UNKNOWN, Comparison.MATCH, Comparison.DIFFERS
    assert [each.comparison for each in found] == [close, unknown, match, differs]
    assert _asked(server) == 2


async def test_whoever_looks_names_up_by_a_batch_leaves_each_number_in_the_audit_log(
    service: Service, server: ScriptedServer, merchant: Merchant, database: Database
) -> None:
    """A line that says "900 numbers" tells nobody whose names were copied."""
    lines = [_line(n) for n in (3, 1, 2, 1)]
    _answer(server, lines)
    await names_of(service).look_up_many(merchant.id, lines, actor=ASHA)
    entries = await _entries(database, merchant)
    assert {(each.actor, each.action) for each in entries} == {("asha@example.com", "recipient.looked_up")}
    reported = sorted(str(each.details["phone"]) for each in entries)
    assert reported == sorted({line.phone for line in lines})
    assert all(each.details["count"] == 1 and each.details["channel"] == "AIRTEL_MONEY" for each in entries)


async def test_lines_above_the_limit_are_unknown_and_say_so(
    service: Service, server: ScriptedServer, merchant: Merchant
) -> None:
    lines = [_line(n) for n in range(8)]
    _answer(server, lines)
    found = await names_of(service).look_up_many(merchant.id, lines, actor=ASHA)
    assert [(each.name, each.is_over_limit) for each in found] == [(NAME, False)] * 5 + [(None, True)] * 3
    with pytest.raises(LookupsUsedUp):
        await names_of(service).look_up(merchant.id, _line(), actor=ASHA)
    assert all(each.is_over_limit for each in await names_of(service).look_up_many(merchant.id, lines, actor=ASHA))


async def test_a_batch_does_not_wait_for_a_network_that_hangs(
    service: Service, server: ScriptedServer, merchant: Merchant
) -> None:
    lines = [_line(n) for n in range(5)]
    _answer(server, lines[:2])
    _answer(server, lines[2:], Reply(after=After.HANG))
    found = await names_of(service).look_up_many(merchant.id, lines, actor=ASHA, seconds=1)
    assert [each.name for each in found] == [NAME, NAME, None, None, None]


async def test_without_lines_nothing_is_noted(service: Service, merchant: Merchant, database: Database) -> None:
    assert await names_of(service).look_up_many(merchant.id, [], actor=ASHA) == []
    assert await names_of(service).look_up_many(merchant.id, [Payee(Channel.MPESA, "+255754000001")], actor=ASHA) == [
        NameCheck()
    ]
    assert await _entries(database, merchant) == []
