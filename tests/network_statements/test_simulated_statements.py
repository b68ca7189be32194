"""Statements of the simulated networks: they are the book, in each network's layout, and malipo can read them."""

from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from malipo.network_statements.adds_up import Chain
from malipo.network_statements.profile import built_in
from malipo.network_statements.read_statement import StatementReader, read_statement
from malipo.network_statements.statement_line import LineKind, StatementLine
from malipo.words.say import say
from malipo_simulator.behaviour import Outcome, PaymentKind
from malipo_simulator.state import State
from malipo_simulator.statements.account import STARTING_BALANCE, ZONE, balance_of, statement_of
from malipo_simulator.statements.differences import Difference, with_differences
from malipo_simulator.statements.layouts import as_csv
from malipo_simulator.transaction import GatewayName, MoneyTransferred, PaymentDecided, PaymentTaken, Transaction

DAY = date(2026, 11, 15)
PROFILES = {
    GatewayName.MPESA: "mpesa-account",
    GatewayName.AIRTEL_MONEY: "airtel-money",
    GatewayName.TIGO_PESA: "generic",
    GatewayName.HALOPESA: "generic",
    GatewayName.CLICKPESA: "clickpesa",
    GatewayName.AZAMPAY: "generic",
}
PAYMENTS = [  # kind, amount, hour, whether it was taken back
    (PaymentKind.COLLECTION, 5_000, 9, False),
    (PaymentKind.DISBURSEMENT, 2_500, 10, False),
    (PaymentKind.COLLECTION, 1_000, 11, True),
    (PaymentKind.DISBURSEMENT, 700, 12, False),
    (PaymentKind.COLLECTION, 123_456, 13, False),
]


def state_with(gateway: GatewayName, *, on: date = DAY) -> State:
    state = State()
    for number, (kind, amount, hour, is_reversed) in enumerate(PAYMENTS):
        at = datetime(on.year, on.month, on.day, hour, tzinfo=ZONE).timestamp()
        transaction = Transaction(
            id=f"t{number}",
            gateway=gateway,
            channel=gateway,
            kind=kind,
            phone=f"+25575400010{number}",
            amount=amount,
            reference=f"KEY{number}",
            network_id=f"n{number}",
            receipt=f"RCPT{number}",
            merchant="Duka",
            note="",
            taken_at=at,
            due_at=None,
            callbacks=0,
        )
        state.apply(PaymentTaken(transaction))
        state.apply(PaymentDecided(transaction.id, Outcome.SUCCESS, at))
        if is_reversed:
            state.apply(PaymentDecided(transaction.id, Outcome.REVERSED, at + 60))
    return state


def read(
    gateway: GatewayName, folder: Path, *differences: Difference, day: date = DAY
) -> tuple[StatementReader, list[StatementLine]]:
    statement = statement_of(state_with(gateway), gateway, day, merchant="Duka")
    (folder / "statement.csv").write_text(as_csv(with_differences(statement, set(differences))), newline="")
    found = read_statement(folder / "statement.csv", built_in()[PROFILES[gateway]])
    lines = list(found.lines)
    assert all(isinstance(line, StatementLine) for line in lines), lines
    return found, [line for line in lines if isinstance(line, StatementLine)]


def problems(statement: StatementReader, lines: list[StatementLine]) -> list[str]:
    chain = Chain()
    for line in lines:
        chain.add(line)
    return [say(each) for each in chain.problems(statement.heading)]


@pytest.mark.parametrize("gateway", GatewayName)
def test_every_layout_says_what_the_book_says(gateway: GatewayName, tmp_path: Path) -> None:
    statement, lines = read(gateway, tmp_path)
    assert problems(statement, lines) == []
    receipt = "n" if gateway is GatewayName.CLICKPESA else "RCPT"  # An aggregator has ids of its own.
    money = {(line.receipt, line.amount, line.key) for line in lines if line.kind is LineKind.MONEY}
    assert money == {
        (f"{receipt}{number}", amount if kind is PaymentKind.COLLECTION else -amount, f"KEY{number}")
        for number, (kind, amount, _, _) in enumerate(PAYMENTS)
    }
    assert {line.receipt for line in lines if line.kind is LineKind.FEE} == {f"{receipt}{each}" for each in range(5)}
    [reversal] = [line for line in lines if line.kind is LineKind.REVERSAL]
    assert (reversal.receipt, reversal.amount, reversal.linked) == (f"{receipt}2R", -1000, f"{receipt}2")
    hours = {line.at.astimezone(ZONE).hour for line in lines}
    assert hours == {9, 10, 11, 12, 13}


