"""Judges a whole life by what an observer saw and by the network's own book. Written from the rules, not from the code.

Each rule yields sentences about what is wrong; none is good.
"""

from collections.abc import Callable, Iterator

from tests.model.oracle import after_the_end, ending, money, sending
from tests.model.trace import Trace

RULES: tuple[Callable[[Trace], Iterator[str]], ...] = (
    sending.paid_twice,
    sending.sent_again,
    sending.sent_after_success,
    sending.not_in_a_row,
    sending.acknowledged_and_not_found,
    ending.completed_wrongly,
    ending.failed_after_success,
    ending.failed_though_paid,
    ending.failed_by_an_older_answer,
    ending.failed_without_a_word,
    ending.forgotten,
    ending.charged_but_failed,
    after_the_end.success_after_the_end,
    after_the_end.not_asked_after_failed,
    after_the_end.asked_too_little,
    after_the_end.last_word,
    after_the_end.undone_unasked,
    after_the_end.signed_success_undone,
    after_the_end.other_amount,
    after_the_end.other_amount_forgotten,
    money.money,
    money.correction_undone,
    money.not_told,
    money.not_credited,
)


def judge(trace: Trace) -> list[str]:
    return [f"{rule.__name__}: {finding}" for rule in RULES for finding in rule(trace)]
