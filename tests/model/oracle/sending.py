"""Rules for sending: which payments, and how often."""

from collections.abc import Iterator, Sequence

from malipo.networks.connector import Resubmit, Type, Verdict
from tests.model.oracle.trace_queries import NOT_FOUND, ends, is_success, sendings, too_early
from tests.model.trace import MerchantNotice, Sent, Trace, Way, Word

MOST_SENDINGS = 12


def paid_twice(trace: Trace) -> Iterator[str]:
    if trace.network.times_charged > 1:
        yield f"the network moved money {trace.network.times_charged} times"


def sent_again(trace: Trace) -> Iterator[str]:
    """Only what provably did not leave, or a payout that a network which refuses duplicates does not find."""
    if len(sendings(trace)) > MOST_SENDINGS:
        yield "it is sent again and again"
    for entry in sendings(trace)[:MOST_SENDINGS]:
        earlier = [each for each in sendings(trace) if each.nth < entry.nth]
        result = [each for each in trace.words() if each.at <= entry.at]
        if not earlier:
            continue
        if any(is_success(each) for each in result) and trace.scenario.nature.has_query:
            yield f"sending {entry.nth} left although a success had been heard"
        if all(each.is_unsent and _was_answered(result, each) for each in earlier):
            continue
        nature = trace.scenario.nature
        if nature.type is Type.COLLECTION:
            yield f"a collection was sent again (sending {entry.nth})"
        elif nature.resubmit is not Resubmit.DUPLICATES_REFUSED:
            yield f"sending {entry.nth} left to a network that may pay twice"
        elif (why := too_early(trace, result)) is not None:
            yield f"sending {entry.nth} left too early: {why}"


def sent_after_success(trace: Trace) -> Iterator[str]:
    """The same where nobody can be asked."""
    for entry in sendings(trace):
        result = [each for each in trace.words() if each.at <= entry.at and is_success(each)]
        if entry.nth > 0 and result and not trace.scenario.nature.has_query:
            yield f"sending {entry.nth} left although a success had been heard"


def _was_answered(result: Sequence[Word], sent: Sent) -> bool:
    return any(each.way is Way.REPLY and each.nth == sent.nth and each.verdict is Verdict.UNSENT for each in result)


def not_in_a_row(trace: Trace) -> Iterator[str]:
    """As often as it takes, in a row: an answer that was not heard breaks it."""
    asked = [each for each, word in ends(trace) if word is not None and word.verdict is Verdict.MISSING]
    again = [each for each in sendings(trace) if each.nth > 0]
    entries: list[MerchantNotice | Sent] = [*asked, *again]
    for entry in entries:
        result = [each for each in trace.words() if each.at <= entry.at]
        last = result[-1] if result else None
        is_not_found = last is not None and last.way is Way.QUERY and last.verdict is Verdict.MISSING
        if is_not_found and (why := too_early(trace, result, silence_breaks=True)) is not None:
            yield f"{type(entry).__name__.lower()}: {why}"


def acknowledged_and_not_found(trace: Trace) -> Iterator[str]:
    """What the network has had is for operators if it no longer knows it: neither FAILED nor sent again."""
    acknowledged = [each.at for each in trace.words() if each.verdict is Verdict.WAITING and each.is_proven]
    if not acknowledged:
        return
    if any(
        word is not None and word.verdict in NOT_FOUND and reported.at > acknowledged[0]
        for reported, word in ends(trace)
    ):
        yield "its network had it, and it FAILED because it is not found"
    if any(each.at > acknowledged[0] for each in sendings(trace)):
        yield "its network had it, and it was sent again"
