"""Sentences for the result of matching after an import, and words for each kind of exception. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from malipo import money
from malipo.reconciliation.matching.exception import ExceptionKind
from malipo.reconciliation.matching.matching_summary import MatchingSummary

KINDS = {
    ExceptionKind.OURS_ONLY: "we have it, and complete statements do not",
    ExceptionKind.THEIRS_ONLY: "the network has it, and we do not",
    ExceptionKind.AMOUNT_DIFFERS: "another amount or direction than ours",
    ExceptionKind.STATE_DIFFERS: "paid or taken back, and the merchant was told something else",
    ExceptionKind.TWICE: "a second line of one payment, or one that fits two",
    ExceptionKind.FEE_DIFFERS: "another charge than expected",
    ExceptionKind.UNKNOWN_LINE: "a line of an unknown kind, or a reversal of nothing that we have",
}
SENTENCES = {
    "matched": "Lines matched with payments: {count}.",
    "ended": "Open payments that ended by them: {count}.",
    "contradicted": "Payments of which the merchant was told something else: {count}.",
    "awaiting_approval": "Payments that this file alone would end or contradict, and that wait for a second operator: "
    "{count}.",
    "bookings_awaiting_approval": "Fees and sweeps of this file that wait for a second operator before they are "
    "booked: {count}.",
    "reversals": "Payments that the network took back: {count}.",
    "transfers": "Lines matched with transfers to or from the bank: {count}.",
    "fees": "The network charged {amount}, which is booked.",
    "sweeps": "{amount} between own accounts is booked through suspense.",
    "waiting": "Payments without a line so far: {count}. It is too early to tell whether one is missing.",
    "uncarried": "Payments that an aggregator carried of which there is no statement: {count}.",
    "resolved": "Earlier exceptions that are resolved, because their cause has gone: {count}.",
    "none": "No exceptions.",
    "exceptions": "Exceptions: {count}",
}


class SummarySentence(NamedTuple):
    """A sentence of SENTENCES, or of KINDS with how many there are, and what is put into it."""

    name: str
    values: dict[str, str]
    kind: ExceptionKind | None = None  # of the exceptions that it is about


def sentences_of(summary: MatchingSummary) -> Iterator[SummarySentence]:
    """The sentences of the result. A count of zero has none."""
    yield SummarySentence("matched", {"count": f"{summary.matched:,}"})
    for name, number, kind in (
        ("ended", summary.completed, None),
        ("contradicted", summary.contradicted, ExceptionKind.STATE_DIFFERS),
        ("awaiting_approval", summary.awaiting_approval - summary.bookings_awaiting_approval, None),
        ("bookings_awaiting_approval", summary.bookings_awaiting_approval, None),
        ("reversals", summary.reversals, None),
        ("transfers", summary.transfers, None),
    ):
        if number:
            yield SummarySentence(name, {"count": f"{number:,}"}, kind)
    for name, amount in (("fees", -summary.booked_fees), ("sweeps", summary.booked_sweeps)):
        if amount:
            yield SummarySentence(name, {"amount": money.display(amount)})
    for name, number in (
        ("waiting", summary.waiting),
        ("uncarried", summary.without_carrier_statement),
        ("resolved", summary.resolved),
    ):
        if number:
            yield SummarySentence(name, {"count": f"{number:,}"})
    yield (
        SummarySentence("exceptions", {"count": f"{summary.exception_count:,}"})
        if summary.exception_count
        else SummarySentence("none", {})
    )
    for name, number in summary.exception_kinds.items():
        yield SummarySentence(name, {"count": f"{number:,}"}, ExceptionKind(name))
