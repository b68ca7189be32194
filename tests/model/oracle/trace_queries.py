"""Reads the entries of a trace, for all rules."""

from collections.abc import Iterator, Sequence

from malipo.networks.connector import Type, Verdict
from tests.model.trace import Corrected, MerchantNotice, Sent, Trace, Way, Word

NOT_FOUND = {Verdict.MISSING: (3, 300.0), Verdict.NOT_INDEXED: (6, 1800.0)}  # answers in a row, seconds since sending


def is_success(word: Word) -> bool:
    """Heard: it names our key and says paid, signed or not."""
    return word.verdict is Verdict.CONFIRMED


def counts(trace: Trace, word: Word) -> bool:
    """The network's own definite word: a reply, an answer, signed; where nobody can be asked, from a listed address."""
    if word.verdict not in (Verdict.CONFIRMED, Verdict.REFUSED) or not word.is_right_amount:
        return False
    if word.is_proven:
        return word.verdict is Verdict.CONFIRMED or not _is_of_repeat(trace, word)
    if trace.scenario.nature.has_query or not word.is_listed:
        return False
    return word.verdict is Verdict.CONFIRMED or trace.scenario.nature.type is Type.COLLECTION


def _is_of_repeat(trace: Trace, word: Word) -> bool:
    """The refusal of a second sending says nothing about the first, unless that provably did not leave."""
    if word.way is not Way.REPLY:
        return False
    others = [each for each in sendings(trace) if each.at <= word.at and each.nth != word.nth]
    return any(not each.is_unsent for each in others)


def sendings(trace: Trace) -> list[Sent]:
    return [each for each in trace.entries if isinstance(each, Sent)]


def ends(trace: Trace) -> Iterator[tuple[MerchantNotice, Word | None]]:
    """Final statuses, with the word that led there, if it was one."""
    for place, entry in enumerate(trace.entries):
        if isinstance(entry, MerchantNotice) and entry.status.is_final:
            after = trace.entries[place + 1] if place + 1 < len(trace.entries) else None
            yield (
                entry,
                after if isinstance(after, Word) and entry.by not in ("operators", "merchant", "lapsed") else None,
            )


def is_known(trace: Trace) -> bool:
    """Operators see it, or have seen it and decided."""
    decided = any(isinstance(each, Corrected) and each.by == "operators" for each in trace.entries)
    return trace.is_shown or trace.is_case_open or decided


def was_corrected(trace: Trace) -> bool:
    return any(isinstance(each, Corrected) and each.says_paid for each in trace.entries)


def too_early(trace: Trace, result: Sequence[Word], *, silence_breaks: bool = False) -> str | None:
    """Whether "not found" was not yet said often and long enough."""
    answers = [each for each in result if each.way is Way.QUERY]
    verdict = answers[-1].verdict if answers else None
    if verdict not in NOT_FOUND:
        return "the network was not asked, or did not say that it has none"
    needed, seconds = NOT_FOUND[verdict]
    row = 0
    for each in reversed(answers):
        if each.verdict is verdict:
            row += 1
        elif silence_breaks or verdict is Verdict.NOT_INDEXED or each.verdict is not Verdict.UNKNOWN:
            break
    taken_up = [
        each.at
        for each in trace.entries
        if isinstance(each, Sent) or (isinstance(each, MerchantNotice) and each.by != "ask")
    ]
    since = answers[-1].at - max(each for each in taken_up if each < answers[-1].at)
    if row < needed or since < seconds - 1:
        return f"{verdict} {row} times in a row, {since:.0f} s after sending"
    return None
