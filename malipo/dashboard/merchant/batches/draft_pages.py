"""The pages of a batch draft: a person checks its lines, fixes them in place, and submits it.

Typed values are kept even if they are wrong, so nothing is typed twice. The form of submitting names the state that was
seen: if the draft was changed since, in another window, it is shown again and no batch is created.
"""

import asyncio
import dataclasses
import re
from collections import defaultdict
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import PurePath
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.merchant.batches.draft_preview import DraftPreview, Tab, look
from malipo.dashboard.merchant.batches.line_names import look_up_lines
from malipo.dashboard.merchant.batches.upload import DRAFTS, PATH
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import id_in, number_in
from malipo.db import Tx
from malipo.errors import Missing, Refusal, Unavailable
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.payments.batches import retry_failed_items
from malipo.payments.batches.batch import Requester
from malipo.payments.batches.request import batch_request_of, retrying
from malipo.payments.batches.spreadsheet.columns import NEEDED, SheetColumn
from malipo.payments.batches.spreadsheet.draft import BatchDraft, brought_back, with_batch, with_columns, with_fixes
from malipo.payments.batches.spreadsheet.spreadsheet_line import FIELDS
from malipo.payments.batches.store import batches, drafts, items
from malipo.restore.installation import IntakeClosed
from malipo.validation.fields import Fields

# A line that can be fixed has many inputs, and a form has at most 200.
PER_PAGE_OF_PROBLEMS = 20
PER_PAGE = 100

_INPUT = re.compile(rf"({'|'.join(FIELDS)}|out)-([0-9]{{1,7}})")
_NUMBER = re.compile(r"[0-9]{1,4}")
_MOST_NAME = 100

_NOT_FAILED = "Some of these are no longer failed payouts: their networks have corrected them. Leave out rows {rows}."
SENTENCES = {
    "not_looked": "Look at the warnings first, and say that you have.",
    "not_failed": _NOT_FAILED,
    "problems_left": "Some lines cannot be paid yet. Fix them, or leave them out.",
    "nothing_left": "No line is left.",
    "in_doubt": "We do not know whether this was done. Press once more: it will not be done twice.",
    "columns": "Choose the columns for the phone number and for the amount, and each column only once.",
}


async def show(request: MerchantRequest) -> Response:
    return await _page(request)


async def fix(request: MerchantRequest) -> Response:
    """Keep the typed values, and show the remaining problems."""
    form = await request.form()
    typed, left_out = _typed_in(form)
    back = form.text("back")

    async def act(tx: Tx) -> BatchDraft:
        after = with_fixes(await _lock(tx, request), typed, left_out)
        if back.isascii() and back.isdigit():
            after = brought_back(after, int(back))
        await drafts.update(tx, after)
        return after

    await look_up_lines(request, await request.parts.queries.write(act))
    tab = form.text("show")
    return request.go(
        f"{_path(request)}?{urlencode({'show': tab})}"
        if tab in (Tab.ALL, Tab.REPAIRED, Tab.CHANGED)
        else _path(request)
    )


def _typed_in(form: Form) -> tuple[dict[int, dict[str, str]], set[int]]:
    typed: dict[int, dict[str, str]] = defaultdict(dict)
    left_out = set()
    for name, value in form.values().items():
        if match := _INPUT.fullmatch(name):
            if match[1] == "out":
                left_out.add(int(match[2]))
            else:
                typed[int(match[2])][match[1]] = value
    # A field that was emptied is not among the values.
    for name, value in form.pairs_without("token"):
        if (match := _INPUT.fullmatch(name)) and match[1] != "out" and not value.strip():
            typed[int(match[2])][match[1]] = ""
    return dict(typed), left_out


async def choose_columns(request: MerchantRequest) -> Response:
    form = await request.form()
    chosen = {each: int(form.text(each)) for each in SheetColumn if _NUMBER.fullmatch(form.text(each))}
    if any(each not in chosen for each in NEEDED) or len(set(chosen.values())) < len(chosen):
        return await _page(request, problem=_say(request, "columns"), chosen=chosen)

    async def act(tx: Tx) -> BatchDraft:
        after = with_columns(await _lock(tx, request), chosen)
        await drafts.update(tx, after)
        return after

    await look_up_lines(request, await request.parts.queries.write(act))
    return request.go(_path(request))


