"""What does not add up is stored as the sentence that every version has stored, and read back with its code."""

import pytest

from malipo.errors import Code, Problem
from malipo.network_statements.adds_up import ChainProblem
from malipo.reconciliation.statements import stored_problems
from malipo.reconciliation.statements.statement_file import FileProblem
from malipo.reconciliation.statements.stored_problems import problem_of, stored_text
from tests.words.test_say import values_in

# As earlier versions have stored them, and as 0.4.0 stores and reads them beside this one while it is rolled out.
STORED = [
    (
        ChainProblem.BALANCE,
        "Row 12 says that the balance is 1,000; with the line before it, it would be 900: 100 are missing or too many.",
    ),
    (ChainProblem.OPENING, "The heading opens with 10, the lines with 12."),
    (ChainProblem.CLOSING, "The heading closes with 10, the lines with 12."),
    (ChainProblem.OPENING, "The heading opens with 10.50, the lines with 12.25."),
    (ChainProblem.SUM, "Opening 10 and the lines (+5) make 15, not the closing 16: 1 differ."),
    (
        ChainProblem.OUTSIDE,
        "It says that it is from 2026-11-15 00:00:00 to 2026-11-15 23:59:59, and its lines are from "
        "2026-11-14 10:00:00 to 2026-11-15 11:00:00.",
    ),
    (
        ChainProblem.BEFORE,
        "It says that it is from 2026-11-15 00:00:00, and its lines are from 2026-11-14 10:00:00 to "
        "2026-11-15 11:00:00.",
    ),
    (
        ChainProblem.AFTER,
        "It says that it is to 2026-11-15 23:59:59, and its lines are from 2026-11-14 10:00:00 to 2026-11-15 11:00:00.",
    ),
    (
        FileProblem.GAP_BEFORE,
        "It opens with 10, and monday, and more.csv, which ends where it begins, closes with 12: 2 differ.",
    ),
    (FileProblem.GAP_AFTER, "It closes with 10, and b.csv, which begins where it ends, opens with 12: 2 differ."),
    (FileProblem.TEXT, "Something that another version has stored.\nIn two lines."),
]


@pytest.mark.parametrize(("code", "text"), STORED)
def test_a_stored_sentence_is_read_with_its_code_and_written_as_it_was(code: Code, text: str) -> None:
    found = problem_of(text)
    assert (found.code, stored_text(found)) == (code, text)


def test_every_problem_that_can_be_stored_is_read_back_as_it_was() -> None:
    for code, sentence in stored_problems.SENTENCES.items():
        problem = Problem(code, **{name: f"<{name}>" for name in values_in(sentence)})
        assert problem_of(stored_text(problem)) == problem
    assert set(ChainProblem) | {FileProblem.GAP_BEFORE, FileProblem.GAP_AFTER} < stored_problems.SENTENCES.keys()
