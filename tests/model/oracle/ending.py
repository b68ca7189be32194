"""Rules for the end of a payment, and for reports that must not be forgotten."""

from collections.abc import Iterator

from malipo.networks.connector import Type, Verdict
from malipo.payments.transaction import Status
from tests.model.network import AMOUNT
from tests.model.oracle.trace_queries import (
    NOT_FOUND,
    counts,
    ends,
    is_known,
    is_success,
    sendings,
    too_early,
    was_corrected,
)
from tests.model.trace import Trace, Way


def completed_wrongly(trace: Trace) -> Iterator[str]:
    for reported, word in ends(trace):
        if reported.status is not Status.COMPLETED:
            continue
        if word is None or not counts(trace, word):
            yield "COMPLETED by a word that does not count"
        if not trace.network.ever_moved(reported.at):
            yield "COMPLETED although nothing has moved"
        if trace.network.amount != AMOUNT and word is not None and word.way is Way.QUERY:
            yield "COMPLETED with another amount"


def failed_after_success(trace: Trace) -> Iterator[str]:
    """Once a success was heard, only the network's own definite word ends it as FAILED, or two operators."""
    for reported, word in ends(trace):
        result = [each for each in trace.words() if each.at <= reported.at and is_success(each)]
        if reported.status is not Status.FAILED or not result or reported.by == "operators":
            continue
        if word is None or not counts(trace, word):
            yield f"a success was heard, and {reported.by} ended it as FAILED"


def failed_though_paid(trace: Trace) -> Iterator[str]:
    """A success was heard, and it was true: an answer that is older, or a reply that is wrong, does not end it."""
    if _words_until_failed(trace) == 1:
        yield "the money had moved and a success was heard, and the next word ended it as FAILED"


def failed_by_an_older_answer(trace: Trace) -> Iterator[str]:
    """The same, if something else was heard in between."""
    if _words_until_failed(trace) > 1:
        yield "the money had moved and a success was heard, and an answer that is older ended it as FAILED"


def _words_until_failed(trace: Trace) -> int:
    """How many replies and answers came after a true success until it was ended as FAILED; 0 if it was not."""
    for reported, word in ends(trace):
        result = [each for each in trace.words() if each.at <= reported.at]
        true = [
            each.at for each in result if is_success(each) and each.is_right_amount and trace.network.moved(each.at)
        ]
        is_paid = trace.scenario.nature.has_query and trace.network.moved(reported.at)
        if reported.status is Status.FAILED and word is not None and true and is_paid:
            return sum(each.way is not Way.CALLBACK and each.at > true[-1] for each in result)
    return 0


def failed_without_a_word(trace: Trace) -> Iterator[str]:
    """FAILED takes a definite refusal. For a collection, "not found" for long enough is one."""
    for reported, word in ends(trace):
        if reported.status is not Status.FAILED or word is None or counts(trace, word):
            continue
        if trace.scenario.nature.type is Type.DISBURSEMENT:
            yield f"a payout FAILED on {word.verdict} ({word.way})"
            continue
        result = [each for each in trace.words() if each.at <= reported.at]
        why = (
            too_early(trace, result)
            if word.way is Way.QUERY and word.verdict in NOT_FOUND
            else f"on {word.way} {word.verdict}"
        )
        if why is not None:
            yield f"a collection FAILED: {why}"


def forgotten(trace: Trace) -> Iterator[str]:
    if trace.status.is_final:
        return
    if not trace.is_queued or trace.due_at is None:
        yield f"it is {trace.status}, and nobody will take it up again"
    elif trace.due_at > trace.over_at + (3700 if trace.scenario.nature.has_query else 86_400):
        yield f"it is {trace.status}, and nobody takes it up for {trace.due_at - trace.over_at:.0f} s"
    proven = [each for each in trace.words() if is_success(each) and counts(trace, each)]
    if proven:
        yield f"it is {trace.status} although its network has said that it was paid"
    result = [each for each in trace.words() if is_success(each)]
    if result and not trace.is_shown and trace.over_at - result[-1].at > 3 * 3600:
        yield "a success was heard, no query confirms it, and it is shown to nobody"
    is_unheard = sendings(trace) and not any(each.verdict is Verdict.WAITING for each in trace.words())
    is_blind = trace.scenario.nature.type is Type.DISBURSEMENT and not trace.scenario.nature.has_query
    if is_blind and is_unheard and not trace.is_shown:
        yield "a payout that nobody heard of, at a network that cannot be asked, is shown to nobody"


def charged_but_failed(trace: Trace) -> Iterator[str]:
    """A success was heard, the money moved, the merchant was told FAILED: corrected, or shown to somebody."""
    if trace.status not in (Status.FAILED, Status.CANCELLED) or not trace.network.moved(trace.over_at):
        return
    result = any(
        is_success(each) and each.is_right_amount and trace.network.ever_moved(each.at) for each in trace.words()
    )
    if result and not trace.believes_paid and not is_known(trace) and not was_corrected(trace):
        yield f"the money moved, a success was heard, and it stays {trace.status}, shown to nobody"
