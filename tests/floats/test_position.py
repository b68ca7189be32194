"""The float of a channel: which readings count, and how far they cover payouts. A grid, without a database."""

from datetime import UTC, datetime, timedelta

import pytest

from malipo.floats.position import FloatReading, Position, Source, position_of
from malipo.networks.connector import Channel

NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)


def reading(
    amount: int,
    *,
    account: str = "",
    source: Source = Source.STATEMENT,
    hours: float = 1,
    channel: str = "HALOPESA",
    is_shared: bool = False,
) -> FloatReading:
    return FloatReading(channel, account, amount, source, NOW - timedelta(hours=hours), "x", is_shared)


def position(*readings: FloatReading, ledger: int = 1000, in_flight: dict[str, int] | None = None) -> Position:
    return position_of(Channel.HALOPESA, ledger=ledger, readings=readings, in_flight=in_flight or {"HALOPESA": 300})


def test_without_a_reading_the_ledger_counts() -> None:
    here = position(reading(5, channel="MPESA"))
    assert (here.reading, here.read_at, here.difference, here.cover(NOW)) == (None, None, None, 700)


@pytest.mark.parametrize(
    ("readings", "seen", "cover"),
    [
        pytest.param([reading(900)], 900, 600, id="one"),
        pytest.param([reading(0)], 0, -300, id="nothing is an amount"),
        pytest.param([reading(900, hours=2), reading(800, source=Source.OPERATOR)], 800, 500, id="the latest counts"),
        pytest.param([reading(900), reading(800, source=Source.OPERATOR, hours=2)], 900, 600, id="whoever says it"),
        pytest.param([reading(900), reading(50, account="b")], 950, 650, id="accounts add up"),
        pytest.param(
            [reading(900), reading(50, account="clickpesa", source=Source.NETWORK)],
            950,
            -250,
            id="the paying one covers",
        ),
        pytest.param(
            [reading(70, hours=3, source=Source.NETWORK), reading(60), reading(500, account="b")],
            560,
            -240,
            id="the paying one, whoever says it",
        ),
        pytest.param([reading(5000, hours=24)], 5000, 4700, id="a day old"),
        pytest.param([reading(5000, hours=24.1)], 5000, 700, id="too old, and more than the ledger"),
        pytest.param([reading(400, hours=24.1)], 400, 100, id="too old, and less than the ledger"),
    ],
)
def test_what_was_seen_and_how_far_it_covers_payouts(readings: list[FloatReading], seen: int, cover: int) -> None:
    here = position(*readings)
    assert (here.reading, here.cover(NOW)) == (seen, cover)
    assert here.difference == seen - 1000


def test_an_account_that_several_channels_share_covers_the_payouts_of_all_of_them() -> None:
    in_flight = {"HALOPESA": 300, "MPESA": 500, "TIGO_PESA": 1}
    here = position(
        reading(2000, account="clickpesa", source=Source.NETWORK, is_shared=True), ledger=700, in_flight=in_flight
    )
    assert (here.in_flight, here.cover(NOW), here.difference) == (801, 1199, None)


def test_a_reading_is_as_old_as_the_oldest_of_its_accounts() -> None:
    assert position(reading(1, hours=5), reading(2, account="b")).read_at == NOW - timedelta(hours=5)


def test_there_is_no_difference_while_an_account_was_never_looked_at() -> None:
    seen = [reading(50, account="clickpesa", source=Source.NETWORK)]
    here = position_of(Channel.HALOPESA, ledger=100, readings=seen, in_flight={}, accounts=["", "clickpesa"])
    assert (here.reading, here.difference, here.cover(NOW)) == (50, None, 50)
    both = position_of(
        Channel.HALOPESA, ledger=100, readings=[*seen, reading(40)], in_flight={}, accounts=["", "clickpesa"]
    )
    assert both.difference == -10
