"""Approves the effects of a statement's file: the payments that it alone would end or contradict, and its bookings.

A line is the movement itself, and ends or contradicts a payment. But an operator could invent a file. So the payments
that an operator's file would end or contradict, and the fees and sweeps that it would book, count as moved by its
importer and by the authors of its layout. Above the approval amount they wait, as one list of the file, for an operator
who is none of these. Meanwhile the networks are queried, and a payment that its network confirms leaves the list.
Statements that the worker fetches from the network need no approval.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec
from msgspec.structs import replace

from malipo import ids
from malipo.approvals import decide, moved_alone
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import Act
from malipo.approvals.decide import NothingProposed
from malipo.approvals.moved_alone import Deciders
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor
from malipo.db import Conn, Tx
from malipo.errors import Code, Forbidden
from malipo.operators import four_eyes
from malipo.reconciliation.matching.exception import ExceptionKind
from malipo.reconciliation.matching.line_sources import sources_of
from malipo.reconciliation.matching.store import (
    evidence,
    exceptions,
    line_queue,
    line_sources,
    matching,
    single_matches,
    summed_lines,
    waiting_lines,
)
from malipo.reconciliation.matching.store.evidence import Evidence
from malipo.reconciliation.matching.store.summed_lines import ChargeSum
from malipo.reconciliation.matching.store.waiting_lines import WaitingLine
from malipo.reconciliation.statements.statement_file import LayoutAuthor
from malipo.reconciliation.statements.store import statements

_ID_PREFIX = "prp_"


class ImportApprovalRefusal(Code):
    AUTHOR = "import_by_author"
    SOURCE = "import_by_teller"
    NOTHING_WAITS = "import_nothing_waits"


class WaitingList(msgspec.Struct, frozen=True):
    """The waiting effects of a file, with their sum: payments that it alone would end or contradict, and its
    bookings."""

    proposal: Proposal
    lines: list[WaitingLine]
    sums: list[ChargeSum]  # fees and sweeps
    authors: tuple[LayoutAuthor, ...] = ()  # of the layout that read the file, beside its importer
    imported_by: str = ""

    @property
    def amount(self) -> int:
        return _amount_of(self.lines) + sum(each.unconfirmed for each in self.sums)

    @property
    def is_empty(self) -> bool:
        return not self.lines and not self.sums

    @property
    def answerable(self) -> set[str]:
        """The operators who cannot approve: the file's importer, the authors of its layout, and who named the payment
        of a line that a reversal takes back."""
        found = {self.proposal.requested_by, *(each.by for each in self.authors)}
        for line in self.lines:
            found |= {line.imported_by, *line.authors, *line.named_by}
        for booked in self.sums:
            found |= {booked.imported_by, *booked.authors}
        return (found | {self.imported_by}) - {"", SYSTEM_NAME}


async def decide_which_lines_wait(tx: Tx, *, approval_amount: int, now: datetime) -> list[int]:
    """Decide for each unreported line of operators' files whether it waits. Returns the ids of the lines that wait from
    now on. The caller has taken the lock of matching."""
    found = await waiting_lines.find_effects(tx)
    people = (name for each in found for name in (each.imported_by, *each.authors, *each.named_by))
    await moved_alone.lock(tx, *people)
    waiting: list[int] = []
    for (file_id, operator), lines in _by_file(found).items():
        line_ids = [each.line_id for each in lines]
        proposal = next(iter(await proposals.lock_open(tx, [Act.IMPORT], file_id)), None)
        if proposal is None and await _count_alone(
            tx,
            file_id,
            _amount_of(lines),
            operator=operator,
            authors=lines[0].authors,
            shares=_shares_of(lines),
            approval_amount=approval_amount,
            now=now,
        ):
            await waiting_lines.set_counted(tx, line_ids)
            continue
        await _add_to_list(tx, proposal, file_id, lines, now=now)
        waiting += line_ids
    return waiting


async def set_bookings_waiting(
    tx: Tx, sums: Sequence[ChargeSum], *, approval_amount: int, now: datetime
) -> tuple[set[str], int]:
    """Decide for the fees and sweeps of each file whether they wait. Returns the files whose bookings wait, and the
    number of lines that wait from now on. The others count as moved by the importer, and the caller, which has taken
    the lock of matching, books them in this transaction."""
    waiting, lines = set[str](), 0
    told_by_people = [each for each in sums if each.unconfirmed]
    await moved_alone.lock(tx, *(name for each in told_by_people for name in (each.imported_by, *each.authors)))
    for file_id in sorted({each.file_id for each in told_by_people}):
        of_file = [each for each in told_by_people if each.file_id == file_id]
        operator, amount = of_file[0].imported_by, sum(each.unconfirmed for each in of_file)
        proposal = next(iter(await proposals.lock_open(tx, [Act.IMPORT], file_id)), None)
        if proposal is not None:
            await proposals.set_amount(tx, proposal.id, (await find_waiting_list(tx, proposal)).amount)
        elif await _count_alone(
            tx,
            file_id,
            amount,
            operator=operator,
            authors=of_file[0].authors,
            approval_amount=approval_amount,
            now=now,
        ):
            continue
        else:
            await _propose(tx, file_id, operator, amount, 0, now=now)
            lines += sum(each.lines for each in of_file)
        waiting.add(file_id)
    return waiting, lines


async def _count_alone(
    tx: Tx,
    file_id: str,
    amount: int,
    *,
    operator: str,
    authors: Sequence[str],
    approval_amount: int,
    now: datetime,
    shares: Mapping[str, int] | None = None,
) -> bool:
    """Count the amount as moved alone by the file's importer and the authors of its layout, and by other operators
    their shares. False if the act takes two operators: then nothing is counted."""
    deciders = await moved_alone.count_unless_two(
        tx,
        Act.IMPORT,
        amount,
        operator=operator,
        authors=authors,
        shares=shares,
        subject=file_id,
        approval_amount=approval_amount,
        now=now,
    )
    return deciders is not Deciders.TWO


async def find_files_that_would_wait(
    connection: Conn, sums: Sequence[ChargeSum], *, approval_amount: int, now: datetime
) -> set[str]:
    """The files whose fees and sweeps would wait, if these sums were added to their open ones. It only reads."""
    waiting, moved = set[str](), Counter[str]()
    is_open = {each.subject for each in await proposals.find_open(connection, [Act.IMPORT])}
    anew = {(each.file_id, each.kind, each.day) for each in sums}
    for file_id in sorted({each.file_id for each in sums if each.unconfirmed}):
        others = [
            each
            for each in await summed_lines.sum_lines(connection, file_id)
            if (each.file_id, each.kind, each.day) not in anew
        ]
        of_file = [*others, *(each for each in sums if each.file_id == file_id)]
        people, amount = {of_file[0].imported_by, *of_file[0].authors}, sum(each.unconfirmed for each in of_file)
        if file_id in is_open or any(
            [
                await moved_alone.would_take_two(
                    connection,
                    Act.IMPORT,
                    amount,
                    operator=each,
                    also=moved[each],
                    approval_amount=approval_amount,
                    now=now,
                )
                for each in sorted(people)
            ]
        ):
            waiting.add(file_id)
        else:
            moved.update(dict.fromkeys(people, amount))
    return waiting


def _amount_of(lines: Sequence[WaitingLine]) -> int:
    """The sum of the payments. Each counts once, because a file may have both its line and its reversal."""
    return sum({each.reference: each.payment_amount for each in lines}.values())


def _shares_of(lines: Sequence[WaitingLine]) -> dict[str, int]:
    """The amount for each operator who named the payments of lines that reversals take back."""
    names = {name for each in lines for name in each.named_by}
    return {name: _amount_of([each for each in lines if name in each.named_by]) for name in names}


def _by_file(found: Sequence[WaitingLine]) -> Mapping[tuple[str, str], list[WaitingLine]]:
    """The lines by file and by the operator who answers for them."""

    def key(each: WaitingLine) -> tuple[str, str]:
        return each.file_id, each.imported_by

    return {of: list(lines) for of, lines in groupby(sorted(found, key=key), key=key)}


async def _add_to_list(
    tx: Tx, proposal: Proposal | None, file_id: str, lines: Sequence[WaitingLine], *, now: datetime
) -> None:
    """Add lines to the list of the file, and make the list if there is none."""
    if proposal is None:
        proposal = await _propose(tx, file_id, lines[0].imported_by, _amount_of(lines), len(lines), now=now)
    await waiting_lines.set_waiting(tx, [each.line_id for each in lines], proposal.id)
    await proposals.set_amount(tx, proposal.id, (await find_waiting_list(tx, proposal)).amount)


async def _propose(tx: Tx, file_id: str, imported_by: str, amount: int, payments: int, *, now: datetime) -> Proposal:
    proposal = Proposal(
        id=ids.mint(_ID_PREFIX, now),
        action=Act.IMPORT,
        subject=file_id,
        amount=amount,
        requested_by=imported_by,
        requested_at=now,
    )
    details = _details(proposal, payments)
    return await decide.propose(
        tx, proposal, "statement.effects_proposed", details, actor=Actor(SYSTEM_NAME, "matching")
    )


async def drop_settled_lines(tx: Tx, *, now: datetime) -> None:
    """Remove lines from their lists that would change nothing any more, because the network or operators have ended the
    payment in the same way, or because a fetched statement has the line too. End lists that are empty then."""
    await waiting_lines.release_waiting(tx)
    for each in await proposals.find_open(tx, [Act.IMPORT]):
        waiting = await find_waiting_list(tx, each)
        if waiting.is_empty:
            await decide.end_by_system(tx, each, now=now)
        elif waiting.amount != each.amount:
            await proposals.set_amount(tx, each.id, waiting.amount)


async def find_waiting_list(connection: Conn, proposal: Proposal) -> WaitingList:
    lines = await waiting_lines.find_waiting(connection, proposal.id)
    file = await statements.get(connection, proposal.subject)
    sums = await summed_lines.sum_lines(connection, proposal.subject)
    if file is None:
        return WaitingList(proposal, lines, sums)
    return WaitingList(proposal, lines, sums, file.authors, file.imported_by)


async def find_open(connection: Conn, file_id: str | None = None) -> list[WaitingList]:
    """The lists that wait, of one file or of all, the oldest first. A list that is empty by now ends with the next
    matching."""
    found = await proposals.find_open(connection, [Act.IMPORT])
    lists = [await find_waiting_list(connection, each) for each in found if file_id in (None, each.subject)]
    return [each for each in lists if not each.is_empty]


async def approve_list(
    tx: Tx, file_id: str, *, actor: Actor, now: datetime, seen: str | None = None, is_single_operator: bool = False
) -> tuple[Proposal, list[Evidence]]:
    """Approve a list, if this operator may. Returns the lines to report. `seen` is the code of the list that was
    shown."""
    waiting = await _lock_list(tx, file_id, seen)
    line_ids = [each.line_id for each in waiting.lines]
    await waiting_lines.set_counted(tx, line_ids)
    # The network may have confirmed some lines of the list since it was made.
    proposal = replace(waiting.proposal, amount=waiting.amount)
    await proposals.set_amount(tx, proposal.id, proposal.amount)
    if not is_single_operator:
        await _require_other(tx, waiting.answerable, proposal, ImportApprovalRefusal.AUTHOR, actor=actor, now=now)
    decided = await decide.approve(tx, proposal, actor=actor, now=now, is_single_operator=is_single_operator)
    details = _details(proposal, len(line_ids)) | {"proposed_by": proposal.requested_by}
    details["authors"] = sorted(waiting.answerable - {proposal.requested_by})
    details |= audit_log.alone(decided.is_single_operator)
    await audit_log.append(tx, actor, "statement.effects_approved", now=now, **details)
    return proposal, await evidence.find_unreported(tx, limit=len(line_ids), line_ids=line_ids)


async def require_not_source(tx: Tx, line_id: int, proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    """Refuse an approver who is a source of the line: the proposer relied on a fact of this operator's file."""
    sources = sources_of(await line_sources.find_shown_facts(tx, line_id), proposed_by=proposal.requested_by)
    await _require_other(tx, sources, proposal, ImportApprovalRefusal.SOURCE, actor=actor, now=now)


