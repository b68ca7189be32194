"""Statements that were imported: the list with what is not covered between them, and one file with its lines, what it
booked, and what is proposed about it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.approvals import store as approvals
from malipo.approvals.act_rules import Act
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.dashboard import render
from malipo.dashboard.language import Translator
from malipo.dashboard.operator.proposal_pages import may_be_alone
from malipo.dashboard.operator.reconciliation.exception_effects import EffectPreview, rows_of
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.urls import id_in, key_in
from malipo.db import Conn
from malipo.errors import Missing
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.networks.connector import Channel
from malipo.operators import store as operators
from malipo.reconciliation.exceptions.find_effect import ImportEffect
from malipo.reconciliation.imports.find_import_effect import find_import_effect
from malipo.reconciliation.imports.store import withdrawal_proposals as statement_proposals
from malipo.reconciliation.imports.store import withdrawals
from malipo.reconciliation.imports.store.withdrawal_proposals import ProposedAction, StatementProposal
from malipo.reconciliation.imports.store.withdrawals import FileBooking, RemainingPayment
from malipo.reconciliation.imports.withdraw_statement import answerable_for, code_of
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.import_approval import WaitingList
from malipo.reconciliation.matching.matching_summary import MatchingSummary, find_summary
from malipo.reconciliation.statements.statement_file import StatementFile, uncovered_before
from malipo.reconciliation.statements.store import listing as listing_store
from malipo.reconciliation.statements.store.listing import KindSum, ListedFile, ListedLine
from malipo.words import effects as effect_words
from malipo.words import matching_summary
from malipo.words.say import say

PATH = "/operator/statements"
CHANNELS = [(str(channel), profile.name) for channel, profile in PROFILES.items()]

SENTENCES: dict[str, str] = matching_summary.SENTENCES | {
    "money": "Payments",
    "fee": "Fees of the network",
    "reversal": "Payments taken back",
    "sweep": "Between own accounts",
    "bank": "To or from the bank",
    "other": "Other",
    **effect_words.IMPORT_NOTES,
    **{f"said-{said}": words for said, words in effect_words.AUTHORS.items()},
}

_PER_PAGE = 50
_LINES_PER_PAGE = 100


class StatementRow(NamedTuple):
    file: StatementFile
    problems: list[str]
    uncovered: str | None


async def show_all(request: OperatorRequest) -> Response:
    chosen = request.http.query_params.get("channel", "")
    channel = Channel(chosen) if chosen in Channel.__members__.values() else None
    before = key_in(request)

    async def find(connection: Conn) -> tuple[list[ListedFile], set[str], set[str]]:
        files = await listing_store.find_page(connection, channel=channel, before=before, limit=_PER_PAGE + 1)
        proposals = await statement_proposals.find_open(connection)
        waiting = await approvals.find_open(connection, [Act.IMPORT])
        return files, {each.file_id for each in proposals}, {each.subject for each in waiting}

    found, proposed, waiting = await request.parts.queries.read_snapshot(find)
    older = found[_PER_PAGE - 1].file.id if len(found) > _PER_PAGE else None
    return render.page(
        request,
        "operator/reconciliation/statements.html",
        rows=[_row(request.words, each) for each in found[:_PER_PAGE]],
        proposed=proposed,
        waiting=waiting,
        channel=channel or "",
        channels=CHANNELS,
        older=_link(channel, before=older) if older else None,
        newest=_link(channel) if before else None,
    )


def _row(words: Translator, listed: ListedFile) -> StatementRow:
    uncovered = uncovered_before(listed.file, listed.before)
    return StatementRow(
        listed.file,
        [say(each, words) for each in listed.file.problems],
        None if uncovered is None else say(uncovered, words),
    )


def _link(channel: Channel | None, **more: str) -> str:
    values: Mapping[str, str] = ({} if channel is None else {"channel": str(channel)}) | more
    return f"{PATH}?{urlencode(values)}" if values else PATH


class StatementData(NamedTuple):
    """A file, and what became of it."""

    file: StatementFile | None
    sums: list[KindSum]
    lines: list[ListedLine]
    bookings: list[FileBooking]
    remaining: list[RemainingPayment]  # payments that its lines have ended or corrected
    proposals: list[StatementProposal]
    summary: MatchingSummary | None  # of the matching that followed
    effect: ImportEffect | None  # of taking it back; None: it was
    # Payments that it alone would end or contradict, and that wait for a second operator.
    waiting_lists: list[WaitingList]
    waiting: list[Proposal]  # those of the proposals that are open
    operators: int


async def show(request: OperatorRequest) -> Response:
    return await page(request)


async def page(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    values: Mapping[str, str] | None = None,
    problem: str | None = None,
    errors: dict[str, str] | None = None,
) -> Response:
    file_id, after = id_in(request), _row_in(request.http.query_params.get("after", ""))
    limit, now = request.parts.settings.booking_approval_amount, request.parts.clock()

    async def find(connection: Conn) -> StatementData:
        file = (await listing_store.find_files(connection, [file_id])).get(file_id)
        find_remaining = withdrawals.find_remaining if file and file.withdrawn_at else withdrawals.find_ended
        return StatementData(
            file,
            await listing_store.sum_kinds(connection, file_id),
            await listing_store.find_lines(connection, file_id, after=after, limit=_LINES_PER_PAGE + 1),
            await withdrawals.find_bookings(connection, file_id),
            await find_remaining(connection, file_id),
            await statement_proposals.find(connection, file_id),
            None if file is None else await find_summary(connection, file),
            None if file is None else await find_import_effect(connection, file, approval_amount=limit, now=now),
            await import_approval.find_open(connection, file_id),
            await statement_proposals.find_waiting(connection, file_id),
            await operators.count(connection),
        )

    found = await request.parts.queries.read_snapshot(find)
    file, lines, summary = found.file, found.lines, found.summary
    if file is None:
        raise Missing("There is no statement with this id.")
    is_more = len(lines) > _LINES_PER_PAGE
    return render.page(
        request,
        "operator/reconciliation/statement.html",
        status=status,
        file=file,
        problems=[say(each, request.words) for each in file.problems],
        sums=found.sums,
        told=[] if summary is None else _told(request.words, summary),
        others=0 if summary is None else len(summary.files) - 1,
        lines=lines[:_LINES_PER_PAGE],
        kinds=SENTENCES,
        after=after,
        older=f"{PATH}/{file.id}?after={lines[_LINES_PER_PAGE - 1].row}#lines" if is_more else None,
        bookings=found.bookings,
        remaining=found.remaining,
        waiting_lists=found.waiting_lists,
        authors=_authors(request.words, file),
        seen=import_approval.code_of,
        codes={each.id: code_of(each, found.effect) for each in found.waiting},
        alone={each.id for each in found.waiting if may_be_alone(each.action, operators=found.operators)},
        is_only=found.operators == 1,
        not_mine=_not_mine(found.waiting, file, request.actor.name),
        effects={} if found.effect is None else _effects(request.words, file.id, found.effect),
        proposals=[each for each in found.proposals if each.decided_at is None],
        withdrawal=next(
            (each for each in found.proposals if each.action is ProposedAction.WITHDRAW and each.is_approved), None
        ),
        myself=request.actor.name,
        values=values or {},
        problem=problem,
        errors=errors or {},
    )


def _not_mine(waiting: list[Proposal], file: StatementFile, myself: str) -> set[str]:
    """malipo's own proposals with which this operator cannot agree: they have a part in the file."""
    is_part = myself in answerable_for(file)
    return {each.id for each in waiting if is_part and each.requested_by == SYSTEM_NAME}


