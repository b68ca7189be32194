"""`bench journey` counts a payment only if all who kept a book of it say the same, and a rate only if nothing is left."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import database
from benchmarks.journey.load import Stream
from benchmarks.journey.processes import CUSTOMER_SECONDS
from benchmarks.journey.trials import Plan, Report, Run
from benchmarks.journey.verify import Arrivals, Payment, differences
from benchmarks.load import CannotMeasure
from benchmarks.reports.journey_report import _text, _value

SHOP, OTHER_SHOP = database.merchant(1), database.merchant(2)
PAYMENTS = (
    Payment("K1", SHOP, "COMPLETED", amount=1000, net=990, event="evt_1", at=1.0),
    Payment("K2", SHOP, "COMPLETED", amount=2000, net=1980, event="evt_2", at=2.0),
    Payment("K3", OTHER_SHOP, "COMPLETED", amount=500, net=495, event="evt_3", at=3.0),
)
WALLETS = {SHOP: 2970, OTHER_SHOP: 495, database.merchant(3): 0}
CHARGED = Counter({("K1", 1000): 1, ("K2", 2000): 1, ("K3", 500): 1})
ARRIVED = {(SHOP, "evt_1"), (SHOP, "evt_2"), (OTHER_SHOP, "evt_3")}


def test_books_that_agree_differ_in_nothing() -> None:
    assert differences(PAYMENTS, WALLETS, CHARGED, ARRIVED) == []


def test_a_payment_that_is_not_completed_is_reported() -> None:
    payments = [replace(PAYMENTS[0], status="PROCESSING"), *PAYMENTS[1:]]
    assert differences(payments, WALLETS, CHARGED, ARRIVED) == ["1 of 3 payments are not completed"]


@pytest.mark.parametrize(
    "charged",
    [
        CHARGED - Counter([("K1", 1000)]),
        CHARGED + Counter([("K1", 1000)]),
        CHARGED - Counter([("K1", 1000)]) + Counter([("K1", 999)]),
    ],
    ids=["not at all", "twice", "with another amount"],
)
def test_a_customer_who_was_charged_another_amount_is_shown_it(charged: Counter[tuple[str, int]]) -> None:
    [sentence] = differences(PAYMENTS, WALLETS, charged, ARRIVED)
    assert sentence.startswith("the network has charged")


def test_a_wallet_with_another_sum_is_reported() -> None:
    [sentence] = differences(PAYMENTS, WALLETS | {database.merchant(3): 1}, CHARGED, ARRIVED)
    assert sentence == "a wallet holds another sum than its payments come to"


@pytest.mark.parametrize(
    "arrived",
    [ARRIVED - {(SHOP, "evt_1")}, ARRIVED | {(SHOP, "evt_4")}, ARRIVED - {(SHOP, "evt_1")} | {(OTHER_SHOP, "evt_1")}],
    ids=["one is missing", "one too many", "one went to another merchant"],
)
def test_unexpected_webhooks_are_reported(arrived: set[tuple[str, str]]) -> None:
    [sentence] = differences(PAYMENTS, WALLETS, CHARGED, arrived)
    assert sentence.startswith("other webhooks came")


def line(event: str, *, at: float = 1_800_000_000.5, merchant: int = 1, status: int = 200) -> str:
    """As nginx logs it."""
    return f"{at:.3f} /healthy/{merchant} {event} {status}\n"


def test_a_webhook_that_came_twice_is_counted_and_its_first_arrival_is_the_one_that_counts(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(line("evt_1") + line("evt_1", at=1_800_000_009))
    arrivals = Arrivals(tmp_path / "log")
    arrivals.count_new()
    assert (arrivals.first, arrivals.duplicates) == ({(SHOP, "evt_1"): 1_800_000_000.5}, 1)


def test_half_a_line_is_read_when_the_rest_of_it_is_there(tmp_path: Path) -> None:
    whole, log = line("evt_1") + line("evt_2"), tmp_path / "log"
    arrivals = Arrivals(log)
    for end in (len(whole) - 8, len(whole)):
        log.write_text(whole[:end])
        arrivals.count_new()
    assert (set(arrivals.first), arrivals.duplicates) == ({(SHOP, "evt_1"), (SHOP, "evt_2")}, 0)


def test_there_is_no_result_if_a_merchants_server_has_refused_a_webhook(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(line("evt_1", status=500))
    with pytest.raises(CannotMeasure, match="500"):
        Arrivals(tmp_path / "log").count_new()


def stream(*, seconds: float, late: float) -> Stream:
    ended = 100.0 + seconds
    return Stream(
        rate=600, began=100.0, ended=ended, last=ended + CUSTOMER_SECONDS + late, cpu_seconds={}, payments=6000
    )


@pytest.mark.parametrize(
    ("seconds", "late", "is_clean"),
    [(60, 1.9, True), (60, 2.1, False), (10, 0.7, True), (10, 0.8, False), (3, 0.5, True), (3, 0.7, False)],
)
def test_in_a_short_time_less_may_be_left_behind(seconds: float, late: float, is_clean: bool) -> None:
    assert stream(seconds=seconds, late=late).is_clean is is_clean


def test_after_a_rate_that_was_too_high_nearly_what_was_carried_is_tried() -> None:
    assert stream(seconds=10, late=10).less == 300 * 0.95
    assert stream(seconds=3, late=0.7).less == 600 * 0.95, "never more than what was too much"


def test_the_second_of_each_is_shown_beside_the_first() -> None:
    report = Report(Plan(), "18.0, fsync on", busy_percent=1.0, runs={1: [run(1000)], 2: [run(1500)]})
    value = _value(report)
    assert value["ratios"] == {"2_vs_1": 1.5}
    assert [each["system"] for each in value["results"]] == ["1 API, 1 worker", "2 APIs, 2 workers"]
    text = _text(report)
    assert "2 of each / 1 of each   1.50" in text
    assert "All books agree on 240 payments, and 2 webhooks came twice." in text


def run(per_second: float) -> Run:
    cpu, memory = {"api": 500.0, "worker": 600.0, "postgresql": 400.0}, {"api": 80.0, "worker": 60.0}
    return Run(per_second, 150, 300, 200, cpu, memory, payments=120, duplicates=1)
