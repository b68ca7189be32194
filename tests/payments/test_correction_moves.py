"""Corrections after the end: compared with a grid written by hand, and checked for conservation of money."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from malipo.ledger.accounts import Account, Move, Step
from malipo.payments import correction_moves
from malipo.payments.correction_moves import Correction, CorrectionChange
from malipo.payments.dispatch import AnswerSource
from malipo.payments.status_effects import posting_of
from malipo.payments.transaction import CorrectionReason, Status, Transaction, Type
from tests.payments.test_transaction import a_transaction

FINAL = [status for status in Status if status.is_final]
EMPTY, FULL = 0, 1_000_000


def in_words(moves: list[Move]) -> str:
    def account(name: Account, move: Move) -> str:
        return f"float {move.channel}" if name is Account.FLOAT else str(name)

    return ", ".join(f"{account(move.source, move)} > {account(move.target, move)} {move.amount}" for move in moves)


# A payment of 1,000 with a fee of 30. What was reported to the merchant, what the network says now, what that moves, and what is
# then due to the wallet (negative: owed).
HEARD = """
    COLLECTION    FAILED     paid      float MPESA > suspense 1000    970
    COLLECTION    CANCELLED  paid      float MPESA > suspense 1000    970
    COLLECTION    COMPLETED  not-paid  suspense > float MPESA 1000   -970
    DISBURSEMENT  FAILED     paid      suspense > float MPESA 1000  -1030
    DISBURSEMENT  CANCELLED  paid      suspense > float MPESA 1000  -1030
    DISBURSEMENT  COMPLETED  not-paid  float MPESA > suspense 1000   1030
"""
HEARD_ROWS = [
    [*line.split(maxsplit=3)[:3], *line.split(maxsplit=3)[3].rsplit(maxsplit=1)] for line in HEARD.strip().splitlines()
]
# And when it is decided: the wallet follows the network, or it stays, and the difference is booked to losses.
DECIDED = """
    COLLECTION    FAILED     follows  suspense > wallet 970, suspense > fees 30
    COLLECTION    FAILED     stays    suspense > losses 970, suspense > fees 30
    COLLECTION    CANCELLED  follows  suspense > wallet 970, suspense > fees 30
    COLLECTION    CANCELLED  stays    suspense > losses 970, suspense > fees 30
    COLLECTION    COMPLETED  follows  wallet > suspense 970, fees > suspense 30
    COLLECTION    COMPLETED  stays    losses > suspense 970, fees > suspense 30
    DISBURSEMENT  FAILED     follows  wallet > suspense 1030, suspense > fees 30
    DISBURSEMENT  FAILED     stays    losses > suspense 1030, suspense > fees 30
    DISBURSEMENT  CANCELLED  follows  wallet > suspense 1030, suspense > fees 30
    DISBURSEMENT  CANCELLED  stays    losses > suspense 1030, suspense > fees 30
    DISBURSEMENT  COMPLETED  follows  suspense > wallet 1030, fees > suspense 30
    DISBURSEMENT  COMPLETED  stays    suspense > losses 1030, fees > suspense 30
