"""The dashboard: finds the page, lets the person in, and answers every mistake with a page that helps.

A page is for everybody or for people with a right; it says so in `routes.py`, and nothing is drawn before that is
looked at.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from malipo import ids, log
from malipo.dashboard import cookies, draw, problems
from malipo.dashboard.language import Language, Words, preferred
from malipo.dashboard.routes import PAGES, Page
from malipo.dashboard.visit import ForgedForm, Visit
from malipo.origin import address_of
from malipo.service import Service


class Dashboard:
    def __init__(self, service: Service) -> None:
        self._service = service
        by_path: dict[str, dict[str, Page]] = defaultdict(dict)
        for page in PAGES:
            by_path[page.path][page.method] = page
        self._router = Router(
            [
                Route("/dashboard/", _home),
                Route("/dashboard/static/{name}", _static),
                *(Route(path, self._endpoint(methods), methods=list(methods)) for path, methods in by_path.items()),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        log.request_id.set(ids.mint("req_", self._service.clock()))
        # With an app in the scope the framework raises its own refusals instead of writing them as text.
        scope["app"] = self
        request = Request(scope, receive)
        sent = _Sent(send)
        try:
            await self._router(scope, receive, sent)
        except ClientDisconnect:
            pass
        except Exception as error:
            if sent.has_begun:
                raise  # A file breaks off: what is missing must not be taken for the whole.
            await problems.page_for(await self._visit_in_trouble(request), error)(scope, receive, sent)

    async def _visit_in_trouble(self, request: Request) -> Visit:
        """Who is told what went wrong; nobody in particular if it is the database that is away."""
        try:
            return await self._visit(request)
        except Exception as error:
            log.error("dashboard.unknown_visitor", error)
            return await self._visit(request, with_session=False)

    def _endpoint(self, methods: Mapping[str, Page]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await self._serve(methods["GET" if request.method == "HEAD" else request.method], request)

        return endpoint

    async def _serve(self, page: Page, request: Request) -> Response:
        if request.method == "POST" and not _is_from_here(request):
            raise ForgedForm
        visit = await self._visit(request)
        if page.right is None:
            return await page.handler(visit)
        if visit.session is None:
            return RedirectResponse(_log_in_url(request), HTTPStatus.SEE_OTHER)
        if not visit.may(page.right):
            raise problems.NotAllowed
        return await page.handler(visit)

    async def _visit(self, request: Request, *, with_session: bool = True) -> Visit:
        notice = request.cookies.get(cookies.NOTICE)
        visit = Visit(
            service=self._service,
            request=request,
            words=Words(_language(request)),
            address=str(address_of(request, self._service.settings.trusted_proxies)),
            notice=notice,
        )
        session_id = self._service.cookies.session_of(request.cookies.get(cookies.SESSION, ""))
        if with_session and session_id is not None:
            visit.session = await self._service.login.live_session(session_id, now=self._service.clock())
        return visit


class _Sent:
    """An answer. Whatever it is, a redirect too, it tells the browser to let nothing in."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in draw.HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _log_in_url(request: Request) -> str:
    """A form cannot be sent again by a link; whoever sent one too late begins at the first page."""
    if request.method == "POST":
        return "/dashboard/login"
    query = f"?{request.url.query}" if request.url.query else ""
    return f"/dashboard/login?next={quote(request.url.path + query)}"


def _language(request: Request) -> Language:
    chosen = request.cookies.get(cookies.LANGUAGE, "")
    if chosen in Language.__members__.values():
        return Language(chosen)
    return preferred(request.headers.get("accept-language", ""))


def _is_from_here(request: Request) -> bool:
    """Browsers say where a form comes from. One that another site has sent is refused, whatever it holds."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    return origin.partition("://")[2] == request.headers.get("host")


async def _home(request: Request) -> Response:
    return RedirectResponse("/dashboard", HTTPStatus.SEE_OTHER)


async def _static(request: Request) -> Response:
    found = draw.static(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return found
