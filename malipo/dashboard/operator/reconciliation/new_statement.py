"""A new statement: an operator sends a file, looks at how it is read, and imports it.

Sending a file does nothing but keep it, so no form has to wait for a large body while it acts. The file is read in a
process of its own. Importing runs in a thread, with an event loop and a database connection of its own: payments are
answered meanwhile.
"""

import asyncio
import dataclasses
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from msgspec.structs import replace
from starlette.responses import Response

from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.reconciliation import column_mapping, run_import, statement_preview
from malipo.dashboard.operator.reconciliation.pending_uploads import FileDescription, KeptFiles, NotKept, safe_name
from malipo.dashboard.operator.reconciliation.receive_file import MOST_MEGABYTES, StatementFileTooLarge, receive
from malipo.dashboard.operator.reconciliation.statement_preview import StatementPreview
from malipo.dashboard.operator.reconciliation.statements import CHANNELS, PATH
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Tx
from malipo.errors import Conflict, Invalid, Refusal
from malipo.http.client_disconnect import while_connected
from malipo.network_statements.mapped_profile import is_free_name, profile_of
from malipo.network_statements.profile import StatementField
from malipo.networks.connector import Channel
from malipo.reconciliation.imports.import_statement import find_same_elsewhere
from malipo.reconciliation.imports.refuse_conflicting_file import Disagrees, ImportedElsewhere
from malipo.reconciliation.matching.carriers import carrier_named
from malipo.reconciliation.statements.choose_profile import all_profiles, save_if_new, save_status_words
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.typed_period import period_of
from malipo.table_files.reader_queue import ReadingTurns
from malipo.words.say import say

NEW = f"{PATH}/new"
_MOST_ACCOUNT = 60

SENTENCES = {
    "no_file": "Choose a file.",
    "account": "The account is up to 60 characters.",
    "busy": "A statement is being imported. Wait until it has ended.",
    "not_kept": NotKept.sentence,
    "no_header": "No row of it looks like the header of a statement. Open it in a spreadsheet, and save it as CSV.",
    "period": "Say both, such as 2026-11-15, or with a time: 2026-11-15 14:00. A day ends at its end.",
    "unknown_words": "Say of each word whether money moved.",
}


async def show_form(request: OperatorRequest) -> Response:
    return await _form(request)


async def _form(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    values: Any = None,
    errors: dict[str, str] | None = None,
) -> Response:
    profiles = await request.parts.queries.read(all_profiles)
    return render.page(
        request,
        "operator/reconciliation/new_statement.html",
        status=status,
        values=values or {},
        errors=errors or {},
        channels=CHANNELS,
        profiles=[(name, name) for name, each in sorted(profiles.items()) if not each.is_fetched],
        most=MOST_MEGABYTES,
    )


async def receive_upload(request: OperatorRequest) -> Response:
    """Keep the file that was sent, and go on to how it is read."""
    files = _files(request)
    try:
        received = await receive(request, files)
    except StatementFileTooLarge as refusal:
        errors = {"file": request.words(refusal.message)}
        return await _form(request, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, errors=errors)
    form = received.form
    errors = _mistakes(request, form, is_empty=received.size == 0)
    if errors or received.upload is None:
        files.forget(received.upload or "")
        return await _form(request, status=HTTPStatus.BAD_REQUEST, values=form.values(), errors=errors)
    about = FileDescription(
        operator_id=request.owner.id,
        name=safe_name(received.filename),
        channel=Channel(form.text("channel")),
        account=form.text("account"),
        profile=form.text("profile") or None,
        begins=form.text("begins"),
        ends=form.text("ends"),
    )
    await asyncio.to_thread(files.keep, received.upload, about)
    return request.go(f"{NEW}/{received.upload}")


async def _look(request: OperatorRequest, act: Callable[[], StatementPreview]) -> StatementPreview:
    """Read the beginning of a file, when it is this operator's turn, and for as long as they wait for it."""
    turns = ReadingTurns(request.parts.settings.data_dir)
    return await while_connected(request.http, turns.read(request.owner.id, act))


