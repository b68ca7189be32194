"""What does not add up in a statement, in the reader's language. It is said and kept in English."""

import re
from functools import cache

from malipo.dashboard.language import Translator

# As `network_statements/chain.py`, and `statement_file.py` and `doubt_statement.py` of `reconciliation/statements/` say
# them.
SENTENCES = [
    "Row {row} says that the balance is {balance}; with the line before it, it would be {expected}: {missing} are "
    "missing or too many.",
    "The heading opens with {said}, the lines with {computed}.",
    "The heading closes with {said}, the lines with {computed}.",
    "Opening {opening} and the lines ({total}) make {sum}, not the closing {closing}: {missing} differ.",
    "It opens with {opening}, and {name}, which ends where it begins, closes with {closing}: {missing} differ.",
    "It closes with {closing}, and {name}, which begins where it ends, opens with {opening}: {missing} differ.",
    "It says that it is from {first} to {last}, and its lines are from {begins} to {ends}.",
    "It says that it is from {first}, and its lines are from {begins} to {ends}.",
    "It says that it is to {last}, and its lines are from {begins} to {ends}.",
    "No statement covers the time from {first} to {last}, in which the balance changed by {change}.",
    "It opens with {opening}; {name} opens with {other}.",
    "It closes with {closing}; {name} closes with {other}.",
    "Lines that {name} does not have: {count}, together {amount}.",
    "Lines that only {name} has: {count}, together {amount}.",
    "{late} opens with {opening}; {early} has {balance} at that moment.",
    "After the same lines its balances are {amount} from those of {name}.",
]


def told(words: Translator, problem: str) -> str:
    """One that is not known here stays in English."""
    for sentence in SENTENCES:
        if found := _pattern(sentence).fullmatch(problem):
            return words(sentence, **found.groupdict())
    return problem


@cache
def _pattern(sentence: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(sentence)))
