"""What matching did and found after an import: one summary for the command line, the pages, the log and the audit log.

It is kept in the audit log, with the files that it is of, and the page of each of them shows it.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import NamedTuple

import msgspec

from malipo import money
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Conn, Database
from malipo.payments.settle import Settle
from malipo.reconciliation.matching.exception import ExceptionKind
from malipo.reconciliation.matching.match_statements import Counts, MatchingResult, match_statements
from malipo.reconciliation.statements.statement_file import StatementFile

ACTION = "statement.matched"
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
    "held": "Payments that this file alone would end or contradict, and that wait for a second operator: {count}.",
    "held_bookings": "Fees and sweeps of this file that wait for a second operator before they are booked: {count}.",
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


class MatchingSummary(Counts, kw_only=True):
    """A run's counts, as the audit log keeps them."""

    exception_count: int = 0
    exception_kinds: Mapping[str, int] = {}
    files: tuple[str, ...] = ()  # those that were matched for the first time


class SummarySentence(NamedTuple):
    """A sentence of SENTENCES, or of KINDS with how many there are, and what is put into it."""

    name: str
    values: dict[str, str]
    kind: ExceptionKind | None = None  # of the exceptions that it is about


def summary_of(done: MatchingResult) -> MatchingSummary:
    return MatchingSummary(
        **{name: getattr(done, name) for name in Counts.__struct_fields__},
        exception_count=done.exceptions.count,
        exception_kinds={str(kind): number for kind, number in sorted(done.exceptions.kinds.items())},
        files=tuple(done.files),
    )


def sentences_of(summary: MatchingSummary) -> Iterator[SummarySentence]:
    """What is not worth a sentence has none."""
    yield SummarySentence("matched", {"count": f"{summary.matched:,}"})
    for name, number, kind in (
        ("ended", summary.completed, None),
        ("contradicted", summary.contradicted, ExceptionKind.STATE_DIFFERS),
        ("held", summary.held - summary.held_bookings, None),
        ("held_bookings", summary.held_bookings, None),
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


def in_words(summary: MatchingSummary) -> str:
    """At the command line: a line for each."""
    lines = []
    for name, values, kind in sentences_of(summary):
        if name == "exceptions":
            lines.append(f"Exceptions: {values['count']} (see: malipo exceptions list)")
        elif name in SENTENCES:
            lines.append(SENTENCES[name].format(**values))
        elif kind is not None:
            lines.append(f"  {values['count']} {kind}: {KINDS[kind]}")
    return "\n".join(lines)


async def match_and_note(
    database: Database, settle: Settle, *, approval_amount: int, clock: Clock, actor: Actor
) -> tuple[MatchingResult, MatchingSummary]:
    """Match what was imported, and note in the audit log what came of it."""
    done = await match_statements(database, settle, approval_amount=approval_amount, clock=clock)
    summary = summary_of(done)
    async with database.begin() as tx:
        await audit_log.append(tx, actor, ACTION, now=clock(), **msgspec.to_builtins(summary))
    return done, summary


async def find_summary(connection: Conn, file: StatementFile) -> MatchingSummary | None:
    """What was noted when the file was first matched; None if nobody has, or if that was not noted."""
    span = audit_log.AuditLogFilter(action=ACTION, first=file.imported_at, last=file.imported_at + timedelta(days=1))
    page = await audit_log.find_page(connection, span, before=None, limit=1000)
    # The oldest: whoever matches again adds nothing about this file.
    for entry in reversed(page.entries):
        if file.id in entry.details.get("files", ()):
            return msgspec.convert(entry.details, MatchingSummary)
    return None
