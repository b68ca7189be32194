"""The public profile, which customers see on pay pages and receipts: an owner sets name, contact, TIN and logo."""

import asyncio
import tempfile
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

from starlette.responses import Response

from malipo.dashboard import form_errors, render
from malipo.dashboard.file_upload import receive_upload
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.errors import Invalid
from malipo.http.client_disconnect import while_connected
from malipo.merchants.change_public_profile import change_public_profile, remove_logo, set_logo
from malipo.merchants.public_profile import Contact, PublicProfile, contact_number_of, logo_path, tin_as_written, tin_of
from malipo.merchants.store import public_profiles
from malipo.table_files.pictures import MOST_FILE_BYTES, NotAPicture, Picture, PictureProblem, read_logo
from malipo.table_files.reader_queue import FilesBeingRead, OwnFileBeingRead, ReadingTurns
from malipo.table_files.rows import LimitMet
from malipo.validation.fields import Fields

PATH = "/dashboard/settings/profile"
LOGO = f"{PATH}/logo"
_MOST_NAME = 60  # letters, as a phone shows them in two lines

SENTENCES = {
    "no_file": "Choose a file.",
    "too_large": "The file is larger than 2 MB.",
    PictureProblem.NO_PICTURE: "This file is no picture that can be read. Save it as PNG or JPEG.",
    PictureProblem.PIXELS: "This picture has more than 16 million pixels. Make it smaller.",
    PictureProblem.SMALL: "This picture is too small: it needs at least 16 pixels on each side.",
    PictureProblem.LIMIT: "This picture takes too much memory or time to be read. Save it as PNG or JPEG, and smaller.",
}


class LogoTooLarge(Invalid):
    def __init__(self) -> None:
        super().__init__(SENTENCES["too_large"])


async def show(request: MerchantRequest) -> Response:
    return await _page(request)


async def change(request: MerchantRequest) -> Response:
    form = await request.form()
    typed = {name: form.text(name) for name in ("name", "phone", "whatsapp", "email", "tin")}
    fields = Fields({name: value for name, value in typed.items() if value})
    name = fields.required_text("name", most=_MOST_NAME, is_line=True)
    contact = Contact(
        phone=_number(fields, "phone"),
        whatsapp=_number(fields, "whatsapp"),
        email=fields.email("email") or None if typed["email"] else None,
    )
    tin = tin_of(typed["tin"])
    if typed["tin"] and tin is None:
        fields.wrong("tin", "tin_invalid", "tin must be nine digits.")
    if fields.mistakes:
        return await _page(request, typed, form_errors.in_words(request.words, fields))
    now = request.parts.clock()
    await request.parts.queries.write(
        lambda tx: change_public_profile(
            tx, request.merchant_id, name=name, contact=contact, tin=tin, actor=request.actor, now=now
        )
    )
    return request.go(PATH, "profile-changed")


def _number(fields: Fields, name: str) -> str | None:
    typed = fields.text(name, most=40)
    number = contact_number_of(typed)
    if typed and number is None:
        fields.wrong(name, "contact_invalid", f"{name} must be a phone number.")
    return number


async def upload_logo(request: MerchantRequest) -> Response:
    try:
        upload = await receive_upload(request, most_file_bytes=MOST_FILE_BYTES, too_large=LogoTooLarge())
    except LogoTooLarge:
        return await _refused(request, SENTENCES["too_large"], HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if not upload.content:
        return await _refused(request, SENTENCES["no_file"])
    try:
        logo = await _drawn(request, upload.content)
    except (OwnFileBeingRead, FilesBeingRead) as busy:
        is_own = isinstance(busy, OwnFileBeingRead)
        status = HTTPStatus.TOO_MANY_REQUESTS if is_own else HTTPStatus.SERVICE_UNAVAILABLE
        response = await _refused(request, form_errors.SENTENCES[busy.spoken], status)
        response.headers["Retry-After"] = str(busy.retry_after_seconds)
        return response
    except LimitMet:
        return await _refused(request, SENTENCES[PictureProblem.LIMIT])
    except NotAPicture as refused:
        return await _refused(request, SENTENCES[refused.problem])
    now = request.parts.clock()
    await request.parts.queries.write(
        lambda tx: set_logo(
            tx,
            request.merchant_id,
            logo.content,
            width=logo.width,
            height=logo.height,
            actor=request.actor,
            now=now,
        )
    )
    return request.go(f"{PATH}#logo", "logo-set")


async def _drawn(request: MerchantRequest, content: bytes) -> Picture:
    """When it is this merchant's turn, and for as long as somebody waits for it."""
    turns = ReadingTurns(request.parts.settings.data_dir)
    with tempfile.TemporaryDirectory(prefix="malipo-") as folder:
        path = Path(folder) / "picture"
        await asyncio.to_thread(path.write_bytes, content)
        return await while_connected(request.http, turns.read(request.merchant_id, lambda: read_logo(path)))


async def delete_logo(request: MerchantRequest) -> Response:
    await request.form()
    now = request.parts.clock()
    await request.parts.queries.write(lambda tx: remove_logo(tx, request.merchant_id, actor=request.actor, now=now))
    return request.go(f"{PATH}#logo", "logo-removed")


async def _find(request: MerchantRequest) -> PublicProfile:
    return await request.parts.queries.read(lambda connection: public_profiles.find(connection, request.merchant_id))


async def _refused(request: MerchantRequest, sentence: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> Response:
    return await _page(request, logo_problem=request.words(sentence), status=status)


async def _page(
    request: MerchantRequest,
    typed: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
    *,
    logo_problem: str | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    profile = await _find(request)
    return render.page(
        request,
        "merchant/settings/profile.html",
        status=HTTPStatus.BAD_REQUEST if problems else status,
        profile=profile,
        typed=typed or _as_typed(profile),
        problems=problems or {},
        logo_problem=logo_problem,
        logo=None if profile.logo is None else logo_path(profile.logo.fingerprint),
    )


def _as_typed(profile: PublicProfile) -> dict[str, str]:
    return {
        "name": profile.shown_name,
        "phone": profile.contact.phone or "",
        "whatsapp": profile.contact.whatsapp or "",
        "email": profile.contact.email or "",
        "tin": "" if profile.tin is None else tin_as_written(profile.tin),
    }
