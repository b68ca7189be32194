import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.ledger.accounts import Account, Move, Posting, Step
from malipo.ledger.wallet import Wallet

ACCOUNTS = [account for account in Account if account is not Account.FLOAT]
MOVES = st.builds(
    lambda pair, amount: Move(pair[0], pair[1], amount),
    st.permutations(ACCOUNTS).map(lambda shuffled: shuffled[:2]),
    st.integers(min_value=1, max_value=10**12),
)


@given(st.lists(MOVES))
def test_whatever_moves_the_sum_of_all_accounts_stays_zero(moves: list[Move]) -> None:
    assert sum(move.change_of(account) for move in moves for account in Account) == 0


@given(st.lists(MOVES))
def test_a_wallet_counts_a_line_for_every_move_that_touches_it(moves: list[Move]) -> None:
    wallet = Wallet("mer_1", 0, 0, 0).after(moves)
    assert wallet.statement_lines == sum(Account.WALLET in (move.source, move.target) for move in moves)
    assert wallet.available == sum(move.change_of(Account.WALLET) for move in moves)
    assert wallet.in_flight == sum(move.change_of(Account.IN_FLIGHT) for move in moves)


def test_a_wallet_can_spend_its_last_shilling_and_not_one_more() -> None:
    wallet = Wallet("mer_1", available=1000, in_flight=0, statement_lines=1)
    assert wallet.can_spend([Move(Account.WALLET, Account.IN_FLIGHT, 1000)])
    assert not wallet.can_spend([Move(Account.WALLET, Account.IN_FLIGHT, 1001)])


@pytest.mark.parametrize(
    ("available", "owed", "spendable"), [(1000, 0, 1000), (1000, 300, 700), (1000, 1000, 0), (300, 1000, 0), (0, 0, 0)]
)
def test_what_is_owed_cannot_be_spent(available: int, owed: int, spendable: int) -> None:
    wallet = Wallet("mer_1", available, 0, 1, owed)
    assert wallet.spendable == spendable
    if spendable:
        assert wallet.can_spend([Move(Account.WALLET, Account.IN_FLIGHT, spendable)])
    assert not wallet.can_spend([Move(Account.WALLET, Account.IN_FLIGHT, spendable + 1)])


def test_what_more_is_owed_is_added_and_what_was_given_back_is_taken_off() -> None:
    wallet = Wallet("mer_1", 1000, 0, 1, owed=300)
    assert [wallet.after([], owed=more).owed for more in (200, -300)] == [500, 0]


def test_no_more_comes_out_of_flight_than_is_in_flight() -> None:
    wallet = Wallet("mer_1", available=0, in_flight=1000, statement_lines=1)
    assert wallet.can_spend([Move(Account.IN_FLIGHT, Account.FEES, 1000)])
    assert not wallet.can_spend([Move(Account.IN_FLIGHT, Account.FEES, 1001)])


def test_a_posting_is_the_first_of_its_step_and_owes_nothing_unless_it_says_so() -> None:
    posting = Posting("mer_1", "txn_1", Step.END, [])
    assert (posting.ordinal, posting.owed) == (1, 0)


@pytest.mark.parametrize(
    ("source", "target", "amount", "channel"),
    [
        (Account.WALLET, Account.FEES, 0, None),
        (Account.WALLET, Account.FEES, -1, None),
        (Account.WALLET, Account.WALLET, 1, None),
        (Account.WALLET, Account.FLOAT, 1, None),
        (Account.WALLET, Account.FEES, 1, "MPESA"),
    ],
)
def test_a_move_that_makes_no_sense_cannot_be_made(
    source: Account, target: Account, amount: int, channel: str | None
) -> None:
    with pytest.raises(AssertionError):
        Move(source, target, amount, channel)
