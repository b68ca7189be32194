"""The oracle of refunds: what counts as too much given back. A grid, by hand."""

from dataclasses import replace

import pytest

from simulation.database import PaymentRow
from simulation.plan import Fault, Plan, PlannedPayment
from simulation.postgres_gate import EPOCH
from simulation.refunds import refund_oracle
from simulation.refunds.merchant_refunds import Refunds
from simulation.refunds.refund_oracle import PaidRefund
from tests.simulation.test_book import FIRST, PHONE, SECOND, network_of, row_of

_LOST_TIME = (20.0, 30.0)


def found(
    given: list[PaidRefund],
    *,
    mistaken: tuple[str, ...] = (),
    refund: str = "whole",
    ids: tuple[str, ...] = ("first", "second"),
    asked: tuple[str, ...] = ("part", "rest", "once-more", "again"),
    amount: int = 1000,
    part: int | None = None,
    refused: tuple[str, ...] = (),
    unanswered: tuple[str, ...] = (),
    may_arrive_twice: bool = False,
) -> list[str]:
    payment = PlannedPayment(6, 0, "COLLECTION", "TIGO_PESA", amount, "+255650006110", 0.0, 1, False, None, refund)
    bodies = {word: {"amount": part} if part and word == "part" else None for word in asked}
    answer = Refunds(
        ids=["first", "second"],
        acknowledged_at=[1.0, 2.0],
        asked=bodies,
        refused=set(refused),
        unanswered=set(unanswered),
    )
    findings: list[str] = []
    refund_oracle.check(
        payment,
        answer,
        given,
        ids=ids,
        mistaken=mistaken,
        lateness=1.0,
        may_arrive_twice=may_arrive_twice,
        is_in_lost_time=lambda at: _LOST_TIME[0] <= at <= _LOST_TIME[1],
        find=lambda what, why, id_: findings.append(what),
    )
    return findings


def paid(amount: int, at: float = 1.0) -> PaidRefund:
    return PaidRefund(amount, at, known_at=at + 1)


def failed(amount: int, at: float = 1.0, *, known_at: float | None = None) -> PaidRefund:
    """The merchant was told that it FAILED, and the network has paid it."""
    return PaidRefund(amount, at, is_failed=True, known_at=known_at)


def lost(amount: int, at: float = 1.0, *, paid_at: float, known_at: float | None = None) -> PaidRefund:
    """The merchant was told that it FAILED, a restore has lost it, and the network has paid it."""
    return PaidRefund(amount, at, known_at=known_at, lost_and_paid_at=paid_at)


@pytest.mark.parametrize(
    ("unanswered", "expected"),
    [((), ["paid-twice"]), (("once-more",), ["paid-twice"]), (("return",), [])],
)
def test_a_refund_that_was_refused_is_not_paid_unless_an_earlier_request_for_it_got_no_answer(
    unanswered: tuple[str, ...], expected: list[str]
) -> None:
    """It was made, a restore lost it, and the repeat was refused: its collection was not there."""
    assert found([paid(1000)], asked=("return",), refused=("return",), unanswered=unanswered) == expected


def test_a_refund_that_was_refused_may_be_done_when_its_request_arrives_again() -> None:
    """Its collection was completed between the two. That seed 4 has met, with two payments."""
    for given, expected in (([paid(1000)], []), ([paid(500), paid(500)], ["paid-twice"])):
        assert found(given, asked=("return",), refused=("return",), may_arrive_twice=True) == expected


