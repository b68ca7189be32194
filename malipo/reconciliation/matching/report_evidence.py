"""Reports matched lines to their payments: a line is the movement itself, so it ends a payment, or contradicts it.

Some hundred lines are one commit, with the effects of their reports. After a crash the next run continues, and no line
is reported twice. A payment that an operator's file alone would end or contradict may wait for a second operator
(`import_approval.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from malipo import ids
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.ledger.store import closed_days
from malipo.network_statements.profile import StatementProfile
from malipo.networks.connector import Answer, Verdict
from malipo.payments.apply_network_answers import AnswerResult, AnswerToApply, ApplyNetworkAnswers
from malipo.payments.dispatch import AnswerSource, ReceivedAnswer
from malipo.payments.transaction import Status
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.book_lines import book_sums
from malipo.reconciliation.matching.carriers import carrier_by
from malipo.reconciliation.matching.exception import ID_PREFIX, ExceptionKind, Findings, FoundException
from malipo.reconciliation.matching.resolve_obsolete import resolve_obsolete
from malipo.reconciliation.matching.statement_answer_ids import answer_id
from malipo.reconciliation.matching.store import evidence as store
from malipo.reconciliation.matching.store import exceptions, matching, summed_lines, waiting_lines
from malipo.reconciliation.matching.store.evidence import Evidence
from malipo.reconciliation.statements.choose_profile import all_profiles

_BATCH = 300


@dataclass
class ReportResult:
    """The effects of reported lines on payments."""

    completed: int = 0  # payments that were open
    contradicted: int = 0
    awaiting_approval: int = 0  # wait for a second operator
    exceptions: Findings = field(default_factory=Findings)

    def merge(self, other: "ReportResult") -> None:
        self.completed += other.completed
        self.contradicted += other.contradicted
        self.awaiting_approval += other.awaiting_approval
        self.exceptions.merge(other.exceptions)


async def report_evidence(
    database: Database, apply_answers: ApplyNetworkAnswers, *, approval_amount: int, now: datetime
) -> ReportResult:
    result = ReportResult()
    async with database.begin() as tx:
        await matching.lock(tx)
        await store.note_contradicted(tx)
        await waiting_lines.note_named_alone(tx)
        await import_approval.drop_settled_lines(tx, now=now)
    while True:
        async with database.begin() as tx:
            await matching.lock(tx)
            unreported = await store.find_unreported(tx, limit=_BATCH)
            if await waiting_lines.find_effects(tx, [each.line_id for each in unreported]):
                # The sum of a file counts, so all lines are sorted at once, also those of later commits.
                waiting = await import_approval.decide_which_lines_wait(tx, approval_amount=approval_amount, now=now)
                result.merge(await _set_waiting(tx, apply_answers, waiting, now=now))
                unreported = await store.find_unreported(tx, limit=_BATCH)
            result.merge(await report(tx, apply_answers, unreported, now=now))
        if not unreported:
            return result


async def approve_import(
    tx: Tx,
    apply_answers: ApplyNetworkAnswers,
    file_id: str,
    *,
    actor: Actor,
    now: datetime,
    seen: str | None = None,
    is_single_operator: bool = False,
) -> Proposal:
    """Approve and apply the waiting effects of another operator's file."""
    proposal, found = await import_approval.approve_list(
        tx, file_id, actor=actor, now=now, seen=seen, is_single_operator=is_single_operator
    )
    for first in range(0, len(found), _BATCH):
        await report(tx, apply_answers, found[first : first + _BATCH], now=now)
    sums = await summed_lines.sum_lines(tx, file_id)
    await book_sums(tx, sums, first_open_day=await closed_days.first_open_day(tx), now=now)
    await resolve_obsolete(tx, now=now)
    return proposal


async def _set_waiting(
    tx: Tx, apply_answers: ApplyNetworkAnswers, line_ids: Sequence[int], *, now: datetime
) -> ReportResult:
    """Let these lines wait: their networks are queried, and each line is an exception meanwhile."""
    result = ReportResult()
    profiles = await all_profiles(tx)
    for first in range(0, len(line_ids), _BATCH):
        ids_of_batch = line_ids[first : first + _BATCH]
        found = await store.find_unreported(tx, limit=_BATCH, line_ids=ids_of_batch)
        await apply_answers(
            tx, [_report_of(each, profiles, is_hint=True) for each in found if each.role == "payment"], again=False
        )
        result.awaiting_approval += len(found)
        result.exceptions.add(await exceptions.insert(tx, [_exception_of(each, now) for each in found], now=now))
    return result


async def report(
    tx: Tx, apply_answers: ApplyNetworkAnswers, found: Sequence[Evidence], *, now: datetime
) -> ReportResult:
    """Report these lines to their payments, and mark them as reported."""
    result = ReportResult()
    if not found:
        return result
    # If a line's reversal is known, only the reversal is reported.
    to_report = [each for each in found if not each.is_taken_back]
    profiles = await all_profiles(tx)
    answers = await apply_answers(tx, [_report_of(each, profiles) for each in to_report], again=False)
    await store.set_reported(tx, [each.line_id for each in found])
    differing = []
    for each, answer in zip(to_report, answers, strict=True):
        assert answer is not None, "a match is with a payment that we have"
        result.completed += not answer.before.is_final and answer.transaction.status is Status.COMPLETED
        result.contradicted += answer.is_contradiction
        if is_different(each, answer):
            differing.append(_exception_of(each, now))
    result.exceptions.add(await exceptions.insert(tx, differing, now=now))
    return result


def is_different(evidence: Evidence, result: AnswerResult) -> bool:
    """Whether the outcome that the merchant was notified of differs from the statement. Pure."""
    is_open = not result.transaction.status.is_final
    return result.is_contradiction or is_open


def _report_of(evidence: Evidence, profiles: Mapping[str, StatementProfile], *, is_hint: bool = False) -> AnswerToApply:
    """The report of a line, by the connector whose statement it is. A hint only makes a query of the network due."""
    is_paid = evidence.role == "payment"
    waits = ", which waits for a second operator" if is_hint else ""
    return AnswerToApply(
        id=answer_id(evidence.line_id, evidence.ordinal, is_second=evidence.is_second, is_hint=is_hint),
        channels=[evidence.channel],
        key=evidence.network_key,
        received=ReceivedAnswer(
            connector=carrier_by(evidence.layout, evidence.account, evidence.channel, profiles),
            source=AnswerSource.STATEMENT,
            is_trusted=not is_hint,
            answer=Answer(
                verdict=Verdict.CONFIRMED if is_paid else Verdict.REFUSED,
                detail=f"{evidence.receipt} in the statement{waits}",
                provider_reference=evidence.receipt if is_paid else None,
            ),
        ),
    )


def _exception_of(evidence: Evidence, now: datetime) -> FoundException:
    return FoundException(
        id=ids.mint(ID_PREFIX, now),
        kind=ExceptionKind.STATE_DIFFERS,
        channel=evidence.line_channel,
        account=evidence.account,
        line_id=evidence.line_id,
        merchant_id=evidence.merchant_id,
        transaction_id=evidence.transaction_id,
        amount=evidence.amount,
    )
