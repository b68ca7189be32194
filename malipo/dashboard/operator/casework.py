"""Assigns a case or an exception to an operator until a date, and keeps the files about it: the forms of both pages,
and the download.

A file is never displayed: the browser downloads it as bytes without a type, so nothing in it can run on our pages.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from itertools import chain
from typing import NamedTuple
from urllib.parse import quote

from starlette.responses import Response

from malipo import clock
from malipo.casework.assign import assign
from malipo.casework.attach import attach
from malipo.casework.attachment import ENDINGS, MOST_BYTES, Attachment, TooLarge
from malipo.casework.store import assignments, attachments
from malipo.casework.store.assignments import Assignment
from malipo.casework.subject import CaseworkSubject
from malipo.dashboard import form_errors
from malipo.dashboard.file_upload import receive_upload
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.dashboard.urls import id_in
from malipo.db import Conn, Tx
from malipo.errors import Missing, Refusal
from malipo.operators import store as operators
from malipo.operators.roles import Right, Role

PATH = "/operator/attachments"
OWNERS = ("me", "none")  # by which lists are filtered

_DAY = "Give the day as a date, such as 2026-11-15."
SENTENCES = [_DAY]

FindSubject = Callable[[Tx], Awaitable[CaseworkSubject]]
ShowAgain = Callable[[str, int], Awaitable[Response]]


class Casework(NamedTuple):
    """The assignment and the files of a case or an exception, as its page shows them."""

    path: str  # of that page
    assignment: Assignment | None
    is_overdue: bool
    files: Sequence[Attachment]
    managers: Sequence[str]
    most_megabytes: int = MOST_BYTES // 1024 // 1024
    endings: str = ", ".join(chain.from_iterable(ENDINGS.values()))


async def find(connection: Conn, request: OperatorRequest, subject: str, path: str) -> Casework | None:
    """None for a role that does not see it."""
    if not request.may(Right.READ):
        return None
    assignment = (await assignments.find(connection, [subject])).get(subject)
    names = [each.name for each in await operators.find_operators(connection) if each.role is Role.MANAGER]
    return Casework(
        path,
        assignment,
        is_overdue(assignment, clock.day_of(request.parts.clock())),
        await attachments.find_of(connection, subject),
        names,
    )


def is_overdue(assignment: Assignment | None, today: date) -> bool:
    return assignment is not None and assignment.due_on is not None and assignment.due_on < today


async def change_assignment(
    request: OperatorRequest, find_subject: FindSubject, path: str, again: ShowAgain
) -> Response:
    form = await request.form()
    owner, typed = form.text("owner"), form.text("due")
    try:
        due_on = date.fromisoformat(typed) if typed else None
    except ValueError:
        return await again(request.words(_DAY), 400)

    async def act(tx: Tx) -> None:
        await assign(tx, await find_subject(tx), owner, due_on, actor=request.actor, now=request.parts.clock())

    try:
        await request.parts.queries.write(act)
    except Missing:
        raise
    except Refusal as refusal:
        return await again(form_errors.of_refusal(request.words, refusal), form_errors.status_of(refusal))
    return request.go(f"{path}#casework", "assignment-changed")


async def add_file(request: OperatorRequest, find_subject: FindSubject, path: str, again: ShowAgain) -> Response:
    upload = await receive_upload(request, most_file_bytes=MOST_BYTES, too_large=TooLarge())
    request.keep_form(upload.form)

    async def act(tx: Tx) -> None:
        await attach(
            tx,
            await find_subject(tx),
            upload.filename,
            upload.content,
            actor=request.actor,
            now=request.parts.clock(),
        )

    try:
        await request.parts.queries.write(act)
    except Missing:
        raise
    except Refusal as refusal:
        return await again(form_errors.of_refusal(request.words, refusal), form_errors.status_of(refusal))
    return request.go(f"{path}#casework", "attachment-added")


class NoSuchAttachment(Missing):
    def __init__(self) -> None:
        super().__init__("There is no attachment with this id.")


async def download(request: OperatorRequest) -> Response:
    found = await request.parts.queries.read(lambda connection: attachments.get(connection, id_in(request)))
    if found is None:
        raise NoSuchAttachment
    attachment, content = found
    return Response(content, media_type="application/octet-stream", headers=_HEADERS | _named(attachment.name))


# A browser that shows it anyway runs nothing of it, and sees nothing of ours.
_HEADERS = SECURITY_HEADERS | {"Content-Security-Policy": "default-src 'none'; sandbox"}


def _named(name: str) -> dict[str, str]:
    """The name for browsers of today, and in plain letters for others."""
    plain = "".join(each if each.isascii() and each.isprintable() and each not in '"\\%' else "_" for each in name)
    return {"Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"}
