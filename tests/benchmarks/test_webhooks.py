"""`bench webhooks` measures what it says: the right endpoints, every delivery, and no figure without its proof."""

import secrets
from pathlib import Path

import asyncpg
import pytest

from benchmarks import database, measured_processes
from benchmarks.__main__ import _json, _parser
from benchmarks.load import CannotMeasure
from benchmarks.reports.result import Result
from benchmarks.reports.webhooks_report import _text, _value
from benchmarks.webhooks.arrivals import Arrivals, percentiles_ms
from benchmarks.webhooks.endpoints import ENDPOINTS, Endpoints, Kind
from benchmarks.webhooks.events import EventWriter
from benchmarks.webhooks.trials import ALL_HEALTHY, MIXED, Pile, Plan, Report, Run, Stream

MIXED_COMPANY = Endpoints(ENDPOINTS, is_mixed=True)
EVENTS = range(ENDPOINTS)  # one for each endpoint
STATUSES = {Kind.HEALTHY: 200, Kind.FAILING: 500, Kind.HANGING: 499}


def line(place: int, event: int, *, at: float = 1_800_000_000.123, status: int | None = None) -> str:
    """As nginx logs it."""
    answered = status or STATUSES[MIXED_COMPANY.kind(place)]
    return f"{at:.3f} {MIXED_COMPANY.path(place)} {database.event(event)} {answered}\n"


def arrivals(folder: Path, *lines: str, without: int | None = None) -> Arrivals:
    """Everything that has to arrive, but for one place, and then these lines."""
    log = folder / "arrivals.log"
    whole = [line(event, event) for event in EVENTS if event != without]
    log.write_text("".join([*whole, *lines]))
    return Arrivals(MIXED_COMPANY, log)


def test_one_endpoint_in_twenty_hangs_and_one_in_twenty_fails_or_none_does() -> None:
    assert [len(MIXED_COMPANY.places(kind)) for kind in (Kind.HEALTHY, Kind.HANGING, Kind.FAILING)] == [900, 50, 50]
    assert len(Endpoints(50, is_mixed=False).places(Kind.HEALTHY)) == ENDPOINTS


async def test_what_has_to_arrive_is_what_the_database_says_each_endpoint_is_to_be_told(postgres: str) -> None:
    audience = Endpoints(50, is_mixed=True)
    name = f"bench_{secrets.token_hex(4)}"
    url = await database.create(postgres, name, merchants=audience.merchants)
    try:
        await audience.register(url, port=8080, secret_key=measured_processes.SECRET_KEY)
        async with EventWriter.opened(url, audience.merchants) as news:
            first = await news.write(3)
            events = range(first.start, (await news.write(audience.merchants)).stop)
        assert await pairs(url) == {
            (audience.path(place), database.event(event))
            for kind in Kind
            for place, event in audience.deliveries(events, kind)
        }
    finally:
        await database.drop(postgres, name)


async def pairs(url: str) -> set[tuple[str, str]]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            """
            SELECT substring(e.url FROM ':8080(.*)') AS path, v.id
            FROM events v JOIN webhook_endpoints e ON e.merchant_id = v.merchant_id AND v.event = ANY(e.events)
            """
        )
    finally:
        await connection.close()
    return {(row["path"], row["id"]) for row in rows}


def test_all_that_had_to_arrive_has_arrived(tmp_path: Path) -> None:
    arrivals(tmp_path).verify(EVENTS)


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Kind.HEALTHY, "Other deliveries came"),
        (Kind.HANGING, "Not every hanging endpoint was tried"),
        (Kind.FAILING, "Not every failing endpoint was tried"),
    ],
)
def test_there_is_no_result_if_one_endpoint_was_left_out(tmp_path: Path, kind: Kind, complaint: str) -> None:
    with pytest.raises(CannotMeasure, match=complaint):
        arrivals(tmp_path, without=MIXED_COMPANY.places(kind)[-1]).verify(EVENTS)


def test_there_is_no_result_if_an_endpoint_got_what_was_for_another(tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="Other deliveries came"):
        arrivals(tmp_path, line(0, 1)).verify(EVENTS)


@pytest.mark.parametrize("kind", [Kind.HANGING, Kind.FAILING])
def test_there_is_no_result_if_one_that_must_not_has_taken_a_delivery(tmp_path: Path, kind: Kind) -> None:
    place = MIXED_COMPANY.places(kind)[0]
    with pytest.raises(CannotMeasure, match=f"A {kind} endpoint has given another answer"):
        arrivals(tmp_path, line(place, place, status=200)).verify(EVENTS)


async def test_what_came_twice_is_counted_and_its_first_arrival_is_the_one_that_counts(tmp_path: Path) -> None:
    received = arrivals(tmp_path, line(0, 0, at=1_800_000_009))
    arrived = await received.wait_for(EVENTS)
    assert (arrived[0, 0], received.duplicates, len(arrived)) == (1_800_000_000.123, 1, 900)


def test_half_a_line_is_read_when_the_rest_of_it_is_there(tmp_path: Path) -> None:
    late = line(0, 0)
    received = arrivals(tmp_path, late[:30], without=0)
    received.count_new()
    with (tmp_path / "arrivals.log").open("a") as log:
        log.write(late[30:])
    received.verify(EVENTS)
    assert received.duplicates == 0


def test_percentiles_are_of_the_delays_in_milliseconds() -> None:
    p50, p99 = percentiles_ms([number / 1000 for number in range(1, 1000)])
    assert (round(p50), round(p99)) == (500, 990)


def test_the_ratios_are_of_one_healthy_endpoint_and_not_of_how_many_there_are() -> None:
    """Nine tenths of the endpoints with nine tenths of the deliveries in the same time have lost nothing."""
    report = report_of(all_healthy=2000, mixed=1800)
    assert _value(report)["ratios"] == {"healthy_rate": 1.0, "healthy_p99": 1.5}
    assert "keeps in bad company   1.00" in _text(report)


def report_of(*, all_healthy: float, mixed: float) -> Report:
    def run(healthy: int, per_second: float, p99_ms: float) -> Run:
        return Run(healthy, Pile(per_second, 400, 110, 17), Stream(per_second / 2, 5, p99_ms), 70, duplicates=0)

    runs = {ALL_HEALTHY: [run(1000, all_healthy, 20)], MIXED: [run(900, mixed, 30)]}
    return Report(Plan(rounds=1), "18.0, fsync on", busy_percent=1.0, runs=runs)


def test_several_benchmarks_can_be_asked_for_before_or_after_the_options() -> None:
    assert _parser().parse_args(["--quick", "create", "webhooks"]).benchmarks == ["create", "webhooks"]
    assert _parser().parse_args(["webhooks", "--quick", "--events", "3"]).quick


def test_one_benchmark_is_printed_as_an_object_and_several_as_a_list() -> None:
    one, other = Result({"name": "create"}, ""), Result({"name": "webhooks"}, "")
    assert _json([one]).startswith('{\n  "name": "create"')
    assert _json([one, other]).startswith('[\n  {\n    "name": "create"')


def test_on_a_thousand_servers_no_two_endpoints_share_an_address() -> None:
    assert len(set(Endpoints(ENDPOINTS, is_mixed=True, servers=ENDPOINTS).addresses)) == ENDPOINTS
