"""Which status may follow which, by a grid that was written by hand; and what each does to the money."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from malipo.errors import Conflict
from malipo.ledger.accounts import Account, Step
from malipo.settlement.settlement import (
    Settlement,
    SettlementCause,
    SettlementStatus,
    moves_of,
    next_status,
    opening_moves,
)

NOW = datetime(2026, 11, 19, 9, 0, tzinfo=UTC)
MADE = Settlement(
    merchant_id="mer_1",
    id="stl_1",
    key="HJKMNPQRSTVWXYZ0",
    reference="MLP-HJKMNPQRSTVWXYZ0",
    status=SettlementStatus.REQUESTED,
    amount=100_000,
    fee=1_500,
    bank_account_id="bka_1",
    created_at=NOW,
    created_by="key_1",
)

#            file approved  file voided  debited     given back  withdrawn   adopted
GRID = """
REQUESTED    SENT           -            -           -           CANCELLED   COMPLETED
SENT         -              REQUESTED    COMPLETED   RETURNED    -           -
COMPLETED    -              -            -           RETURNED    -           -
RETURNED     -              -            -           -           -           -
CANCELLED    -              -            -           -           -           -
"""
CAUSES = ["FILE_APPROVED", "FILE_VOIDED", "DEBITED", "GIVEN_BACK", "WITHDRAWN", "ADOPTED"]
CELLS = [
    (SettlementStatus(row.split()[0]), SettlementCause[cause], after)
    for row in GRID.strip().splitlines()
    for cause, after in zip(CAUSES, row.split()[1:], strict=True)
]


def test_the_grid_has_every_status_and_every_cause() -> None:
    assert {(status, cause) for status, cause, _ in CELLS} == {
        (status, cause) for status in SettlementStatus for cause in SettlementCause
    }


@pytest.mark.parametrize(("before", "cause", "after"), CELLS)
def test_only_what_the_grid_allows_happens(before: SettlementStatus, cause: SettlementCause, after: str) -> None:
    settlement = replace(MADE, status=before)
    if after == "-":
        with pytest.raises(Conflict) as refused:
            next_status(settlement, cause)
        assert refused.value.code == "settlement_wrong_status"
    else:
        assert next_status(settlement, cause) is SettlementStatus(after)


def test_what_is_in_a_file_is_not_withdrawn() -> None:
    with pytest.raises(Conflict) as refused:
        next_status(replace(MADE, payout_file_id="pof_1"), SettlementCause.WITHDRAWN)
    assert refused.value.code == "settlement_in_a_file"


PATHS = {
    "completed": [SettlementCause.FILE_APPROVED, SettlementCause.DEBITED],
    "returned after it was sent": [SettlementCause.FILE_APPROVED, SettlementCause.GIVEN_BACK],
    "returned after it was completed": [
        SettlementCause.FILE_APPROVED,
        SettlementCause.DEBITED,
        SettlementCause.GIVEN_BACK,
    ],
    "cancelled": [SettlementCause.WITHDRAWN],
    "voided, sent again and completed": [
        SettlementCause.FILE_APPROVED,
        SettlementCause.FILE_VOIDED,
        SettlementCause.FILE_APPROVED,
        SettlementCause.DEBITED,
    ],
}
BALANCES = {
    "completed": {"wallet": -100_000, "bank": 98_500, "fees": 1_500},
    "returned after it was sent": {},
    "returned after it was completed": {},
    "cancelled": {},
    "voided, sent again and completed": {"wallet": -100_000, "bank": 98_500, "fees": 1_500},
}


@pytest.mark.parametrize("path", PATHS)
def test_at_the_end_of_each_way_the_money_is_where_it_belongs(path: str) -> None:
    settlement, moves = MADE, opening_moves(MADE)
    for cause in PATHS[path]:
        _, more = moves_of(settlement, cause) or (None, [])
        moves += more
        settlement = replace(settlement, status=next_status(settlement, cause))
    sums = {account.value: sum(move.change_of(account) for move in moves) for account in Account}
    assert {account: amount for account, amount in sums.items() if amount} == BALANCES[path]


@given(
    amount=st.integers(1, 10**12), owed=st.integers(0, 10**12), borne=st.integers(0, 10**12), fee=st.integers(0, 10**12)
)
def test_what_comes_back_of_an_adopted_one_goes_where_it_is_missing(
    amount: int, owed: int, borne: int, fee: int
) -> None:
    owed, borne = min(owed, amount), min(borne, amount - min(owed, amount))
    before = replace(
        MADE, status=SettlementStatus.COMPLETED, amount=amount, fee=0, is_adopted=True, owed=owed, borne=borne
    )
    found = moves_of(before, SettlementCause.GIVEN_BACK)
    assert found is not None
    step, moves = found
    sums = {account: sum(move.change_of(account) for move in moves) for account in Account}
    assert step is Step.RETURN
    assert (sums[Account.SUSPENSE], sums[Account.LOSSES], sums[Account.WALLET]) == (owed, borne, amount - owed - borne)
    assert (sums[Account.BANK], sums[Account.IN_SETTLEMENT]) == (-amount, 0)