async def discard(request: MerchantRequest) -> Response:
    await request.form()

    async def act(tx: Tx) -> None:
        await drafts.delete(tx, (await _lock(tx, request)).id)

    await request.parts.queries.write(act)
    return request.go(PATH, "draft-deleted")


async def submit(request: MerchantRequest) -> Response:
    """Submit the draft. Pressing twice makes one batch, because the draft's id is the idempotency key."""
    form = await request.form()
    seen = await _look(request)
    if seen.draft.batch_id is not None:
        return request.go(f"{PATH}/{seen.draft.batch_id}", "batch-once")
    failed = await _find_failed(request, seen)
    problem = _why_not_again(request, seen, failed) or _why_not(request, form, seen)
    if problem is not None:
        return await _page(request, problem=problem, name=form.text("batchName"), status=HTTPStatus.CONFLICT)
    wanted = batch_request_of(
        Fields({"name": form.text("batchName") or None, "items": [dict(each.values) for each in seen.lines]}),
        request.merchant_id,
        key=seen.draft.key,
        terms=request.parts.payments.terms,
        now=request.parts.clock(),
        requester=Requester(request.person.email, request.person.email, request.actor),
    )
    if failed is not None:
        wanted = retrying(wanted, [failed[each.row] for each in seen.lines])
    try:
        result = await request.parts.batches.create(wanted)
    except IntakeClosed as closed:
        problem = form_errors.sentence(request.words, closed.code)
        return await _page(request, problem=problem, status=HTTPStatus.SERVICE_UNAVAILABLE)
    except Unavailable:
        return await _page(request, problem=_say(request, "in_doubt"), status=HTTPStatus.SERVICE_UNAVAILABLE)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _page(request, problem=problem, status=form_errors.status_of(refusal))
    names = {index: name for index, line in enumerate(seen.lines) if (name := seen.name_found(line)) is not None}

    async def note(tx: Tx) -> None:
        await drafts.set_batch(tx, seen.draft.id, result.batch.id)
        if names and not result.is_replay:
            await items.note_names(tx, result.batch, names, now=request.parts.clock())

    await request.parts.queries.write(note)
    return request.go(f"{PATH}/{result.batch.id}", "batch-once" if result.is_replay else "batch-made")


def _why_not(request: MerchantRequest, form: Form, seen: DraftPreview) -> str | None:
    if not seen.lines:
        return _say(request, "nothing_left")
    if seen.has_problems:
        return _say(request, "problems_left")
    if form.text("seen") != seen.seen:
        return request.words(form_errors.CHANGED)
    if seen.has_warnings and form.text("looked") != "yes":
        return _say(request, "not_looked")
    return None


async def _find_failed(request: MerchantRequest, seen: DraftPreview) -> dict[int, str] | None:
    """The payouts that this draft pays again, by row; None: it pays none again."""
    again = seen.draft.edits.again
    if again is None:
        return None
    failed = await request.parts.queries.read_snapshot(
        lambda connection: retry_failed_items.find_failed(connection, request.merchant_id, again.batch_id)
    )
    return {each.item.index + 1: each.payout_id for each in failed}


def _why_not_again(request: MerchantRequest, seen: DraftPreview, failed: Mapping[int, str] | None) -> str | None:
    """Why this retry is refused: a payout is paid again only while it still counts as failed."""
    rows = set() if failed is None else {each.row for each in seen.lines} - failed.keys()
    return request.words(_NOT_FAILED, rows=", ".join(map(str, sorted(rows)))) if rows else None