async def _require_other(
    tx: Tx, answerable: set[str], proposal: Proposal, code: ImportApprovalRefusal, *, actor: Actor, now: datetime
) -> None:
    if actor.name in answerable - {proposal.requested_by}:
        raise Forbidden(code=code)
    for by in sorted(answerable):
        await four_eyes.require_two(tx, proposed_by=by, approver=actor, now=now)


async def reject(tx: Tx, file_id: str, *, actor: Actor, now: datetime, seen: str | None = None) -> WaitingList:
    """Reject the list, or withdraw one's own. Its lines have no effect on payments and are not booked. Their matches
    are undone, as by a withdrawal, so that they keep no payment from the network's own line. Each line becomes an
    exception, which only two operators, or the network's own statement, match again."""
    waiting = await _lock_list(tx, file_id, seen)
    lines = await summed_lines.find_summed(tx, file_id)
    line_ids = await waiting_lines.find_lines_of_proposal(tx, waiting.proposal.id)
    lines += await line_queue.find_lines(tx, line_ids)
    found = [each.as_exception(ExceptionKind.UNKNOWN_LINE, now=now) for each in lines]
    await single_matches.give_up_matches(tx, line_ids, now=now, rejected_in=waiting.proposal.id)
    await exceptions.insert_all(tx, found, now=now)
    details = _details(waiting.proposal, len(waiting.lines))
    await decide.reject(tx, waiting.proposal, "statement.effects_rejected", details, actor=actor, now=now)
    return waiting


