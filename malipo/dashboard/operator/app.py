"""The operators' dashboard: authentication of operators."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.dashboard import cookies, redirects
from malipo.dashboard.language import Words
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.routes import PAGES, Page
from malipo.dashboard.site import Site
from malipo.installation.store import installation
from malipo.service import Service


class OperatorDashboard(Site[Page, OperatorRequest]):
    root = OperatorRequest.root

    def __init__(self, service: Service) -> None:
        super().__init__(service, PAGES)

    def _new_request(self, request: Request, words: Words, address: str) -> OperatorRequest:
        return OperatorRequest(service=self._service, http=request, words=words, address=address)

    async def _recognise(self, browser_request: OperatorRequest) -> None:
        # A merchant's cookie is signed in the same way; but the session that it names is not an operator's.
        session_id = self._service.cookies.session_of(browser_request.http.cookies.get(cookies.OPERATOR.name, ""))
        if session_id is not None:
            browser_request.session = await self._service.operators.live_session(session_id, now=self._service.clock())
        if browser_request.session is not None:
            browser_request.standing = await self._service.read(installation.get)

    async def _open(self, page: Page, browser_request: OperatorRequest) -> Response:
        if browser_request.session is None and not page.is_for_everybody:
            return redirects.to_log_in(self.root, browser_request.http)
        return await page.handler(browser_request)
