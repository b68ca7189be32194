"""Problems of a statement that does not add up, as the column `problems` stores them: as English sentences. Pure.

The column had sentences before problems had codes, and signed closes repeat them, so the sentences stay. This is the
only file that parses them.
"""

import re
from functools import cache

from malipo.errors import Code, Problem
from malipo.network_statements.adds_up import ChainProblem
from malipo.reconciliation.statements.statement_file import FileProblem

# Never change these: stored rows could not be parsed any more.
SENTENCES: dict[Code, str] = {
    ChainProblem.BALANCE: "Row {row} says that the balance is {balance}; with the line before it, it would be "
    "{expected}: {missing} are missing or too many.",
    ChainProblem.OPENING: "The heading opens with {said}, the lines with {computed}.",
    ChainProblem.CLOSING: "The heading closes with {said}, the lines with {computed}.",
    ChainProblem.SUM: "Opening {opening} and the lines ({total}) make {sum}, not the closing {closing}: "
    "{missing} differ.",
    ChainProblem.OUTSIDE: "It says that it is from {first} to {last}, and its lines are from {begins} to {ends}.",
    ChainProblem.BEFORE: "It says that it is from {first}, and its lines are from {begins} to {ends}.",
    ChainProblem.AFTER: "It says that it is to {last}, and its lines are from {begins} to {ends}.",
    FileProblem.GAP_BEFORE: "It opens with {opening}, and {name}, which ends where it begins, closes with {closing}: "
    "{missing} differ.",
    FileProblem.GAP_AFTER: "It closes with {closing}, and {name}, which begins where it ends, opens with {opening}: "
    "{missing} differ.",
    FileProblem.TEXT: "{text}",
}


def stored_text(problem: Problem) -> str:
    return SENTENCES[problem.code].format(**problem.values)


def problem_of(text: str) -> Problem:
    """The problem of a stored text. An unknown text is shown as it is."""
    found = ((code, _pattern(code).fullmatch(text)) for code in SENTENCES)
    code, match = next((code, match) for code, match in found if match is not None)
    return Problem(code, **match.groupdict())


@cache
def _pattern(code: Code) -> re.Pattern[str]:
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(SENTENCES[code]))
    return re.compile(pattern if code is not FileProblem.TEXT else "(?P<text>.*)", re.DOTALL)
