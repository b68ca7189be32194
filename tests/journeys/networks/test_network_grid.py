"""Every row of the simulator's table of digits, on every network, through everything that malipo has.

Two towns live at once: one with callbacks and one without, because questions alone must bring every payment to the same
end. All payments are made by one fixture, each with a phone and an amount of its own; a test then looks at what became of
one of them.
"""

from collections import Counter
from datetime import datetime
from typing import Any

import pytest

from tests.journeys.networks.grid_stacks import End, World
from tests.journeys.networks.grid_stacks import world as world
from tests.journeys.networks.network_grid import (
    AMOUNTS,
    CELLS,
    EXPECTED,
    FEE,
    NOT_FOUND_SECONDS,
    WALLET,
    WITHOUT_CALLBACKS,
    Cell,
)


@pytest.mark.parametrize("cell", CELLS)
def test_a_payment_comes_to_the_end_that_its_row_says(world: World, cell: Cell) -> None:
    end = world[cell.has_callbacks].ends[cell]
    status = EXPECTED[cell].partition(":")[0]

    assert end.shown["status"] == ("PROCESSING" if status == "open" else status)
    assert end.shown.get("failureCode") in (_reasons(cell) if status == "FAILED" else {None})
    assert ("failureReason" in end.shown) == (status == "FAILED")
    assert end.shown.get("failureDetail") == (cell.detail if status == "FAILED" else None)
    assert ("networkCode" in end.shown) == (status == "FAILED"), "a network's answer ended it"
    assert ("completedAt" in end.shown) == (status == "COMPLETED")
    assert (end.dispatch is None) == (status != "open"), "what has ended is not worked on any more"
    assert (end.why_unsettled is not None) == (status == "open" or (cell.is_contradicted and not cell.is_credited))

    _assert_statuses_in_order(end.shown)


def _reasons(cell: Cell) -> set[str]:
    """Our words for why it failed. Even if the network sends a callback, a query may be quicker."""
    ends = [EXPECTED[cell], WITHOUT_CALLBACKS.get((cell.network, cell.type, cell.digits), EXPECTED[cell])]
    return {end.partition(":")[2] for end in ends}


def _assert_statuses_in_order(shown: dict[str, Any]) -> None:
    log = [(each["status"], datetime.fromisoformat(each["timestamp"])) for each in shown["statusLogs"]]
    ended = [] if shown["status"] == "PROCESSING" else [shown["status"]]
    assert [status for status, _ in log] == ["PENDING", "PROCESSING", *ended]
    assert sorted(moment for _, moment in log) == [moment for _, moment in log]
    if "completedAt" in shown:
        assert datetime.fromisoformat(shown["completedAt"]) == log[-1][1]


@pytest.mark.parametrize("cell", CELLS)
def test_a_payment_moves_what_its_end_calls_for_and_nothing_else(world: World, cell: Cell) -> None:
    amount, status = AMOUNTS[cell], EXPECTED[cell].partition(":")[0]

    assert world[cell.has_callbacks].ends[cell].moves == [
        *_moves(cell.type, status, amount),
        *_contradiction(cell, amount),
    ]


def _moves(type_: str, status: str, amount: int) -> list[tuple[str, str, str, int]]:
    match type_, status:
        case "COLLECTION", "COMPLETED":
            return [("end", "float", "wallet", amount - FEE), ("end", "float", "fees", FEE)]
        case "COLLECTION", _:
            return []
    opened = ("open", "wallet", "in_flight", amount + FEE)
    match status:
        case "COMPLETED":
            return [opened, ("end", "in_flight", "float", amount), ("end", "in_flight", "fees", FEE)]
        case "FAILED":
            return [opened, ("end", "in_flight", "wallet", amount + FEE)]
    return [opened]


def _contradiction(cell: Cell, amount: int) -> list[tuple[str, str, str, int]]:
    if not cell.is_contradicted:
        return []
    if cell.type == "DISBURSEMENT":
        return [("contradiction", "suspense", "float", amount)]
    if not cell.is_credited:
        return [("contradiction", "float", "suspense", amount)]
    return [
        ("contradiction", "float", "suspense", amount),
        ("resolution", "suspense", "wallet", amount - FEE),
        ("resolution", "suspense", "fees", FEE),
    ]


@pytest.mark.parametrize("cell", CELLS)
def test_the_network_moved_money_once_or_not_at_all(world: World, cell: Cell) -> None:
    end = world[cell.has_callbacks].ends[cell]
    has_moved = EXPECTED[cell] == "COMPLETED" or cell.is_contradicted or cell.is_unheard

    kind = "charged" if cell.type == "COLLECTION" else "paid"
    moved = [(each["kind"], each["amount"], each["reference"]) for each in end.movements]
    assert moved == ([(kind, AMOUNTS[cell], end.key)] if has_moved else [])
    if EXPECTED[cell] == "COMPLETED":
        assert end.network_says is not None
        assert end.shown["providerReference"] in (end.network_says["receipt"], end.network_says["networkId"])


