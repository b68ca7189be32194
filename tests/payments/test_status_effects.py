"""The tables of moves and events, compared with a grid written by hand from the specification."""

import itertools

import pytest

from malipo.ledger.accounts import Step
from malipo.payments.status_effects import EVENTS, event_of, posting_of
from malipo.payments.transaction import Status, Type
from tests.payments.test_transaction import a_transaction

# A payment of 1000 with a fee of 30, and the moves and the event of each status.
GRID = """
    COLLECTION    PENDING     sends payment.pending    moves nothing
    COLLECTION    PROCESSING  sends nothing            moves nothing
    COLLECTION    COMPLETED   sends payment.completed  moves end: float MPESA > wallet 970, float MPESA > fees 30
    COLLECTION    FAILED      sends payment.failed     moves nothing
    COLLECTION    CANCELLED   sends payment.cancelled  moves nothing
    DISBURSEMENT  PENDING     sends nothing            moves open: wallet > in_flight 1030
    DISBURSEMENT  PROCESSING  sends nothing            moves nothing
    DISBURSEMENT  COMPLETED   sends payout.completed   moves end: in_flight > float MPESA 1000, in_flight > fees 30
    DISBURSEMENT  FAILED      sends payout.failed      moves end: in_flight > wallet 1030
    DISBURSEMENT  CANCELLED   sends payout.cancelled   moves end: in_flight > wallet 1030
"""
ROWS = [line.split(maxsplit=5) for line in GRID.strip().splitlines()]


def moves_in_words(type_: Type, status: Status, fee: int) -> str:
    posting = posting_of(a_transaction(type_, status, fee))
    if posting is None:
        return "nothing"

    def account(name: str, channel: str | None) -> str:
        return f"float {channel}" if name == "float" else name

    moves = (
        f"{account(move.source, move.channel)} > {account(move.target, move.channel)} {move.amount}"
        for move in posting.moves
    )
    return f"{posting.step}: {', '.join(moves)}"


@pytest.mark.parametrize(("type_", "status", "_sends", "event", "_moves", "moves"), ROWS)
def test_reaching_a_status_has_the_moves_and_the_event_that_the_grid_says(
    type_: str, status: str, _sends: str, event: str, _moves: str, moves: str
) -> None:
    assert (event_of(a_transaction(Type(type_), Status(status))) or "nothing") == event
    assert moves_in_words(Type(type_), Status(status), fee=30) == moves


def test_the_grid_leaves_no_cell_out() -> None:
    assert {(row[0], row[1]) for row in ROWS} == set(itertools.product(Type, Status))


@pytest.mark.parametrize("type_", Type)
def test_without_a_fee_nothing_goes_to_fees(type_: Type) -> None:
    assert "fees" not in moves_in_words(type_, Status.COMPLETED, fee=0)


@pytest.mark.parametrize("fee", [0, 30])
@pytest.mark.parametrize("status", [status for status in Status if status.is_final])
def test_the_amount_reserved_for_a_payout_is_all_used_at_its_end(status: Status, fee: int) -> None:
    opened = posting_of(a_transaction(Type.DISBURSEMENT, Status.PENDING, fee))
    ended = posting_of(a_transaction(Type.DISBURSEMENT, status, fee))
    assert opened is not None
    assert ended is not None
    assert (opened.step, ended.step) == (Step.OPEN, Step.END)
    assert sum(move.amount for move in ended.moves) == sum(move.amount for move in opened.moves)


def test_no_event_belongs_to_two_statuses() -> None:
    assert len(set(EVENTS.values())) == len(EVENTS)