def _files(request: OperatorRequest) -> KeptFiles[FileDescription]:
    return KeptFiles(request.parts.settings.data_dir, FileDescription)


def _mistakes(request: OperatorRequest, form: Form, *, is_empty: bool) -> dict[str, str]:
    wrong = {}
    account = form.text("account")
    if form.text("channel") not in Channel.__members__.values():
        wrong["channel"] = form_errors.sentence(request.words, "channel_invalid")
    if len(account) > _MOST_ACCOUNT or not account.isprintable():
        wrong["account"] = _say(request, "account")
    try:
        period_of(form.text("begins"), form.text("ends"))
    except Invalid:
        wrong["begins"] = _say(request, "period")
    if is_empty:
        wrong["file"] = _say(request, "no_file")
    return wrong


async def show(request: OperatorRequest) -> Response:
    """How a file is read; of an unknown layout, with the columns as they were guessed, or corrected here."""
    return await _page(request, values=dict(request.http.query_params))


async def _page(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    values: dict[str, str] | None = None,
    problem: str | None = None,
    problems: list[str] | None = None,
    against: StatementFile | None = None,
    against_problems: list[str] | None = None,
    is_stranger: bool = False,
    errors: dict[str, str] | None = None,
) -> Response:
    upload = request.http.path_params["upload"]
    files = _files(request)
    try:
        path, about = await asyncio.to_thread(files.find, upload, operator_id=request.owner.id)
    except NotKept as gone:
        return await _form(request, status=HTTPStatus.NOT_FOUND, errors={"file": request.words(gone.message)})
    profiles = await request.parts.queries.read(all_profiles)
    if values and column_mapping.CORRECTED in values:
        seen = await _look(request, lambda: statement_preview.preview_mapped(path, about.channel, values))
    else:
        seen = await _look(request, lambda: statement_preview.preview(path, profiles, about.channel, about.profile))
    if against is None and seen.mapped is not None:
        against = await request.parts.queries.read(
            lambda connection: find_same_elsewhere(connection, path, about.channel, about.account)
        )
    trouble = None if seen.trouble is None else form_errors.of_refusal(request.words, seen.trouble)
    if trouble is None and seen.profile is None and seen.mapped is None:
        trouble = _say(request, "no_header")
    return render.page(
        request,
        "operator/reconciliation/statement_preview.html",
        status=status,
        upload=upload,
        about=about,
        seen=seen,
        bad=[(each.row, say(each.why, request.words)) for each in seen.bad],
        trouble=trouble,
        problem=problem,
        problems=problems or [],
        against=against,
        against_problems=against_problems or [],
        is_stranger=is_stranger,
        columns=_columns(seen),
        fields=column_mapping.SENTENCES,
        formats=[*column_mapping.EXAMPLES.items()],
        values=values or {},
        errors=(errors or {}) | ({} if seen.mapped is None else column_mapping.mistakes(request.words, seen.mapped)),
    )


def _columns(seen: StatementPreview) -> list[tuple[str, str]]:
    """Columns without a name cannot be found in the next file."""
    if seen.mapped is None:
        return []
    return [(str(number), name) for number, name in enumerate(seen.mapped.header) if name.strip()]


async def save_layout(request: OperatorRequest) -> Response:
    """Save how the columns are read. The next file of this layout is read without a question."""
    form = await request.form()
    files = _files(request)
    upload, name = request.http.path_params["upload"], form.text("name")
    values = {each: form.text(each) for each in (*StatementField, *column_mapping.MORE_FIELDS)}
    try:
        path, about = await asyncio.to_thread(files.find, upload, operator_id=request.owner.id)
    except NotKept:
        return await _page(request)
    seen = await _look(request, lambda: statement_preview.preview_mapped(path, about.channel, values))
    taken = await request.parts.queries.read(all_profiles)
    if seen.profile is None or seen.mapped is None or not is_free_name(name) or name in taken:
        errors = {} if seen.profile is None else {"name": column_mapping.name_mistake(request.words)}
        return await _page(request, status=HTTPStatus.BAD_REQUEST, values=values | {"name": name}, errors=errors)
    carrier = seen.mapped.carrier or carrier_named(about.account)
    profile = profile_of(dataclasses.replace(seen.mapped, carrier=carrier), about.channel, name=name)

    async def act(tx: Tx) -> None:
        await save_if_new(tx, profile, actor=request.actor, now=request.parts.clock())

    await request.parts.queries.write(act)
    changed = replace(about, profile=name)
    await asyncio.to_thread(files.change, upload, changed)
    return request.go(f"{NEW}/{upload}", "layout-saved")


