"""The operators' dashboard: authentication of operators."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.app.assemble import Service
from malipo.dashboard import cookies, reauthentication_pages, redirects
from malipo.dashboard.language import Translator
from malipo.dashboard.operator.own_account import OWN
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.routes import PAGES, WITHOUT_SECOND_FACTOR, OperatorPage
from malipo.dashboard.site import Site
from malipo.dashboard.trusted_browser_pages import find_alerts
from malipo.operators import four_eyes, roles
from malipo.operators.roles import Right
from malipo.restore.store import installation


class OperatorDashboard(Site[OperatorPage, OperatorRequest]):
    root = OperatorRequest.root

    def __init__(self, service: Service) -> None:
        super().__init__(service, PAGES)

    def _new_request(self, request: Request, words: Translator, address: str) -> OperatorRequest:
        return OperatorRequest(parts=self._parts, http=request, words=words, address=address)

    async def _recognise(self, browser_request: OperatorRequest) -> None:
        # A merchant's cookie is signed in the same way; but the session that it names is not an operator's.
        session_id = self._parts.accounts.cookies.session_of(
            browser_request.http.cookies.get(cookies.OPERATOR.name, "")
        )
        if session_id is not None:
            browser_request.session = await self._parts.accounts.operators.live_session(
                session_id, now=self._parts.clock()
            )
        if browser_request.session is not None:
            browser_request.installation = await self._parts.queries.read(installation.get)
            now = self._parts.clock()
            if browser_request.may(Right.READ):
                browser_request.resets = await self._parts.queries.read(
                    lambda connection: four_eyes.find_open(connection, now=now)
                )
            if browser_request.session.has_alerts:
                browser_request.alerts = await find_alerts(browser_request)

    async def _open(self, page: OperatorPage, browser_request: OperatorRequest) -> Response:
        if browser_request.session is None and not page.is_for_everybody:
            return redirects.to_log_in(self.root, browser_request.http)
        if not page.is_for_everybody:
            if browser_request.must_enrol and page.path not in WITHOUT_SECOND_FACTOR:
                return browser_request.go(OWN.path)
            roles.require(browser_request.role, page.right)
            if (question := await reauthentication_pages.ask(browser_request, page.act)) is not None:
                return question
            await browser_request.note_use()
        return await page.handler(browser_request)
