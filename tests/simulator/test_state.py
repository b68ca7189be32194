"""What the networks know, event by event, without a clock, a file or a wire."""

import pytest

from malipo_simulator.behaviour import Outcome, PaymentKind
from malipo_simulator.state import STARTING_BALANCE, State
from malipo_simulator.transaction import (
    GatewayName,
    PaymentDecided,
    PaymentTaken,
    PromptState,
    ResultReported,
    Transaction,
)

PHONE = "+255754123110"


def transaction(kind: PaymentKind = PaymentKind.COLLECTION) -> Transaction:
    return Transaction(
        id="one",
        gateway=GatewayName.MPESA,
        channel="MPESA",
        kind=kind,
        phone=PHONE,
        amount=1000,
        reference="ours",
        network_id="theirs",
        receipt="RECEIPT",
        merchant="Demo Shop",
        note="",
        taken_at=1.0,
        due_at=3.0,
        callbacks=1,
        prompt=PromptState.WAITING if kind is PaymentKind.COLLECTION else None,
    )


def test_a_new_decision_has_to_be_reported_again() -> None:
    memory = State()
    memory.apply(PaymentTaken(transaction()))
    memory.apply(PaymentDecided("one", Outcome.FAILED, 3.0, PromptState.APPROVED))
    memory.apply(ResultReported("one"))
    assert memory.by_id["one"].is_told
    memory.apply(PaymentDecided("one", Outcome.SUCCESS, 7.0))
    assert not memory.by_id["one"].is_told
    assert memory.by_id["one"].prompt is PromptState.APPROVED


@pytest.mark.parametrize(("kind", "change"), [(PaymentKind.COLLECTION, -1000), (PaymentKind.DISBURSEMENT, 1000)])
def test_only_success_moves_money(kind: PaymentKind, change: int) -> None:
    memory = State()
    memory.apply(PaymentTaken(transaction(kind)))
    memory.apply(PaymentDecided("one", Outcome.FAILED, 3.0))
    assert memory.balance_of(PHONE) == STARTING_BALANCE
    assert memory.book == []
    memory.apply(PaymentDecided("one", Outcome.SUCCESS, 7.0))
    assert memory.balance_of(PHONE) == STARTING_BALANCE + change
    assert [(each.amount, each.balance_after) for each in memory.book] == [(1000, STARTING_BALANCE + change)]


def test_money_moves_once() -> None:
    memory = State()
    memory.apply(PaymentTaken(transaction()))
    memory.apply(PaymentDecided("one", Outcome.SUCCESS, 3.0))
    with pytest.raises(AssertionError):
        memory.apply(PaymentDecided("one", Outcome.SUCCESS, 4.0))
    assert memory.balance_of(PHONE) == STARTING_BALANCE - 1000


@pytest.mark.parametrize(
    ("kind", "there", "back"), [("collection", "charged", "paid"), ("disbursement", "paid", "charged")]
)
def test_what_goes_back_is_a_movement_of_its_own(kind: str, there: str, back: str) -> None:
    memory = State()
    memory.apply(PaymentTaken(transaction(PaymentKind(kind))))
    memory.apply(PaymentDecided("one", Outcome.SUCCESS, 3.0))
    memory.apply(PaymentDecided("one", Outcome.REVERSED, 7.0))
    assert [(each.kind, each.amount, each.is_reversal) for each in memory.book] == [
        (there, 1000, False),
        (back, 1000, True),
    ]
    assert memory.balance_of(PHONE) == memory.book[-1].balance_after == STARTING_BALANCE
    with pytest.raises(AssertionError):
        memory.apply(PaymentDecided("one", Outcome.REVERSED, 8.0))


def test_what_has_not_moved_does_not_go_back() -> None:
    memory = State()
    memory.apply(PaymentTaken(transaction()))
    with pytest.raises(AssertionError):
        memory.apply(PaymentDecided("one", Outcome.REVERSED, 3.0))


def test_a_decision_says_when_it_may_be_told() -> None:
    memory = State()
    memory.apply(PaymentTaken(transaction()))
    memory.apply(PaymentDecided("one", Outcome.FAILED, 3.0, tell_at=9.0))
    assert memory.by_id["one"].tell_at == 9.0


def test_a_secret_is_shown_to_nobody() -> None:
    memory = State()
    memory.apply(PaymentTaken(transaction()))
    memory.apply(PaymentDecided("one", Outcome.FAILED, 3.0))
    memory.apply(PaymentDecided("one", Outcome.SUCCESS, 7.0, is_secret=True))
    assert memory.by_id["one"].is_told


def test_a_prompt_waits_until_it_is_decided() -> None:
    memory = State()
    memory.apply(PaymentTaken(transaction()))
    assert list(memory.subscribers[PHONE].waiting) == ["one"]
    memory.apply(PaymentDecided("one", Outcome.DECLINED, 3.0, PromptState.DECLINED))
    assert memory.subscribers[PHONE].waiting == {}
