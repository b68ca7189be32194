"""Whether a statement adds up, and the problems that are reported if it does not."""

from datetime import UTC, datetime, timedelta
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from malipo import money
from malipo.network_statements.adds_up import Chain
from malipo.network_statements.heading import StatementHeading
from malipo.network_statements.statement_line import LineKind, StatementLine
from malipo.words.say import say

START = datetime(2026, 11, 1, tzinfo=UTC)


def lines_of(amounts: list[int], *, opening: int = 0) -> list[StatementLine]:
    """Amounts and balances in cents."""
    balances = list(accumulate(amounts, initial=opening))[1:]
    lines = []
    for number, (moved, after) in enumerate(zip(amounts, balances, strict=True), 1):
        (amount, cents), (balance, balance_cents) = money.split_movement(moved), money.split(after)
        lines.append(
            StatementLine(
                row=number,
                receipt=f"R{number}",
                at=START + timedelta(minutes=number),
                amount=amount,
                kind=LineKind.MONEY,
                balance=balance,
                cents=cents,
                balance_cents=balance_cents,
            )
        )
    return lines


def chain_of(lines: list[StatementLine]) -> Chain:
    chain = Chain()
    for line in lines:
        chain.add(line)
    return chain


amounts = st.lists(st.integers(-10_000, 10_000).filter(bool), min_size=2, max_size=30)


@given(amounts, st.integers(0, 100_000), st.booleans())
def test_balances_say_which_end_is_the_newest(amounts: list[int], opening: int, is_newest_first: bool) -> None:
    lines = lines_of(amounts, opening=opening)
    chain = chain_of(lines[::-1] if is_newest_first else lines)
    heading = StatementHeading(opening=opening, closing=opening + sum(amounts))
    assert chain.problems(heading) == []
    assert (chain.opening, chain.closing) == (opening, opening + sum(amounts))
    assert (chain.money_in - chain.money_out, chain.lines) == (sum(amounts), len(amounts))
    assert (chain.begins, chain.ends) == (lines[0].at, lines[-1].at)


@given(amounts.filter(lambda each: len(each) > 3), st.data())
def test_a_line_that_is_missing_is_noticed(amounts: list[int], data: st.DataObject) -> None:
    lines = lines_of(amounts)
    missing = data.draw(st.integers(1, len(lines) - 2))
    chain = chain_of(lines[:missing] + lines[missing + 1 :])
    assert chain.problems(StatementHeading()) != []


def test_a_gap_is_reported_in_shillings() -> None:
    lines = lines_of([1000_00, 2000_00, -500_00, 700_00])
    chain = chain_of([lines[0], lines[1], lines[3]])
    assert list(map(say, chain.problems(StatementHeading()))) == [
        "Row 4 says that the balance is 3,200; with the line before it, it would be 3,700: 500 are missing or too many."
    ]


def test_a_heading_that_does_not_fit_is_reported() -> None:
    chain = chain_of(lines_of([1000_00, -400_00], opening=50_00))
    [opening] = chain.problems(StatementHeading(opening=60_00, closing=650_00))
    assert say(opening) == "The heading opens with 60, the lines with 50."
    [closing] = chain.problems(StatementHeading(opening=50_00, closing=650_01))
    assert say(closing) == "The heading closes with 650.01, the lines with 650."


def test_a_file_without_balances_is_held_against_its_heading() -> None:
    lines = [StatementLine(row=1, receipt="R", at=START, amount=1000, kind=LineKind.MONEY)]
    assert chain_of(lines).problems(StatementHeading(opening=0, closing=1000_00)) == []
    [reported] = chain_of(lines).problems(StatementHeading(opening=0, closing=900_00))
    assert say(reported) == "Opening 0 and the lines (+1,000) make 1,000, not the closing 900: 100 differ."
    assert chain_of(lines).problems(StatementHeading()) == []


def test_an_empty_statement_has_no_balances() -> None:
    chain = Chain()
    assert (chain.opening, chain.closing, chain.lines, chain.problems(StatementHeading())) == (None, None, 0, [])
    assert chain.problems(StatementHeading(opening=5, closing=6)) != []