def _effects(words: Translator, file_id: str, effect: ImportEffect) -> dict[str, EffectPreview]:
    """The effects of each proposal, by its subject: the file, or one of its bookings."""
    notes = [words(effect_words.IMPORT_NOTES[note], count=f"{count:,}") for note, count in effect.notes]
    undos = {
        booking_id: EffectPreview("", rows_of(words, changes, {}), []) for booking_id, changes in effect.undos.items()
    }
    return {file_id: EffectPreview("", rows_of(words, effect.withdrawal, {}), notes)} | undos


def _authors(words: Translator, file: StatementFile) -> list[str]:
    """The operators who said how the file is read, beside the one who imported it."""
    found = [effect_words.author_of(each, file.profile) for each in file.authors]
    return [words(sentence, **values) for sentence, values in found]


class SummaryLine(NamedTuple):
    """A sentence of what came of the import, and where more is."""

    sentence: str
    kind: str = ""  # of exceptions: how many, of which kind
    number: str = ""


def _told(words: Translator, summary: MatchingSummary) -> list[SummaryLine]:
    """As the command line prints it."""
    return [
        SummaryLine(words(matching_summary.SENTENCES[name], **values), kind or "")
        if name in matching_summary.SENTENCES
        else SummaryLine("", kind or "", values["count"])
        for name, values, kind in matching_summary.sentences_of(summary)
    ]


def _row_in(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