async def _page(
    request: MerchantRequest,
    *,
    problem: str | None = None,
    name: str | None = None,
    chosen: Mapping[SheetColumn, int] | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    seen = await _look(request)
    draft = seen.draft
    if draft.batch_id is not None:
        return request.go(f"{PATH}/{draft.batch_id}")
    tab = _tab(request, seen)
    tabs = [(each, seen.count(each)) for each in Tab if each is Tab.ALL or seen.count(each)]
    found = seen.of(tab)
    per_page = PER_PAGE_OF_PROBLEMS if tab is Tab.PROBLEMS else PER_PAGE
    page = min(number_in(request, "page", 1), max(-(-len(found) // per_page), 1))
    return render.page(
        request,
        "merchant/batches/draft.html",
        status=HTTPStatus.BAD_REQUEST if problem and status is HTTPStatus.OK else status,
        draft=draft,
        seen=seen,
        tab=tab,
        page=page,
        tabs=tabs,
        tab_links=lambda words: [
            (f"{words[each]} {count:,}", f"{_path(request)}?show={each}", each is tab) for each, count in tabs
        ],
        lines=found[(page - 1) * per_page : page * per_page],
        edited=number_in(request, "edit", 0),
        newer=_link(request, tab, page - 1) if page > 1 else None,
        older=_link(request, tab, page + 1) if page * per_page < len(found) else None,
        left_out=[each for each in draft.sheet.rows if each.number in draft.edits.left_out],
        name=_proposed_name(request, draft) if name is None else name,
        columns=draft.sheet.columns if chosen is None else chosen,
        column_names=_column_names(draft),
        channels=[(channel, profile.name) for channel, profile in PROFILES.items()],
        channel_names={str(channel): profile.name for channel, profile in PROFILES.items()},
        sentence=lambda code, bounds: form_errors.sentence(request.words, code, bounds),
        problem=problem,
    )


def _proposed_name(request: MerchantRequest, draft: BatchDraft) -> str:
    if draft.edits.again is not None:
        return request.words("{name}, again", name=draft.filename)[:_MOST_NAME]
    return PurePath(draft.filename).stem[:_MOST_NAME]


def _tab(request: MerchantRequest, seen: DraftPreview) -> Tab:
    """Problems first, as long as there are some."""
    name = request.http.query_params.get("show", "")
    if name in Tab.__members__.values() and seen.count(Tab(name)):
        return Tab(name)
    return Tab.PROBLEMS if seen.has_problems else Tab.ALL


def _column_names(draft: BatchDraft) -> list[tuple[str, str]]:
    """The name of each column: its header, or else its first value."""
    width = max(len(each.cells) for each in draft.sheet.rows)
    texts = draft.sheet.header or draft.sheet.rows[0].cells
    return [(str(at), (texts[at] if at < len(texts) else "")[:40] or f"({at + 1})") for at in range(width)]


def _link(request: MerchantRequest, tab: Tab, page: int) -> str:
    return f"{_path(request)}?{urlencode({'show': tab, 'page': page})}"


def _path(request: MerchantRequest) -> str:
    return f"{DRAFTS}/{id_in(request)}"


async def _look(request: MerchantRequest) -> DraftPreview:
    """Lines are checked in a thread, because thousands take a while: payments are answered meanwhile."""
    parts, draft_id = request.parts, id_in(request)
    draft = _found(
        await parts.queries.read(
            lambda connection: drafts.get(connection, request.merchant_id, request.person.email, draft_id)
        )
    )
    lines, left_out = await asyncio.to_thread(draft.split_lines, parts.payments.terms)
    seen = await parts.queries.read_snapshot(lambda connection: look(connection, draft, lines, left_out, parts.clock()))
    # Looked for last: where its own lines await approval, its batch is found.
    existing = await parts.queries.read(
        lambda connection: batches.find_by_key(connection, request.merchant_id, draft.key)
    )
    return seen if existing is None else dataclasses.replace(seen, draft=with_batch(draft, existing.batch.id))


async def _lock(tx: Tx, request: MerchantRequest) -> BatchDraft:
    return _found(await drafts.lock(tx, request.merchant_id, request.person.email, id_in(request)))


def _found(draft: BatchDraft | None) -> BatchDraft:
    if draft is None:
        raise Missing("There is no draft with this id.")
    return draft


def _say(request: MerchantRequest, name: str) -> str:
    return request.words(SENTENCES[name])
