"""The example receivers mark each order as paid once, with the right amount, in any order of webhooks."""

import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.examples.example_receivers import Shop
from tests.examples.signed_webhooks import event, signed


def post_all(shop: Shop, *bodies: bytes) -> list[str]:
    """Each as an event of its own; what came of it."""
    answers = [shop.take(body, signed(body)) for body in bodies]
    assert {status for status, _ in answers} == {200}
    return [answer.split(": ", 1)[1] for _, answer in answers]


def test_an_event_is_one_line(shop: Shop, order: int) -> None:
    body = event(order, amount=1000, reference=f"MLP-LINE{order}")
    expected = f"payment.completed MLP-LINE{order} TZS 1,000 order {order}: marked paid"
    assert shop.take(body, signed(body)) == (200, expected)
    deadline = time.monotonic() + 240
    while not (found := [line for line in shop.lines if f"MLP-LINE{order} " in line]):
        assert time.monotonic() < deadline, shop.lines
        time.sleep(0.01)
    assert [line.strip()[-len(expected) :] for line in found] == [expected]


def test_a_retry_is_seen_before(shop: Shop, order: int) -> None:
    body = event(order)
    first = signed(body)
    again = signed(body, event_id=first["webhook-id"])
    assert again["X-Service-Delivery"] != first["X-Service-Delivery"], "each attempt has its own"
    outcomes = [shop.take(body, headers)[1].split(": ")[1] for headers in (first, again, first)]
    assert outcomes == ["marked paid", "seen before", "seen before"]
    assert len(shop.paid_by(order)) == 1


@pytest.mark.parametrize("turn", range(5))
def test_the_same_event_at_the_same_instant_is_worked_on_once(shop: Shop, order: int, turn: int) -> None:
    body = event(order)
    headers = signed(body)
    together = Barrier(8)

    def knock(_: int) -> tuple[int, str]:
        together.wait(60)
        return shop.take(body, headers)

    with ThreadPoolExecutor(8) as callers:
        answers = list(callers.map(knock, range(8)))
    assert {status for status, _ in answers} == {200}
    assert sorted(answer.split(": ")[1] for _, answer in answers) == ["marked paid"] + ["seen before"] * 7
    assert len(shop.paid_by(order)) == 1


STORIES: list[tuple[str, Sequence[tuple[str, str]], Sequence[str], bool]] = [
    # payment and status, one after the other; what came of each; is the order paid?
    ("as it happens", [("a", "PENDING"), ("a", "COMPLETED")], ["is PENDING", "marked paid"], True),
    ("a late PENDING", [("a", "COMPLETED"), ("a", "PENDING")], ["marked paid", "PENDING comes late"], True),
    ("it fails", [("a", "PENDING"), ("a", "FAILED")], ["is PENDING", "is FAILED"], False),
    ("late after a failure", [("a", "FAILED"), ("a", "PENDING")], ["is FAILED", "PENDING comes late"], False),
    ("it is cancelled", [("a", "CANCELLED")], ["is CANCELLED"], False),
    ("the second attempt pays", [("a", "FAILED"), ("b", "COMPLETED")], ["is FAILED", "marked paid"], True),
    ("the first fails late", [("b", "COMPLETED"), ("a", "FAILED")], ["marked paid", "is FAILED"], True),
    ("what is final stays", [("a", "COMPLETED"), ("a", "FAILED")], ["marked paid", "FAILED comes late"], True),
]


@pytest.mark.parametrize(
    ("steps", "outcomes", "is_paid"), [story[1:] for story in STORIES], ids=[s[0] for s in STORIES]
)
def test_events_may_overtake_each_other(
    shop: Shop, order: int, steps: Sequence[tuple[str, str]], outcomes: Sequence[str], is_paid: bool
) -> None:
    bodies = [
        event(order, kind=f"payment.{status.lower()}", status=status, reference=f"MLP-{payment}{order}")
        for payment, status in steps
    ]
    assert post_all(shop, *bodies) == outcomes
    assert bool(shop.paid_by(order)) == is_paid


def test_a_second_payment_for_a_paid_order_is_shown_to_a_person(shop: Shop, order: int) -> None:
    first, second = event(order, reference=f"MLP-A{order}"), event(order, reference=f"MLP-B{order}")
    assert post_all(shop, first, second) == ["marked paid", f"PLEASE LOOK: paid already by MLP-A{order}"]
    assert shop.paid_by(order) == [f"MLP-A{order}"]


@pytest.mark.parametrize("amount", [500, 999, 1001, 10_000])
def test_another_amount_than_the_order_costs_does_not_pay_it(shop: Shop, order: int, amount: int) -> None:
    assert post_all(shop, event(order, amount=amount, netAmount=1000)) == ["PLEASE LOOK: it costs TZS 1,000"]
    assert shop.paid_by(order) == []


def test_a_payment_without_a_known_order_is_shown_to_a_person(shop: Shop) -> None:
    bodies = event("none such"), event(None), event(1, metadata=None), event(None, metadata={"orderId": None})
    assert set(post_all(shop, *bodies)) == {"PLEASE LOOK: no such order"}


def test_an_order_may_be_named_by_a_number_or_by_a_text(shop: Shop, order: int) -> None:
    assert post_all(shop, event(str(order))) == ["marked paid"]
    assert post_all(shop, event(next(shop.orders))) == ["marked paid"]


@pytest.mark.parametrize("kind", ["payout.completed", "webhook.test", "refund.completed"])
def test_what_is_no_payment_is_accepted_and_pays_nothing(shop: Shop, order: int, kind: str) -> None:
    assert post_all(shop, event(order, kind=kind)) == ["nothing to do"]
    assert shop.paid_by(order) == []


@pytest.mark.parametrize("status", ["PENDING", "PROCESSING", "FAILED", "completed", "COMPLETED "])
def test_the_status_decides_and_not_the_name_of_the_event(shop: Shop, order: int, status: str) -> None:
    assert post_all(shop, event(order, kind="payment.completed", status=status)) == [f"is {status}".strip()]
    assert shop.paid_by(order) == []


def test_large_amounts_are_written_for_people(shop: Shop) -> None:
    body = event(1, amount=10_000_000)
    assert re.search(r" TZS 10,000,000 order 1: ", shop.take(body, signed(body))[1])
