"""Statements that were imported: the list with what is not covered between them, and one file with its lines."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.language import Words
from malipo.dashboard.operator.reconciliation import problem_sentences
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.urls import id_in, key_in
from malipo.db import Conn
from malipo.errors import Missing
from malipo.networks.channels import PROFILES
from malipo.networks.connector import Channel
from malipo.reconciliation import listing_store, matching_summary
from malipo.reconciliation.listing_store import KindSum, ListedFile, ListedLine
from malipo.reconciliation.matching_summary import Summary, find_summary
from malipo.reconciliation.statement_file import StatementFile, uncovered_before

PATH = "/operator/statements"
CHANNELS = [(str(channel), profile.name) for channel, profile in PROFILES.items()]

SENTENCES: dict[str, str] = matching_summary.SENTENCES | {
    "money": "Payments",
    "fee": "Fees of the network",
    "reversal": "Payments taken back",
    "sweep": "Between own accounts",
    "bank": "To or from the bank",
    "other": "Other",
}

_PER_PAGE = 50
_LINES_PER_PAGE = 100


class Row(NamedTuple):
    file: StatementFile
    problems: list[str]
    uncovered: str | None


async def show_all(request: OperatorRequest) -> Response:
    chosen = request.http.query_params.get("channel", "")
    channel = Channel(chosen) if chosen in Channel.__members__.values() else None
    before = key_in(request)
    found = await request.service.read(
        lambda connection: listing_store.find_page(connection, channel=channel, before=before, limit=_PER_PAGE + 1)
    )
    older = found[_PER_PAGE - 1].file.id if len(found) > _PER_PAGE else None
    return render.page(
        request,
        "operator/reconciliation/statements.html",
        rows=[_row(request.words, each) for each in found[:_PER_PAGE]],
        channel=channel or "",
        channels=CHANNELS,
        older=_link(channel, before=older) if older else None,
        newest=_link(channel) if before else None,
    )


def _row(words: Words, listed: ListedFile) -> Row:
    uncovered = uncovered_before(listed.file, listed.before)
    return Row(
        listed.file,
        [problem_sentences.told(words, each) for each in listed.file.problems],
        None if uncovered is None else problem_sentences.told(words, uncovered),
    )


def _link(channel: Channel | None, **more: str) -> str:
    values: Mapping[str, str] = ({} if channel is None else {"channel": str(channel)}) | more
    return f"{PATH}?{urlencode(values)}" if values else PATH


async def show(request: OperatorRequest) -> Response:
    file_id, after = id_in(request), _row_in(request.http.query_params.get("after", ""))

    async def find(
        connection: Conn,
    ) -> tuple[StatementFile | None, list[KindSum], list[ListedLine], Summary | None]:
        files = await listing_store.find_files(connection, [file_id])
        lines = await listing_store.find_lines(connection, file_id, after=after, limit=_LINES_PER_PAGE + 1)
        file = files.get(file_id)
        summary = None if file is None else await find_summary(connection, file)
        return file, await listing_store.sum_kinds(connection, file_id), lines, summary

    file, sums, lines, summary = await request.service.read_snapshot(find)
    if file is None:
        raise Missing("There is no statement with this id.")
    is_more = len(lines) > _LINES_PER_PAGE
    return render.page(
        request,
        "operator/reconciliation/statement.html",
        file=file,
        problems=[problem_sentences.told(request.words, each) for each in file.problems],
        sums=sums,
        told=[] if summary is None else _told(request.words, summary),
        others=0 if summary is None else len(summary.files) - 1,
        lines=lines[:_LINES_PER_PAGE],
        kinds=SENTENCES,
        after=after,
        older=f"{PATH}/{file.id}?after={lines[_LINES_PER_PAGE - 1].row}#lines" if is_more else None,
    )


class Line(NamedTuple):
    """A sentence of what came of the import, and where more is."""

    sentence: str
    kind: str = ""  # of exceptions: how many, of which kind
    number: str = ""


def _told(words: Words, summary: Summary) -> list[Line]:
    """As the command line tells it."""
    return [
        Line(words(matching_summary.SENTENCES[name], **values), kind or "")
        if name in matching_summary.SENTENCES
        else Line("", kind or "", values["count"])
        for name, values, kind in matching_summary.sentences_of(summary)
    ]


def _row_in(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