def test_transfers_to_and_from_the_bank_are_in_every_layout(tmp_path: Path) -> None:
    """With the bank's reference in their words, and in the balance."""
    for gateway in GatewayName:
        state = state_with(gateway)
        noon = datetime(DAY.year, DAY.month, DAY.day, 12, 30, tzinfo=ZONE).timestamp()
        for amount, reference in ((2_000_000, "CRDB-77"), (-300_000, "CRDB-78")):
            state.apply(
                MoneyTransferred(gateway=gateway, amount=amount, reference=reference, receipt=reference, at=noon)
            )
        statement = statement_of(state, gateway, DAY, merchant="Duka")
        assert statement.closing == balance_of(state, gateway)
        (tmp_path / "statement.csv").write_text(as_csv(statement), newline="")
        found = read_statement(tmp_path / "statement.csv", built_in()[PROFILES[gateway]])
        lines = [line for line in found.lines if isinstance(line, StatementLine)]
        bank = {(line.amount, line.details.split()[-1], line.key) for line in lines if line.kind is LineKind.BANK}
        assert bank == {(2_000_000, "CRDB-77", ""), (-300_000, "CRDB-78", "")}
        assert problems(found, lines) == []


@pytest.mark.parametrize("gateway", GatewayName)
@pytest.mark.parametrize("day", [date(2026, 11, 14), date(2026, 11, 16)])
def test_a_day_without_payments_has_no_lines_and_carries_the_balance_on(
    gateway: GatewayName, day: date, tmp_path: Path
) -> None:
    statement, lines = read(gateway, tmp_path, day=day)
    assert lines == []
    assert (statement.heading.opening == STARTING_BALANCE * 100) == (day < DAY)
    assert statement.heading.closing == statement.heading.opening
    midnight = datetime(day.year, day.month, day.day, tzinfo=ZONE)
    assert (statement.heading.begins, statement.heading.ends) == (midnight, midnight + timedelta(days=1))


@pytest.mark.parametrize(
    ("difference", "more"),
    [
        (Difference.MISSING, {LineKind.MONEY: -1, LineKind.FEE: -1}),
        (Difference.THEIRS_ONLY, {LineKind.MONEY: 1}),
        (Difference.AMOUNT, {}),
        (Difference.TWICE, {LineKind.MONEY: 1}),
        (Difference.FEE, {}),
        (Difference.REVERSED, {LineKind.REVERSAL: 1}),
        (Difference.SWEEP, {LineKind.SWEEP: 2}),
        (Difference.BANK, {LineKind.BANK: 1}),
        (Difference.OTHER, {LineKind.OTHER: 1}),
        (Difference.REPEATED, {LineKind.MONEY: 1}),
    ],
)
@pytest.mark.parametrize("gateway", GatewayName)
def test_a_difference_is_one_and_still_adds_up(
    gateway: GatewayName, difference: Difference, more: dict[LineKind, int], tmp_path: Path
) -> None:
    _, without = read(gateway, tmp_path)
    statement, lines = read(gateway, tmp_path, difference)
    assert problems(statement, lines) == []
    before, after = Counter(line.kind for line in without), Counter(line.kind for line in lines)
    assert {kind: after[kind] - before[kind] for kind in LineKind if after[kind] != before[kind]} == more
    assert sum(line.amount for line in lines) != sum(line.amount for line in without) or difference is Difference.SWEEP


@pytest.mark.parametrize("gateway", GatewayName)
def test_a_payment_that_failed_is_listed_and_counts_for_nothing(gateway: GatewayName, tmp_path: Path) -> None:
    statement, lines = read(gateway, tmp_path, Difference.FAILED)
    has_status = gateway is not GatewayName.CLICKPESA
    assert ("FA261115" in (tmp_path / "statement.csv").read_text()) == has_status
    assert problems(statement, lines) == []
    without = read(gateway, tmp_path)[1]
    # M-Pesa's newest line is the first: what follows is a row further down.
    assert [line.receipt for line in lines] == [line.receipt for line in without]


@pytest.mark.parametrize("difference", [Difference.OPENING, Difference.GAP])
@pytest.mark.parametrize("gateway", GatewayName)
def test_a_statement_that_does_not_add_up_is_noticed(
    gateway: GatewayName, difference: Difference, tmp_path: Path
) -> None:
    assert problems(*read(gateway, tmp_path, difference)) != []


def test_all_differences_of_a_day_whose_payments_came_at_its_end_are_of_that_day() -> None:
    statement = statement_of(state_with(GatewayName.MPESA), GatewayName.MPESA, DAY, merchant="Duka")
    last = datetime(DAY.year, DAY.month, DAY.day, 23, 59, 59, tzinfo=ZONE).timestamp()
    late = replace(statement, entries=[replace(each, at=last) for each in statement.entries])
    changed = with_differences(late, set(Difference))
    assert len(changed.entries) > len(late.entries)
    assert {datetime.fromtimestamp(each.at, ZONE).date() for each in changed.entries} == {DAY}
