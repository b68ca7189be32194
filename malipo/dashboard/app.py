"""The dashboard: lets people of merchants in.

A page is for everybody or for people with a right; it says so in `routes.py`, and nothing is drawn before that is
looked at.
"""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from malipo.dashboard import cookies, draw, problems
from malipo.dashboard.door import Door
from malipo.dashboard.language import Words
from malipo.dashboard.routes import PAGES, Page
from malipo.dashboard.visit import Visit
from malipo.service import Service


class Dashboard(Door[Page, Visit]):
    root = Visit.root

    def __init__(self, service: Service) -> None:
        super().__init__(service, PAGES, [Route(f"{self.root}/static/{{name}}", _static)])

    def _guest(self, request: Request, words: Words, address: str) -> Visit:
        return Visit(service=self._service, request=request, words=words, address=address)

    async def _recognise(self, guest: Visit) -> None:
        session_id = self._service.cookies.session_of(guest.request.cookies.get(cookies.SESSION, ""))
        if session_id is not None:
            guest.session = await self._service.login.live_session(session_id, now=self._service.clock())

    async def _open(self, page: Page, guest: Visit) -> Response:
        if page.right is None:
            return await page.handler(guest)
        if guest.session is None:
            return self._to_log_in(guest.request)
        if not guest.may(page.right):
            raise problems.NotAllowed
        return await page.handler(guest)


async def _static(request: Request) -> Response:
    found = draw.static(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return found
