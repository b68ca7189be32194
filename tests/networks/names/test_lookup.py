"""Who is asked for a name, how long, how many at once; and that whatever goes wrong is an unknown name."""

import asyncio
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from malipo.networks.connector import Channel, Connector, Recipient, Type
from malipo.networks.lookup_limit import MinuteLimit
from malipo.networks.name_lookup import NameLookup

NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
AIRTEL, MPESA = Channel.AIRTEL_MONEY, Channel.MPESA
PHONE = "+255684123456"


class Silent:
    """A connector that tells no names."""


class Directory:
    """A connector that tells names, and counts who asks."""

    def __init__(self, name: str | None, *channels: Channel) -> None:
        self.name = name
        self.channels = channels or tuple(Channel)
        self.asked: list[str] = []
        self.under_way = self.most_under_way = 0
        self.gate: asyncio.Event | None = None
        self.error: Exception | None = None

    def looks_up(self, channel: Channel) -> bool:
        return channel in self.channels

    async def look_up(self, channel: Channel, phone: str) -> Recipient:
        self.asked.append(phone)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await (self.gate.wait() if self.gate is not None else asyncio.sleep(0))
        finally:
            self.under_way -= 1
        if self.error is not None:
            raise self.error
        return Recipient(name=self.name, is_registered=True if self.name else None)


def _lookup(connectors: dict[str, Any], *, seconds: float = 5, **payouts: str) -> NameLookup:
    routes = {(Channel[channel], Type.DISBURSEMENT): carrier for channel, carrier in payouts.items()}
    return NameLookup(cast(dict[str, Connector], connectors), routes, timeout_seconds=seconds)


async def _name(
    lookup: NameLookup, channel: Channel = AIRTEL, phone: str = PHONE, *, whose: str = "asha"
) -> str | None:
    return (await lookup.look_up(whose, channel, phone, now=NOW)).recipient.name


async def _let_others_run() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def test_the_carrier_of_the_payouts_is_queried_if_it_reports_names() -> None:
    connectors = {"other": Directory("OTHER"), "carrier": Directory("CARRIER")}
    assert await _name(_lookup(connectors, AIRTEL_MONEY="carrier")) == "CARRIER"


async def test_another_network_is_queried_if_the_carrier_reports_no_names() -> None:
    connectors = {"carrier": Silent(), "elsewhere": Directory("X", MPESA), "other": Directory("OTHER")}
    lookup = _lookup(connectors, AIRTEL_MONEY="carrier", MPESA="carrier")
    assert (await _name(lookup), await _name(lookup, MPESA)) == ("OTHER", "X")


async def test_where_nobody_tells_names_it_is_said_before_anybody_is_asked() -> None:
    lookup = _lookup({"carrier": Silent(), "other": Directory("X", MPESA)}, AIRTEL_MONEY="carrier")
    assert [channel for channel in Channel if lookup.can_look_up(channel)] == [MPESA]
    assert (await lookup.look_up("asha", AIRTEL, PHONE, now=NOW)).checked_at is None


async def test_a_network_that_hangs_is_an_unknown_name() -> None:
    directory = Directory("ASHA")
    directory.gate = asyncio.Event()
    looked = await _lookup({"x": directory}, seconds=0.05).look_up("asha", AIRTEL, PHONE, now=NOW)
    assert (looked.recipient.name, looked.recipient.code, looked.checked_at) == (None, "timeout", None)
    assert directory.under_way == 0, "nothing is left behind"


async def test_a_connector_with_a_bug_is_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    directory = Directory("ASHA")
    directory.error = KeyError("ASHA MUSHI")
    assert await _name(_lookup({"x": directory})) is None
    await asyncio.sleep(0)
    assert "MUSHI" not in capsys.readouterr().err, "no name is in the log"


async def test_who_asks_again_within_a_minute_is_told_the_same_and_nobody_else_is() -> None:
    directory = Directory("ASHA")
    lookup = _lookup({"x": directory})
    assert lookup.recall("asha", AIRTEL, PHONE) is None
    assert [await _name(lookup) for _ in range(3)] == ["ASHA"] * 3
    assert len(directory.asked) == 1
    recalled = lookup.recall("asha", AIRTEL, PHONE)
    assert recalled is not None
    assert (recalled.recipient.name, recalled.checked_at) == ("ASHA", NOW)
    assert lookup.recall("juma", AIRTEL, PHONE) is None
    await _name(lookup, whose="juma")
    await _name(lookup, MPESA)
    assert len(directory.asked) == 3


async def test_what_was_not_answered_is_asked_again() -> None:
    directory = Directory(None)
    lookup = _lookup({"x": directory})
    assert await _name(lookup) is None
    directory.name = "ASHA"
    assert await _name(lookup) == "ASHA"


async def test_of_many_a_few_are_asked_at_once_and_each_once() -> None:
    directory = Directory("ASHA")
    lookup = _lookup({"x": directory})
    numbers = [(AIRTEL, f"+2556840{n:05}") for n in range(100)]
    found = await lookup.look_up_many("asha", numbers * 2, seconds=30, now=NOW)
    assert list(found) == numbers
    assert sorted(directory.asked) == [phone for _, phone in numbers]
    assert 1 < directory.most_under_way <= 8


async def test_two_lists_at_once_share_the_turns_and_a_single_one_does_not_wait() -> None:
    directory = Directory("ASHA")
    directory.gate = asyncio.Event()
    lookup = _lookup({"x": directory})
    lists = [
        asyncio.create_task(
            lookup.look_up_many("asha", [(AIRTEL, f"+25568{n}{m:06}") for m in range(20)], seconds=30, now=NOW)
        )
        for n in range(2)
    ]
    await _let_others_run()
    assert directory.under_way == 8
    single = asyncio.create_task(lookup.look_up("juma", AIRTEL, PHONE, now=NOW))
    await _let_others_run()
    assert PHONE in directory.asked
    directory.gate.set()
    assert [len(each) for each in await asyncio.gather(*lists)] == [20, 20]
    assert (await single).recipient.name == "ASHA"
    assert directory.most_under_way == 9


async def test_when_the_time_is_up_what_was_found_is_kept() -> None:
    quick, slow = Directory("ASHA", AIRTEL), Directory("JUMA", MPESA)
    slow.gate = asyncio.Event()
    lookup = _lookup({"quick": quick, "slow": slow})
    numbers = [(AIRTEL, PHONE), *((MPESA, f"+2557540{n:05}") for n in range(20))]
    found = await lookup.look_up_many("asha", numbers, seconds=0.05, now=NOW)
    assert list(found) == [(AIRTEL, PHONE)]
    assert slow.under_way == 0, "nothing is left behind"


async def test_a_minute_limit_lets_so_many_pass() -> None:
    limit = MinuteLimit(3)
    assert [limit.take() for _ in range(5)] == [True, True, True, False, False]
    assert not MinuteLimit(0).take()