@pytest.mark.parametrize("cell", CELLS)
def test_a_payment_is_sent_once_unless_the_network_says_again_and_again_that_it_has_nothing(
    world: World, cell: Cell
) -> None:
    end = world[cell.has_callbacks].ends[cell]

    assert len(end.requests) == (3 if cell.is_resent else 1)
    assert len(set(end.requests)) == 1, "the same bytes"
    # A reply that is held for good has not arrived.
    is_held = (cell.network, cell.digits) in (("M-Pesa sync", "109"), ("Tigo Pesa", "109"))
    assert [act for act, _ in end.network_answers].count("send") <= len(end.requests)
    assert [act for act, _ in end.network_answers].count("send") >= len(end.requests) - is_held
    if cell.is_resent:
        assert end.dispatch is not None
        assert (end.dispatch["send_count"], end.dispatch["next_action"]) == (3, "ask")
        assert _not_founds(end) >= 9, "three times after each sending"


def _not_founds(end: End) -> int:
    """M-Pesa says "unknown", which counts like that only in the end."""
    return end.network_answers.count(("ask", "missing")) + end.network_answers.count(("ask", "not_indexed"))


@pytest.mark.parametrize(
    "cell",
    [cell for cell in EXPECTED if cell.digits == "108" and (cell.is_resent or "not_received" in EXPECTED[cell])],
    ids=lambda cell: cell.id,
)
def test_not_found_counts_only_after_some_time_and_several_answers(world: World, cell: Cell) -> None:
    end = world[cell.has_callbacks].ends[cell]

    assert _not_founds(end) >= 3
    if cell.type == "COLLECTION":
        _, sent, ended = (datetime.fromisoformat(each["timestamp"]) for each in end.shown["statusLogs"])
        # The time is counted by the database's clock; these are the worker's moments, which a busy machine shifts.
        assert (ended - sent).total_seconds() >= NOT_FOUND_SECONDS - 1


@pytest.mark.parametrize("cell", [cell for cell in EXPECTED if cell.is_contradicted], ids=lambda cell: cell.id)
def test_a_network_that_contradicts_itself_leads_to_a_correction_and_its_event(world: World, cell: Cell) -> None:
    end = world[cell.has_callbacks].ends[cell]
    if cell.type == "COLLECTION" and not cell.is_credited:
        assert "correction" not in end.shown
        assert end.why_unsettled is not None
        return
    reported = end.shown["correction"]

    if cell.is_credited:
        assert (reported["outcome"], reported["amount"], reported["reason"]) == (
            "COMPLETED",
            AMOUNTS[cell] - FEE,
            "credited",
        )
    else:
        assert (reported["outcome"], reported["amount"], reported["reason"]) == (
            "COMPLETED",
            AMOUNTS[cell] + FEE,
            "debt_recorded",
        )
        assert end.why_unsettled is not None


WITH_AND_WITHOUT_CALLBACKS = pytest.mark.parametrize("has_callbacks", [True, False], ids=["callbacks", "only queries"])


@WITH_AND_WITHOUT_CALLBACKS
def test_the_books_of_a_town_and_its_networks_agree_to_the_shilling(world: World, has_callbacks: bool) -> None:
    full_stack = world[has_callbacks]
    amounts: Counter[tuple[str, str]] = Counter()
    for cell, end in full_stack.ends.items():
        amounts[cell.type, end.shown["status"]] += AMOUNTS[cell]
        amounts["suspense", cell.type] += sum(amount for step, *_, amount in end.moves if step == "contradiction")
        if cell.is_unheard:
            amounts["unheard", cell.type] += AMOUNTS[cell]
    fees = Counter((cell.type, end.shown["status"]) for cell, end in full_stack.ends.items())

    charged = amounts["COLLECTION", "COMPLETED"] + amounts["suspense", "COLLECTION"] + amounts["unheard", "COLLECTION"]
    paid = (
        amounts["DISBURSEMENT", "COMPLETED"] + amounts["suspense", "DISBURSEMENT"] + amounts["unheard", "DISBURSEMENT"]
    )
    assert (full_stack.book["charged"], full_stack.book["paid"]) == (charged, paid)
    assert not full_stack.other_phones
    held = amounts["DISBURSEMENT", "PROCESSING"] + FEE * fees["DISBURSEMENT", "PROCESSING"]
    credited = sum(
        amount
        for end in full_stack.ends.values()
        for step, _, account, amount in end.moves
        if (step, account) == ("resolution", "wallet")
    )
    came_in = amounts["COLLECTION", "COMPLETED"] - FEE * fees["COLLECTION", "COMPLETED"] + credited
    went_out = amounts["DISBURSEMENT", "COMPLETED"] + FEE * fees["DISBURSEMENT", "COMPLETED"]
    assert full_stack.wallet == (WALLET + came_in - went_out - held, held)


@WITH_AND_WITHOUT_CALLBACKS
def test_only_what_is_open_is_still_worked_on(world: World, has_callbacks: bool) -> None:
    full_stack = world[has_callbacks]

    assert full_stack.dispatches == sum(end.shown["status"] == "PROCESSING" for end in full_stack.ends.values())


@WITH_AND_WITHOUT_CALLBACKS
def test_every_callback_is_acknowledged_as_the_network_wants_it(world: World, has_callbacks: bool) -> None:
    callbacks = world[has_callbacks].callbacks

    assert {(each["verdict"], each["attempt"]) for each in callbacks} <= {("acknowledged", 1)}
    assert bool(callbacks) is has_callbacks
