"""The merchant's dashboard: authentication of people, and the right that each page needs.

A page is for everybody or for people with a right, as `routes.py` says. That is checked before anything is rendered.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from malipo.app.assemble import Service
from malipo.dashboard import cookies, error_pages, reauthentication_pages, redirects, static_files
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant import approvals
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.routes import PAGES, WITHOUT_SECOND_FACTOR, MerchantPage
from malipo.dashboard.merchant.second_factor import OWN
from malipo.dashboard.site import Site
from malipo.dashboard.trusted_browser_pages import find_alerts

_LIVE = f"{MerchantRequest.root}/live"


class Dashboard(Site[MerchantPage, MerchantRequest]):
    root = MerchantRequest.root

    def __init__(self, service: Service) -> None:
        super().__init__(service, PAGES, [Route(f"{static_files.PATH}/{{name}}", static_files.serve)])

    def _new_request(self, request: Request, words: Translator, address: str) -> MerchantRequest:
        return MerchantRequest(parts=self._parts, http=request, words=words, address=address)

    async def _recognise(self, browser_request: MerchantRequest) -> None:
        session_id = self._parts.accounts.cookies.session_of(browser_request.http.cookies.get(cookies.SESSION.name, ""))
        if session_id is not None:
            browser_request.session = await self._parts.accounts.sessions.live_session(
                session_id, now=self._parts.clock()
            )
        if browser_request.session is not None and browser_request.session.has_alerts:
            browser_request.alerts = await find_alerts(browser_request)
        await approvals.find_awaited(browser_request)

    async def _open(self, page: MerchantPage, browser_request: MerchantRequest) -> Response:
        if page.right is None:
            return await page.handler(browser_request)
        if browser_request.session is None:
            return redirects.to_log_in(self.root, browser_request.http)
        if browser_request.must_enrol and page.path not in WITHOUT_SECOND_FACTOR:
            return browser_request.go(OWN.path)
        if not browser_request.may(page.right):
            raise error_pages.NotAllowed
        if (question := await reauthentication_pages.ask(browser_request, page.act)) is not None:
            return question
        if page.path != _LIVE:  # A page that is open is not a user who is there.
            await browser_request.note_use()
        return await page.handler(browser_request)