async def end_list_of_file(tx: Tx, file_id: str, *, now: datetime) -> None:
    """End the list of a withdrawn file. Lines that another file has are looked at again, as that file's."""
    for each in await proposals.lock_open(tx, [Act.IMPORT], file_id):
        await decide.end_by_system(tx, each, now=now)
    for each in await proposals.find_of(tx, [Act.IMPORT], file_id):
        await waiting_lines.clear_proposal(tx, each.id)
        await line_queue.forget_rejections(tx, each.id)


def code_of(waiting: WaitingList) -> str:
    """The code of the list that an approver is shown: each line, and its effect on which payment. The sum is the list's
    own, because the proposal's may be counted again before the next matching."""
    proposal = replace(waiting.proposal, amount=waiting.amount)
    return decide.code_of(proposal, waiting.lines, waiting.sums, waiting.authors)


async def lock_open(tx: Tx, file_id: str) -> Proposal:
    return await decide.lock_open(tx, [Act.IMPORT], file_id, NothingProposed(code=ImportApprovalRefusal.NOTHING_WAITS))


async def _lock_list(tx: Tx, file_id: str, seen: str | None) -> WaitingList:
    await matching.lock_for_decision(tx)
    waiting = await find_waiting_list(tx, await lock_open(tx, file_id))
    decide.require_seen(seen, code_of(waiting))
    return waiting


def _details(proposal: Proposal, payments: int) -> dict[str, Any]:
    return {"file": proposal.subject, "proposal": proposal.id, "payments": payments, "amount": proposal.amount}
