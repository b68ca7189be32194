"""The refundable amount of a collection: by the latest reports, and not by the status alone."""

from typing import Any

import pytest

from malipo.errors import Refusal
from malipo.payments import correction_moves
from malipo.payments.correction_moves import Correction
from malipo.payments.dispatch import AnswerSource
from malipo.payments.refunds import refundable
from malipo.payments.transaction import Refund, Status, Transaction, Type
from tests.journeys.concurrency import order

C, F, P, X = Status.COMPLETED, Status.FAILED, Status.PENDING, Status.CANCELLED


def collection(status: Status = C, *, amount: int = 5000, type_: Type = Type.COLLECTION) -> Transaction:
    draft = order("mer_1", type_, amount).draft
    assert draft is not None
    return Transaction(**{name: getattr(draft, name) for name in draft.__struct_fields__} | {"status": status})


def refunds(*known: tuple[int, Status] | tuple[int, Status, bool]) -> list[Refund]:
    return [
        Refund(f"txn_{place}", place, each[0], each[1], each[2] if len(each) > 2 else None)
        for place, each in enumerate(known, start=1)
    ]


def contradicted(transaction: Transaction, *, is_paid: bool) -> Correction:
    before = correction_moves.begin(transaction)
    return correction_moves.contradict(transaction, before, is_paid=is_paid, source=AnswerSource.QUERY).correction


def decided(transaction: Transaction, correction: Correction, *, is_paid: bool, available: int = 10_000) -> Correction:
    return correction_moves.decide(transaction, correction, is_paid=is_paid, available=available).correction


def answer(
    known: list[Refund], wanted: int | None = None, *, of: Transaction | None = None, correction: Any = None
) -> int | str:
    found = refundable.amount_of(of or collection(), correction, known, wanted=wanted)
    return found.code if isinstance(found, Refusal) else found


@pytest.mark.parametrize(
    ("known", "wanted", "expected"),
    [
        ([], None, 5000),
        ([], 5000, 5000),
        ([], 500, 500),
        ([], 4500, 4500),
        ([], 4501, "refund_leaves_too_little"),
        ([], 4999, "refund_leaves_too_little"),
        ([], 5001, "amount_too_large"),
        ([(2000, C)], None, 3000),
        ([(4500, C)], None, 500),
        ([(4501, C)], None, "already_refunded"),
        ([(2000, C)], 3001, "amount_too_large"),
        ([(2000, F), (2000, X)], None, 5000),
        ([(5000, C)], None, "already_refunded"),
        ([(5000, C)], 500, "already_refunded"),
        ([(500, P)], None, "refund_in_progress"),
        ([(500, Status.PROCESSING)], 500, "refund_in_progress"),
        # Reports after the end count more than statuses.
        ([(5000, F, True)], None, "already_refunded"),
        ([(5000, X, True)], None, "already_refunded"),
        ([(2000, F, True)], None, 3000),
        ([(2000, F, False)], None, 5000),
        ([(5000, C, False)], None, 5000),
        ([(2000, C, True)], None, 3000),
        ([(3000, F, True), (3000, C)], None, "already_refunded"),
        ([(600, F, True), (4000, C)], None, "already_refunded"),
    ],
)
def test_a_refund_is_compared_with_what_earlier_refunds_have_left(
    known: list[Any], wanted: int | None, expected: int | str
) -> None:
    assert answer(refunds(*known), wanted) == expected


@pytest.mark.parametrize("status", [P, Status.PROCESSING, F, X])
def test_only_what_was_paid_can_be_refunded(status: Status) -> None:
    assert answer([], of=collection(status)) == "not_refundable"


def test_a_payout_cannot_be_refunded() -> None:
    assert answer([], of=collection(type_=Type.DISBURSEMENT)) == "not_refundable"


def test_a_collection_that_was_taken_back_cannot_be_refunded_until_it_is_paid_again() -> None:
    taken = collection()
    correction = contradicted(taken, is_paid=False)
    assert answer([], of=taken, correction=correction) == "not_refundable"
    again = correction_moves.contradict(taken, correction, is_paid=True, source=AnswerSource.QUERY).correction
    assert answer([], of=taken, correction=again) == 5000
    collected = decided(taken, correction, is_paid=False)
    again = correction_moves.contradict(taken, collected, is_paid=True, source=AnswerSource.QUERY).correction
    assert answer([], of=taken, correction=again) == "not_refundable", (
        "the wallet has given it back, and not got it yet"
    )
    assert answer([], of=taken, correction=decided(taken, again, is_paid=True)) == 5000


def test_a_collection_that_was_paid_after_all_can_be_refunded_when_it_is_credited() -> None:
    failed = collection(F)
    correction = contradicted(failed, is_paid=True)
    assert answer([], of=failed, correction=correction) == "not_refundable"
    assert answer([], of=failed, correction=decided(failed, correction, is_paid=True)) == 5000
    assert answer([], of=failed, correction=decided(failed, correction, is_paid=False)) == "not_refundable"


@pytest.mark.parametrize(
    ("refunded", "words"), [(4501, "TZS 499 is left"), (4999, "TZS 1 is left"), (5000, "nothing is left")]
)
def test_a_refusal_says_what_is_left(refunded: int, words: str) -> None:
    assert words in str(refundable.amount_of(collection(), None, refunds((refunded, C)), wanted=None))


def test_a_refusal_says_where_the_money_is() -> None:
    taken, paid = contradicted(collection(), is_paid=False), contradicted(collection(F), is_paid=True)
    assert "has taken this payment back" in str(refundable.why_not(collection(), taken))
    assert "the wallet was not credited" in str(refundable.why_not(collection(F), paid))


def test_there_is_an_end_of_refunds() -> None:
    assert answer(refunds(*[(500, F)] * 99)) == 5000
    assert answer(refunds(*[(500, F)] * 100)) == "too_many_refunds"


@pytest.mark.parametrize(
    ("known", "left"),
    [
        ([], 5000),
        ([(2000, P)], 3000),
        ([(2000, Status.PROCESSING)], 3000),
        ([(2000, C), (500, P)], 2500),
        ([(2000, F), (1000, X)], 5000),
        ([(2000, F, True)], 3000),
        ([(2000, C, False)], 5000),
        ([(5000, C), (5000, F, True)], -5000),
    ],
)
def test_refunds_under_way_and_refunds_paid_after_all_reduce_the_refundable_amount(known: list[Any], left: int) -> None:
    assert refundable.left_of(collection(), refunds(*known)) == left


@pytest.mark.parametrize(
    ("others", "amount", "is_excess"),
    [
        ([], 5000, False),
        ([], 5001, True),
        ([(2000, C)], 3000, False),
        ([(2000, C)], 3001, True),
        ([(2000, F)], 5000, False),
        ([(2000, F, True)], 3001, True),
        ([(2000, F, True)], 3000, False),
    ],
)
def test_a_refund_that_waits_is_too_much_if_it_gives_back_more_than_was_paid(
    others: list[Any], amount: int, is_excess: bool
) -> None:
    refund = collection(P, amount=amount, type_=Type.DISBURSEMENT)
    # It is one of the refunds of its collection, and is not counted twice.
    known = [*refunds(*others), Refund(refund.id, 9, amount, C)]
    assert refundable.is_excess(refund, collection(), None, known) is is_excess


def test_a_refund_that_waits_is_too_much_when_its_collection_was_taken_back() -> None:
    paid, refund = collection(), collection(P, amount=500, type_=Type.DISBURSEMENT)
    assert refundable.is_excess(refund, paid, contradicted(paid, is_paid=False), [])
