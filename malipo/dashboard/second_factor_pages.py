"""Two-step log-in, set up and removed in a browser: the same on both sites.

The recovery codes are the answer to a form. It cannot be a redirect: they are nowhere else.
"""

from abc import ABC, abstractmethod
from datetime import datetime
from http import HTTPStatus
from typing import Generic, TypeVar

from starlette.responses import Response

from malipo.accounts.reauthentication import SensitiveAct
from malipo.accounts.second_factor import enrol, totp
from malipo.accounts.store import second_factors
from malipo.dashboard import form_errors, reauthentication_pages, render
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.forms import typed_in
from malipo.dashboard.qr_code import qr_code
from malipo.db import Tx
from malipo.errors import Refusal, TooMany

_ISSUER = "malipo"

SomeRequest = TypeVar("SomeRequest", bound=BrowserRequest)


class SecondFactorPages(ABC, Generic[SomeRequest]):
    path: str  # of these pages
    back: str  # the page that leads here

    @abstractmethod
    async def _changed(self, tx: Tx, request: SomeRequest, now: datetime) -> None:
        """End the other sessions, and trust no browser any longer, in the commit of the change."""

    async def show(self, request: SomeRequest) -> Response:
        return await self._page(request)

    async def enrol(self, request: SomeRequest) -> Response:
        form = await request.form()
        parts, owner, now = request.parts, request.owner, request.parts.clock()
        try:
            secret = enrol.secret_in(parts.encryption, owner.id, form.text("enrolment"))
        except Refusal as refusal:
            return self._enrolment(request, totp.new_secret(), refusal)

        async def act(tx: Tx) -> list[str]:
            codes = await enrol.enrol(tx, owner, secret, form.text("code"), encryption=parts.encryption, now=now)
            await self._changed(tx, request, now)
            return codes

        try:
            codes = await parts.queries.write(act)
        except enrol.AlreadyEnrolled as refusal:
            return await self._page(request, refusal)
        except Refusal as refusal:
            return self._enrolment(request, secret, refusal)
        return self._codes(request, codes, is_new=True)

    async def make_codes(self, request: SomeRequest) -> Response:
        await request.form()
        owner, now = request.owner, request.parts.clock()
        try:
            codes = await request.parts.queries.write(lambda tx: enrol.make_recovery_codes(tx, owner, now=now))
        except Refusal as refusal:
            return await self._page(request, refusal)
        return self._codes(request, codes, is_new=False)

    async def confirm_remove(self, request: SomeRequest) -> Response:
        return self._removal(request)

    async def remove(self, request: SomeRequest) -> Response:
        """The password and a code, both typed now: a session that was left open is not enough."""
        form = await request.form()
        owner, now = request.owner, request.parts.clock()

        async def act(tx: Tx) -> None:
            await enrol.remove(tx, owner, now=now)
            await self._changed(tx, request, now)

        try:
            await request.confirm(form.secret("password"), typed_in(form.text("code")))
            await request.parts.queries.write(act)
        except Refusal as refusal:
            return self._removal(request, refusal)
        return request.go(self.back, "second-factor-removed")

    async def _page(self, request: SomeRequest, refusal: Refusal | None = None) -> Response:
        owner = request.owner
        found = await request.parts.queries.read(lambda connection: second_factors.find(connection, owner.id))
        if found is None:
            question = await reauthentication_pages.ask(request, SensitiveAct.SECOND_FACTOR)
            return question or self._enrolment(request, totp.new_secret(), refusal)
        return render.page(
            request,
            "second_factor/state.html",
            status=_status(refusal),
            found=found,
            problem=_problem(request, refusal),
            path=self.path,
            back=self.back,
        )

    def _enrolment(self, request: SomeRequest, secret: str, refusal: Refusal | None = None) -> Response:
        owner = request.owner
        uri = totp.uri(secret, issuer=_ISSUER, name=owner.name)
        return render.page(
            request,
            "second_factor/enrol.html",
            status=_status(refusal),
            picture=qr_code(uri),
            uri=uri,
            key=totp.in_groups(secret),
            enrolment=enrol.carried(request.parts.encryption, owner.id, secret),
            is_required=request.must_enrol,
            problem=_problem(request, refusal),
            path=self.path,
            back=self.back,
        )

    def _codes(self, request: SomeRequest, codes: list[str], *, is_new: bool) -> Response:
        name = request.owner.name
        return render.page(
            request,
            "second_factor/recovery_codes.html",
            status=HTTPStatus.CREATED,
            codes=codes,
            name=name,
            is_new=is_new,
            back=self.path,
        )

    def _removal(self, request: SomeRequest, refusal: Refusal | None = None) -> Response:
        response = render.page(
            request,
            "second_factor/remove.html",
            status=_status(refusal),
            name=request.owner.name,
            is_required=request.must_enrol,
            problem=_problem(request, refusal),
            path=self.path,
        )
        if isinstance(refusal, TooMany):
            response.headers["Retry-After"] = str(refusal.retry_after_seconds)
        return response


def _problem(request: BrowserRequest, refusal: Refusal | None) -> str | None:
    return None if refusal is None else form_errors.of_refusal(request.words, refusal)


def _status(refusal: Refusal | None) -> HTTPStatus:
    if refusal is None:
        return HTTPStatus.OK
    return HTTPStatus.TOO_MANY_REQUESTS if isinstance(refusal, TooMany) else form_errors.status_of(refusal)