"""
DECIDED_ROWS = [line.split(maxsplit=3) for line in DECIDED.strip().splitlines()]


def without_fees(moves: str) -> str:
    """The same moves of a payment that costs nothing."""
    return ", ".join(
        move.replace("970", "1000").replace("1030", "1000") for move in moves.split(", ") if "fees" not in move
    )


def contradicted(transaction: Transaction, act: AnswerSource | None = AnswerSource.QUERY) -> CorrectionChange:
    before = correction_moves.begin(transaction)
    return correction_moves.contradict(transaction, before, is_paid=not before.is_paid, source=act)


@pytest.mark.parametrize(("type_", "status", "_says", "moves", "due"), HEARD_ROWS)
def test_the_float_follows_the_networks_report_and_what_the_wallet_must_give_is_owed(
    type_: str, status: str, _says: str, moves: str, due: str
) -> None:
    for fee, expected in ((30, moves), (0, without_fees(moves))):
        transaction = a_transaction(Type(type_), Status(status), fee)
        change = contradicted(transaction)
        assert (change.step, in_words(change.moves)) == (Step.CONTRADICTION, expected)
        is_debt = int(due) < 0
        if fee:
            assert correction_moves.due(transaction, change.correction) == int(due)
            assert change.correction.owed == max(-int(due), 0)
        assert change.reason is (CorrectionReason.DEBT_RECORDED if is_debt else None), "a debt is reported at once"
        assert correction_moves.is_open(transaction, change.correction)


@pytest.mark.parametrize(("type_", "status", "what", "moves"), DECIDED_ROWS)
def test_a_decision_moves_what_the_grid_says(type_: str, status: str, what: str, moves: str) -> None:
    for fee, expected in ((30, moves), (0, without_fees(moves))):
        transaction = a_transaction(Type(type_), Status(status), fee)
        after = contradicted(transaction).correction
        is_paid = after.is_paid if what == "follows" else not after.is_paid
        change = correction_moves.decide(transaction, after, is_paid=is_paid, available=FULL)
        assert (change.step, in_words(change.moves)) == (Step.RESOLUTION, expected)
        assert not correction_moves.is_open(transaction, change.correction)
        assert change.correction.owed == 0


@pytest.mark.parametrize(("type_", "status"), [(row[0], row[1]) for row in HEARD_ROWS if int(row[-1]) < 0])
def test_a_debt_that_is_waived_moves_what_moves_when_the_wallet_stays(type_: str, status: str) -> None:
    [moves] = [row[3] for row in DECIDED_ROWS if row[:3] == [type_, status, "stays"]]
    transaction = a_transaction(Type(type_), Status(status), 30)
    after = contradicted(transaction).correction
    change = correction_moves.decide(transaction, after, is_paid=after.is_paid, available=FULL, is_waived=True)
    assert in_words(change.moves) == moves
    assert (change.credited, change.correction.owed) == (0, 0)


def test_the_grids_leave_no_cell_out() -> None:
    assert {(row[0], row[1]) for row in HEARD_ROWS} == set(itertools.product(Type, FINAL))
    assert {(row[0], row[1], row[2]) for row in DECIDED_ROWS} == set(
        itertools.product(Type, FINAL, ("follows", "stays"))
    )


def _balances(transaction: Transaction, changes: list[CorrectionChange]) -> dict[Account, int]:
    """Everything that a payment has moved, from its beginning."""
    opened = a_transaction(transaction.type, Status.PENDING, transaction.fee)
    moves = [move for posting in (posting_of(opened), posting_of(transaction)) if posting for move in posting.moves]
    moves += [move for change in changes for move in change.moves]
    return {account: sum(move.change_of(account) for move in moves) for account in Account}


@pytest.mark.parametrize("fee", [0, 30])
@pytest.mark.parametrize(("type_", "status"), list(itertools.product(Type, FINAL)))
def test_when_the_wallet_follows_every_account_is_as_if_that_had_been_the_outcome_from_the_first(
    type_: Type, status: Status, fee: int
) -> None:
    transaction = a_transaction(type_, status, fee)
    result = contradicted(transaction)
    decided = correction_moves.decide(transaction, result.correction, is_paid=result.correction.is_paid, available=FULL)
    at_once = a_transaction(type_, Status.COMPLETED if result.correction.is_paid else Status.FAILED, fee)
    assert _balances(transaction, [result, decided]) == _balances(at_once, [])


def test_a_debt_is_taken_in_parts_and_the_rest_can_be_waived() -> None:
    payout = a_transaction(Type.DISBURSEMENT, Status.FAILED, 30)
    change = contradicted(payout)
    reported = [(change.reason, change.amount)]
    for available, expected in ((400, 630), (200, 430), (0, 430)):
        change = correction_moves.decide(payout, change.correction, is_paid=True, available=available)
        assert change.correction.owed == expected
        reported.append((change.reason, change.amount))
    assert change.moves == [], "an empty wallet gives nothing"

    waived = correction_moves.decide(payout, change.correction, is_paid=True, available=FULL, is_waived=True)
    assert in_words(waived.moves) == "losses > suspense 430, suspense > fees 30", "what was taken stays taken"
    assert (waived.reason, waived.amount, waived.correction.owed) == (CorrectionReason.DEBT_WAIVED, 430, 0)

    given_back = correction_moves.decide(payout, change.correction, is_paid=False, available=0)
    assert in_words(given_back.moves) == "suspense > wallet 600, losses > suspense 1030, suspense > fees 30"
    assert reported == [
        (CorrectionReason.DEBT_RECORDED, 1030),
        (CorrectionReason.DEBT_COLLECTED, 400),
        (CorrectionReason.DEBT_COLLECTED, 200),
        (None, 0),
    ]


def test_a_network_that_recants_undoes_the_contradiction_and_the_debt() -> None:
    for type_, status in itertools.product(Type, FINAL):
        transaction = a_transaction(type_, status, 30)
        result = contradicted(transaction)
        back = correction_moves.contradict(
            transaction, result.correction, is_paid=not result.correction.is_paid, source=AnswerSource.QUERY
        )
        assert not correction_moves.is_open(transaction, back.correction)
        assert back.correction.owed == 0
        assert _balances(transaction, [result, back]) == _balances(transaction, [])
        assert (back.reason is CorrectionReason.DEBT_WITHDRAWN) == (result.reason is CorrectionReason.DEBT_RECORDED)


def test_a_network_that_recants_gives_back_to_the_house_what_it_bore() -> None:
    payout = a_transaction(Type.DISBURSEMENT, Status.FAILED, 30)
    result = contradicted(payout)
    waived = correction_moves.decide(payout, result.correction, is_paid=False, available=EMPTY)
    back = correction_moves.contradict(payout, waived.correction, is_paid=False, source=AnswerSource.CALLBACK)
    assert not correction_moves.is_open(payout, back.correction)
    assert _balances(payout, [result, waived, back]) == _balances(payout, [])


def test_a_resolution_can_be_followed_by_another() -> None:
    payout = a_transaction(Type.DISBURSEMENT, Status.FAILED, 30)
    result = contradicted(payout)
    waived = correction_moves.decide(payout, result.correction, is_paid=False, available=FULL)
    taken = correction_moves.decide(payout, waived.correction, is_paid=True, available=FULL)
    assert in_words(taken.moves) == "wallet > suspense 1030, suspense > losses 1030"
    again = correction_moves.decide(payout, taken.correction, is_paid=False, available=FULL)
    assert in_words(again.moves) == "suspense > wallet 1030, losses > suspense 1030"
    assert [each.correction.ordinal for each in (result, waived, taken, again)] == [1, 2, 3, 4]


def test_only_a_collection_that_was_paid_after_all_is_credited_automatically() -> None:
    credited = {
        (type_, status)
        for type_, status in itertools.product(Type, FINAL)
        if correction_moves.is_credited_automatically(
            transaction := a_transaction(type_, status, 30), contradicted(transaction).correction
        )
    }
    assert credited == {(Type.COLLECTION, Status.FAILED), (Type.COLLECTION, Status.CANCELLED)}


def test_a_collection_is_credited_automatically_once_and_not_if_it_was_taken_back_meanwhile() -> None:
    failed, completed = (a_transaction(Type.COLLECTION, status, 30) for status in (Status.FAILED, Status.COMPLETED))
    credited = Correction(is_paid=True, is_fee_paid=True, credited=970)
    assert not correction_moves.is_credited_automatically(failed, credited)
    assert correction_moves.is_credited_automatically(failed, replace(credited, credited=969)), "the last shilling"
    # It was taken from the wallet, and the network reports again that it was paid.
    taken = Correction(is_paid=True, is_fee_paid=False, credited=-970)
    assert correction_moves.due(completed, taken) == 970
    assert not correction_moves.is_credited_automatically(completed, taken)


@pytest.mark.parametrize(("status", "is_paid"), list(itertools.product(FINAL, (True, False))))
def test_operators_cannot_reverse_what_the_network_itself_reports(status: Status, is_paid: bool) -> None:
    transaction = a_transaction(Type.DISBURSEMENT, status)
    is_opposite = is_paid != (status is Status.COMPLETED)
    for source, expected in ((AnswerSource.QUERY, is_opposite), (None, False)):
        correction = Correction(is_paid=is_paid, is_fee_paid=is_paid, source=source)
        assert correction_moves.is_contradicted_by_network(transaction, correction) is expected


def test_a_correction_of_one_shilling_moves_it_and_has_a_reason() -> None:
    assert in_words(correction_moves.lend(1).moves) == "suspense > wallet 1"
    payout = a_transaction(Type.DISBURSEMENT, Status.FAILED)
    taken = correction_moves.decide(payout, contradicted(payout).correction, is_paid=True, available=1)
    assert in_words(taken.moves) == "wallet > suspense 1"
    assert (taken.reason, taken.amount) == (CorrectionReason.DEBT_COLLECTED, 1)
    given_back = correction_moves.decide(payout, taken.correction, is_paid=False, available=0)
    assert (given_back.reason, given_back.amount) == (CorrectionReason.CREDITED, 1)


def test_a_waived_debt_stays_a_loss_until_it_is_decided_anew() -> None:
    collection = a_transaction(Type.COLLECTION, Status.FAILED, 30)
    paid = contradicted(collection)
    credited = correction_moves.decide(collection, paid.correction, is_paid=True, available=0)
    recanted = correction_moves.contradict(collection, credited.correction, is_paid=False, source=AnswerSource.QUERY)
    waived = correction_moves.decide(collection, recanted.correction, is_paid=False, available=0, is_waived=True)
    assert in_words(waived.moves) == "losses > suspense 970, fees > suspense 30"

    again = correction_moves.contradict(collection, waived.correction, is_paid=True, source=AnswerSource.QUERY)
    assert in_words(again.moves) == "float MPESA > suspense 1000"
    decided = correction_moves.decide(collection, again.correction, is_paid=True, available=0)
    assert in_words(decided.moves) == "suspense > losses 970, suspense > fees 30", "the wallet has it since the first"
    assert (decided.reason, decided.credited) == (None, 0)


STEPS = st.lists(st.tuples(st.sampled_from(["hear", "follow", "stay", "waive"]), st.integers(0, 3000)), max_size=12)


@given(st.sampled_from(Type), st.sampled_from(FINAL), st.sampled_from([0, 30]), STEPS)
def test_whatever_is_reported_and_decided_money_is_conserved_and_nothing_stays_in_suspense_when_nothing_is_due(
    type_: Type, status: Status, fee: int, steps: list[tuple[str, int]]
) -> None:
    transaction = a_transaction(type_, status, fee)
    state, wallet = correction_moves.begin(transaction), 0
    changes: list[CorrectionChange] = []
    for what, available in steps:
        if what == "hear":
            change = correction_moves.contradict(
                transaction, state, is_paid=not state.is_paid, source=AnswerSource.QUERY
            )
        else:
            is_paid = state.is_paid if what != "stay" else not state.is_paid
            change = correction_moves.decide(
                transaction, state, is_paid=is_paid, available=available, is_waived=what == "waive"
            )
            assert change.credited >= -available, "a wallet gives no more than it holds"
        changes.append(change)
        _assert_consistent(transaction, state, change)
        state, wallet = change.correction, wallet + change.credited
    balances = _balances(transaction, changes)
    assert sum(balances.values()) == 0
    assert state.credited == wallet
    if not correction_moves.is_open(transaction, state):
        assert balances[Account.SUSPENSE] == 0
        assert state.owed == 0


def _assert_consistent(transaction: Transaction, before: Correction, change: CorrectionChange) -> None:
    assert change.correction.ordinal == before.ordinal + 1
    assert sum(move.change_of(Account.WALLET) for move in change.moves) == change.credited
    assert sum(move.change_of(Account.LOSSES) for move in change.moves) == change.borne
    has_changed = change.credited != 0 or change.correction.owed != before.owed
    assert (change.reason is not None) == has_changed, "there is an event whenever wallet or debt changes"
    assert change.amount == abs(change.credited or change.correction.owed - before.owed)
    assert change.correction.owed == max(-correction_moves.due(transaction, change.correction), 0)


def test_the_amount_that_the_house_lends_for_an_adopted_payout_is_owed() -> None:
    lent = correction_moves.lend(700)
    assert in_words(lent.moves) == "suspense > wallet 700"
    assert (lent.credited, lent.borne, lent.correction.credited, lent.correction.owed) == (700, 0, 700, 700)
    assert (lent.step, lent.reason, lent.amount) == (Step.RESOLUTION, CorrectionReason.DEBT_RECORDED, 700)
    assert (lent.correction.is_paid, lent.correction.is_fee_paid, lent.correction.ordinal) == (True, True, 1)


@pytest.mark.parametrize("is_paid", [True, False])
def test_a_notice_is_numbered_and_says_the_outcome_as_it_is_reported_now(is_paid: bool) -> None:
    transaction = a_transaction(Type.COLLECTION, Status.FAILED if is_paid else Status.COMPLETED)
    now = transaction.created_at
    silent = replace(contradicted(transaction), reason=None)
    assert correction_moves.with_notice(silent, now) is silent

    reported = correction_moves.with_notice(replace(silent, reason=CorrectionReason.CREDITED, amount=5), now).correction
    assert (silent.correction.notice_count, reported.notice_count) == (0, 1)
    assert (
        correction_moves.with_notice(
            replace(silent, reason=CorrectionReason.CREDITED, correction=reported), now
        ).correction.notice_count
        == 2
    )
    assert reported.latest is not None
    assert reported.latest.outcome is (Status.COMPLETED if is_paid else Status.FAILED)
    assert (reported.latest.amount, reported.latest.reason, reported.latest.corrected_at) == (
        5,
        CorrectionReason.CREDITED,
        now,
    )
