"""The operators' pages: lets operators in, and nobody else."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.dashboard import cookies
from malipo.dashboard.door import Door
from malipo.dashboard.language import Words
from malipo.dashboard.operator.routes import PAGES, Page
from malipo.dashboard.operator.visit import OperatorVisit
from malipo.installation import store as installation
from malipo.service import Service


class Operator(Door[Page, OperatorVisit]):
    root = OperatorVisit.root

    def __init__(self, service: Service) -> None:
        super().__init__(service, PAGES)

    def _guest(self, request: Request, words: Words, address: str) -> OperatorVisit:
        return OperatorVisit(service=self._service, request=request, words=words, address=address)

    async def _recognise(self, guest: OperatorVisit) -> None:
        # A merchant's cookie is sealed in the same way; but the session that it names is not an operator's.
        session_id = self._service.cookies.session_of(guest.request.cookies.get(cookies.OPERATOR, ""))
        if session_id is not None:
            guest.session = await self._service.operators.live_session(session_id, now=self._service.clock())
        if guest.session is not None:
            guest.standing = await self._service.read(installation.get)

    async def _open(self, page: Page, guest: OperatorVisit) -> Response:
        if guest.session is None and not page.is_for_everybody:
            return self._to_log_in(guest.request)
        return await page.handler(guest)