@pytest.mark.parametrize(
    ("given", "mistaken", "expected"),
    [
        ([], (), []),
        ([paid(1000)], (), []),
        ([paid(500), paid(500, 9)], (), []),
        ([paid(1001)], (), ["refunded"]),
        ([paid(1000), paid(1000, 1.5)], (), ["refunded"]),
        ([paid(1000), paid(1000, 9)], ("first",), []),
        ([paid(1000), paid(1001, 1.5)], ("first",), ["refunded"]),
        ([paid(1000), paid(1000, 9), paid(1000, 9)], ("first",), ["refunded"]),
        ([paid(1000), paid(1000, 9), paid(1000, 9)], ("first", "second"), []),
        ([paid(1000), paid(1000, 1.5)], ("another payment's",), ["refunded"]),
    ],
)
def test_more_than_was_paid_is_found_unless_people_were_wrong(
    given: list[PaidRefund], mistaken: tuple[str, ...], expected: list[str]
) -> None:
    """Once more for each refund that operators wrongly called failed, and no shilling beyond it."""
    assert found(given, mistaken=mistaken) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # The first was called FAILED and paid all the same. The second had reached the network before that was known.
        ([failed(1000, known_at=9.0), paid(1000, 5)], []),
        ([failed(1000, known_at=None), paid(1000, 5)], []),
        ([failed(1000, known_at=9.0), failed(1000, 5, known_at=12.0)], []),
        ([failed(1000, known_at=9.0), paid(1000, 9.9)], []),  # It was on its way.
        # The service had recorded that the first was paid.
        ([failed(1000, known_at=9.0), paid(1000, 10.1)], ["refunded"]),
        ([failed(1000, known_at=9.0), failed(1000, 10.1, known_at=12.0)], ["refunded"]),
        ([failed(600, known_at=9.0), paid(1000, 10.1)], ["refunded"]),
        ([failed(500, known_at=9.0), paid(500, 10.1)], []),
        ([failed(500, known_at=9.0), paid(500, 10.1), paid(500, 20)], ["refunded"]),
        # What was called FAILED excuses itself, and nothing beyond.
        ([failed(500, known_at=9.0), paid(1000, 5)], []),
        ([failed(500, known_at=9.0), paid(1001, 5)], ["refunded"]),
    ],
)
def test_a_refund_that_was_called_failed_excuses_the_next_one_only_until_the_service_knows(
    given: list[PaidRefund], expected: list[str]
) -> None:
    assert found(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # The second had left when the network paid the first. It arrives as much later as requests may.
        ([lost(1000, paid_at=9.0), PaidRefund(1000, 5)], []),
        ([lost(1000, paid_at=9.0), PaidRefund(1000, 9.9)], []),
        ([lost(1000, paid_at=9.0), lost(1000, 5, paid_at=12.0)], []),
        # Operators have adopted the first since.
        ([lost(1000, paid_at=9.0, known_at=17.0), PaidRefund(1000, 5)], []),
        # The first was paid before the second left.
        ([lost(1000, paid_at=9.0), PaidRefund(1000, 10.1)], ["refunded"]),
        ([lost(1000, paid_at=9.0), PaidRefund(1000, 25)], ["refunded"]),
        ([lost(1000, paid_at=9.0, known_at=17.0), PaidRefund(1000, 25)], ["refunded"]),
        # The second, and a third that left later.
        ([lost(1000, paid_at=9.0), PaidRefund(1000, 5), PaidRefund(1000, 25)], ["refunded"]),
        # It excuses itself, and nothing beyond.
        ([lost(500, paid_at=9.0), PaidRefund(1000, 5)], []),
        ([lost(500, paid_at=9.0), PaidRefund(1001, 5)], ["refunded"]),
    ],
)
def test_a_refund_that_was_called_failed_and_then_lost_excuses_what_left_before_it_was_paid(
    given: list[PaidRefund], expected: list[str]
) -> None:
    assert found(given) == expected


def test_a_refund_is_called_failed_by_what_its_merchant_saw_if_a_restore_has_lost_it() -> None:
    """By the reference that the merchant saw: the row of that key may be another one since, which was adopted."""
    networks = network_of((FIRST, 1005), (SECOND, 1005)).memory
    seen = {"txn-lost": f"MLP-{FIRST}"}
    adopted = replace(row_of(FIRST), is_refund=True, status="COMPLETED", is_adopted=True)

    def paid_at(*rows: PaymentRow, seen_failed: dict[str, str]) -> list[float | None]:
        given = refund_oracle.given_to(PHONE, rows, networks, {}, seen_failed)
        return [each.lost_and_paid_at for each in given]

    moment = 2.0 - EPOCH.timestamp()
    assert paid_at(seen_failed=seen) == [moment, None]
    assert paid_at(adopted, seen_failed=seen) == [moment, None]
    assert paid_at(replace(adopted, id="txn-lost"), seen_failed=seen) == [None, None], "It is not lost."
    assert paid_at(adopted, seen_failed={}) == [None, None]


def test_what_a_restore_has_lost_is_not_excused() -> None:
    """Its network key is asked about before the next refund is sent under it, or operators have adopted it."""
    assert found([PaidRefund(1000, 25), paid(1000, 26)]) == ["refunded"]


def test_a_wish_that_is_paid_twice_is_found_also_where_no_more_than_was_collected_is_given_back() -> None:
    assert found([paid(500), paid(500, 20)], asked=("part",)) == ["paid-twice"]
    assert found([failed(500), paid(500, 20)], asked=("part",)) == []


def test_a_part_that_is_given_back_oftener_than_it_was_asked_for_is_found() -> None:
    twice = [paid(500), paid(500, 9)]
    assert found(twice, amount=1700, part=500) == ["paid-twice"]
    assert found(twice, amount=1700, part=500, mistaken=("first",)) == []
    assert found([paid(500), paid(1200, 9)], amount=1700, part=500) == []
    assert found([paid(500), failed(500, 9)], amount=1700, part=500) == []
    assert found(twice, amount=1000, part=500) == [], "the rest is as much as the part"


def test_a_payment_that_is_not_refunded_is_not_looked_at() -> None:
    assert found([paid(2000)], refund="") == []


def test_a_refund_that_was_acknowledged_and_is_not_there_is_lost() -> None:
    assert found([paid(1000)], ids=("first",)) == ["lost"]


def test_a_request_arrives_as_much_later_as_the_faults_of_the_plan_delay_it() -> None:
    faults = (Fault("pause", 3, "worker1", 9), Fault("clock", 0, "api1", -40), Fault("kill", 3, "worker1", 5))
    assert refund_oracle.lateness(Plan(0, ("MPESA",), 1, (), faults)) == 1 + 9 + 40
