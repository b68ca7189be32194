"""The oracle of refunds: what counts as too much given back. A grid, by hand."""

from typing import cast

import pytest

from simulation.book import Book
from simulation.plan import Payment
from simulation.refunds import refund_oracle
from simulation.refunds.merchant_refunds import Refunds


class _Paid:
    """A book that says what the customer's phone was paid."""

    def __init__(self, amount: int) -> None:
        self._amount = amount

    def paid_to(self, phone: str) -> int:
        return self._amount


def found(
    given_back: int, *, mistaken: set[str], refund: str = "whole", phone: str = "+255650006106", ids: tuple[str, ...]
) -> list[str]:
    payment = Payment(6, 0, "COLLECTION", "TIGO_PESA", 1000, phone, 0.0, 1, False, None, refund)
    told = Refunds(ids=["first", "second"], acknowledged_at=[1.0, 2.0])
    findings: list[str] = []
    refund_oracle.check(
        payment,
        told,
        cast(Book, _Paid(given_back)),
        ids=ids,
        mistaken=mistaken,
        is_in_lost_time=lambda at: False,
        find=lambda what, why, id_: findings.append(what),
    )
    return findings


@pytest.mark.parametrize(
    ("given_back", "mistaken", "expected"),
    [
        (0, set(), []),
        (1000, set(), []),
        (1001, set(), ["refunded"]),
        (2000, set(), ["refunded"]),
        (2000, {"first"}, []),
        (2001, {"first"}, ["refunded"]),
        (3000, {"first"}, ["refunded"]),
        (3000, {"first", "second"}, []),
        (2000, {"another payment's"}, ["refunded"]),
    ],
)
def test_more_than_was_paid_is_found_unless_people_were_wrong(
    given_back: int, mistaken: set[str], expected: list[str]
) -> None:
    """Once more for each refund that operators wrongly called failed, and no shilling beyond it."""
    assert found(given_back, mistaken=mistaken, ids=("first", "second")) == expected


def test_a_payment_that_is_not_refunded_and_a_phone_that_is_paid_after_all_are_others_matters() -> None:
    assert found(2000, mistaken=set(), refund="", ids=("first", "second")) == []
    assert found(2000, mistaken=set(), phone="+255650006110", ids=("first", "second")) == []


def test_a_refund_that_was_acknowledged_and_is_not_there_is_lost() -> None:
    assert found(1000, mistaken=set(), ids=("first",)) == ["lost"]