async def say_words(request: OperatorRequest) -> Response:
    """Save what words of the status column mean, with the layout that reads the file."""
    form = await request.form()
    upload = request.http.path_params["upload"]
    try:
        path, about = await asyncio.to_thread(_files(request).find, upload, operator_id=request.owner.id)
    except NotKept:
        return await _page(request)
    profiles = await request.parts.queries.read(all_profiles)
    seen = await _look(request, lambda: statement_preview.preview(path, profiles, about.channel, about.profile))
    meanings = {each.word: form.text(f"word-{number}") for number, each in enumerate(seen.unknown) if each.word}
    if seen.profile is None or seen.mapped is not None or not set(meanings.values()) <= {"moved", "not-moved"}:
        return await _page(request, status=HTTPStatus.BAD_REQUEST, problem=_say(request, "unknown_words"))
    name = seen.profile.name

    async def act(tx: Tx) -> None:
        await save_status_words(
            tx,
            name,
            moved=[word for word, meaning in meanings.items() if meaning == "moved"],
            not_moved=[word for word, meaning in meanings.items() if meaning == "not-moved"],
            actor=request.actor,
            now=request.parts.clock(),
        )

    await request.parts.queries.write(act)
    return request.go(f"{NEW}/{upload}", "layout-saved")


async def import_(request: OperatorRequest) -> Response:
    form = await request.form()
    files = _files(request)
    upload = request.http.path_params["upload"]
    try:
        path, about = await asyncio.to_thread(files.find, upload, operator_id=request.owner.id)
        profiles = await request.parts.queries.read(all_profiles)
        seen = await _look(request, lambda: statement_preview.preview(path, profiles, about.channel, about.profile))
        if seen.profile is None or seen.mapped is not None or seen.unknown:
            return await _page(request, status=HTTPStatus.BAD_REQUEST)
        done = await run_import.run_import(
            request,
            path,
            about,
            seen.profile,
            accepts_problems=form.text("accept") == "yes",
            is_new_account=form.text("new_account") == "yes",
        )
    except NotKept:
        return await _page(request)
    except run_import.Busy:
        return await _page(request, status=HTTPStatus.CONFLICT, problem=_say(request, "busy"))
    except Refusal as refusal:
        return await _refused(request, refusal, accepted=form.text("accept"))
    await asyncio.to_thread(files.forget, upload)
    return request.go(f"{PATH}/{done.file.id}", "statement-repeat" if done.is_repeat else "statement-imported")


async def _refused(request: OperatorRequest, refusal: Refusal, *, accepted: str) -> Response:
    """Show a refusal. An operator can accept a file that does not add up, and the first file of an account; but no file
    with unreadable lines, of another account, or that contradicts a known file."""
    problems = [say(each, request.words) for each in refusal.problems]
    status = HTTPStatus.CONFLICT if isinstance(refusal, Conflict) else HTTPStatus.BAD_REQUEST
    if isinstance(refusal, run_import.DoesNotAddUp):
        return await _page(request, status=status, problems=problems)
    if isinstance(refusal, run_import.NothingKnown):
        return await _page(request, status=status, values={"accept": accepted}, is_stranger=True)
    if isinstance(refusal, Disagrees | ImportedElsewhere):
        return await _page(request, status=status, against=refusal.other, against_problems=problems)
    if isinstance(refusal, run_import.BadLines):
        problem = " ".join([say(refusal, request.words), *problems])
        return await _page(request, status=status, problem=problem)
    return await _page(request, status=status, problem=form_errors.of_refusal(request.words, refusal))


def _say(request: OperatorRequest, name: str) -> str:
    return request.words(SENTENCES[name])
